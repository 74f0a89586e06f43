"""Bugs from the field: publicly reported wrong conversions, rebuilt."""

from collections.abc import Callable
from dataclasses import dataclass

from convcheck.numerics.number import Bits

Conversion = Callable[[Bits], Bits]


@dataclass(frozen=True)
class FieldBug:
    """A wrong conversion of codes, in the operator's latest version that has the case.

    `link` is a report on GitHub, `example` an input with its wrong answer from it or its code, and
    `causes` are those in it, if the catalogue explains it.
    """

    name: str
    case: str
    link: str
    convert: Conversion
    example: tuple[int, int]
    op: str = "onnx.Cast"
    causes: tuple[str, ...] = ()
