import json

from command import convcheck
from report_json import document, held_to_schema, render
from report_runs import ELSE, TRUNCATED, answered, case, group, passed, run, unasked

from convcheck.judge.result import CaseDiagnosis, CauseInWords
from convcheck.plan.diff import diff_runs
from convcheck.records import replace
from convcheck.report.draw.console import plain_lines
from convcheck.report.draw.diff import diff_page

NARROW, CUT = ("through-float32",), ("truncates",)
BOTH = (*NARROW, *CUT)
CAUSES = (
    CauseInWords("through-float32", "rounds twice, through float32", 0),
    CauseInWords("truncates", "truncates", 5),
    CauseInWords("flushes-results", "flushes subnormal results to zero", 9),
)
CASES = [case("onnx.Cast-21", s, t) for s in ("float32", "float64")
         for t in ("float16", "bfloat16")]  # fmt: skip
A, B, C, D = (each.id for each in CASES)
RIGHT = group(ELSE, "pass", counts=(980, 980))


def told(fits, digest="a"):
    failing = replace(TRUNCATED, digest=digest * 32)
    cases = [
        replace(answered(each, failing), diagnosis=CaseDiagnosis(980, 312, tuple(fits[each.id])))
        if each.id in fits
        else answered(each, RIGHT)
        for each in CASES
    ]
    return replace(run(*cases), causes=CAUSES)


def changed(found):
    return [
        (
            one.change,
            tuple(cause.name for cause in one.together),
            len(one.before),
            len(one.after),
            {**one.came, **one.left},
        )
        for one in found.causes
    ]


def switched(found):
    names = [[tuple(c.name for c in side) for side in (one.before, one.after)]
             for one in found.other_causes]  # fmt: skip
    return [(one.case, *both) for one, both in zip(found.other_causes, names, strict=True)]


def test_what_came_went_grew_and_shrank():
    old = told({A: [NARROW], B: [NARROW], C: [CUT]})
    new = told({A: [NARROW], C: [CUT], D: [CUT]}, "b")
    assert changed(diff_runs(old, new)) == [
        ("grown", CUT, 1, 2, {"pass": 1}),
        ("shrunk", NARROW, 2, 1, {"pass": 1}),
    ]
    assert changed(diff_runs(new, old)) == [
        ("grown", NARROW, 1, 2, {"pass": 1}),
        ("shrunk", CUT, 2, 1, {"pass": 1}),
    ]
    come = diff_runs(told({}), told({A: [BOTH]}))
    assert changed(come) == [("new", BOTH, 0, 1, {"pass": 1})]
    assert changed(diff_runs(told({A: [CUT]}), told({}))) == [("gone", CUT, 1, 0, {"pass": 1})]
    moved = diff_runs(told({A: [CUT]}), told({B: [CUT]}))
    assert changed(moved) == [("moved", CUT, 1, 1, {"pass": 1})]
    assert not any(switched(found) for found in (come, moved))


def test_a_case_whose_cause_is_another():
    found = diff_runs(told({A: [NARROW], B: [CUT], C: []}), told({A: [CUT], B: [], C: [CUT]}, "b"))
    assert switched(found) == [(A, NARROW, CUT), (B, CUT, ()), (C, (), CUT)]
    assert changed(found) == [
        ("grown", CUT, 1, 2, {"other cause": 1, "not explained": 1}),
        ("gone", NARROW, 1, 0, {"other cause": 1}),
    ]


def test_what_fits_in_both_runs_is_no_change():
    """Alone, the old run would be explained by truncation, which covers all three cases."""
    old = told({A: [CUT], B: [CUT], C: [NARROW, CUT]})
    found = diff_runs(old, told({A: [CUT], B: [CUT], C: [NARROW]}, "b"))
    assert (changed(found), switched(found)) == ([], [])
    chosen = diff_runs(old, told({C: [NARROW, CUT]}))
    assert changed(chosen) == [("shrunk", CUT, 3, 1, {"pass": 2})]


def test_the_same_answers_have_the_same_cause():
    """A newer catalogue has more causes, or other names."""
    for before, after in (([], [CUT]), ([NARROW], [CUT]), ([CUT], [])):
        found = diff_runs(told({A: before}), told({A: after}))
        assert not any(found.summary.values())
        assert (changed(found), switched(found)) == ([], [])


def test_what_was_not_asked_is_not_gone():
    old, new = told({A: [CUT], B: [CUT]}), told({})
    hidden = {A: unasked(CASES[0], "unsupported", "no kernel"),
              B: unasked(CASES[1], "crashed", "died")}  # fmt: skip
    gone = replace(new, cases=tuple(hidden.get(c.case.id, c) for c in new.cases))
    expected = ("not asked", CUT, 2, 0, {"unsupported": 1, "crashed": 1})
    assert changed(diff_runs(old, gone)) == [expected]
    assert changed(diff_runs(old, new)) == [("gone", CUT, 2, 0, {"pass": 2})]


def test_runs_without_causes_are_compared_as_before():
    with_causes = told({A: [CUT]})
    bare = [replace(c, diagnosis=None) for c in with_causes.cases]
    older = replace(with_causes, cases=tuple(bare), causes=())
    without = replace(older, without_causes=True)
    for other in (older, without):
        for old, new, untried in ((other, with_causes, "old"), (with_causes, other, "new")):
            found = diff_runs(old, new)
            assert (changed(found), found.untried) == ([], untried)
            note = f"note: no causes were tried in the {untried} run: causes not compared"
            assert note in plain_lines(diff_page(found, verbose=False), 80)
        assert diff_runs(other, other).untried == ""
    clean = replace(run(*map(passed, CASES)))
    assert changed(diff_runs(clean, with_causes)) == [("new", CUT, 0, 1, {"pass": 1})]


SAID = (
    "GROWN CAUSE truncates (truncates) 1 → 2 cases, 980 → 1,960 answers",
    "before: 1 of another cause, 1 pass now: 1 not explained",
    "GONE CAUSE rounds twice, through float32 (through-float32) 1 case, 980 answers",
    'was "rounds twice, through float32 (through-float32)"; is "truncates (truncates)" now',
    'was "truncates (truncates)"; is not explained now',
    "NEW onnx.Cast-21/float64-to-bfloat16",
    "2 changed causes, 2 other causes, 1 new, 2 changed; 4 cases compared",
)


def test_the_page_begins_with_the_causes():
    found = diff_runs(told({A: [NARROW], B: [CUT]}), told({A: [CUT], B: [], D: [CUT]}, "b"))
    lines = plain_lines(diff_page(found, verbose=False), 80)
    assert max(map(len, lines)) <= 80
    page = " ".join(" ".join(lines).split())
    places = [page.find(said) for said in SAID]
    assert -1 not in places
    assert places == sorted(places)


def test_the_json_has_the_causes(tmp_path):
    for name, result in (
        ("old", told({A: [NARROW], B: [CUT]})),
        ("new", told({A: [CUT], B: [CUT]}, "b")),
    ):
        (tmp_path / f"{name}.json").write_text(render(document(result)))
    done = convcheck("diff", "old.json", "new.json", "-o", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = held_to_schema("diff", json.loads(done.stdout))
    assert found["summary"]["changed_cause"] == 2
    [other] = found["other_causes"]
    names = [[cause["name"] for cause in other[side]] for side in ("before", "after")]
    assert (other["case"], names) == (A, [list(NARROW), list(CUT)])
    grown, gone = found["causes"]
    assert [one["name"] for one in grown["together"]] == list(CUT)
    assert [[each["case"] for each in grown[side]] for side in ("before", "after")] == [[B], [A, B]]
    assert grown["after"][0] == {"case": A, "answers": 980, "wrong": 312}
    assert (gone["change"], "after" in gone, gone["left"]) == ("gone", False, {"other cause": 1})
