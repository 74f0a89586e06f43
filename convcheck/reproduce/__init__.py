"""The smallest call that shows a finding, and scripts that show it without convcheck."""
