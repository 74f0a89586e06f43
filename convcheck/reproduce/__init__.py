"""Find the smallest call that shows a finding, and write it."""
