"""A listed failure keeps ranges of its inputs, so that a run says which inputs fail anew."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from catalogue import CATALOG
from known_runs import IDS, TODAY, found, wrong
from report_runs import case

from convcheck.errors import UsageError
from convcheck.gate.baseline import baseline, updated
from convcheck.gate.inputs import failing_inputs, new_inputs
from convcheck.gate.known import hold, read_known
from convcheck.judge.result import Group, RunResult

FLOAT64 = case("onnx.Cast-21", "float64", "float16")
FLOAT32 = case("onnx.Cast-21", "float32", "float16")
NAME = IDS[-2]
LISTED = ["float32 0x3f800001 … 0x3f800009", "float32 0xbf800000"]


def of(*ranges: tuple[int, int], more: int = 0) -> Group:
    """Make a failing group of some ranges."""
    return replace(wrong(len(ranges), 7), ranges=ranges, more_ranges=more)


def everything(starts: tuple[str, ...]) -> list[str]:
    return IDS


def failing(*ranges: tuple[int, int]) -> RunResult:
    """Make a run in which one case fails."""
    return found({NAME: replace(of(*ranges), count=len(ranges), digest=f"{len(ranges):032x}")})


def test_ranges_are_written_with_their_type() -> None:
    group = of((0xBF800000, 0xBF800000), (0x3F800001, 0x3F800009))
    assert failing_inputs([(FLOAT32, group)]) == tuple(reversed(LISTED))


def test_there_are_eight_at_most_and_they_hold_every_input() -> None:
    ranges = tuple((n * n * 16, n * n * 16 + 3) for n in range(20))
    group = of(*ranges)
    listed = failing_inputs([(FLOAT32, group)])
    assert len(listed) == 8
    assert new_inputs(listed, [(FLOAT32, group)]) == ()
    assert listed[-1] == "float32 0x00001690 … 0x00001693", "the widest gaps stay"


def test_what_a_group_leaves_out_in_the_middle_is_held_too() -> None:
    ends = [(n, n) for n in (1, 11, 21, 31, 901, 911, 921, 931)]
    assert "float32 0x0000001f … 0x00000385" in failing_inputs([(FLOAT32, of(*ends, more=50))])


def test_types_have_ranges_of_their_own() -> None:
    both = [(FLOAT32, of((1, 1), (5, 5))), (FLOAT64, of((1, 1)))]
    assert failing_inputs(both) == (
        "float32 0x00000001", "float32 0x00000005", "float64 0x0000000000000001",
    )  # fmt: skip
    assert new_inputs(["float32 0x00000001 … 0x00000005"], both) == ("float64 0x0000000000000001",)


@pytest.mark.parametrize(("ranges", "new"), [
    ([(0x3F800001, 0x3F800009)], []),
    ([(0x3F800002, 0x3F800003), (0xBF800000, 0xBF800000)], []),
    ([(0x3F800001, 0x3F80000A)], ["float32 0x3f80000a"]),  # one end of it is listed
    ([(0x80000000, 0x80000000)], ["float32 0x80000000"]),  # by value, not by code
    ([(0x40000000, 0x40000001)], ["float32 0x40000000", "float32 0x40000001"]),
])  # fmt: skip
def test_inputs_outside_of_what_is_listed_are_new(
    ranges: list[tuple[int, int]], new: list[str]
) -> None:
    assert list(new_inputs(LISTED, [(FLOAT32, of(*ranges))])) == new


def test_a_list_without_inputs_knows_of_nothing_new() -> None:
    assert new_inputs([], [(FLOAT32, of((1, 1)))]) == ()


def test_a_run_says_which_inputs_are_new(tmp_path: Path) -> None:
    before = failing((1, 1), (5, 9))
    path = tmp_path / "known.toml"
    path.write_text(baseline(before, everything).text, encoding="utf-8")
    known = read_known(str(path), CATALOG)
    [entry] = known.entries
    width = 16 if NAME.split("/")[1].startswith("float64") else 8
    dtype = NAME.split("/")[1].partition("-")[0]
    assert entry.inputs[0] == f"{dtype} 0x{1:0{width}x}"
    assert hold(before, known, everything, TODAY).problems == ()

    after = failing((1, 1), (5, 9), (77, 77))
    [problem] = hold(after, known, everything, TODAY).problems
    assert (problem.kind, f"not among the inputs listed: {dtype} 0x{77:0{width}x};") == (
        "changed", problem.message[problem.message.index("not among"):].partition(" if")[0],
    )  # fmt: skip
    assert f"0x{77:0{width}x}" in problem.repair, "the entry to have has it"

    path.write_text(updated(after, known, everything, date.max).text, encoding="utf-8")
    assert hold(after, read_known(str(path), CATALOG), everything, TODAY).problems == ()
    fewer = hold(failing((1, 1)), known, everything, TODAY).problems[0].message
    assert "not among" not in fewer


def test_what_is_no_range_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    text = baseline(failing((1, 1)), everything).text
    start = text.index("inputs = ")
    path.write_text(text[:start] + 'inputs = "0x01"\n' + text[text.index("reason") :])
    with pytest.raises(UsageError, match="'0x01' is not a range of inputs"):
        read_known(str(path), CATALOG)
