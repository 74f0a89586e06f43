"""Vector files: canonical JSON, written and read back."""
