"""Who answers: one runtime, one file. Runtimes are imported when used."""
