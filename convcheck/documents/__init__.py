"""The JSON formats. Each is a tree of typed structs; schemas/ has its schema."""
