"""`convcheck show`: golden pages, and the changes between versions."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable

import pytest
from catalogue import CATALOG
from places import GOLDEN
from rich.cells import cell_len
from rich.console import Console

from convcheck.report.draw import console as page
from convcheck.report.draw.styled import StyledText
from convcheck.report.spec_page import bodies, fields
from convcheck.report.spec_page import matrix as body_matrix
from convcheck.report.spec_page import page as spec_page
from convcheck.rules.body.formula import Formula
from convcheck.rules.body.matrix import Matrix
from convcheck.rules.diff import Change, diff
from convcheck.rules.expression import parse_expression as parse_expression
from convcheck.rules.model import Spec
from convcheck.rules.source import parse_yaml
from convcheck.rules.types import read_types


def rendered(lines: Iterable[StyledText]) -> str:
    out = io.StringIO()
    page.put(lines, Console(width=80, no_color=True, file=out))
    return out.getvalue()


def check(name: str, text: str) -> None:
    path = GOLDEN / name
    if os.environ.get("CONVCHECK_UPDATE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text()
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("version", [1, 21, 24])
def test_pages(version: int) -> None:
    spec = CATALOG.specs[f"onnx.Cast-{version}"]
    check(f"show-cast-{version}.txt", rendered(spec_page.spec_lines(spec, CATALOG.types, 80)))


@pytest.mark.parametrize(
    "name",
    [
        "openvino.ConvertPromoteTypes-14", "openvino.FakeConvert-13", "openvino.Range-4",
        "onnx.Range-11", "pypto.cast-0.1", "onnx.CastLike-15",
    ],
)  # fmt: skip
def test_pages_of_other_bodies(name: str) -> None:
    text = rendered(spec_page.spec_lines(CATALOG.specs[name], CATALOG.types, 80))
    check(f"show-{name}.txt", text)
    assert all(cell_len(line) <= 80 for line in text.splitlines())


def test_every_spec_has_a_page() -> None:
    for spec in CATALOG.specs.values():
        assert spec.id in rendered(spec_page.spec_lines(spec, CATALOG.types, 80))


@pytest.mark.parametrize("width", [40, 100])
@pytest.mark.parametrize("spec", CATALOG.specs.values(), ids=lambda spec: spec.id)
def test_tables_are_shown_whole_in_parts(spec: Spec, width: int) -> None:
    """Every cell of a matrix stands under its heading, whatever the width."""
    matrix = spec.body
    for table in matrix.tables if isinstance(matrix, Matrix) else ():
        rows = body_matrix.rows(table, matrix)
        lines = [line.plain for line in fields.grid(rows, width)]
        assert all(cell_len(line) <= width for line in lines)
        found: dict[tuple[str, str], str] = {}
        heads: dict[int, str] = {}
        for line in lines:
            words = {m.start(): m[0] for m in re.finditer(r"\S+", line)}
            if not line.startswith("  " + rows[1][0][0]) and line.startswith("   "):
                heads = words
            elif line:
                label = line.split()[0]
                found |= {(label, heads[at]): w for at, w in words.items() if at in heads}
        due = {
            (row[0], head): cell
            for row in rows[1:] for head, cell in zip(rows[0][1:], row[1:], strict=False) if cell
        }  # fmt: skip
        assert found == due


EXPRESSIONS = [
    "max(ceil((stop - start) / step), 0)", "start + i * step", "start - (i - step)",
    "-start * (i + 2) / (step / 3)", "-(start + i)", "(start - i) - step",
    "max(float32(start - i), -(-1))",
]  # fmt: skip


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_an_expression_is_written_as_it_is_read(text: str) -> None:
    names = ("start", "stop", "step", "i")
    read = parse_expression(text, names, ("float32",))
    assert parse_expression(bodies.expression_text(read), names, ("float32",)) == read
    assert len(bodies.expression_text(read)) <= len(text)


def test_the_readings_of_a_formula_are_all_shown_once() -> None:
    for formula in (spec.body for spec in CATALOG.specs.values()):
        for rule in formula.rules if isinstance(formula, Formula) else ():
            shown = [
                (id(length), id(element))
                for lengths, elements in bodies.products(rule.readings)
                for length in lengths
                for element in elements
            ]
            assert sorted(shown) == sorted((id(a), id(b)) for a, b in rule.readings)


@pytest.mark.parametrize(("old", "new"), [(9, 13), (23, 24), (24, 24)])
def test_changes(old: int, new: int) -> None:
    a, b = (CATALOG.specs[f"onnx.Cast-{v}"] for v in (old, new))
    found = diff(a, b, CATALOG.types)
    check(f"show-diff-{old}-{new}.txt", rendered(spec_page.changes(a, b, found, 80)))
    assert bool(found) == (old != new)


def test_a_diff_names_the_cells_that_changed() -> None:
    a, b = CATALOG.specs["onnx.Cast-23"], CATALOG.specs["onnx.Cast-24"]
    row = "rule float-to-float8-saturating, row +inf"
    assert Change(row, "+max | nan | +max | nan", "+max") in diff(a, b, CATALOG.types)
    assert Change("type T1", "", "float8e8m0") in diff(a, b, CATALOG.types)
    assert Change("type T1", "float8e8m0", "") in diff(b, a, CATALOG.types)


def test_types_are_named_by_whole_families() -> None:
    types = CATALOG.types
    assert types.folded(types.sets["float"]) == ["floats"]
    assert types.folded([*types.sets["float8"], "int8", "real"]) == [
        "signed float8",
        "int8",
        "real",
    ]
    assert types.folded(["float8e5m2"]) == ["float8e5m2"]
    assert read_types(parse_yaml("sets: {}", "f")).folded([]) == []
