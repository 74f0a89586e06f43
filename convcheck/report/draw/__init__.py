"""The ways in which reports are drawn, one file each."""
