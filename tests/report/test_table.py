from collections import Counter

import pytest
from report_runs import RUNS

from convcheck.report.blocks import Table
from convcheck.report.document import Document
from convcheck.report.draw.console import lines, plain_lines
from convcheck.report.draw.matrix import matrix_blocks
from convcheck.report.draw.terminal import counts_table

HEADS = ["", "one", "three", "eleven"]
ROWS = [["first", "1", "3", "11"], ["second", "", "33333", ""]]
WIDE = 200


def drawn(width, empty=None):
    return plain_lines([Table([HEADS], ROWS, right=(1, 2, 3), empty=empty)], width)


def test_a_table_without_room_is_cut_by_columns():
    assert drawn(18) == [
        "        one  three",
        "first     1      3",
        "second       33333",
        "",
        "        eleven",
        "first       11",
        "second",
    ]
    assert drawn(18, empty="")[-2:] == ["        eleven", "first       11"]


def test_a_cell_that_is_too_wide_by_itself_is_broken():
    row = ["x", [("some words that go on", "bold")]]
    found = list(lines([Table([], [row])], 14))
    assert [line.plain for line in found] == ["x  some words", "   that go on"]
    assert {span.style for line in found for span in line.spans} == {"bold"}


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("width", [40, 60, 79])
def test_a_narrow_terminal_breaks_no_counts(name, width):
    """Each part of a split table has the label of the spec, and nothing is lost."""
    made = Document(RUNS[name]())
    wide, narrow = (plain_lines([counts_table(made)], columns) for columns in (WIDE, width))
    assert all(len(line) <= width for line in narrow)
    for spec, *found in (line.split() for line in wide[1:]):
        lines = [line.split() for line in narrow if line.startswith(f"{spec} ")]
        assert [word for line in lines for word in line[1:]] == found


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("width", [24, 40, 60, 79])
def test_a_narrow_terminal_breaks_no_matrix(name, width):
    matrices = Document(RUNS[name]()).matrices
    wide, narrow = (plain_lines(matrix_blocks(matrices), columns) for columns in (300, width))
    assert all(len(line) <= width for line in narrow)
    names = sorted({name for one in matrices.values() for name in one.sources}, key=len)
    assert symbols(narrow, names) == symbols(wide, names)
    assert sum(symbols(narrow, names).values()) > 0 or not matrices


def symbols(lines, names):
    rows = [(name, line) for line in lines for name in names if line.startswith(f"  {name} ")]
    return Counter((name, one) for name, line in rows for one in line[len(name) + 2 :].split())
