"""The worker processes that run backends, on this machine or on a cluster."""
