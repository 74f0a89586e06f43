"""Build a static site from reports of runtimes and releases."""
