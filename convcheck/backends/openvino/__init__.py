"""OpenVINO in four variants."""
