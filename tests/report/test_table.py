"""The one layout of tables: whole where there is room, and else in parts by columns."""

from __future__ import annotations

from collections import Counter

import pytest
from report_runs import RUNS

from convcheck.report.draw.matrix import matrix_lines
from convcheck.report.draw.styled import StyledText
from convcheck.report.draw.table import WHOLE, cells, downwards, table_lines
from convcheck.report.draw.terminal import overview_lines
from convcheck.report.make import document

HEADS = ["", "one", "three", "eleven"]
ROWS = [["first", "1", "3", "11"], ["second", "", "33333", ""]]


def drawn(width: int, **more: bool) -> list[str]:
    rows = [cells(row) for row in ROWS]
    return [str(line) for line in table_lines([cells(HEADS)], rows, width, right=(1, 2, 3), **more)]


def test_a_table_with_room_is_whole() -> None:
    assert drawn(WHOLE) == [
        "        one  three  eleven",
        "first     1      3      11",
        "second       33333",
    ]


def test_a_table_without_room_is_cut_by_columns() -> None:
    assert drawn(18) == [
        "        one  three",
        "first     1      3",
        "second       33333",
        "",
        "        eleven",
        "first       11",
        "second",
    ]
    assert drawn(18, sparse=True)[-2:] == ["        eleven", "first       11"]


def test_a_cell_that_is_too_wide_by_itself_is_broken() -> None:
    row = [StyledText("x"), StyledText("some words that go on", "bold")]
    lines = list(table_lines([], [row], 14))
    assert list(map(str, lines)) == ["x  some words", "   that go on"]
    assert {style for line in lines for text, style in line.pieces if text.strip("x ")} == {"bold"}


def test_names_are_written_downwards() -> None:
    assert downwards(["float16", "int8"]) == [["f", " "], ["1", "i"], ["6", "8"]]


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("width", [40, 60, 79])
def test_a_narrow_terminal_breaks_no_counts(name: str, width: int) -> None:
    """What a wide terminal shows of a spec is there, in parts, under the label of the spec."""
    made = document(RUNS[name]())
    wide, narrow = (list(map(str, overview_lines(made, columns))) for columns in (200, width))
    assert all(len(line) <= width for line in narrow)
    for spec, *found in (line.split() for line in wide[1:]):
        lines = [line.split() for line in narrow if line.startswith(f"{spec} ")]
        assert [word for line in lines for word in line[1:]] == found


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("width", [24, 40, 60, 79])
def test_a_narrow_terminal_breaks_no_matrix(name: str, width: int) -> None:
    matrices = document(RUNS[name]()).matrices
    wide, narrow = (list(map(str, matrix_lines(matrices, columns))) for columns in (300, width))
    assert all(len(line) <= width for line in narrow)
    names = sorted({name for one in matrices.values() for name in one.sources}, key=len)
    assert symbols(narrow, names) == symbols(wide, names)
    assert sum(symbols(narrow, names).values()) > 0 or not matrices


def symbols(lines: list[str], names: list[str]) -> Counter[tuple[str, str]]:
    """Return how often each symbol stands in the rows that begin with a name."""
    rows = [(name, line) for line in lines for name in names if line.startswith(f"  {name} ")]
    return Counter((name, one) for name, line in rows for one in line[len(name) + 2 :].split())
