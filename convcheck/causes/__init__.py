"""Find the causes of wrong answers: wrong conversions that explain every answer of a case."""
