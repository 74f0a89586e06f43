"""Select the cases of a run, split them into units, and merge the results."""
