"""Draw a run as JUnit XML: a suite per spec, a test per case.

A suite's causes are properties. An excused failure is a skipped test, another that does not fail
the run a passing test with output. Times are workers' times, absent for reports read from files.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from convcheck import __version__
from convcheck.judge.result import Excuse, Group, Problem
from convcheck.judge.words import clean, timestamp
from convcheck.report.document import Document
from convcheck.report.draw.console import plain_lines
from convcheck.report.draw.finding import finding_blocks
from convcheck.report.findings import CaseReport, Finding, findings_of
from convcheck.streams import plural

_WIDTH = 100
_UNTIMED: Mapping[str, str] = {}
_FAULTS = ("error", "crashed")  # JUnit's errors; the others are failures
_ILLEGAL = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(document: Document, command: str = "") -> str:
    """Return the XML document."""
    suites = [_suite(spec, cases, document) for spec, cases in document.cases.items()]
    suites += _others(document)
    whole = (case for cases in document.cases.values() for case in cases)
    root = Element("testsuites", {"name": "convcheck"})
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.attrib[name]) for suite in suites)))
    root.attrib.update(_time(whole))
    root.extend(suites)
    indent(root, " ")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _suite(name: str, cases: Sequence[CaseReport], document: Document) -> Element:
    tests = [_test(case, document) for case in cases]
    timing = document.result.timing
    began = {"timestamp": timestamp(timing.began)} if timing else {}
    return _suite_of(name, _properties(name, document), tests, {**_time(cases), **began})


def _time(cases: Iterable[CaseReport]) -> dict[str, str]:
    known = [case.seconds for case in cases if case.seconds is not None]
    return {"time": f"{sum(known):.3f}"} if known else {}


def _suite_of(
    name: str, properties: dict[str, str], tests: Sequence[Element], when: dict[str, str]
) -> Element:
    counts = {
        "tests": len(tests),
        "failures": sum(test.find("failure") is not None for test in tests),
        "errors": sum(test.find("error") is not None for test in tests),
        "skipped": sum(test.find("skipped") is not None for test in tests),
    }
    said = {key: str(count) for key, count in counts.items()}
    suite = Element("testsuite", {"name": _legal(name), **said, **when})
    if properties:
        listed = SubElement(suite, "properties")
        for key, value in properties.items():
            SubElement(listed, "property", {"name": key, "value": _legal(value)})
    suite.extend(tests)
    return suite


def _properties(spec: str, document: Document) -> dict[str, str]:
    run = document.result
    causes = [one for one in document.causes if any(case.spec == spec for case in one.cases)]
    return {
        "backend": document.backend,
        "tier": run.tier,
        "level": run.level,
        "corpus": dict(run.corpora).get(spec, ""),
        "convcheck": __version__,
        **({"known": run.known} if run.known else {}),
        **({"shard": f"{run.shard.index}/{run.shard.of}"} if run.shard else {}),
        **{f"cause {one.letter}": one.whole for one in causes},
    }


def _test(case: CaseReport, document: Document) -> Element:
    found = findings_of(case.failures, document.result.backend.address)
    cause = document.explained_by.get(case.case.id)
    why = f"cause {cause.line}" if cause else ""
    test = _named(case.case.spec, case.case.name, _time([case]))
    gated = [finding for finding in found if finding.gated]
    if gated:
        tag = "error" if gated[0].verdict in _FAULTS else "failure"
        first, more = gated[0], f"and {len(gated) - 1} more" if len(gated) > 1 else ""
        said = "; ".join(filter(None, (why, first.gist, first.count, first.row, more)))
        _say(test, tag, said, first.verdict, _body(found, why))
    elif excuses := [finding.excuse for finding in found if finding.excuse]:
        excuses.sort(key=lambda excuse: excuse.kind != "known")
        said = "; ".join(dict.fromkeys(map(_excused, excuses)))
        _say(test, "skipped", said, excuses[0].kind)
    elif case.found.verdict == "undefined":
        said = "undefined: the standard does not say what to expect"
        _say(test, "skipped", said, "undefined")
    elif case.found.verdict == "unsupported":
        said = f"unsupported: {clean(case.found.message) or 'no reason given'}"
        _say(test, "skipped", said, "unsupported")
    elif found:
        SubElement(test, "system-out").text = _legal(_body(found, why))
    elif case.found.verdict == "tolerated":
        SubElement(test, "system-out").text = _legal(_tolerated(case.found.groups))
    return test


def _excused(excuse: Excuse) -> str:
    said = f"{excuse.kind}: {clean(excuse.reason)}".rstrip(": ")
    return ", ".join(filter(None, (said, clean(excuse.issue), str(excuse.place))))


def _named(classname: str, name: str, time: Mapping[str, str] = _UNTIMED) -> Element:
    return Element("testcase", {"classname": _legal(classname), "name": _legal(name), **time})


def _say(test: Element, tag: str, message: str, kind: str, body: str = "") -> None:
    outcome = SubElement(test, tag, {"type": kind, "message": _legal(clean(message))})
    if body:
        outcome.text = _legal(body)


def _body(found: Sequence[Finding], why: str) -> str:
    shown = ("\n".join(plain_lines(finding_blocks(finding), _WIDTH)) for finding in found)
    return "\n" + "\n\n".join([*filter(None, [why]), *shown]) + "\n"


def _tolerated(groups: Iterable[Group]) -> str:
    lines = (
        f'tolerated: {o.decision.name}: reads it as "{o.reading}", {plural(o.count, "value")}'
        for o in groups if o.verdict == "tolerated"
    )  # fmt: skip
    return "\n".join(dict.fromkeys(lines))


def _others(document: Document) -> list[Element]:
    suites = []
    if document.problems:
        tests = [_problem(problem) for problem in document.problems]
        suites.append(_suite_of("known failures", {}, tests, {}))
    interrupted = document.result.interrupted
    if interrupted or document.result.outcome == "nothing":
        test = _named("convcheck", "the run")
        said = "interrupted, results are partial" if interrupted else document.reasons[0]
        _say(test, "error", said, document.verdict.lower())
        suites.append(_suite_of("run", {}, [test], {}))
    return suites


def _problem(one: Problem) -> Element:
    test = _named("known failures", str(one.place))
    _say(test, "failure", one.message, one.kind)
    test[0].text = _legal("\n" + "\n".join([one.message, *one.repair.splitlines()]) + "\n")
    return test


def _legal(text: str) -> str:
    return _ILLEGAL.sub(lambda found: ascii(found[0])[1:-1], text)
