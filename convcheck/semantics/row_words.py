"""What a row of a table says, in words, for who reads a report and not the table."""

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
    DIGITS,
    TEXT,
    TEXT_IS,
    THROUGH,
)
from convcheck.wording import plural

GIVES: Mapping[str, str] = {
    "+0": "+0",
    "-0": "-0",
    "nan": "any NaN",
    "-nan": "any NaN with the sign bit set",
    "+inf": "+infinity",
    "-inf": "-infinity",
    "+max": "the largest finite value",
    "-max": "the negative of the largest finite value",
    "min": "the lowest finite value",
    "true": "True",
    "false": "False",
    "all-ones": "the code with all bits set",
    "top-bit": "the code with its highest bit alone set",
    "undefined": "open",
    "refused": "a refusal",
    "[x]": "x rounded",
    "same": "the bits of x",
    "low-bits": "the low bits of x",
    "wrapped": "the low bits of x rounded",
    "wrapped-magnitude": "the low bits of the magnitude of x rounded",
    "wrapped-unsigned": "the low bits of x rounded but the highest of them",
    "wrapped-short": "the low bits of x rounded, one too few",
    "low-byte": "the low byte of the code of x",
    "most": "the largest value with the sign of x",
    "leading-bit": "the power of two that x has reached",
    "infinity-with-mantissa": "the exponent of infinity with the low bits of x rounded",
    "digits": "the digits of x rounded",
    "code": "the low bits of the code of x",
    "high-code": "the high bits of the code of x",
    "payload": "a NaN with what the destination has room for of its payload",
    "zero": "a zero with the sign of x",
    "plain-to-x": "plain notation that reads back as x",
    "plain": "plain notation",
    "parses-to-x": "a text that reads back as x",
    "parses": "a text that reads as a number",
    AS_BELOW: "that by the rules below",
    AS_REAL: "that of the number which x denotes",
}


def row_in_words(label: str, outcomes: Iterable[tuple[Outcome, str]]) -> str:
    """Return what a row says, given the outcome of each reading with its rounding mode: 'where x is
    a NaN, the result is any NaN'.
    """
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
    return CASES[label].english if label in CASES else label  # x < 2^-126 is in words enough


def _gives(outcome: Outcome, mode: str) -> str:
    if outcome.word == BY:
        return f"that by {outcome.argument}"
    if outcome.word == AS:
        return f"that under {outcome.argument}"
    if outcome.word == TEXT:
        return f"the text {outcome.argument}"
    said = GIVES[outcome.word]
    return f"{said} ({mode})" if outcome.word in ("[x]", "wrapped") else said
