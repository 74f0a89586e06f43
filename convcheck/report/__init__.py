"""What people and programs see of a run: the terminal, JSON."""
