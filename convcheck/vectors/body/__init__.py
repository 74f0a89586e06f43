"""Choose a case's calls by the body of its spec."""
