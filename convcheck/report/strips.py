"""Whole calls in a report: the inputs, then what was due and what came back, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from rich.text import Text

from convcheck.judge.result import FAILURES, CallExample, Strip, Verdict, Word
from convcheck.judge.words import clean, code, form, pattern, plural, value
from convcheck.report.bits import labels
from convcheck.report.layout import INDENT, cut, paragraph

_LABEL = 10
_LONG = 400
_FEW = 3  # elements of a tensor that stand beside its name
_MOST = 8  # elements that stand side by side
_GAP = 2
_ARROW = 2  # columns of the mark of the first difference
# Patterns in the few letters that a column has.
_SHORT = {"<undefined>": "anything", "<zero>": "±0", "<nan>": "any NaN", "<-nan>": "-NaN"}


def show(
    example: CallExample,
    verdict: Verdict,
    width: int,
    *,
    indent: int = INDENT,
    named: bool = True,
    inputs: bool = True,
    most: int = _MOST,
) -> Iterator[Text]:
    """Show a call: inputs, then types and shapes, then the elements about the first difference.

    `named` tells whether the reading matters: whether others give something else. Without
    `inputs` they are left out, as they stand above. `most` elements are shown.
    """
    several = len(example.inputs) > 1
    for i, strip in enumerate(example.inputs if inputs else (), 1):
        words = f"{form(strip)}  {few(strip)}"
        yield from _line(f"input {i}" if several else "input", words, width, indent)
    due, got, heads = example.expected, example.got, labels(verdict)
    if got is None or isinstance(due, str):
        yield from _line(heads[0], _whole(due), width, indent)
        shown = _whole(got) if got is not None else cut(_nothing(example, verdict), _LONG)
        yield from _line(heads[1], shown, width, indent)
        return
    reading = f", read as {example.reading}" if named and example.reading else ""
    yield from _line(heads[0], "; ".join(map(form, due)) + reading, width, indent)
    style = "bold red" if _form_differs(example) else ""
    yield from _line(heads[1], "; ".join(map(form, got)), width, indent, style)
    output = example.difference[0] if example.difference else 0
    if output < min(len(due), len(got)) and due[output].type == got[output].type:
        table = _table(example, due[output], got[output], most, heads)
        yield from _elements(table, example, width, max(indent, _ARROW))


def _nothing(example: CallExample, verdict: Verdict) -> str:
    if verdict == "inconsistent":
        return "nothing"  # the message has both ways
    came = "a refusal" if verdict not in FAILURES else f"nothing, {verdict}"
    return f"{came}: {clean(example.message)}".rstrip(": ")


def _form_differs(example: CallExample) -> bool:
    return example.difference is not None and example.difference[1] < 0


def _line(label: str, words: str, width: int, indent: int, style: str = "") -> Iterator[Text]:
    head = Text(" " * indent + label.ljust(_LABEL), "dim")
    lines = paragraph(words, width - indent - _LABEL, indent=0, style=style)
    first, *more = lines or [Text()]
    yield Text.assemble(head, first)
    yield from (Text.assemble(" " * (indent + _LABEL), line) for line in more)


def few(strip: Strip, count: int = _FEW) -> str:
    """Give the first elements of a tensor, and whether there are more."""
    words = [spelled(strip, word) for word in strip.words[:count]]
    more = prod(strip.shape) > len(words)
    return ", ".join([*words, *(["…"] if more else [])])


def _whole(strips: tuple[Strip, ...] | str | None) -> str:
    if isinstance(strips, str) or strips is None:
        return pattern(strips or "") or str(strips)
    return "; ".join(f"{form(strip)}  {few(strip)}" for strip in strips)


def spelled(strip: Strip, word: Word, codes: bool = True) -> str:
    """Give a value, with its code where `codes`: 0.1 (0x3dcccccd); a pattern in words."""
    if isinstance(word, str):
        return _SHORT.get(word) or pattern(word) or word
    if strip.format is None:
        return hex(word)
    said = str(value(strip.format, word))
    return f"{said} ({code(strip.format, word)})" if codes else said


# Elements ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Table:
    """Columns of elements: the inputs of the output's shape, what is due, and what came."""

    heads: tuple[str, ...]
    strips: tuple[Strip, ...]  # the last two are what is due and what came
    first: int
    most: int

    @property
    def count(self) -> int:
        return min(max(len(strip.words) for strip in self.strips[-2:]), self.most)

    def differs(self, i: int) -> bool:
        due, got = (strip.words for strip in self.strips[-2:])
        if i >= len(due) or i >= len(got):
            return True
        return isinstance(due[i], int) and due[i] != got[i]


def _table(
    example: CallExample, due: Strip, got: Strip, most: int, labels: tuple[str, str]
) -> _Table:
    beside = [
        (i, s) for i, s in enumerate(example.inputs, 1)
        if s.shape == due.shape and s.first == due.first and s.shape
    ]  # fmt: skip
    several = len(example.inputs) > 1
    names = (f"input {i}" if several else "input" for i, _ in beside)
    output = example.difference[0] if example.difference else 0
    index = f"output {output + 1}" if isinstance(example.got, tuple) and len(example.got) > 1 else (
        "element"
    )  # fmt: skip
    strips = (*(strip for _, strip in beside), due, got)
    return _Table((index, *names, *labels), strips, due.first, most)


def _elements(table: _Table, example: CallExample, width: int, indent: int) -> Iterator[Text]:
    """Give a line an element: its index, the inputs that go with it, what is due, what came."""
    if not table.count:
        return
    at = example.difference[1] if example.difference else -1
    heads, rows = _fitting(table, width - indent)
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    yield Text(" " * indent + _columns(heads, widths), "dim")
    for i, row in enumerate(rows):
        mark = "→" if table.first + i == at else " "
        line = Text(" " * (indent - _ARROW) + f"{mark} " + _columns(row, widths))
        if example.wrong and table.differs(i) and not example.message:
            line.stylize("bold red", len(line) - len(row[-1]))
        yield Text(cut(line.plain, width)) if line.cell_len > width else line
    yield from _rest(table, example, indent)


def _fitting(table: _Table, room: int) -> tuple[Sequence[str], list[list[str]]]:
    """Give the columns with as much in them as there is room for: codes beside values, of the
    inputs only values, of all of them only values, no inputs.
    """
    inputs = len(table.strips) - 2
    for with_codes in ([True] * inputs, [False] * inputs):
        rows = _rows(table, [*with_codes, True, True])
        if _wide(table.heads, rows) <= room:
            return table.heads, rows
    rows = _rows(table, [False] * len(table.strips))
    if inputs and _wide(table.heads, rows) > room:
        return (
            (table.heads[0], *table.heads[-2:]),
            [[row[0], *row[-2:]] for row in rows],
        )
    return table.heads, rows


def _rows(table: _Table, codes: Sequence[bool]) -> list[list[str]]:
    return [
        [
            str(table.first + i),
            *(_at(strip, i, c) for strip, c in zip(table.strips, codes, strict=True)),
        ]
        for i in range(table.count)
    ]


def _at(strip: Strip, i: int, codes: bool) -> str:
    return spelled(strip, strip.words[i], codes) if i < len(strip.words) else "—"


def _wide(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    widths = (max(map(len, column)) for column in zip(heads, *rows, strict=True))
    return sum(widths) + _GAP * (len(heads) - 1)


def _columns(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Put cells in columns, the index to the right."""
    first, *others = zip(cells, widths, strict=True)
    shown = [first[0].rjust(first[1]), *(c.ljust(w) for c, w in others)]
    return (" " * _GAP).join(shown).rstrip()


def _rest(table: _Table, example: CallExample, indent: int) -> Iterator[Text]:
    due, got = table.strips[-2:]
    size = max(prod(due.shape), prod(got.shape))
    shown = table.count
    if example.wrong > 1:
        elements = plural(example.wrong, "element")
        yield Text(" " * indent + f"{elements} of {prod(due.shape):,} differ", "dim")
    elif size > shown and not example.wrong:
        where = f"elements {table.first:,} to {table.first + shown - 1:,} of {size:,}"
        yield Text(" " * indent + where, "dim")
