import json
import tomllib

import pytest
from catalogue import CATALOG
from command import convcheck
from known_runs import IDS, TODAY, excused, found, held, wrong
from report_json import document, render
from report_runs import TABLE

from convcheck.errors import Place, UsageError
from convcheck.gate.baseline import baseline, read_known, updated
from convcheck.judge.result import CaseDiagnosis, CauseInWords
from convcheck.records import replace
from convcheck.rules.load import load

NARROW, TRUNCATES = ("through-float32",), ("truncates",)
BOTH = ("through-float32", "truncates")
CAUSES = (
    CauseInWords("through-float32", "rounds twice, through float32", 0),
    CauseInWords("truncates", "truncates", 5),
)
FIRST, SECOND, THIRD = IDS[2], IDS[6], IDS[3]  # to float16, both versions; to bfloat16
ENTRY = """\
[[known]]
case = "onnx.Cast-{19,21}/float64-to-float16"
cause = "through-float32"  # a remark
tier = "edge"
reason = "as the hardware does it"
issue = "https://example.org/1"
"""


def explained(fits, **more):
    result = found({name: wrong(10, 1) for name in fits}, **more)
    cases = (
        replace(c, diagnosis=CaseDiagnosis(100, 10, tuple(fits[c.case.id])))
        if c.case.id in fits
        else c
        for c in result.cases
    )
    return replace(result, cases=tuple(cases), causes=CAUSES)


def fault(result):
    [problem] = result.problems
    repair = tomllib.loads(problem.repair)["known"][0]["case"] if problem.repair else ""
    return problem.kind, problem.message.replace(str(problem.place.file), "known.toml"), repair


TWO = {FIRST: [NARROW], SECOND: [TRUNCATES, NARROW]}


def test_what_the_cause_predicts_is_excused(tmp_path):
    result = held(ENTRY, explained(TWO), tmp_path)
    assert (result.outcome, result.problems, excused(result)) == ("pass", (), [FIRST, SECOND])
    whole = held(ENTRY.replace('tier = "edge"\n', ""), explained(TWO), tmp_path)
    assert (whole.outcome, excused(whole)) == ("pass", [FIRST, SECOND])


def test_two_causes_are_named_in_any_order_and_no_more_than_two(tmp_path):
    run = explained({FIRST: [BOTH], SECOND: [BOTH]})
    for names in (BOTH, BOTH[::-1]):
        text = ENTRY.replace('"through-float32"', json.dumps(names))
        result = held(text, run, tmp_path)
        assert (result.outcome, excused(result)) == ("pass", [FIRST, SECOND])
    three = ENTRY.replace('"through-float32"', json.dumps([*BOTH, "ties-away"]))
    with pytest.raises(UsageError, match="3 causes, but at most 2") as error:
        held(three, run, tmp_path)
    assert str(error.value.place).endswith("known.toml:3")


def test_a_listed_case_with_other_answers_fails(tmp_path):
    for other in ([TRUNCATES], [BOTH], []):
        result = held(ENTRY, explained({FIRST: [NARROW], SECOND: other}), tmp_path)
        assert (result.outcome, excused(result)) == ("fail", [FIRST])
        assert fault(result) == (
            "changed",
            f"1 case fails differently than through-float32 predicts: {SECOND}; "
            "if this is intended, replace known.toml:1-6 with:",
            FIRST,
        )
        [problem] = result.problems
        assert "# a remark" in problem.repair
    untried = explained({FIRST: [NARROW], SECOND: [NARROW]})
    cases = [replace(c, diagnosis=None) if c.case.id == SECOND else c for c in untried.cases]
    assert excused(held(ENTRY, replace(untried, cases=tuple(cases)), tmp_path)) == [FIRST]


def test_what_depends_on_a_placement_is_no_prediction(tmp_path):
    result = explained(TWO)
    elsewhere = replace(wrong(1, 2, TABLE), placement="odd tail")
    cases = [
        replace(c, groups=(*c.groups, elsewhere)) if c.case.id == SECOND else c
        for c in result.cases
    ]
    assert excused(held(ENTRY, replace(result, cases=tuple(cases)), tmp_path)) == [FIRST]


def test_stale_expired_and_passing(tmp_path):
    assert fault(held(ENTRY, explained({}), tmp_path)) == (
        "stale", "passes now, in all 2 cases; remove the entry, known.toml:1-6", "",
    )  # fmt: skip
    both = explained({FIRST: [TRUNCATES], SECOND: [TRUNCATES]})
    stale = held(ENTRY, both, tmp_path)
    assert (fault(stale)[0], excused(stale)) == ("stale", [])
    assert "failing differently" in fault(stale)[1]
    late = held(ENTRY + "until = 2026-05-01\n", explained(TWO), tmp_path)
    assert (fault(late)[0], excused(late)) == ("expired", [])
    broad = held(ENTRY, explained({FIRST: [NARROW]}), tmp_path)
    assert (fault(broad)[0], fault(broad)[2], excused(broad)) == ("changed", FIRST, [FIRST])


def test_a_part_of_a_run(tmp_path):
    """Problems that other cases cannot resolve are reported: a case that the cause does not
    explain.
    """
    alone = held(ENTRY, explained({FIRST: [NARROW]}, left_out=[SECOND]), tmp_path)
    assert (alone.outcome, alone.problems, excused(alone)) == ("pass", (), [FIRST])
    none = held(ENTRY, explained({}, left_out=[SECOND]), tmp_path)
    assert none.problems == ()
    other = held(ENTRY, explained({FIRST: [TRUNCATES]}, left_out=[SECOND]), tmp_path)
    assert (fault(other)[0], fault(other)[2], excused(other)) == ("changed", SECOND, [])


def test_a_waiver_of_a_cause_may_cover_more(tmp_path):
    waiver = ENTRY.replace("known", "waiver").replace('-float16"', '-*"', 1)
    result = held(waiver, explained({FIRST: [NARROW], THIRD: [TRUNCATES]}), tmp_path)
    assert (result.outcome, result.problems, excused(result)) == ("fail", (), [FIRST])


def test_a_baseline_has_an_entry_a_cause(tmp_path):
    fits = {**TWO, THIRD: [BOTH], IDS[0]: []}
    written = baseline(explained(fits))
    by_cause = [each.get("cause") for each in tomllib.loads(written.text)["known"]]
    assert by_cause == ["through-float32", list(BOTH), None]
    assert 'cause = "through-float32"  # rounds twice, through float32\n' in written.text
    assert held(written.text, explained(fits), tmp_path).outcome == "pass"


def test_an_update_narrows_and_adds(tmp_path):
    path = tmp_path / "known.toml"
    path.write_text(ENTRY, encoding="utf-8")
    now = explained({FIRST: [NARROW], SECOND: [TRUNCATES]})
    pruned = updated(now, read_known(str(path), CATALOG), lambda starts: IDS, TODAY, prune=True)
    assert [e["case"] for e in tomllib.loads(pruned.text)["known"]] == [FIRST]
    written = updated(now, read_known(str(path), CATALOG), lambda starts: IDS, TODAY)
    assert (written.new, written.narrowed, written.changed) == (1, 1, 0)
    assert held(written.text, now, tmp_path).outcome == "pass"


@pytest.mark.parametrize(("more", "line", "said"), [
    ("count = 3\n", 7, "'count' cannot be combined with 'cause'"),
    ('rule = "a / b"\n', 7, "'rule' cannot be combined with 'cause'"),
    ("", 3, "the entry names a cause, but the run tried none"),
])  # fmt: skip
def test_what_does_not_go_with_a_cause(more, line, said, tmp_path):
    with pytest.raises(UsageError) as caught:
        held(ENTRY + more, replace(explained(TWO), without_causes=True), tmp_path)
    assert caught.value.message == said
    assert caught.value.place == Place(str(tmp_path / "known.toml"), line)


READ_A_LIST = [
    ("run", "onnx.Cast-21", "--backend", "reference", "--known", "known.toml"),
    ("report", "run.json", "--known", "known.toml"),
    ("known", "known.toml", "run.json", "--update"),
]


@pytest.mark.parametrize("command", READ_A_LIST, ids=lambda words: words[0])
def test_a_cause_that_does_not_exist_is_an_error(command, tmp_path):
    (tmp_path / "run.json").write_text(render(document(found({}))))
    text = ENTRY.replace("through-float32", "thruogh-float32")
    (tmp_path / "known.toml").write_text(text)
    done = convcheck(*command, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    said = "known.toml:3: no cause is named 'thruogh-float32'\n  hint: did you mean through-float32"
    assert said in done.stderr
    assert (tmp_path / "known.toml").read_text() == text


def test_a_folder_may_have_the_cause(tmp_path):
    path, mine = tmp_path / "known.toml", tmp_path / "mine/causes/mine.yaml"
    mine.parent.mkdir(parents=True)
    mine.write_text("causes: [{name: qwertz, says: rounds down, rounds: floor}]\n")
    path.write_text(ENTRY.replace('"through-float32"', '["through-float32", "qwertz"]'))
    assert read_known(str(path), load([tmp_path / "mine"])).entries[0].cause[1] == "qwertz"
    with pytest.raises(UsageError, match="'qwertz'") as caught:
        read_known(str(path), CATALOG)
    assert (caught.value.place, "--specs DIR" in caught.value.hint) == (Place(str(path), 3), True)


ASTRAY = """
import os

from tests.planted.rounding_backends import Truncating


class Astray(Truncating):
    def answer(self, case, inputs):
        answer = super().answer(case, inputs)
        answer.arrays[0][inputs[0] == 0x3F808001] ^= int(os.environ.get("ASTRAY", 0))
        return answer
"""


def test_a_bug_that_changes_within_a_listed_case_is_caught(tmp_path, monkeypatch):
    """A backend truncates, then gives another wrong answer to an input that failed."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "gated").mkdir()
    (tmp_path / "gated/astray.py").write_text(ASTRAY, encoding="utf-8")
    known, mine = tmp_path / "known.toml", "gated.astray:Astray"
    choice = ("onnx.Cast-21", "--from", "float32", "--to", "bfloat16")
    listed = convcheck("run", "--backend", mine, *choice, "--known", known, "--update")
    assert listed.returncode == 0, listed.stderr
    assert [e.get("cause") for e in tomllib.loads(known.read_text())["known"]] == ["truncates"]
    run = ("run", *choice, "--known", known)
    assert convcheck(*run, "--backend", mine).returncode == 0
    astray = convcheck(*run, "--backend", mine, ASTRAY="4")
    assert astray.returncode == 1
    assert "no case fails like this now" in " ".join(astray.stdout.split())
    untried = convcheck(*run, "--backend", mine, "--no-causes")
    assert (untried.returncode, untried.stdout) == (2, "")
    assert "known.toml:" in untried.stderr
    assert "without --no-causes" in untried.stderr
