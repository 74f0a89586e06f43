"""Test the releases of a runtime, and show when each cause appeared and disappeared."""
