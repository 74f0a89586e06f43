"""Codes as they are written in JSON: each with its value in decimal."""

from __future__ import annotations

from typing import Any

from convcheck.judge.result import CallExample, Example, Strip, Word
from convcheck.judge.words import code_text, value
from convcheck.numerics.format import Format
from convcheck.records import replace
from convcheck.rules.model import Case


def spelled(case: Case, example: Example | CallExample) -> Example | CallExample:
    """Return an example with its codes as they are written: each with its value."""
    if isinstance(example, CallExample):
        due, got = example.expected, example.got
        given = zip((t.format for t in case.inputs), example.arguments, strict=False)
        return replace(
            example,
            inputs=tuple(map(_strip, example.inputs)),
            expected=due if isinstance(due, str) else tuple(map(_strip, due)),
            got=None if got is None else tuple(map(_strip, got)),
            arguments=tuple(_word(fmt, word) for fmt, word in given),
        )
    target = case.outputs[0].format
    inputs = zip((t.format for t in case.inputs), example.inputs, strict=False)
    return replace(
        example,
        inputs=tuple(_word(fmt, word) for fmt, word in inputs),
        expected=_word(target, example.expected),
        got=None if example.got is None else _word(target, example.got),
    )


def _strip(strip: Strip) -> Strip:
    return replace(strip, words=tuple(_word(strip.format, word) for word in strip.words))


def _word(fmt: Format | None, word: Word) -> Any:
    if isinstance(word, str):
        return word
    return (hex(word), None) if fmt is None else (code_text(fmt, word), value(fmt, word))
