"""Models: which of their nodes convert numbers, and what is known of each."""
