"""An independent, slow oracle for ONNX Cast.

It follows the text of the standard, on `fractions.Fraction` and ints alone. It shares no code,
tables or methods with the tool: rounding searches the destination's list of values for the nearest.
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
