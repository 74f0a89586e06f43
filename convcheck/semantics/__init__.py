"""Compile and evaluate rules: case and outcome words as functions."""
