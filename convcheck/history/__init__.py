"""Releases of a runtime: where they come from, what each answers, and what became of each cause."""
