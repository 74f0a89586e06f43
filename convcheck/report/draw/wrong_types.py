"""The wrong cells of promotions for a terminal: rows and columns that have any, as got≠due."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from convcheck.judge.words import plural
from convcheck.report.draw.layout import paragraph
from convcheck.report.draw.styled import StyledText
from convcheck.report.promotions import Pattern, Setting, WrongTypes, names_of

_INDENT = 2
_GAP = "  "
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
    cells = {(row, column): said for row, column, said in sorted(pattern.cells)}
    rows, columns = (
        [name for name in names if name in {pair[i] for pair in cells}]
        for i, names in enumerate(order)
    )
    label = max(map(len, rows)) + _INDENT
    parts = list(_parts(columns, cells, width - label))
    shown = 0
    for part in parts if verbose else parts[:_PARTS]:
        here = [row for row in rows if any((row, column) in cells for column in part)]
        kept = here if verbose or len(here) <= _ROWS else here[: _ROWS - 1]
        widths = [_width(column, cells) for column in part]
        heads = (f"{c:<{w}}" for c, w in zip(part, widths, strict=True))
        yield StyledText((" " * label + _GAP + _GAP.join(heads)).rstrip(), "dim")
        yield from _lines(kept, part, widths, cells, label)
        shown += sum((row, column) in cells for row in kept for column in part)
    if shown < len(cells):
        more = plural(len(cells) - shown, "more wrong cell")
        yield StyledText(" " * _INDENT + f"… and {more} (-v shows all)", "dim")


def _lines(
    rows: Sequence[str],
    columns: Sequence[str],
    widths: Sequence[int],
    cells: dict[tuple[str, str], str],
    label: int,
) -> Iterator[StyledText]:
    for row in rows:
        line = StyledText((" " * _INDENT + row).ljust(label))
        for column, width in zip(columns, widths, strict=True):
            said = cells.get((row, column))
            line.append(_GAP)
            line.append((said or ".").ljust(width), "bold red" if said else "dim")
        line.rstrip()
        yield line


def _parts(
    columns: Sequence[str], cells: dict[tuple[str, str], str], room: int
) -> Iterator[list[str]]:
    part: list[str] = []
    used = 0
    for column in columns:
        need = len(_GAP) + _width(column, cells)
        if part and used + need > room:
            yield part
            part, used = [], 0
        part.append(column)
        used += need
    yield part


def _width(column: str, cells: dict[tuple[str, str], str]) -> int:
    return max(len(column), *(len(said) for (_, c), said in cells.items() if c == column))
