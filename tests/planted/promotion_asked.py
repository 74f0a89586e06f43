"""What a planted bug of promotions has to work with: a call, and what the spec makes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from catalogue import CATALOG

from convcheck.backends.protocol import Answer, Outputs, Refused
from convcheck.errors import SpecError
from convcheck.numerics.format import Bits
from convcheck.rules.model import Attributes, Case, DType
from convcheck.semantics.body.matrix import FoundCell, conversion, find

SPEC = CATALOG.specs["openvino.ConvertPromoteTypes-14"]
TYPES = {t.name: t for t in SPEC.types["T1"]}
UNSAFE, SCALARS, TARGET = (a.name for a in SPEC.attributes)


@dataclass(frozen=True)
class Asked:
    """A call: the case with the ranks that its types are decided by, and the input codes."""

    case: Case
    inputs: tuple[Bits, ...]

    def found(self, ranks: Sequence[int] | None = None, **changes: str) -> FoundCell:
        """What the matrix says, of other ranks or under other attributes."""
        said: Attributes = tuple((k, changes.get(k, v)) for k, v in self.case.attributes)
        return find(SPEC, self.case.inputs, ranks or self.case.ranks, said)

    def to(self, target: DType) -> Outputs:
        """Convert both inputs to a type."""
        pairs = zip(self.case.inputs, self.inputs, strict=True)
        return Outputs(tuple(convert(t, target, b) for t, b in pairs), (target.name,) * 2)

    def answer(self, found: FoundCell | None = None) -> Answer:
        """Answer as the matrix says, under its first reading."""
        found = found or self.found()
        return refused() if found.answer.readings[0].refused else self.to(found.target)

    def type_(self) -> DType | None:
        """The right type, None for a refusal."""
        found = self.found()
        return None if found.answer.readings[0].refused else found.target


def refused() -> Refused:
    return Refused("promotion is unsafe")


def convert(source: DType, target: DType, bits: Bits) -> Bits:
    """Convert by the spec; zeros where it has no such conversion."""
    try:
        codes = conversion(SPEC, source, target).expect(bits.reshape(-1)).reading.codes
    except SpecError:
        codes = np.zeros(bits.size, target.format.storage)
    return codes.reshape(bits.shape)


Bugged = Callable[[Asked], Answer]
