"""What the rules say: spec files read into frozen dataclasses, each with its place."""
