import re
import tomllib

import pytest
from drawn import printed
from report_runs import (
    CHANGED,
    KNOWN_FILE,
    RUNS,
    TRUNCATED,
    WRAPPED,
    answered,
    case,
    excuse,
    excused_by,
    listed,
    run,
    stale,
    unasked,
)

from convcheck.errors import Place
from convcheck.judge.result import Problem
from convcheck.records import replace
from convcheck.report.counts import BELOW, KNOWN, WAIVED, counts_of, status_of
from convcheck.report.document import Document

ONE = case("onnx.Cast-21", "float32", "bfloat16")


@pytest.mark.parametrize("name", RUNS)
def test_quiet_is_causes_and_findings_with_their_cases_and_the_verdict(name):
    made = Document(RUNS[name]())
    text = printed(RUNS[name](), quiet=True)
    due = [(len(one.cases), one.letter) for one in made.causes if one.gated]
    due += [(len(one.members), one.id) for one in made.unexplained if one.gated]
    found = re.findall(r"^ +([0-9]+) cases?  (\S+)", text, re.MULTILINE)
    assert sorted((int(count), what) for count, what in found) == sorted(due)
    said = " ".join(text.split())
    assert said.endswith(f"{made.verdict} {'; '.join(made.reasons)}")
    assert all(f"{one.kind.upper()} {one.place}" in said for one in made.problems)


def counted(result, level="disputed"):
    counts = counts_of([result], level)
    word = status_of(result, level).word
    return word, counts.gated, counts.known, counts.waived


def test_a_failure_on_the_list_is_known():
    result = excused_by(excuse(1), answered(ONE, TRUNCATED))
    assert status_of(result, "disputed") is KNOWN
    assert counted(result) == ("known", 0, 1, 0)
    assert counts_of([result], "disputed").wrong == 0


def test_a_failure_besides_fails_the_case():
    result = answered(ONE, replace(TRUNCATED, excuse=excuse(1)), WRAPPED)
    assert counted(result) == ("fail", 1, 1, 0)
    assert counts_of([result], "disputed").wrong == 40


def test_known_before_waived_before_below():
    waived = replace(WRAPPED, excuse=excuse(1, "waived"))
    assert status_of(answered(ONE, waived), "disputed") is WAIVED
    both = answered(ONE, replace(TRUNCATED, excuse=excuse(2)), waived)
    assert counted(both) == ("known", 0, 1, 1)
    lower = answered(ONE, TRUNCATED)
    assert status_of(lower, "normative") is BELOW
    assert status_of(excused_by(excuse(1), lower), "normative") is KNOWN


def test_a_crash_of_a_whole_case_is_known():
    died = unasked(ONE, "crashed", "died of SIGFPE")
    assert counted(died) == ("crashed", 1, 0, 0)
    result = excused_by(excuse(1), died)
    assert counted(result) == ("known", 0, 1, 0)
    assert "crashed, died of SIGFPE (1 case)" in printed(run(result))


def test_findings_are_of_one_entry_and_those_that_fail_the_run_come_first():
    result = run(
        excused_by(excuse(1), answered(ONE, TRUNCATED)),
        excused_by(excuse(2), answered(case("onnx.Cast-21", "float64", "bfloat16"), TRUNCATED)),
        answered(case("onnx.Cast-19", "float64", "bfloat16"), TRUNCATED),
    )
    found = Document(result).findings
    assert [(b.gated, b.excuse and b.excuse.place.line) for b in found] == [
        (True, None), (False, 1), (False, 2),
    ]  # fmt: skip


@pytest.mark.parametrize("quiet", [False, True])
def test_the_repair_can_be_copied_as_it_is(quiet):
    text = printed(stale(), quiet=quiet)
    block = text[text.index("      [[known]]") : text.index("\n\n", text.index("[[known]]"))]
    assert tomllib.loads(block) == tomllib.loads(CHANGED)
    assert re.search(rf"^STALE  {KNOWN_FILE}:40\n +passes now; remove the entry, ", text, re.M)


def test_a_list_cannot_steer_the_terminal():
    evil = "\x1b[2Jx [red]y[/red]\r"
    result = replace(
        run(excused_by(excuse(1, reason=evil), answered(ONE, TRUNCATED))),
        problems=(Problem("stale", Place("k.toml", 1), evil, f"# {evil}\ncase = 1"),),
    )
    for text in (printed(result), printed(result, verbose=True), printed(result, quiet=True)):
        assert not {"\x1b", "\r"} & set(text)


def test_no_color_is_without_colours(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")

    def coloured():
        return printed(listed(), force_terminal=True, color_system="auto")

    colour = re.compile(r"\x1b\[([0-9]+;)*(3[0-8]|9[0-7])[;m]")
    assert colour.search(coloured())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not colour.search(coloured())
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured()) == printed(listed())
