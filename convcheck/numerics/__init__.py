"""Formats, exact numbers and rounding, with numpy integers and Fractions only."""
