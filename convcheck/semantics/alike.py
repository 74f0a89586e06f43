"""Whether two programs say the same of every input, as far as can be told without asking them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from convcheck.numerics.format import Format
from convcheck.semantics.vocabulary import (
    COMPUTATIONS,
    ROUNDING_WORDS,
    TEXT,
    Computation,
    possible,
    sees_codes,
)

if TYPE_CHECKING:
    from convcheck.semantics.program import CompiledOutcome, CompiledRow, Program

_WORDS = {compute: word for word, (compute, _) in COMPUTATIONS.items()}


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
    return _WORDS.get(compute, "") in ROUNDING_WORDS if compute else False


def _looks_at_codes(program: Program) -> bool:
    return any(
        sees_codes(entry.row.label)
        or (step.compute is not None and sees_codes(_WORDS.get(step.compute, TEXT)))
        or (step.program is not None and _looks_at_codes(step.program))
        for entry in program.entries
        for step in entry.steps
    )
