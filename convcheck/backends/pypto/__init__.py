"""pypto's golden interpreter, and the calculator that it needs."""
