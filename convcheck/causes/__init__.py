"""Find wrong conversions that explain every answer of a case."""
