"""What the rules say of inputs of a conversion: those that can occur, or that did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

InputClass = Literal["exact", "defined", "disputed", "undefined"]
CLASSES: tuple[InputClass, ...] = ("exact", "defined", "disputed", "undefined")  # the best first


@dataclass(frozen=True)
class RowOfInputs:
    """A row of the rules, with inputs that it decides."""

    #: The rule and the row.
    name: str
    #: What becomes of these inputs.
    kind: InputClass
    #: One of them: a code, or a text; of a call, the values of its arguments.
    example: str
    #: How many of those that were looked at.
    count: int


@dataclass(frozen=True)
class Judged:
    """What the rules say of some inputs of a conversion."""

    #: The rows that decide them.
    rows: tuple[RowOfInputs, ...]
    #: Whether these are all inputs that can occur; else they stand for the others.
    every: bool
    #: Whether what is said holds of all inputs that can occur.
    proven: bool
    #: Whether all finite numbers that can occur are numbers of the destination.
    held: bool
    #: What is looked at: values, or calls as a whole.
    of: str = "value"

    @property
    def kind(self) -> InputClass:
        """The gravest: what is undefined for any input is undefined. Exact is only what is so for
        every input.
        """
        found = {row.kind for row in self.rows}
        gravest = max(found, key=CLASSES.index, default=CLASSES[0])
        return "defined" if gravest == "exact" and not (self.every or self.held) else gravest

    @property
    def counts(self) -> Mapping[InputClass, int]:
        """How many of the inputs are of each class."""
        found: Counter[InputClass] = Counter()
        for row in self.rows:
            found[row.kind] += row.count
        return {kind: found[kind] for kind in CLASSES if found[kind]}
