"""Examples of the HTML report as JSON's types: words, number lines, and calls side by side."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from math import prod
from typing import Any

from convcheck.judge.result import CallExample, Example, Group, Strip, Word
from convcheck.judge.words import (
    clean,
    code,
    explain_arguments,
    form,
    pattern,
    plural,
    quote,
    value,
)
from convcheck.numerics.format import Bool, Float, Format, Text
from convcheck.report.blocks import values
from convcheck.report.html.line import near
from convcheck.report.strips import few, spelled
from convcheck.rules.model import Case

_LONG = 400  # a text is cut here; the JSON report has it whole
_MOST = 8  # elements that stand side by side


def layout(fmt: Format) -> list[Any]:
    """Give what a browser needs to draw a code: ['f', sign, exponent, mantissa], ['i', bits]."""
    if isinstance(fmt, Float):
        return ["f", int(fmt.signed), fmt.exponent, fmt.mantissa]
    if isinstance(fmt, Text):
        return ["t"]
    return ["i", 8 if isinstance(fmt, Bool) else fmt.bits]


def example(case: Case, group: Group, shown: Example | CallExample) -> list[Any] | dict[str, Any]:
    """Give an example: [inputs, expected, got, number line, message, arguments], of a call a map.

    The arguments are those of the command that explains it, with '@' for the case; they are left
    out where they are the case and the codes of the inputs, and so is the message that is ''.
    """
    if isinstance(shown, CallExample):
        return {
            **_call(case, shown),
            "said": clean(shown.message),
            "words": _arguments(case, shown),
        }
    return _values(case, group, shown)


def _arguments(case: Case, shown: Example | CallExample) -> str:
    if isinstance(shown, CallExample):
        shown = replace(shown, arguments=values(shown))
    return " ".join(explain_arguments(case, shown)).replace(shlex.quote(case.id), "@", 1)


def _values(case: Case, group: Group, shown: Example) -> list[Any]:
    target = case.outputs[0].format
    formats = [dtype.format for dtype in case.inputs[: len(shown.inputs)]]
    line = None
    if len(shown.inputs) == 1:
        words = (shown.inputs[0], shown.expected, shown.got)
        line = near(formats[0], target, words, group.ranges)
    return [
        [word(fmt, given) for fmt, given in zip(formats, shown.inputs, strict=True)],
        word(target, shown.expected),
        None if shown.got is None else word(target, shown.got),
        line,
        *_said(case, shown, any(isinstance(fmt, Text) for fmt in formats)),
    ]


def _said(case: Case, shown: Example, text: bool) -> Iterator[str]:
    """Give message and arguments, as far as there is anything to say."""
    if shown.message or text:
        yield clean(shown.message)
    if text:
        yield _arguments(case, shown)


def word(fmt: Format, given: Word) -> list[str | None] | str:
    """Give [code, value]; of a pattern or a text, the words to show."""
    if isinstance(given, str) or isinstance(fmt, Text):
        said = pattern(given) or quote(str(given))
        return said if len(said) <= _LONG else said[: _LONG - 1] + "…"
    return [code(fmt, given), value(fmt, given)]


# Calls ---------------------------------------------------------------------------------------


def _call(case: Case, shown: CallExample) -> dict[str, Any]:
    due, got = shown.expected, shown.got
    made: dict[str, Any] = {
        "tensors": [[form(strip), few(strip)] for strip in shown.inputs],
        "due": pattern(due) or due if isinstance(due, str) else _forms(due),
        "got": None if got is None else _forms(got),
    }
    if shown.reading:
        made["reading"] = shown.reading
    if isinstance(due, str) or got is None:
        return made
    output, element = shown.difference or (0, -1)
    if output < min(len(due), len(got)) and due[output].type == got[output].type:
        made["table"] = _table(shown, due[output], got[output], output)
        made |= _bits(case, due[output], got[output], element)
    return made


def _forms(strips: tuple[Strip, ...]) -> str:
    return "; ".join(form(strip) for strip in strips)


def _table(shown: CallExample, due: Strip, got: Strip, output: int) -> dict[str, Any]:
    """Give the elements about the first that differs, with the inputs that go with them."""
    several = len(shown.inputs) > 1
    beside = [
        (f"input {i}" if several else "input", strip) for i, strip in enumerate(shown.inputs, 1)
        if strip.shape == due.shape and strip.first == due.first and strip.shape
    ]  # fmt: skip
    outputs = len(shown.got or ())
    index = f"output {output + 1}, element" if outputs > 1 else "element"
    strips = [*(strip for _, strip in beside), due, got]
    count = min(max(len(due.words), len(got.words)), _MOST)
    wrong = [i for i in range(count) if _differs(due, got, i)] if shown.wrong else []
    return {
        "heads": [index, *(name for name, _ in beside), "expected", "got"],
        "rows": [[str(due.first + i), *(_at(strip, i) for strip in strips)] for i in range(count)],
        "at": shown.difference[1] - due.first if shown.difference else -1,
        "wrong": wrong,
        "rest": _rest(shown, due, got, count),
    }


def _differs(due: Strip, got: Strip, i: int) -> bool:
    if i >= len(due.words) or i >= len(got.words):
        return True
    return isinstance(due.words[i], int) and due.words[i] != got.words[i]


def _at(strip: Strip, i: int) -> str:
    return spelled(strip, strip.words[i]) if i < len(strip.words) else "—"


def _rest(shown: CallExample, due: Strip, got: Strip, count: int) -> str:
    if shown.wrong > 1:
        return f"{plural(shown.wrong, 'element')} of {prod(due.shape):,} differ"
    size = max(prod(due.shape), prod(got.shape))
    if size > count and not shown.wrong:
        return f"elements {due.first:,} to {due.first + count - 1:,} of {size:,}"
    return ""


def _bits(case: Case, due: Strip, got: Strip, element: int) -> dict[str, Any]:
    """Give the element that differs as words, and its number line."""
    fmt, i = due.format, element - due.first
    if fmt is None or not 0 <= i < min(len(due.words), len(got.words)):
        return {}
    wanted, came = due.words[i], got.words[i]
    line = near(fmt, fmt, (None, wanted, came))
    return {
        "type": due.type,
        "one": [word(fmt, wanted), word(fmt, came)],
        **({"line": line} if line else {}),
    }
