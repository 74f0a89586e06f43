"""Examples of the HTML report: words, number lines, and calls side by side."""

from __future__ import annotations

from typing import Any

from convcheck.judge.result import CallExample, Example, Strip, Word
from convcheck.judge.words import clean, code_text, explain_arguments, pattern, quote, value
from convcheck.numerics.format import Bool, Float, Format, Text
from convcheck.report.blocks import cut
from convcheck.report.examples import (
    LONG,
    elements_of,
    forms,
    inputs_in_words,
    labels,
    with_deciding_words,
)
from convcheck.report.html.line import Span, near
from convcheck.rules.model import Case


def layout(fmt: Format) -> list[tuple[str, int]]:
    """Return the fields of a code and their bits; none of a text."""
    if isinstance(fmt, Float):
        widths = (int(fmt.signed), fmt.exponent, fmt.mantissa)
        return [*zip(("sign", "exponent", "mantissa"), widths, strict=True)]
    return [] if isinstance(fmt, Text) else [("integer", 8 if isinstance(fmt, Bool) else fmt.bits)]


def example_data(
    case: Case, ranges: tuple[Span, ...], shown: Example | CallExample
) -> dict[str, Any]:
    """Return an example, with its message and the arguments of the command that explains it."""
    call = isinstance(shown, CallExample)
    return {
        **(_call(shown) if isinstance(shown, CallExample) else _values(case, ranges, shown)),
        "call": call,
        "message": clean(shown.message),
        "words": " ".join(explain_arguments(case, with_deciding_words(shown))),
    }


def _values(case: Case, ranges: tuple[Span, ...], shown: Example) -> dict[str, Any]:
    target = case.outputs[0].format
    formats = [dtype.format for dtype in case.inputs[: len(shown.inputs)]]
    words = (shown.inputs[0], shown.expected, shown.got)
    single = len(formats) == 1
    return {
        "inputs": [_word(fmt, given) for fmt, given in zip(formats, shown.inputs, strict=True)],
        "due": _word(target, shown.expected),
        "got": None if shown.got is None else _word(target, shown.got),
        "line": near(formats[0], target, words, ranges) if single else None,
    }


def _word(fmt: Format, given: Word) -> list[str | None] | str:
    """Return [code, value]; of a pattern or a text, the words to show."""
    if isinstance(given, str) or isinstance(fmt, Text):
        return cut(pattern(given) or quote(str(given)), LONG)
    return [code_text(fmt, given), value(fmt, given)]


def _call(shown: CallExample) -> dict[str, Any]:
    due, got = shown.expected, shown.got
    made: dict[str, Any] = {
        "inputs": list(inputs_in_words(shown)),
        "due": pattern(due) or due if isinstance(due, str) else forms(due),
        "got": None if got is None else forms(got),
        "reading": shown.reading,
    }
    elements = elements_of(shown, labels("fail"))
    if elements is None or isinstance(due, str) or got is None:
        return made
    index = f"output {elements.output}, element" if elements.output else "element"
    made["table"] = {
        "heads": [index, *elements.heads],
        "rows": [
            [str(elements.first + i), *(cell.full for cell in row)]
            for i, row in enumerate(elements.rows)
        ],
        "at": elements.at - elements.first if elements.at >= 0 else elements.at,
        "wrong": elements.wrong,
        "rest": elements.rest,
    }
    output, element = shown.difference or (0, -1)
    return {**made, "element": _element(due[output], got[output], element)}


def _element(due: Strip, got: Strip, element: int) -> dict[str, Any] | None:
    """Return the element that differs as words, and its number line."""
    fmt, i = due.format, element - due.first
    if fmt is None or not 0 <= i < min(len(due.words), len(got.words)):
        return None
    wanted, came = due.words[i], got.words[i]
    line = near(fmt, fmt, (None, wanted, came))
    return {"type": due.type, "due": _word(fmt, wanted), "got": _word(fmt, came), "line": line}
