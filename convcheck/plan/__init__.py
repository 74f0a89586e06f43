"""Select the cases of a run, split them into units of work, and merge the results."""
