"""Select a run's cases, split them into units, and merge results."""
