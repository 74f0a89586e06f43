"""Programs as backends, and backends as programs."""
