"""A compiled conversion: rows in order, each with its test and its outcomes; and what it says."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from convcheck.numerics.codes import Codes
from convcheck.numerics.format import Format
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
    """What one reading of a cell gives: a constant, a computation, or another program."""

    #: How an answer is compared.
    pattern: int
    #: The constant.
    code: int = 0
    #: The computation, None for a constant or another program.
    compute: Computation | None = None
    #: The rounding mode of the computation, '' for none.
    mode: str = ""
    program: Program | None = None
    #: What x goes through on its way to that program.
    hop: Hop | None = None
    #: Whether the program is one of that type, and not of the source's.
    retyped: bool = False


@dataclass(frozen=True)
class CompiledRow:
    """A row: the test (None for `else`), the rounding mode of its words, and a step a reading."""

    test: CaseWord | None
    mode: str
    #: One outcome a reading.
    steps: tuple[CompiledOutcome, ...]
    #: Its number, or the first of those that it hands on to: the index of its (first) decision.
    first: int
    rule: Rule
    row: Row
    #: That of the row which the steps are made of.
    cell: Cell

    @property
    def rows(self) -> int:
        """How many rows it is: those that it hands on to, else one."""
        [first, *more] = self.steps
        return 1 if more or first.program is None else first.program.rows


class Computed(Protocol):
    """What computes expectations otherwise than by rows."""

    def expect(self, codes: Codes) -> Expected:
        """Return what is expected of codes of shape (n,)."""
        ...

    def changes(self, first: int, last: int) -> NDArray[np.uint64] | None:
        """Return the codes of one sign from `first` to `last` at which the expectation changes, the
        first one included; None if that is not known.
        """
        ...


@dataclass(frozen=True, eq=False)
class Program:
    """Entries in order, the last one `else`; decisions of all rows, handed-on ones flattened.

    It equals itself alone.
    """

    #: The rows, tried from the first on.
    entries: tuple[CompiledRow, ...]
    decisions: tuple[Decision, ...]
    #: The largest number of readings of any row.
    readings: int
    #: What computes the expectations where no rows do: then there are no entries.
    computed: Computed | None = None

    @cached_property
    def rows(self) -> int:
        """How many rows decide: those that it hands on to included."""
        return sum(entry.rows for entry in self.entries)

    @cached_property
    def natures(self) -> frozenset[Nature]:
        """The natures of its case words, those of programs handed on to included."""
        own = frozenset(entry.test.nature for entry in self.entries if entry.test)
        steps = (step.program for entry in self.entries for step in entry.steps)
        return own.union(*(program.natures for program in steps if program))

    @cached_property
    def meaning(self) -> Meaning:
        """What it says, which another program may say as well."""
        return meaning_of(self.entries)

    @property
    def kept_by(self) -> Hashable:
        """What its answers are kept by: those of programs that say the same are the same, but where
        it is told which row decides.
        """
        return self if self.decisions else self.meaning


def alike(one: Program, other: Program) -> bool:
    """Return whether programs differ in nothing, but for modes where nothing is rounded."""
    return one is other or one.meaning == other.meaning


def alike_of(one: Program, other: Program, source: Format, target: Format) -> bool:
    """Return whether programs say the same of the numbers of a source, which may be codes of
    another type for one of them.
    """
    parts = (
        meaning_of(e for e in program.entries if possible(e.row.label, source, target))
        for program in (one, other)
    )
    return next(parts) == next(parts) and not _looks_at_codes(one)


class Meaning(tuple[Hashable, ...]):
    """What is equal for programs that say the same: their rows, without where these stand and what
    they rest on, and without modes where nothing is rounded. Its hash is worked out once.
    """

    @cached_property
    def _hash(self) -> int:
        return super().__hash__()

    def __hash__(self) -> int:
        return self._hash


def meaning_of(entries: Iterable[CompiledRow]) -> Meaning:
    """Return what rows say."""
    return Meaning(map(_of_row, entries))


def _of_row(entry: CompiledRow) -> Hashable:
    mode = entry.mode if entry.row.label in ROUNDING_WORDS else ""
    return entry.test, mode, tuple(map(_of_step, entry.steps))


def _of_step(step: CompiledOutcome) -> Hashable:
    if step.program is not None:
        return step.hop, step.retyped, step.program.meaning
    return step.pattern, step.code, step.compute, step.mode if _rounds(step.compute) else ""


def _rounds(compute: Computation | None) -> bool:
    return compute in _KNOWN and _KNOWN[compute].rounds


def _looks_at_codes(program: Program) -> bool:
    return any(
        sees_codes(entry.row.label)
        or (step.compute in _KNOWN and not _KNOWN[step.compute].of_numbers)
        or (step.program is not None and _looks_at_codes(step.program))
        for entry in program.entries
        for step in entry.steps
    )
