"""Backends, a file per runtime. Runtimes are imported when used."""
