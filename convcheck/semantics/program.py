"""A compiled conversion."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from convcheck.numerics.format import Format
from convcheck.numerics.number import Codes
from convcheck.rules.hop import Hop
from convcheck.rules.model import Cell, Row, Rule
from convcheck.semantics.expected import Decision, Expected
from convcheck.semantics.vocabulary import (
    COMPUTATIONS,
    ROUNDING_WORDS,
    CaseWord,
    Computation,
    Nature,
    possible,
    sees_codes,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_KNOWN = {one.compute: one for one in COMPUTATIONS.values()}


@dataclass(frozen=True)
class CompiledOutcome:
    """The outcome of a cell under one reading: a constant, a computation, or another program."""

    #: an index into PATTERNS
    pattern: int
    code: int = 0
    compute: Computation | None = None
    mode: str = ""
    program: "Program | None" = None
    hop: Hop | None = None
    #: the program is for the hop's type
    retyped: bool = False


@dataclass(frozen=True)
class CompiledRow:
    """A row with an outcome for each reading. `else` has no test."""

    test: CaseWord | None
    mode: str
    steps: tuple[CompiledOutcome, ...]
    #: of its decisions
    first: int
    rule: Rule
    row: Row
    cell: Cell

    @property
    def rows(self) -> int:
        """The number of rows, including delegation."""
        [first, *more] = self.steps
        return 1 if more or first.program is None else first.program.rows


class Computed(Protocol):
    """Computes expectations without rows."""

    def expect(self, codes: Codes) -> Expected:
        """Return the expectation of codes, shape (n,)."""

    def changes(self, first: int, last: int) -> "NDArray[np.uint64] | None":
        """Return the codes of one sign where the expectation changes, with `first`, if known."""


@dataclass(frozen=True, eq=False)
class Program:
    """Rows in order, the last one `else`. Compared by identity."""

    entries: tuple[CompiledRow, ...]
    decisions: tuple[Decision, ...]
    #: of the row with the most
    readings: int
    computed: Computed | None = None

    @cached_property
    def rows(self) -> int:
        """The number of rows, including delegation."""
        return sum(entry.rows for entry in self.entries)

    @cached_property
    def natures(self) -> frozenset[Nature]:
        """The natures of its case words, including delegation."""
        own = frozenset(entry.test.nature for entry in self.entries if entry.test)
        steps = (step.program for entry in self.entries for step in entry.steps)
        return own.union(*(program.natures for program in steps if program))

    @cached_property
    def meaning(self) -> "Meaning":
        """A normal form: equal for programs with equal answers."""
        return meaning_of(self.entries)

    @property
    def kept_by(self) -> Hashable:
        """A key of its answers. Programs without decisions share by meaning."""
        return self if self.decisions else self.meaning


def alike_of(one: Program, other: Program, source: Format, target: Format) -> bool:
    """Whether programs agree on the numbers of a source, even as codes of another type."""
    parts = (
        meaning_of(e for e in program.entries if possible(e.row.label, source, target))
        for program in (one, other)
    )
    return next(parts) == next(parts) and not _looks_at_codes(one)


class Meaning(tuple[Hashable, ...]):
    """A normal form of rows, without places, citations and irrelevant modes."""

    @cached_property
    def _hash(self) -> int:
        return super().__hash__()

    def __hash__(self) -> int:
        return self._hash


def meaning_of(entries: Iterable[CompiledRow]) -> Meaning:
    """Return the normal form of rows."""
    return Meaning(
        (e.test, e.mode if e.row.label in ROUNDING_WORDS else "", tuple(map(_of_step, e.steps)))
        for e in entries
    )


def _of_step(step: CompiledOutcome) -> Hashable:
    if step.program is not None:
        return step.hop, step.retyped, step.program.meaning
    rounds = step.compute in _KNOWN and _KNOWN[step.compute].rounds
    return step.pattern, step.code, step.compute, step.mode if rounds else ""


def _looks_at_codes(program: Program) -> bool:
    return any(
        sees_codes(entry.row.label)
        or (step.compute in _KNOWN and not _KNOWN[step.compute].of_numbers)
        or (step.program is not None and _looks_at_codes(step.program))
        for entry in program.entries
        for step in entry.steps
    )
