"""Examples of the HTML report as JSON's types: words, number lines, and calls side by side."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from typing import Any

from convcheck.judge.result import CallExample, Example, Strip, Word
from convcheck.judge.words import (
    clean,
    code_text,
    explain_arguments,
    pattern,
    quote,
    value,
)
from convcheck.numerics.format import Bool, Float, Format, Text
from convcheck.report.blocks import cut
from convcheck.report.examples import (
    LONG,
    Elements,
    elements_of,
    forms,
    inputs_in_words,
    labels,
    with_deciding_words,
)
from convcheck.report.html.line import Span, near
from convcheck.rules.model import Case


def layout(fmt: Format) -> list[Any]:
    """Return what a browser needs to draw a code: ['f', sign, exponent, mantissa], ['i', bits]."""
    if isinstance(fmt, Float):
        return ["f", int(fmt.signed), fmt.exponent, fmt.mantissa]
    if isinstance(fmt, Text):
        return ["t"]
    return ["i", 8 if isinstance(fmt, Bool) else fmt.bits]


def example_data(
    case: Case, ranges: Iterable[Span], shown: Example | CallExample
) -> list[Any] | dict[str, Any]:
    """Return an example: [inputs, expected, got, number line, message, arguments], of a call a map.

    The arguments are those of the command that explains it, with '@' for the case; they are left
    out where they are the case and the codes of the inputs, and so is the message that is ''.
    """
    if isinstance(shown, CallExample):
        return {
            **_call(case, shown),
            "said": clean(shown.message),
            "words": _arguments(case, shown),
        }
    return _values(case, ranges, shown)


def _arguments(case: Case, shown: Example | CallExample) -> str:
    words = explain_arguments(case, with_deciding_words(shown))
    return " ".join(words).replace(shlex.quote(case.id), "@", 1)


def _values(case: Case, ranges: Iterable[Span], shown: Example) -> list[Any]:
    target = case.outputs[0].format
    formats = [dtype.format for dtype in case.inputs[: len(shown.inputs)]]
    line = None
    if len(shown.inputs) == 1:
        words = (shown.inputs[0], shown.expected, shown.got)
        line = near(formats[0], target, words, ranges)
    return [
        [word_data(fmt, given) for fmt, given in zip(formats, shown.inputs, strict=True)],
        word_data(target, shown.expected),
        None if shown.got is None else word_data(target, shown.got),
        line,
        *_said(case, shown, any(isinstance(fmt, Text) for fmt in formats)),
    ]


def _said(case: Case, shown: Example, text: bool) -> Iterator[str]:
    """Return message and arguments, as far as there is anything to say."""
    if shown.message or text:
        yield clean(shown.message)
    if text:
        yield _arguments(case, shown)


def word_data(fmt: Format, given: Word) -> list[str | None] | str:
    """Return [code, value]; of a pattern or a text, the words to show."""
    if isinstance(given, str) or isinstance(fmt, Text):
        said = pattern(given) or quote(str(given))
        return cut(said, LONG)
    return [code_text(fmt, given), value(fmt, given)]


# Calls ---------------------------------------------------------------------------------------


def _call(case: Case, shown: CallExample) -> dict[str, Any]:
    due, got = shown.expected, shown.got
    made: dict[str, Any] = {
        "tensors": [list(said) for said in inputs_in_words(shown)],
        "due": pattern(due) or due if isinstance(due, str) else forms(due),
        "got": None if got is None else forms(got),
    }
    if shown.reading:
        made["reading"] = shown.reading
    elements = elements_of(shown, labels("fail"))
    if elements is None or isinstance(due, str) or got is None:
        return made
    output, element = shown.difference or (0, -1)
    return {**made, "table": _table(elements), **_bits(due[output], got[output], element)}


def _table(elements: Elements) -> dict[str, Any]:
    """Return the elements about the first that differs, with the inputs that go with them."""
    index = f"output {elements.output}, element" if elements.output else "element"
    return {
        "heads": [index, *elements.heads],
        "rows": [
            [str(elements.first + i), *(cell.full for cell in row)]
            for i, row in enumerate(elements.rows)
        ],
        "at": elements.at - elements.first if elements.at >= 0 else elements.at,
        "wrong": list(elements.wrong),
        "rest": elements.rest,
    }


def _bits(due: Strip, got: Strip, element: int) -> dict[str, Any]:
    """Return the element that differs as words, and its number line."""
    fmt, i = due.format, element - due.first
    if fmt is None or not 0 <= i < min(len(due.words), len(got.words)):
        return {}
    wanted, came = due.words[i], got.words[i]
    line = near(fmt, fmt, (None, wanted, came))
    return {
        "type": due.type,
        "one": [word_data(fmt, wanted), word_data(fmt, came)],
        **({"line": line} if line else {}),
    }
