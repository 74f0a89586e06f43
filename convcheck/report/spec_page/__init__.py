"""The page of a spec, with tables like the standard's."""
