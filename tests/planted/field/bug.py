"""Bugs from the field: publicly reported wrong conversions, rebuilt."""

from collections.abc import Callable
from dataclasses import dataclass

from convcheck.numerics.number import Bits

Conversion = Callable[[Bits], Bits]


@dataclass(frozen=True)
class FieldBug:
    """A wrong conversion from codes of the source to codes of the destination.

    It applies to the operator's latest version that has the case. `example` is an input with its
    wrong answer, from the report or else from its code. `link` is a report on GitHub.
    """

    name: str
    case: str
    link: str
    convert: Conversion
    example: tuple[int, int]
    op: str = "onnx.Cast"
