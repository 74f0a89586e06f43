"""Labelled fields and small tables of the page of a spec."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from convcheck.judge.words import cited, translated
from convcheck.report.draw.layout import paragraph
from convcheck.report.draw.styled import StyledText
from convcheck.report.draw.table import cells, table_lines
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
    """Return a citation with where it stands, and what it says in English."""
    gloss = f"; {translated(cite.gloss)}" if cite.gloss else ""
    return f"{cited(cite.text)} — {spec.document_of(cite)}{gloss}"


def grid(rows: Sequence[Sequence[str]], width: int, indent: int = 2) -> Iterator[StyledText]:
    """Yield a table with its heads in the first row and its labels in the first column. A row that
    has nothing in a part is left out there; one may have fewer cells than there are columns.
    """
    heads, *lines = ([*row, *[""] * (len(rows[0]) - len(row))] for row in rows)
    table = [cells(line) for line in lines]
    yield from table_lines([cells(heads, "underline")], table, width, indent=indent, sparse=True)
