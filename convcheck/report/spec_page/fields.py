"""Fields and small tables of a spec's page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from convcheck.errors import Place
from convcheck.judge.words import cited, translated
from convcheck.report.blocks import Block, Table, Text, field, styled
from convcheck.rules.model import Cite, Spec


def titled(name: str, place: Place) -> Text:
    """Return a heading and its place."""
    return Text(name, "bold", right=[(str(place), "dim")])


def fields(name: str, values: Sequence[str]) -> Iterator[Block]:
    """Yield a field with a line per value."""
    for i, value in enumerate(values):
        yield field("" if i else name, value)


def quoted(spec: Spec, cite: Cite) -> str:
    """Return a citation with its source and translation."""
    gloss = f"; {translated(cite.gloss)}" if cite.gloss else ""
    return f"{cited(cite.text)} — {spec.document_of(cite)}{gloss}"


def grid(rows: Sequence[Sequence[str]]) -> Table:
    """Return a table with heads in the first row and labels in the first column.

    Short rows are padded. Rows that are empty in a part of a split table are skipped there.
    """
    heads, *lines = [[*row, *[""] * (len(rows[0]) - len(row))] for row in rows]
    return Table([styled("underline", heads)], lines, 2, empty="")
