"""Prove that a compiled function equals a rule for every input."""
