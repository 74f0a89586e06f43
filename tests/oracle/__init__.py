"""An independent, slow oracle for ONNX Cast.

Written from the text of the standard, on `fractions.Fraction` and ints alone. It shares no
code, no tables and no method with the tool: rounding is a search for the nearest value in the
list of values that the destination has.
"""

from .cast import expect
from .formats import Value, boundaries, decode
from .question import Pattern, Want, fits, types

__all__ = ["Pattern", "Value", "Want", "boundaries", "decode", "expect", "fits", "types"]
