"""The worker processes in which backends live and die, on this machine or on a cluster."""
