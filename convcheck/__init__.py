"""convcheck: conformance tests for numeric type conversion in machine-learning runtimes."""

__version__ = "0.1.0"
