"""A run held against a list of known failures: what is excused, and what of the list is wrong."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

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
    TODAY,
    WAIVER,
    found,
    whole,
    wrong,
)
from report_runs import ELSE, TABLE, answered, case, run, unasked

from convcheck.errors import Place, UsageError
from convcheck.gate.compare import version_of
from convcheck.gate.failures import Failures
from convcheck.gate.known import hold, read_known, released
from convcheck.judge.result import BackendInfo, Excuse, Problem, RunResult
from convcheck.records import replace

EXCUSED = Excuse(
    "known", "goes through float32", "https://example.org/1", Place("known.toml", 1)
)  # fmt: skip
CHANGED = "if this is intended, replace known.toml:1-10 with:"


def held(text: str, result: RunResult, tmp_path: Path, there: Sequence[str] = ()) -> RunResult:
    """Hold a run against the text of a list; what exists is here and `there`."""
    path = tmp_path / "known.toml"
    path.write_text(text, encoding="utf-8")
    known = read_known(str(path), CATALOG)
    known = replace(known, path="known.toml", entries=tuple(
        replace(e, table=replace(e.table, place=Place("known.toml", e.place.line)))
        for e in known.entries
    ))  # fmt: skip
    return hold(result, known, lambda starts: [*IDS, *there], TODAY)


def excuses(result: RunResult) -> dict[str, Excuse]:
    return {c.case.id: g.excuse for c in result.cases for g in c.groups if g.excuse}


def only_problem(result: RunResult) -> Problem:
    (problem,) = result.problems
    assert result.outcome == "fail"
    return problem


def test_a_listed_failure_that_is_unchanged_does_not_fail_the_run(tmp_path: Path) -> None:
    result = held(ENTRY, found(FAILING), tmp_path)
    assert (result.outcome, result.problems, result.notes) == ("pass", (), ())
    assert excuses(result) == dict.fromkeys(FAILING, EXCUSED)
    assert result.known == "known.toml"
    assert released(result) == found(FAILING)


def test_digests_add_up() -> None:
    digests = [2**127, 2**126, 2**128 - 1]
    failing = {name: wrong(1, d) for name, d in zip(IDS, digests, strict=False)}
    tally = Failures(found(failing)).tally((ELSE.name, "fail"), IDS[:3])
    assert (tally.count, tally.digest) == (3, "b" + "f" * 31)


def test_another_failure_fails_the_run(tmp_path: Path) -> None:
    for other in (wrong(1, 1), wrong(1, 1, TABLE)):
        result = held(ENTRY, found(FAILING | {IDS[0]: other}), tmp_path)
        assert (result.outcome, result.problems) == ("fail", ())
        assert excuses(result).keys() == FAILING.keys()


def test_a_failure_of_another_rule_in_a_listed_case_fails_the_run(tmp_path: Path) -> None:
    name = "onnx.Cast-21/float64-to-float16"
    cases = [replace(c, groups=(*c.groups, wrong(1, 1, TABLE))) if c.case.id == name else c
             for c in found(FAILING).cases]  # fmt: skip
    result = held(ENTRY, run(*cases), tmp_path)
    assert (result.outcome, result.problems) == ("fail", ())
    [groups] = [case.groups for case in result.cases if case.case.id == name]
    failing = [group for group in groups if group.verdict == "fail"]
    assert [bool(group.excuse) for group in failing] == [True, False]


def test_stale(tmp_path: Path) -> None:
    assert only_problem(held(ENTRY, found({}), tmp_path)) == Problem(
        "stale", Place("known.toml", 1),
        "passes now, in all 2 cases; remove the entry, known.toml:1-10",
    )  # fmt: skip


def test_stale_of_cases_that_do_not_pass_either(tmp_path: Path) -> None:
    cases = list(found({IDS[2]: wrong(3, 3, TABLE)}).cases)
    cases[6] = unasked(HERE[6], "unsupported", "no kernel")
    assert only_problem(held(ENTRY, run(*cases), tmp_path)).message == (
        "no case fails like this now (1 failing differently, 1 not judged); "
        "remove the entry, known.toml:1-10"
    )
    one = ENTRY.replace("{19,21}", "19")
    assert only_problem(held(one, run(*cases), tmp_path)).message == (
        "no case fails like this now (1 failing differently); remove the entry, known.toml:1-10"
    )


def test_changed_inputs(tmp_path: Path) -> None:
    result = held(ENTRY, found(FAILING | {IDS[2]: wrong(14, 3)}), tmp_path)
    assert only_problem(result) == Problem(
        "changed", Place("known.toml", 1),
        f"21 failures listed, 25 now, in {IDS[2]}, {IDS[6]}; {CHANGED}",
        ENTRY.replace("count = 21", "count = 25").replace("0000b\"", "0000f\""),
    )  # fmt: skip
    assert not excuses(result)


def test_changed_answers(tmp_path: Path) -> None:
    result = held(ENTRY, found(FAILING | {IDS[6]: wrong(11, 13)}), tmp_path)
    assert only_problem(result) == Problem(
        "changed", Place("known.toml", 1),
        "21 failures as listed, but with other inputs or answers; "
        f"leave out the digest if answers depend on the processor; {CHANGED}",
        ENTRY.replace("0000b\"", "0000c\""),
    )  # fmt: skip
    assert not excuses(result)


def test_changed_answers_without_a_digest_are_excused(tmp_path: Path) -> None:
    lines = [line for line in ENTRY.splitlines(True) if not line.startswith("digest")]
    result = held("".join(lines), found(FAILING | {IDS[6]: wrong(11, 13)}), tmp_path)
    assert (result.outcome, result.problems) == ("pass", ())


def test_changed_with_other_vectors(tmp_path: Path) -> None:
    text = ENTRY.replace(CORPUS, "0123456789abcdef")
    result = held(text, found(FAILING | {IDS[2]: wrong(14, 3)}), tmp_path)
    assert only_problem(result).message == (
        f"21 failures listed, 25 now, in {IDS[2]}, {IDS[6]}; the vectors have changed since; "
        + CHANGED
    )
    assert only_problem(result).repair == (
        ENTRY.replace("count = 21", "count = 25").replace('0000b"', '0000f"')
    )


def test_other_vectors_with_the_same_failures_are_only_a_note(tmp_path: Path) -> None:
    result = held(ENTRY.replace(CORPUS, "0123456789abcdef"), found(FAILING), tmp_path)
    assert (result.outcome, result.problems) == ("pass", ())
    assert result.notes == (
        "known failures: the vectors of 1 entry of known.toml have changed, but the failures "
        "have not; `--known FILE --update` updates the entries",
    )


def test_a_case_that_passes_now_narrows_the_entry(tmp_path: Path) -> None:
    """Fewer failures are a change; the text to put has fewer cases, and keeps comments."""
    text = ENTRY.replace("count = 21", "count = 21  # in all versions")
    result = held(text, found({IDS[6]: FAILING[IDS[6]]}), tmp_path)
    repair = text.replace("{19,21}", "21").replace(CORPUS, OF_21).replace("21  #", "11  #")
    assert only_problem(result) == Problem(
        "changed", Place("known.toml", 1), f"21 failures listed, 11 now, in {IDS[6]}; {CHANGED}",
        repair.replace("0000b\"", "0000c\""),
    )  # fmt: skip


def test_a_named_case_that_does_not_fail(tmp_path: Path) -> None:
    text = ENTRY.replace("float64-to-float16", "float64-to-{float16,bfloat16}")
    result = held(text, found(FAILING), tmp_path)
    assert only_problem(result) == Problem(
        "changed", Place("known.toml", 1),
        f"21 failures as listed, but none in {IDS[3]}, {IDS[7]}; {CHANGED}", ENTRY,
    )  # fmt: skip
    assert not excuses(result)


def test_a_named_case_may_be_unsupported(tmp_path: Path) -> None:
    newer = case("onnx.Cast-25", "float64", "float16")
    result = run(*found(FAILING).cases, unasked(newer, "unsupported", "no kernel"))
    text = ENTRY.replace("{19,21}", "{19,21,25}")
    assert held(text, result, tmp_path, [newer.id]).outcome == "pass"


def test_unmatched(tmp_path: Path) -> None:
    text = ENTRY.replace("{19,21}/float64", "21/flaot64")
    assert only_problem(held(text, found({}), tmp_path)) == Problem(
        "unmatched", Place("known.toml", 1),
        "no case is named onnx.Cast-21/flaot64-to-float16 (did you mean "
        "onnx.Cast-21/float64-to-float16?); remove the entry, known.toml:1-10",
    )  # fmt: skip


TWO = ENTRY.replace("float64-to", "{float64,flaot64}-to")


def test_a_name_that_stands_for_cases_and_for_none(tmp_path: Path) -> None:
    result = held(TWO, found(FAILING), tmp_path)
    gone = [name.replace("float64-", "flaot64-") for name in FAILING]
    assert only_problem(result) == Problem(
        "unmatched", Place("known.toml", 1),
        f"no case is named {', '.join(gone)} (did you mean {IDS[2]}?); "
        "remove it from known.toml:1-10", ENTRY,
    )  # fmt: skip
    assert excuses(result).keys() == FAILING.keys()


@pytest.mark.parametrize(
    ("text", "line"),
    [(ENTRY.replace("{19,21}", "*"), 2), (f'{ENTRY}inputs = "float64 0x1"\n', 11)],
)
def test_what_an_entry_may_not_have_is_refused(tmp_path: Path, text: str, line: int) -> None:
    with pytest.raises(UsageError) as caught:
        held(text, found(FAILING), tmp_path)
    assert caught.value.place == Place(str(tmp_path / "known.toml"), line)
    assert caught.value.hint


@pytest.mark.parametrize(("until", "expired"), [("2026-05-31", True), ("2026-06-01", False)])
def test_past_its_date(tmp_path: Path, until: str, expired: bool) -> None:
    text = f"{ENTRY}until = {until}\n"
    result = held(text, found(FAILING), tmp_path)
    if not expired:
        assert (result.outcome, result.problems) == ("pass", ())
        return
    assert only_problem(result) == Problem(
        "expired", Place("known.toml", 1),
        "should have been fixed by 2026-05-31, but still fails; fix it, or set another date",
        f"{ENTRY}until = 2026-05-31 # this date is past: fix it, or set another\n",
    )  # fmt: skip
    assert not excuses(result)
    assert only_problem(held(text, found({}), tmp_path)).kind == "stale"


def test_an_entry_of_another_tier_or_version_is_of_no_interest(tmp_path: Path) -> None:
    for text in (
        ENTRY.replace('"edge"', '"boundary"'),
        f'{ENTRY}backend = "<1.31"\n',
        f'{ENTRY}backend = ">=1.20,!=1.31.*"\n',
    ):
        assert held(text, found({}), tmp_path) == replace(found({}), known="known.toml")
        assert held(text, found(FAILING), tmp_path).outcome == "fail"
    for text in (f'{ENTRY}backend = "<1.32,>=1.31"\n', f'{ENTRY}backend = "==1.31.1"\n'):
        assert held(text, found(FAILING), tmp_path).outcome == "pass"
        assert held(text, found({}), tmp_path).problems


def test_a_backend_without_a_version(tmp_path: Path) -> None:
    nameless = replace(found(FAILING), backend=BackendInfo("mine", "development build"))
    result = held(f'{ENTRY}backend = ">=1"\n', nameless, tmp_path)
    assert (result.outcome, result.problems) == ("fail", ())
    assert result.notes == (
        "known failures: 1 entry applies to some versions of the backend, but it reports none",
    )


@pytest.mark.parametrize(("text", "version"), [
    ("onnxruntime 1.31.1, CPUExecutionProvider, 1 thread", "1.31.1"),
    ("openvino 2026.4.1-22034-abc, CPU", "2026.4.1"),
    ("torch 2.13.0+cpu", "2.13.0"), ("v1.2rc1", "1.2rc1"), ("fp8 kernels, 3", "3"), ("2", "2"),
])  # fmt: skip
def test_the_version_of_a_backend(text: str, version: str) -> None:
    assert str(version_of(text)) == version


def test_a_part_of_the_cases_is_compared_in_part(tmp_path: Path) -> None:
    """A selection, a shard or an interrupted run: nothing is called stale or changed."""
    of = "known failures: 1 entry of known.toml was compared in part: "
    note = (f"{of}the run has only some of its cases",)
    text = ENTRY.replace("{19,21}", "{19,21,25}")
    for gone in (IDS[2:3], [], IDS[6:]):
        result = held(text, found(FAILING, gone), tmp_path, THERE)
        assert (result.outcome, result.problems, result.notes) == ("pass", (), note)
    assert held(text, found({}), tmp_path, THERE).problems == ()
    few = held(text, found(FAILING | {IDS[2]: wrong(2, 5)}, IDS[6:]), tmp_path, THERE)
    assert few.outcome == "pass"  # it cannot be told: the others may have the rest
    none = held(ENTRY, found({}, [IDS[2], IDS[6]]), tmp_path)
    assert (none.outcome, none.problems, none.notes) == ("pass", (), ())


def test_a_part_with_more_failures_than_all_are_listed_with(tmp_path: Path) -> None:
    result = held(ENTRY, found({IDS[2]: wrong(22, 3)}, IDS[6:]), tmp_path)
    assert (result.outcome, result.problems, excuses(result)) == ("fail", (), {})
    assert result.notes[1:] == (
        "known failures: known.toml:1 lists 21 failures, but some of its cases already have 22: "
        "not excused",
    )


def test_what_holds_of_a_part_too(tmp_path: Path) -> None:
    past = f"{ENTRY}until = 2026-01-01\n"
    result = held(past, found(FAILING, IDS[6:]), tmp_path)
    assert only_problem(result).kind == "expired"
    assert "count = 21" in only_problem(result).repair  # its other cases are not known
    result = held(TWO, found(FAILING, IDS[6:]), tmp_path, IDS[6:])
    assert (only_problem(result).kind, only_problem(result).repair) == ("unmatched", ENTRY)


def test_a_run_of_own_inputs_is_of_no_list(tmp_path: Path) -> None:
    own = replace(found(FAILING), own_inputs=True)
    with pytest.raises(UsageError, match="do not apply to a run with --inputs"):
        held(ENTRY, own, tmp_path)


def test_what_exists_is_asked_for_once_at_most(tmp_path: Path) -> None:
    asked = []

    def every(starts: tuple[str, ...]) -> list[str]:
        asked.append(1)
        return IDS

    path = tmp_path / "known.toml"
    for text, times in ((ENTRY * 3, 1), ("", 0), (ENTRY.replace('"edge"', '"boundary"'), 0)):
        path.write_text(text)
        asked.clear()
        hold(found(FAILING), read_known(str(path), CATALOG), every, TODAY)
        assert len(asked) == times


def test_the_first_entry_takes_a_failure_that_two_list(tmp_path: Path) -> None:
    result = held(f"{ENTRY}\n{ENTRY}", found(FAILING), tmp_path)
    assert excuses(result) == dict.fromkeys(FAILING, EXCUSED)
    assert only_problem(result) == Problem(
        "stale", Place("known.toml", 12),
        "known.toml:1 lists it already; remove the entry, known.toml:12-21",
    )  # fmt: skip
    first = ENTRY.replace("{19,21}", "21").replace("21\nd", "11\nd").replace('0b"', '0c"')
    result = held(f"{first}\n{ENTRY}", found(FAILING), tmp_path)
    assert only_problem(result).message == (
        f"21 failures listed, 10 now, in {IDS[2]}; known.toml:1 lists other cases with it; "
        "if this is intended, replace known.toml:12-21 with:"
    )
    assert 'case = "onnx.Cast-19/float64-to-float16"' in only_problem(result).repair


def test_a_waiver_without_a_count_may_change(tmp_path: Path) -> None:
    for failing in (FAILING, FAILING | {IDS[2]: wrong(99, 99)}, {IDS[2]: wrong(1, 1)}):
        result = held(WAIVER, found(failing), tmp_path)
        assert (result.outcome, result.problems) == ("pass", ())
        assert {e.kind for e in excuses(result).values()} == {"waived"}
    assert only_problem(held(WAIVER, found({}), tmp_path)).kind == "stale"
    part = only_problem(held(WAIVER.replace("-*", "-{19,99}"), found(FAILING), tmp_path))
    assert (part.kind, part.repair) == ("unmatched", WAIVER.replace("-*", "-19"))
    lost = WAIVER.replace("Cast-*", "Cats-*")
    assert only_problem(held(lost, found({}), tmp_path)).kind == "unmatched"


def test_a_waiver_with_a_count_is_held_to_it(tmp_path: Path) -> None:
    text = f'{WAIVER}tier = "edge"\ncount = 21\n'
    assert held(text, found(FAILING), tmp_path).outcome == "pass"
    changed = held(text, found(FAILING | {IDS[2]: wrong(9, 1)}), tmp_path)
    assert only_problem(changed).repair == text.replace("21", "20")
    assert held(text.replace("to-float16", "to-*"), found(FAILING), tmp_path).outcome == "pass"


def test_a_case_that_fails_as_a_whole(tmp_path: Path) -> None:
    lines = ENTRY.replace("float-to-float / else", "").replace("fail", "crashed", 1)
    text = "".join(line for line in lines.splitlines(True) if "digest" not in line)
    result = whole(found({}), "crashed", IDS[2], IDS[6])
    assert result.outcome == "fail"
    result = held(text.replace("= 21", "= 2"), result, tmp_path)
    assert (result.outcome, result.problems) == ("pass", ())
    assert [c.case.id for c in result.cases if c.excuse == EXCUSED] == [IDS[2], IDS[6]]
    other = held(text.replace("= 21", "= 2"), whole(found({}), "error", IDS[2], IDS[6]), tmp_path)
    assert other.outcome == "fail"
    assert [p.kind for p in other.problems] == ["stale"]
    assert only_problem(held(text, whole(found({}), "crashed", IDS[2]), tmp_path)).kind == "changed"


def test_the_gate_does_not_make_an_entry_stale(tmp_path: Path) -> None:
    """What is listed may be below the gate of this run."""
    result = held(ENTRY, found(FAILING, level="normative"), tmp_path)
    assert (result.outcome, result.problems) == ("pass", ())


def test_an_earlier_list_is_forgotten(tmp_path: Path) -> None:
    text = ENTRY.replace("{19,21}", "{19,21,25}")
    late = held(f"{text}until = 2026-01-01\n", found(FAILING), tmp_path, THERE)
    assert late.problems
    assert late.notes
    assert held(ENTRY, late, tmp_path) == held(ENTRY, found(FAILING), tmp_path)


GOOD_WORDS = {"case", "rule", "verdict", "tier", "corpus", "count", "reason"}


def without(key: str) -> str:
    return "".join(line for line in ENTRY.splitlines(True) if not line.startswith(key))


@pytest.mark.parametrize(("text", "line", "message", "hint"), [
    ("[[known]]\ncase = \n", 2, "not TOML: Invalid value", ""),
    ("[[known]]\ncase = [", 2, "not TOML: Invalid value", ""),
    (f"{ENTRY}until = 2026-02-30\n", 11, "not TOML: Invalid date or datetime", ""),
    (f"tier = 'edge'\n{ENTRY}", 1, "unknown key 'tier'", ""),
    (f"version = 1\n{ENTRY}", 1, "unknown key 'version'", "[[waiver]] and [[judged]] tables"),
    (ENTRY.replace("[[known]]", "[[knwon]]"), 1, "unknown key 'knwon'", "did you mean known?"),
    (ENTRY.replace("[[known]]", "[known]"), 1, "'known' is not a table", "under a line [[known]]"),
    ("known = [{case = 'x'}]", 1, "cannot locate the 'known' entries", "its own line"),
    (f"\n{ENTRY}isue = 'x'\n", 12, "unknown key 'isue' in [[known]]", "did you mean issue?"),
    (f"{ENTRY}x = 1\n", 11, "unknown key 'x' in [[known]]", "[[known]] has case, rule, verdict"),
    (f"\n\n{without('count')}", 3, "[[known]] lacks 'count'", ""),
    (ENTRY.replace('"float-to-float / else"', "1"), 3, "'rule' has to be a rule and its row", ""),
    (ENTRY.replace(" / ", "/"), 3, "'rule' has to be a rule and its row", "RULE / ROW"),
    (ENTRY.replace('"fail"', '"fial"'), 4, "'verdict' cannot be 'fial'", "did you mean fail?"),
    (ENTRY.replace('"fail"', '"pass"'), 4, "'verdict' cannot be 'pass'", "known: crashed, error"),
    (ENTRY.replace('"edge"', '"egde"'), 5, "'tier' cannot be 'egde'", "did you mean edge?"),
    (ENTRY.replace(CORPUS, "1"), 6, "'corpus' has to be 16 hexa", "known` writes it"),
    (ENTRY.replace("21", "0"), 7, "'count' has to be a whole number from 1", "known` writes it"),
    (ENTRY.replace("21", "true"), 7, "'count' has to be a whole number from 1", "known`"),
    (ENTRY.replace("000b", "b"), 8, "'digest' has to be 32 hexadecimal digits", "or leave it out"),
    (ENTRY.replace("goes through float32", " "), 9, "'reason' has to be a text", "say why"),
    (ENTRY.replace("https:", "htps:"), 10, "'issue' has to be a URL", "http"),
    (f"{ENTRY}until = '2027-01-31'\n", 11, "'until' has to be a date", "without quotes or time"),
    (f"{ENTRY}until = 2027-01-31T00:00:00\n", 11, "'until' has to be a date", "without quotes"),
    (f"{ENTRY}backend = '1.31'\n", 11, "'backend' has to be a range of versions", ">=1.20,<1.32"),
    (f"{ENTRY}backend = ''\n", 11, "'backend' has to be a range of versions", ">=1.20,<1.32"),
    (f"{WAIVER}until = 2027-01-31\n", 6, "a waiver has no 'until'", "[[known]]"),
    (f"{WAIVER}count = 3\n", 6, "'count' needs 'tier'", "known` writes it"),
    (f"{WAIVER}digest = '{'0' * 32}'\n", 6, "'digest' needs 'count'", "known`"),
    (ENTRY.replace("float-to-float / else", ""), 8, "'digest' needs a rule", "leave it out"),
    (ENTRY.replace('"onnx.Cast-{19,21}/float64-to-float16"', "[]"), 2,
     "'case' has to be a name of cases or a list of names", "show cases"),
    (ENTRY.replace('"onnx.Cast-{19,21}/float64-to-float16"', "[1]"), 2, "'case' has to be", "show"),
])  # fmt: skip
def test_a_bad_list(tmp_path: Path, text: str, line: int, message: str, hint: str) -> None:
    path = tmp_path / "known.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_known(str(path), CATALOG)
    assert caught.value.place == Place(str(path), line)
    assert caught.value.message.startswith(message)
    assert hint in caught.value.hint


def test_lines_are_those_of_toml(tmp_path: Path) -> None:
    text = ENTRY.replace("goes", "\u2028goes\x85").replace("\n", "\r\n")
    with pytest.raises(UsageError) as caught:
        held(f"{text}until = 1\r\n", found({}), tmp_path)
    assert caught.value.place == Place(f"{tmp_path}/known.toml", 11)
    lines = held(f"{text}\r\n{text}", found({}), tmp_path).problems
    assert [p.place.line for p in lines] == [1, 12]
    assert "known.toml:12-21" in lines[1].message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("known = [\n", "not TOML: Invalid value"),
        (f"[[known]]\ncount = {'1' * 5000}\n", "not TOML: Exceeds the limit"),
        (f"known = {'[' * 5000}{']' * 5000}\n", "not readable as TOML: nested too deeply"),
    ],
)
def test_a_list_that_is_no_toml(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_known(str(path), CATALOG)
    assert caught.value.message.startswith(said)
    assert "it has [[known]] and [[waiver]]" in caught.value.hint


def test_a_byte_order_mark_is_no_part_of_a_list(tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    path.write_text(ENTRY, encoding="utf-8-sig")
    known = read_known(str(path), CATALOG)
    assert (known.text, known.entries[0].place.line) == (ENTRY, 1)


def test_a_list_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*none.toml: No such file"):
        read_known(str(tmp_path / "none.toml"), CATALOG)
    (tmp_path / "latin.toml").write_bytes(b"# \xe9\n")
    with pytest.raises(UsageError, match=r"cannot read .*latin.toml: 'utf-8' codec"):
        read_known(str(tmp_path / "latin.toml"), CATALOG)


def test_a_long_list_is_quick(tmp_path: Path) -> None:
    """1,000 entries and 7,500 cases, a quarter of a second on an idle core."""
    types = ("float64", "float32", "float16", "bfloat16", "int64")
    cases = [case(f"onnx.Cast-{v}", s, t) for v in range(300) for s in types for t in types]
    result = run(*(answered(c, *([wrong(1, 1)] * 3)) for c in cases))
    kinds = ",".join(types)
    entries = [ENTRY.replace("{19,21}/float64-to-float16", f"{v}/{s}-to-{{{kinds}}}")
               for v in range(200) for s in types]  # fmt: skip
    path = tmp_path / "known.toml"
    path.write_text("\n".join(entries))
    start = time.process_time()
    known = read_known(str(path), CATALOG)
    done = hold(result, known, lambda starts: [c.id for c in cases], TODAY)
    spent = time.process_time() - start
    assert [len(done.problems), done.problems[0].kind] == [1000, "changed"]
    assert spent < 4  # 1,000 entries to rewrite


def seconds_for(versions: int, tmp_path: Path) -> float:
    """Return the seconds that a list takes which has an entry for each of 25 cases a version."""
    types = ("float64", "float32", "float16", "bfloat16", "int64")
    cases = [case(f"onnx.Cast-{v + 100}", s, t)
             for v in range(versions) for s in types for t in types]  # fmt: skip
    result = run(*(answered(c, wrong(21, 11)) for c in cases))
    entry = ENTRY.replace(CORPUS, Failures(result).corpus([cases[0].id]))
    path = tmp_path / "known.toml"
    path.write_text(
        "\n".join(entry.replace("onnx.Cast-{19,21}/float64-to-float16", c.id) for c in cases)
    )
    start = time.process_time()
    done = hold(result, read_known(str(path), CATALOG), lambda starts: [c.id for c in cases], TODAY)
    spent = time.process_time() - start
    assert (len(excuses(done)), done.problems) == (len(cases), ())
    return spent


def test_an_entry_costs_the_same_in_a_list_of_any_length(tmp_path: Path) -> None:
    """Nothing is looked at for each pair of an entry and a case: of that, 64 times would come."""
    few, many = seconds_for(100, tmp_path), seconds_for(800, tmp_path)
    assert many < 14 * few
