"""Describe, as laws, how backends behave if a standard leaves the result open."""
