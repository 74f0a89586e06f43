"""An independent, slow oracle for ONNX Cast.

Written from the text of the standard, on `fractions.Fraction` and ints alone. It shares no
code, no tables and no method with the tool: rounding is a search for the nearest value in the
list of values that the destination has.
"""

from .cast import answer, expect, question
from .formats import Value, boundaries, decode
from .question import Ask, Pattern, Want, fits, types

__all__ = [
    "Ask",
    "Pattern",
    "Value",
    "Want",
    "answer",
    "boundaries",
    "decode",
    "expect",
    "fits",
    "question",
    "types",
]
