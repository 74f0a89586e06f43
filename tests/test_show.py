"""`convcheck show`: golden pages, and the changes between versions."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

from convcheck.report import page, tables
from convcheck.spec.diff import Change, diff
from convcheck.spec.load import load
from convcheck.spec.source import parse
from convcheck.spec.types import read_types

CATALOG = load()
GOLDEN = Path(__file__).parent / "golden"


def rendered(lines: Iterable[Text]) -> str:
    console = Console(width=80, no_color=True, record=True, file=io.StringIO())
    page.put(lines, console)
    return console.export_text()


def check(name: str, text: str) -> None:
    path = GOLDEN / name
    if os.environ.get("CONVCHECK_UPDATE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text()
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("version", [1, 21, 24])
def test_pages(version: int) -> None:
    spec = CATALOG.specs[f"onnx.Cast-{version}"]
    check(f"show-cast-{version}.txt", rendered(tables.show(spec, CATALOG.types, 80)))


@pytest.mark.parametrize(("old", "new"), [(9, 13), (23, 24), (24, 24)])
def test_changes(old: int, new: int) -> None:
    a, b = (CATALOG.specs[f"onnx.Cast-{v}"] for v in (old, new))
    found = diff(a, b, CATALOG.types)
    check(f"show-diff-{old}-{new}.txt", rendered(tables.changes(a, b, found, 80)))
    assert bool(found) == (old != new)


def test_a_diff_names_the_cells_that_changed() -> None:
    a, b = CATALOG.specs["onnx.Cast-23"], CATALOG.specs["onnx.Cast-24"]
    row = "rule float-to-float8-saturating, row +inf"
    assert Change(row, "+max | nan | +max | nan", "+max") in diff(a, b, CATALOG.types)
    assert Change("type T1", "", "float8e8m0") in diff(a, b, CATALOG.types)
    assert Change("type T1", "float8e8m0", "") in diff(b, a, CATALOG.types)


def test_types_are_named_by_whole_families() -> None:
    types = CATALOG.types
    assert types.folded(types.sets["float"]) == ["float"]
    assert types.folded([*types.sets["float8"], "int8", "real"]) == ["float8", "int8", "real"]
    assert types.folded(["float8e5m2"]) == ["float8e5m2"]
    assert read_types(parse("sets: {}", "f")).folded([]) == []
