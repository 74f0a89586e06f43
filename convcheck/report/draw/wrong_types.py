"""The wrong cells of promotions for a terminal: rows and columns that have any, as got≠due."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from convcheck.report.draw.layout import paragraph
from convcheck.report.draw.styled import StyledText
from convcheck.report.draw.table import WHOLE, cells, table_lines, table_parts
from convcheck.report.wrong_types import Pattern, Setting, WrongTypes, names_of
from convcheck.wording import plural

_INDENT = 2
_GAP = 2
_PATTERNS, _ROWS, _PARTS, _SETTINGS = 4, 12, 2, 3  # shown of each, unless everything is asked for


def wrong_type_lines(
    wrong: Iterable[WrongTypes], width: int, verbose: bool
) -> Iterator[StyledText]:
    """Yield for each pattern of wrong cells the rows and columns that have any."""
    for one in wrong:
        found = one.patterns
        count = sum(len(p.cells) * len(p.settings) for p in found)
        yield StyledText.assemble(
            (one.spec, "bold"), f"  wrong types, as got≠due: {plural(count, 'case')}"
        )
        shown = found if verbose else found[:_PATTERNS]
        for pattern in shown:
            yield from _settings(pattern, one.asked, width, verbose)
            yield from _grid(pattern, one.order, width, verbose)
            yield StyledText()
        if len(found) > len(shown):
            rest = sum(len(p.cells) * len(p.settings) for p in found[len(shown) :])
            more = plural(len(found) - len(shown), "more pattern")
            yield StyledText(f"  … and {more}, of {plural(rest, 'case')} (-v shows all)", "dim")
            yield StyledText()


def _settings(
    pattern: Pattern, asked: Sequence[Setting], width: int, verbose: bool
) -> Iterator[StyledText]:
    names = names_of(pattern.settings, asked)
    kept = names if verbose or len(names) <= _SETTINGS else names[: _SETTINGS - 1]
    for name in kept:
        yield from paragraph(name, width, indent=_INDENT, hang=2)
    if len(names) > len(kept):
        yield StyledText(" " * _INDENT + f"… and {len(names) - len(kept)} more such (-v)", "dim")


def _grid(
    pattern: Pattern, order: Sequence[Sequence[str]], width: int, verbose: bool
) -> Iterator[StyledText]:
    """Yield the lines of the part of the matrix that has wrong cells, in parts by columns."""
    wrong = {(row, column): said for row, column, said in sorted(pattern.cells)}
    rows, columns = (
        [name for name in names if name in {pair[i] for pair in wrong}]
        for i, names in enumerate(order)
    )
    widths = [max(map(len, rows)), *(_width(column, wrong) for column in columns)]
    parts = list(table_parts(widths, width - _INDENT, _GAP))
    shown = 0
    for indices in parts if verbose else parts[:_PARTS]:
        part = [columns[i - 1] for i in indices]
        here = [row for row in rows if any((row, column) in wrong for column in part)]
        kept = here if verbose or len(here) <= _ROWS else here[: _ROWS - 1]
        lines = [
            [
                StyledText(row.ljust(widths[0])),
                *(_cell(wrong.get((row, column))) for column in part),
            ]
            for row in kept
        ]
        yield from table_lines([cells(["", *part], "dim")], lines, WHOLE, indent=_INDENT)
        shown += sum((row, column) in wrong for row in kept for column in part)
    if shown < len(wrong):
        more = plural(len(wrong) - shown, "more wrong cell")
        yield StyledText(" " * _INDENT + f"… and {more} (-v shows all)", "dim")


def _cell(said: str | None) -> StyledText:
    return StyledText(said, "bold red") if said else StyledText(".", "dim")


def _width(column: str, wrong: dict[tuple[str, str], str]) -> int:
    return max(len(column), *(len(said) for (_, c), said in wrong.items() if c == column))
