"""The page of a spec: its tables as the standard prints them."""
