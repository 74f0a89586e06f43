"""What a run found as SARIF 2.1.0, for programs that show the findings of analysers: GitHub's code
scanning, and others'. A result a cause, and one a finding that none explains, at the line of the
spec that decided.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from convcheck import __version__
from convcheck.errors import Place
from convcheck.report.document import Document, Finding, ProblemInWords, ToldCause
from convcheck.report.draw.causes import plain_cause_lines
from convcheck.report.draw.finding import plain_lines
from convcheck.wording import GLUE

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_WIDTH = 100
_LEVELS = ("error", "warning", "note")  # the worst first
_LIST = "known-failures"  # of what is wrong with the list of them
Json = dict[str, Any]


def render(document: Document, command: str = "") -> str:
    """Return the report, a whole JSON document."""
    found = [*_causes(document), *_findings(document), *map(_problem, document.problems)]
    rules = list({result["ruleId"]: rule for rule, result in reversed(found)}.values())[::-1]
    index = {rule["id"]: at for at, rule in enumerate(rules)}
    results = [{**result, "ruleIndex": index[result["ruleId"]]} for _, result in found]
    head = document.head
    run = {
        "tool": {"driver": {"name": "convcheck", "version": __version__, "rules": rules}},
        "automationDetails": {"id": f"convcheck/{_text(head.address or head.name)}/{head.tier}/"},
        "invocations": [_invocation(document, command)],
        "results": results,
        "properties": {"backend": _text(document.backend), "verdict": document.verdict},
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _invocation(document: Document, command: str) -> Json:
    """Return how it went: a run that was stopped, or judged nothing, is no clean one."""
    head = document.head
    failed = head.interrupted or head.outcome == "nothing"
    said = {"level": "error", "message": {"text": f"{document.verdict}: {document.reasons[0]}"}}
    return {
        "executionSuccessful": not failed,
        **({"commandLine": _text(command)} if command else {}),
        **({"startTimeUtc": head.began} if head.began else {}),
        **({"toolExecutionNotifications": [said]} if failed else {}),
    }


# Causes ----------------------------------------------------------------------------------------


def _causes(document: Document) -> Iterator[tuple[Json, Json]]:
    for one in document.causes:
        name = "+".join(one.names)
        rule = _rule(
            f"cause/{name}",
            f"cause: {name}",
            one.whole,
            "A wrong conversion that gives every answer of the cases that it explains, the right "
            "answers and the wrong ones.",
        )
        yield rule, _caused(document, one, rule["id"])


def _caused(document: Document, one: ToldCause, rule: str) -> Json:
    explained = {case.id for case in one.cases}
    levels = {
        _level(finding)
        for finding in document.findings
        if any(member.case.id in explained for member in finding.members)
    }
    text = "\n".join([f"{one.line} ({one.count})", "", *plain_cause_lines(one, _WIDTH)])
    place = one.finding.decisions[0].place
    return {
        "ruleId": rule,
        "level": next(level for level in _LEVELS if level in levels),
        "message": {"text": _text(text)},
        "locations": [_location(place, [case.id for case in one.cases])],
        "partialFingerprints": _fingerprints("+".join(one.names)),
    }


# Findings ------------------------------------------------------------------------------------


def _findings(document: Document) -> Iterator[tuple[Json, Json]]:
    places = _places(document)
    excused = [finding for finding in document.findings if finding.excuse]
    for finding in (*document.unexplained, *excused):
        case = finding.members[0].case
        by = finding.decisions[0] if finding.decisions else None
        name = by.rule if by else finding.verdict
        cited = "\n".join(finding.cited)
        rule = _rule(
            f"{case.op}/{name}",
            f"{case.op}: {name}",
            cited if by else f"{case.op}: {finding.verdict} as a whole",
            f"{cited}\n{finding.row} in {finding.places}" if by else _WHOLE,
        )
        yield rule, _result(finding, rule["id"], by.place if by else places[case.spec])


_WHOLE = "The case failed before a rule could decide any value: the runtime's own words say how."


def _places(document: Document) -> dict[str, Place]:
    """Return of each spec where a rule of it stands; of one that decided nothing, its name."""
    found = {}
    for spec, cases in document.cases.items():
        right = (one.decision for case in cases for one in case.row_counts)
        wrong = (one.decision for case in cases for one in case.failures)
        found[spec] = next((by.place for by in chain(right, wrong) if by), Place(spec, 1))
    return found


def _rule(name: str, short: str, full: str, text: str) -> Json:
    """Return what is said of a rule wherever it is broken."""
    return {
        "id": _text(name),
        "shortDescription": {"text": _text(short)},
        "fullDescription": {"text": _text(full)},
        "help": {"text": _text(text)},
        "properties": {"tags": ["conformance"]},
    }


def _result(finding: Finding, rule: str, place: Place) -> Json:
    lines = plain_lines(finding, _WIDTH)
    count = f" ({finding.count})" if finding.count else ""
    text = "\n".join([f"{finding.label}: {finding.labelled_line}{count}", "", *lines])
    excuse = finding.excuse
    why = excuse and {"kind": "external", "justification": _text(excuse.reason)}
    return {
        "ruleId": rule,
        "level": _level(finding),
        "message": {"text": _text(text)},
        "locations": [_location(place, finding.cases)],
        "partialFingerprints": _fingerprints(finding.id),
        **({"suppressions": [why]} if why else {}),
    }


def _level(finding: Finding) -> str:
    """Return error, or warning where the text can be read in several ways; note of what fails no
    run.
    """
    if not finding.gated:
        return "note"
    disputed = finding.verdict in ("fail", "refused") and any(
        by.level == "disputed" for by in finding.decisions
    )
    return "warning" if disputed else "error"


def _problem(one: ProblemInWords) -> tuple[Json, Json]:
    """Return what is wrong with the list of known failures, with the text to have there."""
    rule = _rule(
        f"{_LIST}/{one.kind}", f"known failures: {one.kind}",
        f"An entry of the list of known failures is not true any more: {one.kind}.",
        "The message has the text to put in the place of the entry.",
    )  # fmt: skip
    return rule, {
        "ruleId": rule["id"],
        "level": "error",
        "message": {"text": _text("\n".join([one.message, *one.repair]))},
        "locations": [_location(one.place, ())],
        "partialFingerprints": _fingerprints(f"{one.kind}:{_uri(one.place.file)}:{one.place.line}"),
    }


# In the words of the format ------------------------------------------------------------------


def _location(place: Place, cases: Sequence[str]) -> Json:
    where: Json = {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(place.file)},
            "region": {"startLine": max(place.line, 1)},
        }
    }
    if cases:
        where["logicalLocations"] = [
            {"fullyQualifiedName": _text(case), "kind": "function"} for case in cases
        ]
    return where


def _fingerprints(name: str) -> dict[str, str]:
    """Return what tells a result from others in all runs; the second key is the one that GitHub
    reads.
    """
    return {"convcheckFinding/v1": name, "primaryLocationLineHash": f"{name}:1"}


def _uri(path: str) -> str:
    known = path.encode("utf-8", "backslashreplace").decode()
    pure = PurePath(known)
    return pure.as_uri() if pure.is_absolute() else quote(pure.as_posix())


def _text(words: str) -> str:
    """Return words in which nothing is a link, and that are of Unicode."""
    plain = words.replace(GLUE, " ").replace("](", "] (")
    return plain.encode("utf-8", "backslashreplace").decode()
