"""Whether two programs say the same of every input, as far as can be told without asking them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from convcheck.numerics.format import Format
from convcheck.semantics.vocabulary import (
    COMPUTATIONS,
    OF_CODES,
    ROUNDING_WORDS,
    Computation,
    possible,
)

if TYPE_CHECKING:
    from convcheck.semantics.program import CompiledOutcome, CompiledRow, Program

_WORDS = {compute: word for word, (compute, _) in COMPUTATIONS.items()}


def alike(one: Program, other: Program) -> bool:
    """Return whether programs differ in nothing, but for modes where nothing is rounded."""
    return one is other or _same_rows(one.entries, other.entries)


def alike_of(one: Program, other: Program, source: Format, target: Format) -> bool:
    """Return whether programs say the same of the numbers of a source, which may be codes of
    another type for one of them.
    """
    parts = (
        tuple(e for e in program.entries if possible(e.row.label, source, target))
        for program in (one, other)
    )
    return _same_rows(*parts) and not _looks_at_codes(one)


def _looks_at_codes(program: Program) -> bool:
    return any(
        entry.row.label in OF_CODES
        or _word(step.compute) in OF_CODES
        or (step.program is not None and _looks_at_codes(step.program))
        for entry in program.entries
        for step in entry.steps
    )


def _word(compute: Computation | None) -> str:
    return _WORDS.get(compute, "") if compute else ""


def _same_rows(one: tuple[CompiledRow, ...], other: tuple[CompiledRow, ...]) -> bool:
    return len(one) == len(other) and all(map(_same_row, one, other))


def _same_row(one: CompiledRow, other: CompiledRow) -> bool:
    rounds = one.row.label in ROUNDING_WORDS
    same = one.test == other.test and (one.mode == other.mode or not rounds)
    same = same and len(one.steps) == len(other.steps)
    return same and all(map(_same_step, one.steps, other.steps))


def _same_step(one: CompiledOutcome, other: CompiledOutcome) -> bool:
    if one.program is not None and other.program is not None:
        return (one.hop, one.retyped) == (other.hop, other.retyped) and alike(
            one.program, other.program
        )
    rounds = _word(one.compute) in ROUNDING_WORDS
    first, second = (replace(step, mode=step.mode if rounds else "") for step in (one, other))
    return first == second
