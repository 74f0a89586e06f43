"""What a bug from the field is: a wrong conversion that was reported in public, built anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from convcheck.numerics.codes import Bits

Conversion = Callable[[Bits], Bits]


@dataclass(frozen=True)
class FieldBug:
    """A conversion as it was done wrong: from codes of the source to codes of the destination.

    It is asked of the latest version of the operator that has a case of that name. `example` is an
    input with what it gave: of the report where it shows one, else of the code that it shows.
    """

    name: str
    case: str
    link: str
    says: str
    convert: Conversion
    example: tuple[int, int]
    op: str = "onnx.Cast"
