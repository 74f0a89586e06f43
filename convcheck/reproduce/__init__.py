"""Find the smallest call that shows a finding, and write scripts that show it without convcheck."""
