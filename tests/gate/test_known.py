from collections.abc import Mapping
from dataclasses import dataclass

import known_runs
import pytest
from catalogue import CATALOG
from known_runs import (
    CORPUS,
    ENTRY,
    FAILING,
    HERE,
    IDS,
    OF_21,
    THERE,
    WAIVER,
    excused,
    found,
    whole,
    wrong,
)
from report_runs import TABLE, case, run, unasked

from convcheck.errors import Place, UsageError
from convcheck.gate.baseline import read_known, released
from convcheck.gate.compare import version_of
from convcheck.judge.result import BackendInfo, Group
from convcheck.records import replace


def held(text, result, folder):
    return known_runs.held(text, result, folder, THERE if "25" in text else ())


def without(key):
    return "".join(line for line in ENTRY.splitlines(True) if not line.startswith(key))


def counting(count, digest, text=ENTRY):
    return text.replace("count = 21", f"count = {count}").replace('0000b"', f'0000{digest}"')


@dataclass(frozen=True)
class Held:
    text: str
    failing: Mapping[str, Group]
    #: The problem of the list, or the outcome of the run.
    said: str = "pass"
    #: Cases with excused failures. None means those of `FAILING`.
    excused: tuple[str, ...] | None = None
    repair: str = ""
    left_out: tuple[str, ...] = ()


OF_19, LATER = IDS[2], tuple(IDS[6:])
MORE, OTHER = FAILING | {OF_19: wrong(14, 3)}, FAILING | {IDS[6]: wrong(11, 13)}
OLD = ENTRY.replace(CORPUS, "0123456789abcdef")
NAMED = ENTRY.replace("float64-to", "{float64,flaot64}-to")
BROAD = ENTRY.replace("float64-to-float16", "float64-to-{float16,bfloat16}")
WIDER = ENTRY.replace("{19,21}", "{19,21,25}")
REMARK = ENTRY.replace("count = 21", "count = 21  # in all versions")
ONLY_21 = counting(11, "c", REMARK).replace("{19,21}", "21").replace(CORPUS, OF_21)
WAIVER_19, WAIVER_99 = WAIVER.replace("-*", "-19"), WAIVER.replace("-*", "-{19,99}")
COUNTED = f'{WAIVER}tier = "edge"\ncount = 21\n'
PAST = f"{ENTRY}until = 2026-05-31\n"

TABLE_OF_LISTS = {
    "as listed": Held(ENTRY, FAILING),
    "on its last day": Held(f"{ENTRY}until = 2026-06-01\n", FAILING),
    "another failure": Held(ENTRY, FAILING | {IDS[0]: wrong(1, 1)}, "fail"),
    "another rule": Held(ENTRY, FAILING | {IDS[0]: wrong(1, 1, TABLE)}, "fail"),
    "passes now": Held(ENTRY, {}, "stale", ()),
    "fails otherwise": Held(ENTRY, {OF_19: wrong(3, 3, TABLE)}, "stale", ()),
    "more": Held(ENTRY, MORE, "changed", (), counting(25, "f")),
    "other answers": Held(ENTRY, OTHER, "changed", (), counting(21, "c")),
    "other answers, no digest": Held(without("digest"), OTHER),
    "more, old vectors": Held(OLD, MORE, "changed", (), counting(25, "f")),
    "as listed, old vectors": Held(OLD, FAILING),
    "one passes now": Held(REMARK, {IDS[6]: FAILING[IDS[6]]}, "changed", (), ONLY_21),
    "one never failed": Held(BROAD, FAILING, "changed", (), ENTRY),
    "no such case": Held(ENTRY.replace("/float", "/flaot"), {}, "unmatched", ()),
    "one is no case": Held(NAMED, FAILING, "unmatched", None, ENTRY),
    "past its date": Held(
        PAST, FAILING, "expired", (), PAST[:-1] + " # this date is past: fix it, or set another\n"
    ),
    "past, and passes now": Held(PAST, {}, "stale", ()),
    "waived": Held(WAIVER, FAILING),
    "waived, more": Held(WAIVER, FAILING | {OF_19: wrong(99, 99)}),
    "waived, fewer": Held(WAIVER, {OF_19: wrong(1, 1)}, "pass", (OF_19,)),
    "waived, passes now": Held(WAIVER, {}, "stale", ()),
    "waived, one is no case": Held(WAIVER_99, FAILING, "unmatched", (OF_19,), WAIVER_19),
    "waived, no such case": Held(WAIVER.replace("Cast-*", "Cats-*"), {}, "unmatched", ()),
    "waived, as counted": Held(COUNTED, FAILING),
    "waived, other count": Held(
        COUNTED, FAILING | {OF_19: wrong(9, 1)}, "changed", (), COUNTED.replace("21", "20")
    ),
    # A selection, a shard or an interrupted run reports nothing as stale or changed.
    "part": Held(WIDER, FAILING, "pass", LATER[:1], left_out=(OF_19,)),
    "part, fewer": Held(WIDER, {OF_19: wrong(2, 5)}, "pass", (OF_19,), left_out=LATER),
    "part, passes now": Held(WIDER, {}, "pass", ()),
    "none of its cases": Held(ENTRY, {}, "pass", (), left_out=(OF_19, IDS[6])),
    "part, more than all": Held(ENTRY, {OF_19: wrong(22, 3)}, "fail", (), left_out=LATER),
    "part, no such case": Held(NAMED, FAILING, "unmatched", (OF_19,), ENTRY, LATER),
    # Entries of another tier or version are ignored.
    **{f"not of {more}": Held(f"{ENTRY}{more}\n", FAILING, "fail", ())
       for more in ('backend = "<1.31"', 'backend = ">=1.20,!=1.31.*"')},
    **{f"of {more}": Held(f"{ENTRY}{more}\n", FAILING)
       for more in ('backend = "<1.32,>=1.31"', 'backend = "==1.31.1"')},
    "of another tier": Held(ENTRY.replace('"edge"', '"boundary"'), FAILING, "fail", ()),
    "of another tier, passes now": Held(ENTRY.replace('"edge"', '"boundary"'), {}, "pass", ()),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE_OF_LISTS)
def test_a_run_is_held_against_a_list(name, tmp_path):
    row = TABLE_OF_LISTS[name]
    result = held(row.text, found(dict(row.failing), row.left_out), tmp_path)
    said = [problem.kind for problem in result.problems] or [result.outcome]
    assert said == [row.said]
    assert excused(result) == list(FAILING if row.excused is None else row.excused)
    assert [problem.repair for problem in result.problems if problem.repair] == [
        repair for repair in (row.repair,) if repair
    ]


def test_what_was_held_can_be_released_and_held_again(tmp_path):
    result = held(ENTRY, found(FAILING), tmp_path)
    assert released(result) == found(FAILING)
    late = held(f"{WIDER}until = 2026-01-01\n", found(FAILING), tmp_path)
    assert late.problems
    assert held(ENTRY, late, tmp_path) == result


def test_a_failure_of_another_rule_in_a_listed_case_fails_the_run(tmp_path):
    name = "onnx.Cast-21/float64-to-float16"
    cases = [replace(c, groups=(*c.groups, wrong(1, 1, TABLE))) if c.case.id == name else c
             for c in found(FAILING).cases]  # fmt: skip
    result = held(ENTRY, run(*cases), tmp_path)
    assert (result.outcome, result.problems) == ("fail", ())
    [groups] = [case.groups for case in result.cases if case.case.id == name]
    failing = [group for group in groups if group.verdict == "fail"]
    assert [bool(group.excuse) for group in failing] == [True, False]


def test_a_case_that_is_unsupported_is_neither_stale_nor_missing(tmp_path):
    newer = case("onnx.Cast-25", "float64", "float16")
    result = run(*found(FAILING).cases, unasked(newer, "unsupported", "no kernel"))
    assert held(WIDER, result, tmp_path).outcome == "pass"
    cases = list(found({OF_19: wrong(3, 3, TABLE)}).cases)
    cases[6] = unasked(HERE[6], "unsupported", "no kernel")
    assert [p.kind for p in held(ENTRY, run(*cases), tmp_path).problems] == ["stale"]


def test_a_part_of_the_cases_has_a_repair_for_all(tmp_path):
    [problem] = held(PAST, found(FAILING, LATER), tmp_path).problems
    assert problem.kind == "expired"
    assert "count = 21" in problem.repair


def test_a_backend_without_a_version(tmp_path):
    nameless = replace(found(FAILING), backend=BackendInfo("mine", "development build"))
    result = held(f'{ENTRY}backend = ">=1"\n', nameless, tmp_path)
    assert (result.outcome, result.problems, len(result.notes)) == ("fail", (), 1)


@pytest.mark.parametrize(("text", "version"), [
    ("onnxruntime 1.31.1, CPUExecutionProvider, 1 thread", "1.31.1"),
    ("openvino 2026.4.1-22034-abc, CPU", "2026.4.1"),
    ("torch 2.13.0+cpu", "2.13.0"), ("v1.2rc1", "1.2rc1"), ("fp8 kernels, 3", "3"), ("2", "2"),
])  # fmt: skip
def test_the_version_of_a_backend(text, version):
    assert str(version_of(text)) == version


def test_a_run_of_own_inputs_is_of_no_list(tmp_path):
    with pytest.raises(UsageError):
        held(ENTRY, replace(found(FAILING), own_inputs=True), tmp_path)


def test_the_first_entry_takes_a_failure_that_two_list(tmp_path):
    first = ENTRY.replace("{19,21}", "21").replace("21\nd", "11\nd").replace('0b"', '0c"')
    for before, kind, repaired in ((ENTRY, "stale", ""), (first, "changed", OF_19)):
        [problem] = held(f"{before}\n{ENTRY}", found(FAILING), tmp_path).problems
        assert (problem.kind, problem.place.line) == (kind, 12)
        assert repaired in problem.repair


def test_a_case_that_fails_as_a_whole(tmp_path):
    text = without("digest").replace("float-to-float / else", "").replace("fail", "crashed", 1)
    result = held(text.replace("= 21", "= 2"), whole(found({}), "crashed", OF_19, IDS[6]), tmp_path)
    assert (result.outcome, result.problems, excused(result)) == ("pass", (), [OF_19, IDS[6]])
    other = held(text.replace("= 21", "= 2"), whole(found({}), "error", OF_19, IDS[6]), tmp_path)
    assert (other.outcome, [p.kind for p in other.problems]) == ("fail", ["stale"])
    [fewer] = held(text, whole(found({}), "crashed", OF_19), tmp_path).problems
    assert fewer.kind == "changed"


def test_the_gate_does_not_make_an_entry_stale(tmp_path):
    result = held(ENTRY, found(FAILING, level="normative"), tmp_path)
    assert (result.outcome, result.problems) == ("pass", ())


ODD_LINES = f"{ENTRY}until = 1\n".replace("goes", "x\u2028y\x85").replace("\n", "\r\n")
NAME = '"onnx.Cast-{19,21}/float64-to-float16"'


@pytest.mark.parametrize(("text", "line", "words"), [
    ("[[known]]\ncase = \n", 2, "not TOML"),
    ("[[known]]\ncase = [", 2, "not TOML"),
    ("known = [\n", 1, "not TOML"),
    (f"[[known]]\ncount = {'1' * 5000}\n", 1, "not TOML"),
    (f"known = {'[' * 5000}{']' * 5000}\n", 1, "nested too deeply"),
    (f"{ENTRY}until = 2026-02-30\n", 11, "not TOML"),
    (f"tier = 'edge'\n{ENTRY}", 1, "'tier'"),
    (ENTRY.replace("[[known]]", "[[knwon]]"), 1, "did you mean known?"),
    (ENTRY.replace("[[known]]", "[known]"), 1, "under a line [[known]]"),
    ("known = [{case = 'x'}]", 1, "cannot locate"),
    (f"\n{ENTRY}isue = 'x'\n", 12, "did you mean issue?"),
    (f"\n\n{without('count')}", 3, "lacks 'count'"),
    (ENTRY.replace('"float-to-float / else"', "1"), 3, "RULE / ROW"),
    (ENTRY.replace(" / ", "/"), 3, "RULE / ROW"),
    (ENTRY.replace('"fail"', '"fial"'), 4, "did you mean fail?"),
    (ENTRY.replace('"fail"', '"pass"'), 4, "'verdict' cannot be 'pass'"),
    (ENTRY.replace('"edge"', '"egde"'), 5, "did you mean edge?"),
    (ENTRY.replace(CORPUS, "1"), 6, "'corpus'"),
    (ENTRY.replace("21", "0"), 7, "'count'"),
    (ENTRY.replace("21", "true"), 7, "'count'"),
    (ENTRY.replace("000b", "b"), 8, "'digest'"),
    (ENTRY.replace("goes through float32", " "), 9, "'reason'"),
    (ENTRY.replace("https:", "htps:"), 10, "'issue'"),
    (f"{ENTRY}until = '2027-01-31'\n", 11, "'until'"),
    (f"{ENTRY}until = 2027-01-31T00:00:00\n", 11, "'until'"),
    (f"{ENTRY}backend = '1.31'\n", 11, ">=1.20,<1.32"),
    (f"{ENTRY}backend = ''\n", 11, ">=1.20,<1.32"),
    (f'{ENTRY}inputs = "float64 0x1"\n', 11, "'inputs'"),
    (f"{WAIVER}until = 2027-01-31\n", 6, "no 'until'"),
    (f"{WAIVER}count = 3\n", 6, "'tier'"),
    (f"{WAIVER}digest = '{'0' * 32}'\n", 6, "'count'"),
    (ENTRY.replace("float-to-float / else", ""), 8, "'digest'"),
    (ENTRY.replace(NAME, "[]"), 2, "'case'"),
    (ENTRY.replace(NAME, "[1]"), 2, "'case'"),
    (ENTRY.replace("{19,21}", "*"), 2, ""),
    (ODD_LINES, 11, "'until'"),
    ("[[judged]]\n", 1, "[[judged]] lacks 'case'"),
    ("[[judged]]\ncase = [\n  'x',\n  1,\n]\n", 2, "'case' has to be a name of cases"),
    ("[[judged]]\ncase = 'x'\nreason = ''\n", 3, "unknown key 'reason' in [[judged]]"),
])  # fmt: skip
def test_a_bad_list(tmp_path, text, line, words):
    path = tmp_path / "known.toml"
    path.write_text(text, encoding="utf-8", newline="")
    with pytest.raises(UsageError) as caught:
        read_known(str(path), CATALOG)
    assert caught.value.place == Place(str(path), line)
    assert words in f"{caught.value.message} {caught.value.hint}"


def test_a_byte_order_mark_is_no_part_of_a_list(tmp_path):
    path = tmp_path / "known.toml"
    path.write_text(ENTRY, encoding="utf-8-sig")
    known = read_known(str(path), CATALOG)
    assert (known.text, known.entries[0].place.line) == (ENTRY, 1)


def test_a_list_that_cannot_be_read(tmp_path):
    (tmp_path / "latin.toml").write_bytes(b"# \xe9\n")
    for name in ("none.toml", "latin.toml"):
        with pytest.raises(UsageError, match=f"cannot read .*{name}"):
            read_known(str(tmp_path / name), CATALOG)
