"""SARIF: held to what the schema of version 2.1.0 and GitHub's code scanning ask for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from command import check_golden
from report_runs import (
    ELSE,
    HOSTILE,
    ISSUE,
    KNOWN_FILE,
    NARROW,
    RUNS,
    TRUNCATED,
    answered,
    case,
    excuse,
    explained,
    group,
    hostile,
    run,
    unasked,
)

import convcheck
from convcheck.errors import Place
from convcheck.judge.result import RunResult
from convcheck.report.draw import sarif
from convcheck.report.make import document

ONE = case("onnx.Cast-21", "float32", "bfloat16")
# of the objects of the format: the keys that have to be there, and those that may
KEYS: dict[str, tuple[set[str], set[str]]] = {
    "log": ({"version", "runs"}, {"$schema"}),
    "run": ({"tool"}, {"results", "invocations", "automationDetails", "properties"}),
    "driver": ({"name"}, {"version", "rules"}),
    "rule": ({"id"}, {"shortDescription", "fullDescription", "help", "properties"}),
    "result": (
        {"message"},
        {"ruleId", "ruleIndex", "level", "locations", "partialFingerprints", "suppressions"},
    ),
    "invocation": (
        {"executionSuccessful"},
        {"commandLine", "startTimeUtc", "toolExecutionNotifications"},
    ),
    "notification": ({"message"}, {"level"}),
    "location": (set(), {"physicalLocation", "logicalLocations"}),
    "physical": (set(), {"artifactLocation", "region"}),
    "logical": (set(), {"fullyQualifiedName", "kind"}),
    "suppression": ({"kind"}, {"justification"}),
    "message": (set(), {"text"}),
}
URI = re.compile(r"[A-Za-z0-9\-._~:/?#@!$&'()*+,;=%]+")
LEVELS = {"none", "note", "warning", "error"}


def held(kind: str, found: dict[str, Any]) -> dict[str, Any]:
    """Hold an object to the keys of its kind."""
    needed, allowed = KEYS[kind]
    assert needed <= found.keys() <= needed | allowed, kind
    return found


def texts(found: Any) -> Iterator[str]:
    """Yield every text in it, keys apart."""
    if isinstance(found, str):
        yield found
    elif isinstance(found, dict | list):
        for one in found.values() if isinstance(found, dict) else found:
            yield from texts(one)


def rendered(result: RunResult, command: str = "") -> dict[str, Any]:
    """Render a report, hold it to the format, and return its one run."""
    text = sarif.render(document(result), command)
    log = held("log", json.loads(text))
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-schema-2.1.0.json")
    [found] = log["runs"]
    driver = held("driver", held("run", found)["tool"]["driver"])
    for rule in driver["rules"]:
        held("rule", rule)
        for name in ("shortDescription", "fullDescription", "help"):
            assert held("message", rule[name])["text"]
    for one in found["results"]:
        check_result(one, driver["rules"])
    for one in found["invocations"]:
        for notice in held("invocation", one).get("toolExecutionNotifications", []):
            assert held("notification", notice)["message"]["text"]
    whole: dict[str, Any] = found
    return whole


def check_result(one: dict[str, Any], rules: list[dict[str, Any]]) -> None:
    held("result", one)
    assert rules[one["ruleIndex"]]["id"] == one["ruleId"]
    assert one["level"] in LEVELS
    assert held("message", one["message"])["text"]
    [where] = one["locations"]  # GitHub reads the first
    physical = held("physical", held("location", where)["physicalLocation"])
    assert URI.fullmatch(physical["artifactLocation"]["uri"])
    assert physical["region"]["startLine"] >= 1
    for logical in where.get("logicalLocations", []):
        assert held("logical", logical)["fullyQualifiedName"]
    assert all(isinstance(value, str) for value in one["partialFingerprints"].values())
    for why in one.get("suppressions", []):
        assert held("suppression", why)["kind"] in ("inSource", "external")


def only(result: RunResult) -> dict[str, Any]:
    """Return the one result of a run with one finding."""
    [one] = rendered(result)["results"]
    found: dict[str, Any] = one
    return found


def test_golden() -> None:
    text = sarif.render(document(explained()), "convcheck run --backend ort")
    version = f'"version": "{convcheck.__version__}"'
    check_golden("explained.sarif", text.replace(version, '"version": ""'), None)


@pytest.mark.parametrize("name", RUNS)
def test_a_result_a_cause_what_none_explains_and_a_problem_of_the_list(name: str) -> None:
    result = RUNS[name]()
    made, found = document(result), rendered(result)
    excused = sum(finding.excuse is not None for finding in made.findings)
    shown = len(made.causes) + len(made.unexplained) + excused + len(made.problems)
    assert len(found["results"]) == shown
    said = [re.sub(r" \\\n +", " ", one["message"]["text"]) for one in found["results"]]
    prints = [one["partialFingerprints"].values() for one in found["results"]]
    for finding in made.unexplained:
        assert any(" ".join(finding.explain) in text for text in said)
        assert any(finding.id in values for values in prints)
    ids = [rule["id"] for rule in found["tool"]["driver"]["rules"]]
    assert len(ids) == len(set(ids))
    assert set(ids) == {one["ruleId"] for one in found["results"]}


def test_a_result_is_at_the_line_of_the_spec_with_the_sentence_and_the_id() -> None:
    result = run(answered(ONE, TRUNCATED))
    one, [finding] = only(result), document(result).findings
    assert one["ruleId"] == "onnx.Cast/float-to-float"
    assert one["message"]["text"].startswith("FAIL: one ulp too small in magnitude: float-to-float")
    where = one["locations"][0]["physicalLocation"]
    assert where["artifactLocation"]["uri"] == "specs/onnx/cast-13.yaml"
    assert where["region"]["startLine"] == ELSE.place.line
    assert set(one["partialFingerprints"].values()) == {finding.id, f"{finding.id}:1"}
    [rule] = rendered(result)["tool"]["driver"]["rules"]
    assert ELSE.cite in rule["help"]["text"]
    assert "specs/onnx/cast-13.yaml:27" in rule["help"]["text"]


def test_a_cause_is_a_rule_with_one_result_of_all_its_cases() -> None:
    found = rendered(explained())
    [rule] = [one for one in found["tool"]["driver"]["rules"] if one["id"] == "cause/truncates"]
    assert rule["fullDescription"] == {"text": "truncates (truncates)"}
    [one] = [one for one in found["results"] if one["ruleId"] == rule["id"]]
    assert one["level"] == "error"
    assert one["message"]["text"].startswith(
        "A: truncates (truncates) (4 cases, 4,384 of 4,384 answers)\n"
    )
    assert len(one["locations"][0]["logicalLocations"]) == 4
    assert one["partialFingerprints"]["convcheckFinding/v1"] == "truncates"
    below = rendered(replace(explained(), level="normative"))["results"]
    assert [one["level"] for one in below if one["ruleId"] == rule["id"]] == ["note"]


def test_the_level_is_that_of_rule_and_verdict() -> None:
    disputed = group(NARROW, "fail", "zero")
    assert only(run(answered(ONE, TRUNCATED)))["level"] == "error"
    assert only(run(answered(ONE, disputed)))["level"] == "warning"
    assert only(run(answered(ONE, replace(disputed, verdict="crashed"))))["level"] == "error"
    assert only(run(answered(ONE, TRUNCATED), level="normative"))["level"] == "note"
    known = replace(TRUNCATED, excuse=excuse(12, reason="rounds up", issue=ISSUE))
    one = only(run(answered(ONE, known)))
    assert one["level"] == "note"
    assert one["suppressions"] == [{"kind": "external", "justification": "rounds up"}]


def test_what_failed_as_a_whole_is_at_a_rule_of_its_spec() -> None:
    gone = unasked(case("onnx.Cast-21", "bool", "int4"), "crashed", "died of SIGFPE")
    alone = only(run(gone))
    assert alone["ruleId"] == "onnx.Cast/crashed"
    where = alone["locations"][0]["physicalLocation"]
    assert where["artifactLocation"]["uri"] == "onnx.Cast-21"
    other = rendered(run(answered(ONE, TRUNCATED), gone))["results"][0]
    assert other["ruleId"] == "onnx.Cast/crashed"
    assert other["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].startswith("specs/")


def test_what_is_wrong_with_the_list_is_at_its_line() -> None:
    stale = [one for one in rendered(RUNS["stale"]())["results"] if one["level"] == "error"]
    assert [one["ruleId"] for one in stale] == ["known-failures/stale", "known-failures/changed"]
    where = stale[0]["locations"][0]["physicalLocation"]
    assert (where["artifactLocation"]["uri"], where["region"]["startLine"]) == (KNOWN_FILE, 40)
    assert "[[known]]" in stale[1]["message"]["text"]


def test_a_run_that_was_stopped_or_judged_nothing_was_not_successful() -> None:
    for name, word in (("interrupted", "INTERRUPTED"), ("nothing", "NOTHING JUDGED")):
        [how] = rendered(RUNS[name](), "convcheck run --backend ort")["invocations"]
        assert not how["executionSuccessful"]
        assert how["toolExecutionNotifications"][0]["message"]["text"].startswith(word)
        assert how["commandLine"] == "convcheck run --backend ort"
    assert rendered(RUNS["failing"]())["invocations"] == [{"executionSuccessful": True}]


def test_nothing_from_outside_is_a_link_or_no_text() -> None:
    bad = "[a](https://example.org) \ud800"
    by = replace(ELSE, rule=bad, cite=bad, place=Place("a b/ü/\ud800.yaml", 0))
    result = run(answered(ONE, replace(TRUNCATED, kind=bad, decision=by)))
    for made in (result, hostile()):
        found = rendered(made, bad)
        for text in texts(found):
            text.encode()
            assert "](" not in text
    where = only(result)["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert where == "a%20b/%C3%BC/%5Cud800.yaml"
    assert HOSTILE[:9] in str(list(texts(rendered(hostile()))))
