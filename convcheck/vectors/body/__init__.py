"""Which calls are worth asking, by the body of the spec."""
