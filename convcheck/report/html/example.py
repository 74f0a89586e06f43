"""Examples of the HTML report, with number lines."""

from __future__ import annotations

from typing import Any

import msgspec

from convcheck.judge.result import CallExample, Example, Group
from convcheck.judge.words import clean, explain_arguments
from convcheck.report.examples import (
    call_in_words,
    code_in_words,
    element_in_words,
    labels,
    marked,
    with_deciding_words,
)
from convcheck.report.html.line import near
from convcheck.rules.model import Case


def example_data(case: Case, group: Group, shown: Example | CallExample) -> dict[str, Any]:
    """Return an example in words, with the arguments of its explain command."""
    made = _call(group, shown) if isinstance(shown, CallExample) else _element(case, group, shown)
    return {
        **made,
        "reading": shown.reading if isinstance(shown, CallExample) else "",
        "message": clean(shown.message),
        "words": " ".join(explain_arguments(case, with_deciding_words(shown))),
    }


def _element(case: Case, group: Group, shown: Example) -> dict[str, Any]:
    rows, line = element_in_words(case, shown, group.verdict), None
    if len(shown.inputs) == 1:
        words = (shown.inputs[0], shown.expected, shown.got)
        line = near(case.inputs[0].format, case.outputs[0].format, words, group.ranges)
    types = [t.name for t in (*case.inputs[: len(shown.inputs)], *case.outputs * 2)]
    return {"rows": msgspec.to_builtins(rows), "types": types, "line": line}


def _call(group: Group, shown: CallExample) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(call_in_words(shown, group.verdict, named=False))
    output, element = shown.difference or (0, -1)
    if isinstance(shown.expected, str) or shown.got is None or element < 0:
        return told
    due, got = shown.expected[output], shown.got[output]
    fmt, i = due.format, element - due.first
    if fmt is None or not 0 <= i < min(len(due.words), len(got.words)):
        return told
    one, other = labels(group.verdict)
    wanted = code_in_words(one, fmt, due.words[i])
    came = marked(code_in_words(other, fmt, got.words[i]), wanted)
    line = near(fmt, fmt, (None, due.words[i], got.words[i]))
    rows = msgspec.to_builtins((wanted, came))
    return {**told, "rows": rows, "types": [due.type, due.type], "line": line}
