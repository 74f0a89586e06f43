"""Labelled fields and small tables of the page of a spec."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from convcheck.report.draw.layout import paragraph
from convcheck.report.draw.styled import StyledText, cell_len
from convcheck.rules.model import Cite, Spec

LABEL = 10  # columns of a field's name


def field(name: str, value: str, width: int, gap: int = 2) -> Iterator[StyledText]:
    """Yield a field's name and value, `gap` or more blanks between them; a longer name moves its
    value to the right.
    """
    label = f"{name:<{LABEL - gap}}{' ' * gap}"
    lines = paragraph(" " * (len(label) - LABEL) + value, width, indent=LABEL)
    first, *more = lines or [StyledText(" " * LABEL)]
    yield StyledText.assemble((label, "dim"), first.plain.lstrip())
    yield from more


def fields(name: str, values: Sequence[str], width: int, gap: int = 2) -> Iterator[StyledText]:
    """Yield a field of several values, each on a line of its own."""
    for i, value in enumerate(values):
        yield from field("" if i else name, value, width, gap)


def quoted(spec: Spec, cite: Cite) -> str:
    """Return a citation with where it stands."""
    source = spec.sources[cite.source]
    return f'"{cite.text}" — {source.title}, {source.section}'


def grid(rows: Sequence[Sequence[str]], width: int, indent: int = 2) -> Iterator[StyledText]:
    """Yield a table with its heads in the first row and its labels in the first column, in parts by
    columns where it is too wide. A row that has nothing in a part is left out there.
    """
    widths = [max(cell_len(row[i]) for row in rows if i < len(row)) for i in range(len(rows[0]))]
    for number, (start, stop) in enumerate(_parts(widths, width - indent)):
        if number:
            yield StyledText()
        chosen = [0, *range(start, stop)]
        for index, row in enumerate(rows):
            cells = [row[i] if i < len(row) else "" for i in chosen]
            if index and not any(cells[1:]):
                continue
            line = "  ".join(f"{c:<{widths[i]}}" for c, i in zip(cells, chosen, strict=True))
            yield StyledText(" " * indent + line.rstrip(), "" if index else "underline")


def _parts(widths: Sequence[int], room: int) -> Iterator[tuple[int, int]]:
    """Cut columns into parts that fit beside the first: the indices of each."""
    start, used = 1, widths[0]
    for i, need in enumerate(widths[1:], 1):
        if i > start and used + 2 + need > room:
            yield start, i
            start, used = i, widths[0]
        used += 2 + need
    yield start, len(widths)
