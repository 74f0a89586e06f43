"""What a planted bug of promotions has to work with: a call, and what the spec makes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from catalogue import CATALOG

from convcheck.backends.protocol import Answer, Outputs, Refused
from convcheck.errors import SpecError
from convcheck.numerics.codes import Bits
from convcheck.rules.model import Attributes, Case, DType
from convcheck.semantics.body.matrix import FoundCell, conversion, find

SPEC = CATALOG.specs["openvino.ConvertPromoteTypes-14"]
TYPES = {t.name: t for t in SPEC.types["T1"]}
UNSAFE, SCALARS, TARGET = (a.name for a in SPEC.attributes)


Ranks = tuple[int, ...]
Given = tuple[Ranks | None, tuple[tuple[str, str], ...]]


@dataclass(frozen=True)
class Asked:
    """A call: the case with the ranks that its types are decided by, and the input codes.

    What the matrix says of it, and what its inputs become, is worked out once for all bugs.
    """

    case: Case
    inputs: tuple[Bits, ...]

    @cached_property
    def _found(self) -> dict[Given, FoundCell]:
        return {}

    @cached_property
    def _outputs(self) -> dict[str, Outputs]:
        return {}

    def found(self, ranks: Ranks | None = None, **changes: str) -> FoundCell:
        """What the matrix says, of other ranks or under other attributes."""
        key = (ranks, tuple(changes.items()))
        if key not in self._found:
            said: Attributes = tuple((k, changes.get(k, v)) for k, v in self.case.attributes)
            self._found[key] = find(SPEC, self.case.inputs, ranks or self.case.ranks, said)
        return self._found[key]

    def to(self, target: DType) -> Outputs:
        """Convert both inputs to a type."""
        if target.name not in self._outputs:
            pairs = zip(self.case.inputs, self.inputs, strict=True)
            arrays = tuple(convert(t, target, b) for t, b in pairs)
            self._outputs[target.name] = Outputs(arrays, (target.name,) * 2)
        return self._outputs[target.name]

    def answer(self, found: FoundCell | None = None) -> Answer:
        """Answer as the matrix says, under its first reading."""
        found = found or self.found()
        return REFUSED if found.answer.readings[0].refused else self.to(found.target)

    def type_(self) -> DType | None:
        """The right type, None for a refusal."""
        found = self.found()
        return None if found.answer.readings[0].refused else found.target


REFUSED = Refused("promotion is unsafe")


def convert(source: DType, target: DType, bits: Bits) -> Bits:
    """Convert by the spec; zeros where it has no such conversion."""
    try:
        codes = conversion(SPEC, source, target).expect(bits.reshape(-1)).reading.codes
    except SpecError:
        codes = np.zeros(bits.size, target.format.storage)
    return codes.reshape(bits.shape)


Bugged = Callable[[Asked], Answer]
