"""The JSON formats: each a tree of typed structs, from which its schema in schemas/ is made."""
