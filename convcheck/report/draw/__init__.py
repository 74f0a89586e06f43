"""Draw reports, a file for each kind."""
