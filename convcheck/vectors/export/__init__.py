"""Export vectors for other tools."""
