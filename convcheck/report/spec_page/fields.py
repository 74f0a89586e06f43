"""Labelled fields and small tables of the page of a spec."""

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
    """Yield a field of several values, each on a line of its own."""
    for i, value in enumerate(values):
        yield field("" if i else name, value)


def quoted(spec: Spec, cite: Cite) -> str:
    """Return a citation with where it stands, and what it says in English."""
    gloss = f"; {translated(cite.gloss)}" if cite.gloss else ""
    return f"{cited(cite.text)} — {spec.document_of(cite)}{gloss}"


def grid(rows: Sequence[Sequence[str]]) -> Table:
    """Return a table with its heads in the first row and its labels in the first column. A row that
    has nothing in a part is left out there; one may have fewer cells than there are columns.
    """
    heads, *lines = [[*row, *[""] * (len(rows[0]) - len(row))] for row in rows]
    return Table([styled("underline", heads)], lines, 2, empty="")
