"""Write a witness as a script or source file without convcheck."""
