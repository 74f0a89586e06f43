"""Why a backend answers as it does: wrong conversions that give every answer of a case."""
