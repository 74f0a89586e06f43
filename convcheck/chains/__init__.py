"""Casts one after the other, compared with the direct one: where they are equal, by what proof."""
