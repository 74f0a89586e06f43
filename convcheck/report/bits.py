"""Inputs, expectations and answers shown bit by bit: sign, exponent, mantissa, and the value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from rich.text import Text

from convcheck.judge.result import Example, Verdict, Word
from convcheck.judge.words import clean, hexadecimal, pattern, quote
from convcheck.numerics.decimal import spell
from convcheck.numerics.format import Bool, Float, Format, Numeric
from convcheck.numerics.format import Text as TextFormat
from convcheck.report.layout import INDENT, cut, paragraph
from convcheck.rules.model import Case

_LABEL = 10
_GAP = 2  # then a float32 with its value and code fits 80 columns
_NIBBLES = 8  # of an integer's bits on one line
_LONG = 400  # a text or message is cut here; the JSON report has it whole
_FIELD_STYLES = {"sign": "magenta", "exponent": "cyan", "mantissa": ""}


@dataclass(frozen=True)
class _Row:
    """A line of the table: bits (on two lines for 64-bit integers), value and code, or words."""

    label: str
    bits: tuple[Text, ...] = ()
    value: str = ""
    code: str = ""
    words: str = ""


def show(case: Case, example: Example, verdict: Verdict, width: int) -> Iterator[Text]:
    """Show an example: its inputs, what was expected, and what came."""
    target = case.outputs[0].format
    due, came = labels(verdict)
    rows = [*_inputs(case, example), _row(due, target, example.expected)]
    if example.got is None:
        said = f"nothing, {verdict}: {clean(example.message)}".rstrip(": ")
        said = "nothing" if verdict == "inconsistent" else said  # the message has both ways
        rows.append(_Row(came, words=cut(said, _LONG)))
    else:
        rows.append(_mark(_row(came, target, example.got), rows[-1]))
    yield from _table(rows, width)


def labels(verdict: Verdict) -> tuple[str, str]:
    """Name what an answer is held against, and the answer: to other answers, not to a standard."""
    return ("one way", "another") if verdict == "inconsistent" else ("expected", "got")


def _inputs(case: Case, example: Example) -> Iterator[_Row]:
    several = len(example.inputs) > 1
    for i, (dtype, word) in enumerate(zip(case.inputs, example.inputs, strict=False), 1):
        row = _row(f"input {i}" if several else "input", dtype.format, word)
        yield replace(row, code="")  # it stands above: in the command, or at the extreme


def _row(label: str, fmt: Format, word: Word) -> _Row:
    if isinstance(word, str) or isinstance(fmt, TextFormat):
        return _Row(label, words=pattern(word) or cut(quote(str(word)), _LONG))
    code = f"({hexadecimal(fmt, word)})"
    return _Row(label, tuple(bit_lines(fmt, word)), spell(fmt, word), code)


def bit_lines(fmt: Numeric, code: int) -> Iterator[Text]:
    """Give a code's bits: a float's fields apart, an integer's by fours, on lines that fit."""
    if isinstance(fmt, Float):
        fields = _fields(fmt, code)
        yield Text(" ").join(Text(bits, _FIELD_STYLES[name]) for name, bits in fields)
        return
    width = 8 if isinstance(fmt, Bool) and code > 1 else fmt.bits
    digits = f"{code:0{width}b}"
    nibbles = [digits[i : i + 4] for i in range(0, len(digits), 4)]
    for i in range(0, len(nibbles), _NIBBLES):
        yield Text(" ".join(nibbles[i : i + _NIBBLES]))


def _fields(fmt: Float, code: int) -> Iterator[tuple[str, str]]:
    digits = f"{code:0{fmt.bits}b}"
    start = 0
    widths = {"sign": int(fmt.signed), "exponent": fmt.exponent, "mantissa": fmt.mantissa}
    for name, width in widths.items():
        if width:
            yield name, digits[start : start + width]
        start += width


def _mark(got: _Row, expected: _Row) -> _Row:
    """Colour the bits of an answer that are not the expected ones."""
    for ours, theirs in zip(got.bits, expected.bits, strict=False):
        for i, (a, b) in enumerate(zip(ours.plain, theirs.plain, strict=False)):
            if a != b:
                ours.stylize("bold red", i, i + 1)
    return got


def _table(rows: Iterable[_Row], width: int) -> Iterator[Text]:
    rows = tuple(rows)
    widest = max((line.cell_len for row in rows for line in row.bits), default=0)
    indent = INDENT if INDENT + _LABEL + widest <= width else INDENT - 2  # float64 in 80 columns
    room = width - indent - _LABEL
    coded = max((len(row.value) for row in rows if row.code), default=0)
    column = _column(rows, coded, room)
    for row in rows:
        yield from _show_row(row, indent, column, coded, room)


def _column(rows: tuple[_Row, ...], coded: int, room: int) -> int:
    """Give the column of the values: as far right as the values with their codes allow."""
    tail = max((_tail(row, coded) for row in rows if row.code), default=0)
    return max((_last(row) for row in rows if _last(row) + tail <= room), default=0)


def _last(row: _Row) -> int:
    return row.bits[-1].cell_len if row.bits else 0


def _tail(row: _Row, coded: int) -> int:
    code = _GAP + len(row.code) if row.code else 0
    return _GAP + max(len(row.value), coded * bool(row.code)) + code


def _show_row(row: _Row, indent: int, column: int, coded: int, room: int) -> Iterator[Text]:
    label = Text(" " * indent + row.label.ljust(_LABEL), "dim")
    if not row.bits:
        first, *more = paragraph(row.words, room, indent=0) or [Text()]
        yield Text.assemble(label, first)
        yield from (Text.assemble(" " * (indent + _LABEL), line) for line in more)
        return
    lines = [Text.assemble(label, row.bits[0])]
    lines += [Text.assemble(" " * (indent + _LABEL), bits) for bits in row.bits[1:]]
    yield from lines[:-1]
    start = max(column, _last(row))
    if start + _tail(row, coded) <= room:
        pad = " " * (start - _last(row) + _GAP)
        yield Text.assemble(lines[-1], pad, _value(row, coded))
    else:
        yield lines[-1]
        yield Text.assemble(" " * (indent + _LABEL), _value(row, 0))


def _value(row: _Row, coded: int) -> Text:
    if not row.code:
        return Text(row.value, "bold")
    return Text.assemble((row.value.ljust(coded), "bold"), " " * _GAP, (row.code, "dim"))
