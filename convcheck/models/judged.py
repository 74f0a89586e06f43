"""The judgement on inputs of a conversion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from convcheck.records import Count, Record

InputClass = Literal["exact", "defined", "disputed", "undefined"]
CLASSES: tuple[InputClass, ...] = ("exact", "defined", "disputed", "undefined")  # best first


class RowOfInputs(Record, frozen=True, rename={"name": "row"}):
    """A row of the rules that decides inputs."""

    #: Rule and row.
    name: str
    #: The class of these inputs.
    kind: InputClass
    #: One of the inputs as a code or text; for a whole call, the arguments' values.
    example: str
    #: How many evaluated inputs it decides.
    count: Count


@dataclass(frozen=True)
class Judged:
    """The judgement on some inputs of a conversion."""

    rows: tuple[RowOfInputs, ...]
    #: whether these are all inputs that may occur
    every: bool
    #: whether it holds for all inputs that may occur
    proven: bool
    #: whether the destination has all finite numbers that may occur
    held: bool
    #: 'value' or 'call'
    of: str = "value"

    @property
    def kind(self) -> InputClass:
        """The worst class of the rows.

        It is exact only if every input is.
        """
        found = {row.kind for row in self.rows}
        gravest = max(found, key=CLASSES.index, default=CLASSES[0])
        return "defined" if gravest == "exact" and not (self.every or self.held) else gravest

    @property
    def counts(self) -> Mapping[InputClass, int]:
        """The number of inputs of each class."""
        found: Counter[InputClass] = Counter()
        for row in self.rows:
            found[row.kind] += row.count
        return {kind: found[kind] for kind in CLASSES if found[kind]}
