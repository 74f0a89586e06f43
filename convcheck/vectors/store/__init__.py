"""Write and read vector files: canonical JSON."""
