"""What we ask: which inputs are worth asking, with what is expected, and where it is kept."""
