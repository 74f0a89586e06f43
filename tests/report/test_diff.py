import json

import pytest
from command import check_golden, convcheck
from report_json import document, held_to_schema, render
from report_runs import (
    ELSE,
    NARROW,
    PARSE,
    RUNS,
    TABLE,
    TRUNCATED,
    WRAPPED,
    answered,
    case,
    group,
    passed,
    run,
    unasked,
)

from convcheck.errors import Place, UsageError
from convcheck.judge.result import Excuse
from convcheck.plan.diff import check_comparable, diff_runs
from convcheck.records import replace
from convcheck.report.draw.console import plain_lines
from convcheck.report.draw.diff import diff_page

A = case("onnx.Cast-21", "float32", "bfloat16")
B = case("onnx.Cast-23", "float32", "bfloat16")
FEWER = replace(TRUNCATED, count=40, digest="f" * 32)
ELSEWHERE = replace(TRUNCATED, digest="e" * 32)
OTHER_KIND = replace(FEWER, kind="one ulp too large in magnitude")
DIED = group(ELSE, "crashed", "died of SIGSEGV")
RIGHT = group(ELSE, "pass", counts=(980, 980))
RIGHT_TABLE = group(TABLE, "pass", counts=(44, 44))


def changes(old, new):
    found = diff_runs(run(old), run(new)).findings
    return [(f.change, f.before.kind if f.before else "", f.after.kind if f.after else "")
            for f in found]  # fmt: skip


ULP, NAN = TRUNCATED.kind, WRAPPED.kind
BETWEEN = [
    ("the same", [TRUNCATED], [TRUNCATED], []),
    ("both right", [RIGHT], [RIGHT], []),
    ("new", [RIGHT], [TRUNCATED], [("new", "", ULP)]),
    ("fixed", [TRUNCATED], [RIGHT], [("fixed", ULP, "")]),
    ("fewer inputs", [TRUNCATED], [FEWER], [("changed", ULP, ULP)]),
    ("other inputs, as many", [TRUNCATED], [ELSEWHERE], [("changed", ULP, ULP)]),
    ("another kind", [TRUNCATED], [OTHER_KIND], [("changed", ULP, OTHER_KIND.kind)]),
    ("dies of it now", [TRUNCATED], [DIED], [("changed", ULP, DIED.kind)]),
    ("another row", [TRUNCATED, RIGHT_TABLE], [RIGHT, WRAPPED],
     [("fixed", ULP, ""), ("new", "", NAN)]),
    ("one row more", [TRUNCATED, RIGHT_TABLE], [TRUNCATED, WRAPPED], [("new", "", NAN)]),
    ("one kind less", [TRUNCATED, OTHER_KIND], [TRUNCATED], [("fixed", OTHER_KIND.kind, "")]),
    ("undefined now", [TRUNCATED], [group(ELSE, "undefined")], [("fixed", ULP, "")]),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "expected"), [b[1:] for b in BETWEEN],
                         ids=[b[0] for b in BETWEEN])  # fmt: skip
def test_what_became_of_the_failures_of_a_case(old, new, expected):
    before, after = answered(A, *old), answered(A, *new)
    assert changes(before, after) == expected


def test_a_failure_in_another_placement_is_another():
    tail = replace(TRUNCATED, placement="odd tail")
    assert changes(answered(A, TRUNCATED), answered(A, TRUNCATED, tail)) == [("new", "", ULP)]


def test_what_was_not_asked_is_not_called_fixed():
    failing = answered(A, TRUNCATED, WRAPPED)
    gone = unasked(A, "unsupported", "no kernel")
    assert changes(failing, gone) == [("not asked", ULP, ""), ("not asked", NAN, "")]
    died = unasked(A, "crashed", "died of SIGSEGV")
    assert changes(failing, died) == [
        ("changed", ULP, "died of SIGSEGV"), ("not asked", NAN, ""),
    ]  # fmt: skip
    malformed = answered(A, group(PARSE, "fail", "wrong shape"), checked=0)
    assert changes(answered(A, TRUNCATED), malformed) == [("changed", ULP, "wrong shape")]
    assert changes(died, failing) == [
        ("fixed", "died of SIGSEGV", ""), ("new", "", ULP), ("new", "", NAN),
    ]  # fmt: skip
    assert changes(died, unasked(A, "crashed", "no answer within 30 s")) == [
        ("changed", "died of SIGSEGV", "no answer within 30 s")
    ]


def test_an_excused_failure_is_a_failure():
    known = Excuse("known", "it truncates", "https://example.org/1", Place("known.toml", 3))
    excused = answered(A, replace(TRUNCATED, excuse=known))
    assert changes(answered(A, RIGHT), excused) == [("new", "", ULP)]
    assert changes(excused, answered(A, TRUNCATED)) == []


def test_cases_that_fail_in_neither():
    old = run(passed(A), answered(B, group(NARROW, "tolerated", reading="to zero")))
    new = run(unasked(A, "unsupported", "no kernel"),
              answered(B, group(NARROW, "tolerated", reading="to even")))  # fmt: skip
    found = diff_runs(old, new)
    assert [(t.case, t.before, t.after) for t in found.verdicts] == [(A.id, "pass", "unsupported")]
    assert (found.answers, found.findings, found.worse) == ((B.id,), (), False)
    assert any(found.summary.values())


def test_an_added_case_that_fails_is_worse():
    assert diff_runs(run(passed(A)), run(passed(A), answered(B, TRUNCATED))).worse
    assert not diff_runs(run(passed(A)), run(passed(A), passed(B))).worse
    assert not diff_runs(run(passed(A), answered(B, TRUNCATED)), run(passed(A))).worse


def other_vectors(result):
    return replace(result, corpora=(("onnx.Cast-21", "0" * 64),))


def test_other_vectors_are_refused_or_compared_loosely():
    old, new = run(answered(A, TRUNCATED)), other_vectors(run(answered(A, FEWER)))
    with pytest.raises(UsageError, match=r"other vectors of onnx\.Cast-21"):
        check_comparable(old, new, ("a", "b"))
    assert not any(diff_runs(old, new).summary.values())
    assert diff_runs(old, new).other_vectors == ("onnx.Cast-21",)
    changed = other_vectors(run(answered(A, OTHER_KIND)))
    assert [f.change for f in diff_runs(old, changed).findings] == ["changed"]
    fixed = other_vectors(run(answered(A, RIGHT, checked=7)))
    assert [f.change for f in diff_runs(old, fixed).findings] == ["fixed"]


def test_other_tiers_are_refused():
    with pytest.raises(UsageError, match=r"the edge tier in a, the boundary tier in b"):
        check_comparable(run(), replace(run(), tier="boundary"), ("a", "b"))
    check_comparable(run(), run(), ("a", "b"))


def a_lot():
    issue = Excuse("known", "ties", "https://example.org/issues/7", Place("known.toml", 3))
    spec, targets = "onnx.Cast-21", ("float8e4m3fn", "float8e4m3fnuz")
    cases = [case(s, "float32", t, saturate=1) for s in ("onnx.Cast-19", spec) for t in targets]
    bad = case(spec, "float32", "uint8")
    lost = case("onnx.CastLike-21", "float32", "bfloat16")
    free = case(spec, "float32", "int4")
    old = run(
        *(answered(c, RIGHT_TABLE) for c in cases),
        answered(A, TRUNCATED), answered(B, RIGHT), answered(bad, WRAPPED),
        answered(lost, TRUNCATED), passed(case(spec, "int8", "int16")),
        answered(free, group(NARROW, "tolerated", reading="to zero")),
        passed(case(spec, "bool", "int4")),
    )  # fmt: skip
    new = run(
        *(answered(c, WRAPPED) for c in cases),
        answered(A, OTHER_KIND), answered(B, replace(TRUNCATED, excuse=issue)),
        answered(bad, RIGHT_TABLE), unasked(lost, "unsupported", "no kernel"),
        unasked(case(spec, "int8", "int16"), "unsupported", "no kernel"),
        answered(free, group(NARROW, "tolerated", reading="to even")),
        answered(case("onnx.Cast-24", "float32", "uint8"), WRAPPED),
        interrupted=True,
    )  # fmt: skip
    return old, replace(new, backend=replace(new.backend, version="1.32.0"))


def test_the_page():
    found = diff_runs(*a_lot())
    whole, brief = (plain_lines(diff_page(found, verbose), 80) for verbose in (True, False))
    check_golden("diff_verbose.txt", "\n".join(whole) + "\n")
    assert brief[-2:] == whole[-2:]
    assert max(map(len, brief)) <= 80
    heads = [[line.split()[0] for line in page if line[:1].isupper()] for page in (whole, brief)]
    assert heads[0] == heads[1]


def test_many_findings_are_cut_and_v_has_all():
    rows = [replace(ELSE, row=f"row {i}") for i in range(15)]
    found = diff_runs(
        run(passed(A)), run(answered(A, *(replace(TRUNCATED, decision=r) for r in rows)))
    )
    few, all_of_them = (
        "\n".join(plain_lines(diff_page(found, verbose), 80)) for verbose in (False, True)
    )
    assert "3 more findings (-v lists all)" in few
    assert [f"row {i}:" in all_of_them for i in range(15)] == [True] * 15


@pytest.mark.parametrize("name", RUNS)
def test_a_run_does_not_differ_from_itself(name):
    result = RUNS[name]()
    *notes, line = plain_lines(diff_page(diff_runs(result, result), verbose=False), 80)
    assert line.startswith("no difference in ")
    assert bool(notes) == bool(result.interrupted or result.shard)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("diff")
    old, new = a_lot()
    (folder / "old.json").write_text(render(document(old)))
    (folder / "new.json").write_text(render(document(new)))
    (folder / "other.json").write_text(render(document(replace(old, tier="boundary"))))
    return folder


CODES = [
    (("old.json", "new.json"), 0),
    (("--fail", "old.json", "new.json"), 1),
    (("--fail", "old.json", "old.json"), 0),
    (("old.json", "other.json"), 0),
    (("--fail", "old.json", "other.json"), 0),
    (("old.json", "nothing.json"), 2),
]


@pytest.mark.parametrize(("arguments", "code"), CODES, ids=lambda v: str(v))
def test_exit_codes(files, arguments, code):
    done = convcheck("diff", *(str(files / a) if a.endswith("json") else a for a in arguments))
    assert done.returncode == code, done.stdout + done.stderr
    assert bool(done.stdout) == (code != 2)
    assert bool(done.stderr) == (code == 2)
    if arguments[-2:] == ("old.json", "old.json"):
        assert done.stdout == "no difference in 11 cases\n"


def test_the_json(files):
    done = convcheck("diff", files / "old.json", files / "new.json", "-o", "-")
    assert "FIXED" in done.stderr
    found = held_to_schema("diff", json.loads(done.stdout))
    assert found["format"] == "convcheck-diff/3"
    assert found["summary"] == {
        "changed_cause": 0, "other_cause": 0,
        "new": 5, "changed": 1, "fixed": 1, "not_asked": 1, "other_verdict": 1, "other_answer": 1,
        "added": 1, "removed": 1,
    }  # fmt: skip
    (changed,) = [f for f in found["findings"] if f["change"] == "changed"]
    counts = [changed[side]["count"] for side in ("before", "after")]
    assert (changed["case"], counts) == (A.id, [312, 40])
    [listed] = [f["after"] for f in found["findings"] if f["case"] == B.id]
    assert listed["excuse"]["kind"] == "known"
    assert found["new"]["interrupted"] is True
