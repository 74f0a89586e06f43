"""Compare answers with expectations, tally them, and make results."""
