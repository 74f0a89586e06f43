"""OpenVINO, in four variants: three implementations, and one that is given some constants."""
