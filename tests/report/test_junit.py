import time
from collections import Counter
from datetime import UTC, datetime
from xml.etree.ElementTree import fromstring

import pytest
import xmlschema
from command import check_golden
from drawn import in_junit
from places import TESTS
from report_runs import (
    CHANGED,
    ISSUE,
    KNOWN_FILE,
    RUNS,
    TRUNCATED,
    WRAPPED,
    answered,
    case,
    excuse,
    many,
    passed,
    run,
    unasked,
)

import convcheck
from convcheck.errors import Place
from convcheck.judge.result import BackendInfo, Problem, Timing
from convcheck.records import replace

SCHEMA = xmlschema.XMLSchema(TESTS / "schemas" / "junit-10.xsd")
ONE = case("onnx.Cast-21", "float32", "bfloat16")
HOSTILE = "a\x00\x1b[31m\x0b\ufffe\ud800]]> <b> & \"'\t\r\nend"


def rendered(result):
    text = in_junit(result)
    SCHEMA.validate(text)
    return fromstring(text)


def outcome(result, level="disputed"):
    test = next(rendered(run(result, level=level)).iter("testcase"))
    tags = [(child.tag, child.get("message", child.text or "")) for child in test]
    return tags[0] if tags else ("", "")


@pytest.mark.parametrize("name", ["junit-listed", "junit-kinds"])
def test_golden(name):
    text = in_junit(RUNS[name.removeprefix("junit-")]())
    version = f'name="convcheck" value="{convcheck.__version__}"'
    check_golden(f"{name}.xml", text.replace(version, 'name="convcheck" value=""'), None)


@pytest.mark.parametrize("name", RUNS)
def test_every_report_is_what_the_schema_says_and_counts_right(name):
    result = RUNS[name]()
    root = rendered(result)
    suites = root.findall("testsuite")
    named = [t.get("classname", "") + "/" + t.get("name", "") for t in root.iter("testcase")]
    ids = [c.case.id for c in result.cases]
    assert not Counter(ids) - Counter(named)
    for tag, count in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        for suite in suites:
            assert suite.get(count) == str(len(list(suite.iter(tag))))
    assert root.get("failures") == str(len(list(root.iter("failure"))))
    assert root.get("tests") == str(len(named))
    # programs that only read the tests also see a failed run
    bad = len(list(root.iter("failure"))) + len(list(root.iter("error")))
    assert bool(bad) == (result.outcome != "pass")


def test_the_schema_is_one():
    text = in_junit(RUNS["listed"]()).replace("<testcase classname", "<testcase klass", 1)
    assert not SCHEMA.is_valid(text)
    assert not SCHEMA.is_valid('<testsuite tests="1"/>')


def gone(verdict, message=""):
    return unasked(ONE, verdict, message)


def test_the_outcome_of_a_case():
    assert outcome(passed(ONE)) == ("", "")
    said = "one ulp too small in magnitude; 312 of 980; float-to-float / else"
    assert outcome(answered(ONE, TRUNCATED)) == ("failure", said)
    assert outcome(answered(ONE, TRUNCATED, WRAPPED))[1].endswith("; and 1 more")
    assert outcome(gone("crashed", "died of\n SIGFPE")) == ("error", "died of SIGFPE")
    assert outcome(gone("error", "IndexError")) == ("error", "IndexError")
    assert outcome(gone("unsupported", "no kernel")) == ("skipped", "unsupported: no kernel")
    assert outcome(gone("undefined"))[0] == "skipped"


def test_the_cause_stands_before_what_is_wrong():
    root = rendered(RUNS["explained"]())
    failures = list(root.iter("failure"))
    why = "cause A: truncates (truncates)"
    caused = [one for one in failures if str(one.get("message")).startswith(f"{why}; one ulp")]
    assert len(caused) == 4
    assert all(str(one.text).startswith(f"\n{why}\n\nFAIL  ") for one in caused)
    [plain] = [one for one in failures if "cause" not in str(one.get("message"))]
    assert "FAIL  onnx.Cast-21/float32-to-float8e4m3fn" in str(plain.text)
    named = {one.get("name"): one.get("value") for one in root[1].iter("property")}
    assert named["cause A"] == "truncates (truncates)"
    assert str(named["cause A+B"]).startswith("truncates (truncates); and gives NaN")
    assert "cause B" not in {one.get("name") for one in root[0].iter("property")}


def test_below_the_gate_passes_and_says_so():
    tag, said = outcome(answered(ONE, TRUNCATED), "normative")
    assert tag == "system-out"
    assert "fail (below the gate)  onnx.Cast-21/float32-to-bfloat16" in said


def test_what_a_list_excuses_is_skipped_with_the_reason():
    known = replace(TRUNCATED, excuse=excuse(12, issue=ISSUE))
    said = f"known: rounds halves up, {ISSUE}, {KNOWN_FILE}:12"
    assert outcome(answered(ONE, known)) == ("skipped", said)
    waived = replace(WRAPPED, excuse=excuse(80, "waived", "for good"))
    both = ("skipped", f"{said}; waived: for good, {KNOWN_FILE}:80")
    assert outcome(answered(ONE, waived, known)) == both
    tag, gist = outcome(answered(ONE, known, WRAPPED))
    assert (tag, gist[:21]) == ("failure", "overflow gives NaN, n")
    whole = replace(gone("crashed", "SIGFPE"), excuse=excuse(1))
    assert outcome(whole)[0] == "skipped"


def test_what_is_wrong_with_the_list_fails_in_a_suite_of_its_own():
    suite = rendered(RUNS["listed"]()).findall("testsuite")[-1]
    assert (suite.get("name"), suite.get("failures")) == ("known failures", "2")
    stale, changed = suite.iter("failure")
    assert (stale.get("type"), changed.get("type")) == ("stale", "changed")
    assert "remove the entry" in (stale.text or "")
    assert CHANGED in (changed.text or "")


def test_a_run_that_was_stopped_or_judged_nothing_does_not_look_well():
    assert "interrupted" in (messages(RUNS["interrupted"]()))[0]
    assert messages(RUNS["nothing"]()) == ["2 cases asked, none judged"]
    assert messages(run()) == ["0 cases asked, none judged"]
    assert not messages(RUNS["all_pass"]())


def messages(result):
    return [error.get("message", "") for error in rendered(result).iter("error")]


def test_properties():
    suite = rendered(RUNS["listed"]()).find("testsuite")
    said = {p.get("name"): p.get("value") for p in suite.iter("property")}
    assert said == {
        "backend": "onnxruntime 1.31.1", "tier": "edge", "level": "disputed",
        "corpus": "c0ffee" * 10 + "c0de", "convcheck": convcheck.__version__,
        "known": KNOWN_FILE, "shard": "3/16",
    }  # fmt: skip


def hostile():
    wrong = replace(TRUNCATED, kind=HOSTILE, placement=HOSTILE, reading=HOSTILE)
    by = replace(TRUNCATED.decision, rule=HOSTILE, cite=HOSTILE, source=HOSTILE)
    yield run(answered(ONE, wrong), gone("unsupported", HOSTILE), gone("crashed", HOSTILE))
    yield run(answered(ONE, replace(TRUNCATED, decision=by)))
    yield run(answered(ONE, replace(TRUNCATED, decision=by)), level="normative")
    yield run(answered(ONE, replace(TRUNCATED, excuse=excuse(1, reason=HOSTILE, issue=HOSTILE))))
    yield run(answered(ONE, replace(WRAPPED, verdict="tolerated", reading=HOSTILE)))
    problem = Problem("changed", Place(HOSTILE, 1), HOSTILE, HOSTILE)
    yield replace(run(passed(ONE)), backend=BackendInfo(HOSTILE, HOSTILE), problems=(problem,))


def test_characters_that_xml_cannot_have():
    for result in hostile():
        text = in_junit(result)
        SCHEMA.validate(text)
        text.encode()
        assert not {"\x00", "\x1b", "\x0b", "\ufffe", "\ud800"} & set(text)
        assert "]]" in text


def test_thousands_of_cases_take_no_time():
    """A guard against superlinear time. 7,649 cases of a runtime take 0.7 s."""
    several = [replace(TRUNCATED, kind=kind) for kind in ("a", "b")]
    found = [answered(one.case, *several) for one in many().cases[:30]] * 10
    start = time.process_time()
    in_junit(run(*found, *[passed(ONE)] * 7000))
    assert time.process_time() - start < 3


def timed():
    began = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)
    others = [case("onnx.Cast-19", "float32", target) for target in ("float16", "uint8")]
    times = {ONE.id: 1.25, others[0].id: 0.0004}
    result = run(passed(ONE), *(passed(other) for other in others))
    return replace(result, timing=Timing(began, 2.0, times))


def test_times_are_of_cases_and_suites_and_the_run():
    root = rendered(timed())
    first, other = root.findall("testsuite")
    assert [suite.get("timestamp") for suite in (first, other)] == ["2026-01-31T12:00:00Z"] * 2
    assert [element.get("time") for element in (root, first, other)] == ["1.250", "1.250", "0.000"]
    assert [test.get("time") for test in root.iter("testcase")] == ["1.250", "0.000", None]


def test_what_is_not_known_is_not_said():
    elements = rendered(RUNS["listed"]()).iter()
    assert not {"time", "timestamp"} & {name for each in elements for name in each.attrib}
