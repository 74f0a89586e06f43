"""An independent, slow oracle for ONNX Cast, by the text of the standard.

It shares no code, tables or methods with the tool: rounding searches the list of the destination's
values.
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
