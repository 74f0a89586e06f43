"""Any program as a backend, and any backend as a program."""
