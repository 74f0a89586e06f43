"""OpenVINO, in three variants that are three implementations."""
