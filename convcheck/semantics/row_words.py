"""Describe a row of a table in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from convcheck.rules.model import Outcome
from convcheck.rules.rule import ELSE
from convcheck.semantics.vocabulary import (
    AS,
    AS_BELOW,
    AS_REAL,
    BY,
    CASES,
    COMPUTATIONS,
    CONSTANTS,
    DIGITS,
    TEXT,
    TEXT_IS,
    THROUGH,
)
from convcheck.streams import plural

_ON: Mapping[str, str] = {
    AS_BELOW: "that by the rules below",
    AS_REAL: "that of the number which x denotes",
}


def row_in_words(label: str, outcomes: Iterable[tuple[Outcome, str]]) -> str:
    """Return a row in words: 'where x is a NaN, the result is any NaN'."""
    due = dict.fromkeys(_gives(outcome, mode) for outcome, mode in outcomes)
    return f"where {_holds(label)}, the result is {' or '.join(due)}"


def _holds(label: str) -> str:
    if label.startswith(TEXT_IS):
        return f"the text is {label.removeprefix(TEXT_IS)}"
    if label.startswith(DIGITS):
        return (
            f"the text has more than {plural(int(label.removeprefix(DIGITS)), 'significant digit')}"
        )
    if label.startswith(THROUGH):
        between = label.removeprefix(THROUGH)
        return f"the result is another where x is first rounded to {between}"
    if label == ELSE:
        return "no row before it holds"
    return CASES[label].english if label in CASES else label  # x < 2^-126 needs no words


def _gives(outcome: Outcome, mode: str) -> str:
    if outcome.word == BY:
        return f"that by {outcome.argument}"
    if outcome.word == AS:
        return f"that under {outcome.argument}"
    if outcome.word == TEXT:
        return f"the text {outcome.argument}"
    known = CONSTANTS.get(outcome.word) or COMPUTATIONS.get(outcome.word)
    said = known.english if known else _ON[outcome.word]
    return f"{said} ({mode})" if outcome.word in ("[x]", "wrapped") else said
