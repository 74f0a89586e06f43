"""The wrong cells of promotions: rows and columns that have any, as got≠due."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from convcheck.report.blocks import BLANK, Block, Said, Table, Text, styled
from convcheck.report.wrong_types import Pattern, Setting, WrongTypes, names_of
from convcheck.wording import plural

_INDENT = 2
# shown of each, unless everything is asked for
_PATTERNS, _ROWS, _COLUMNS, _SETTINGS = 4, 12, 16, 3


def wrong_type_blocks(wrong: Iterable[WrongTypes], verbose: bool) -> Iterator[Block]:
    """Yield for each pattern of wrong cells the rows and columns that have any."""
    for one in wrong:
        found = one.patterns
        count = sum(len(p.cells) * len(p.settings) for p in found)
        said = f"  wrong types, as got≠due: {plural(count, 'case')}"
        yield Text([(one.spec, "bold"), (said, "")])
        shown = found if verbose else found[:_PATTERNS]
        for pattern in shown:
            yield from _settings(pattern, one.asked, verbose)
            yield from _grid(pattern, one.order, verbose)
            yield BLANK
        if len(found) > len(shown):
            rest = sum(len(p.cells) * len(p.settings) for p in found[len(shown) :])
            more = plural(len(found) - len(shown), "more pattern")
            yield Text(f"  … and {more}, of {plural(rest, 'case')} (-v shows all)", "dim")
            yield BLANK


def _settings(pattern: Pattern, asked: Sequence[Setting], verbose: bool) -> Iterator[Block]:
    names = names_of(pattern.settings, asked)
    kept = names if verbose or len(names) <= _SETTINGS else names[: _SETTINGS - 1]
    yield from (Text(name, indent=_INDENT, hang=2) for name in kept)
    if len(names) > len(kept):
        yield Text(f"… and {len(names) - len(kept)} more such (-v)", "dim", _INDENT)


def _grid(pattern: Pattern, order: Sequence[Sequence[str]], verbose: bool) -> Iterator[Block]:
    """Yield the part of the matrix that has wrong cells."""
    wrong = {(row, column): said for row, column, said in sorted(pattern.cells)}
    columns = [name for name in order[1] if name in {column for _, column in wrong}]
    columns = columns if verbose else columns[:_COLUMNS]
    rows = [name for name in order[0] if any((name, column) in wrong for column in columns)]
    kept = rows if verbose or len(rows) <= _ROWS else rows[: _ROWS - 1]
    lines: list[list[Said]] = [
        [row, *(_cell(wrong.get((row, column))) for column in columns)] for row in kept
    ]
    yield Table([styled("dim", ["", *columns])], lines, _INDENT, empty=".")
    shown = sum((row, column) in wrong for row in kept for column in columns)
    if shown < len(wrong):
        more = plural(len(wrong) - shown, "more wrong cell")
        yield Text(f"… and {more} (-v shows all)", "dim", _INDENT)


def _cell(said: str | None) -> Said:
    return [(said, "bold red") if said else (".", "dim")]
