"""The report of a run as JUnit XML, for programs that show the results of tests.

A suite a spec, a test a case. A failure that does not fail the run is a skipped test if a list
excuses it, else a test that passes and says so. There are no times in it: equal runs give equal
bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from convcheck import __version__
from convcheck.judge.result import CaseResult, Excuse, Group, Problem, RunResult
from convcheck.judge.words import clean, plural
from convcheck.report import blocks, digest, problems
from convcheck.report.draw.terminal import summary
from convcheck.report.groups import Block, blocks_of
from convcheck.report.tally import by_spec
from convcheck.rules.model import Level

_WIDTH = 100
_FAULTS = ("error", "crashed")  # in JUnit's words errors, the others are failures
_ILLEGAL = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(result: RunResult, command: str = "") -> str:
    """Return the report, a whole XML document."""
    suites = [_suite(spec, cases, result) for spec, cases in by_spec(result).items()]
    suites += _others(result)
    root = Element("testsuites", {"name": "convcheck", **_sums(suites)})
    root.extend(suites)
    indent(root, " ")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _sums(suites: Iterable[Element]) -> dict[str, str]:
    suites = tuple(suites)
    return {
        name: str(sum(int(suite.attrib[name]) for suite in suites))
        for name in ("tests", "failures", "errors")
    }


def _suite(name: str, cases: Sequence[CaseResult], result: RunResult) -> Element:
    tests = [_test(case, result.level) for case in cases]
    return _suite_of(name, _properties(name, result), tests)


def _suite_of(name: str, properties: dict[str, str], tests: Sequence[Element]) -> Element:
    counts = {
        "tests": len(tests),
        "failures": sum(test.find("failure") is not None for test in tests),
        "errors": sum(test.find("error") is not None for test in tests),
        "skipped": sum(test.find("skipped") is not None for test in tests),
    }
    suite = Element("testsuite", {"name": _legal(name), **{k: str(v) for k, v in counts.items()}})
    if properties:
        listed = SubElement(suite, "properties")
        for key, value in properties.items():
            SubElement(listed, "property", {"name": key, "value": _legal(value)})
    suite.extend(tests)
    return suite


def _properties(spec: str, result: RunResult) -> dict[str, str]:
    shard = result.shard
    return {
        "backend": clean(f"{result.backend.name} {result.backend.version}"),
        "tier": result.tier,
        "level": result.level,
        "corpus": dict(result.corpora).get(spec, ""),
        "convcheck": __version__,
        **({"known": result.known} if result.known else {}),
        **({"shard": f"{shard.index}/{shard.of}"} if shard else {}),
    }


# A case --------------------------------------------------------------------------------------


def _test(case: CaseResult, level: Level) -> Element:
    test = _named(case.case.spec, case.case.name)
    found = blocks_of([case], level)
    gated = [block for block in found if block.gated]
    if gated:
        tag = "error" if gated[0].verdict in _FAULTS else "failure"
        _say(test, tag, _gist(gated), gated[0].verdict, found)
    elif excuses := _excuses(found):
        said = "; ".join(dict.fromkeys(map(blocks.excused, excuses)))
        _say(test, "skipped", said, excuses[0].kind)
    elif case.verdict in ("unsupported", "undefined"):
        _say(test, "skipped", _why_not(case), case.verdict)
    elif found:
        SubElement(test, "system-out").text = _legal(_body(found))
    elif case.verdict == "tolerated":
        SubElement(test, "system-out").text = _legal(_tolerated(case.groups))
    return test


def _excuses(found: Sequence[Block]) -> list[Excuse]:
    """Give the excuses of a case's failures, known ones before waivers."""
    given = [block.excuse for block in found if block.excuse]
    return sorted(given, key=lambda excuse: excuse.kind != "known")


def _named(classname: str, name: str) -> Element:
    return Element("testcase", {"classname": _legal(classname), "name": _legal(name)})


def _say(test: Element, tag: str, message: str, kind: str, found: Sequence[Block] = ()) -> None:
    """Give a test its outcome; the body has what was found."""
    outcome = SubElement(test, tag, {"type": kind, "message": _legal(clean(message))})
    if found:
        outcome.text = _legal(_body(found))


def _gist(found: Sequence[Block]) -> str:
    """Say in a line what is wrong, of several things the first."""
    block = found[0]
    parts = [digest.gist(block), blocks.count(block)]
    if block.group:
        parts.append(blocks.row(block, block.group))
    if len(found) > 1:
        parts.append(f"and {len(found) - 1} more")
    return "; ".join(filter(None, parts))


def _body(found: Sequence[Block]) -> str:
    """Give the blocks as the terminal prints them."""
    shown = ((line.plain.rstrip() for line in blocks.show(b, _WIDTH, False)) for b in found)
    return "\n" + "\n\n".join("\n".join(lines) for lines in shown) + "\n"


def _why_not(case: CaseResult) -> str:
    said = clean(case.message)
    if case.verdict == "undefined":
        return "undefined: the standard does not say what is due"
    return f"unsupported: {said or 'no reason given'}"


def _tolerated(groups: Iterable[Group]) -> str:
    lines = (
        f'tolerated: {g.decision.name}: reads it as "{g.reading}", {plural(g.count, "value")}'
        for g in groups if g.verdict == "tolerated"
    )  # fmt: skip
    return "\n".join(dict.fromkeys(lines))


# What is not of a case -----------------------------------------------------------------------


def _others(result: RunResult) -> list[Element]:
    """Give the suites of what fails a run besides its cases."""
    suites = []
    if result.problems:
        tests = [_problem(problem) for problem in result.problems]
        suites.append(_suite_of("known failures", {}, tests))
    if result.interrupted or result.outcome == "nothing":
        word, parts = summary(result)
        test = _named("convcheck", "the run")
        said = "interrupted, results are partial" if result.interrupted else parts[0]
        _say(test, "error", said, word.lower())
        suites.append(_suite_of("run", {}, [test]))
    return suites


def _problem(problem: Problem) -> Element:
    test = _named("known failures", str(problem.place))
    _say(test, "failure", problem.message, problem.kind)
    lines = [clean(problem.message), *problems.repair(problem)]
    test[0].text = _legal("\n" + "\n".join(lines) + "\n")
    return test


def _legal(text: str) -> str:
    """Escape the characters that XML cannot have: \\x1b."""
    return _ILLEGAL.sub(lambda found: ascii(found[0])[1:-1], text)
