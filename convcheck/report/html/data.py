"""The data of a run's HTML page: JSON with names. Passing groups are only counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from convcheck.judge.result import FAILURES, CallExample, Example, Group
from convcheck.judge.words import cited, clean, explain_arguments, pair, translated
from convcheck.report.causes import ToldCause
from convcheck.report.document import Document
from convcheck.report.examples import (
    call_in_words,
    code_in_words,
    element_in_words,
    labels,
    marked,
    with_deciding_words,
)
from convcheck.report.findings import CaseFailure, CaseReport, Finding
from convcheck.report.html.line import axis, near, overview
from convcheck.report.matrix import cell_of, matrix
from convcheck.report.short_names import family
from convcheck.report.status import BELOW, KNOWN, STATUSES, WAIVED
from convcheck.rules.model import LEVELS, Case
from convcheck.semantics.expected import Decision

_SHOWN = 3  # examples of a cause
_FAILING = {*FAILURES, *(status.word for status in (BELOW, KNOWN, WAIVED))}
Json = dict[str, Any]


def data(document: Document) -> Json:
    """Return the cases of a run and their failures."""
    rules: dict[Decision, int] = {}  # each with its place
    every = [case for cases in document.cases.values() for case in cases]
    places = {one.case.id: place for place, one in enumerate(every)}
    failures = {one.case.id: one.failures for one in every}
    made = {
        "statuses": [
            {"word": s.word, "symbol": s.symbol, "failing": s.word in _FAILING} for s in STATUSES
        ],
        "levels": LEVELS,
        "families": [
            _family(document, name) for name in dict.fromkeys(map(family, document.cases))
        ],
        "specs": [_spec(spec, cases) for spec, cases in document.cases.items()],
        "cases": [_case(rules, one) for one in every],
        "findings": [_finding(rules, places, one) for one in document.findings],
        "causes": [_cause(rules, places, failures, one) for one in document.causes],
    }
    return made | {"rules": [_rule(by) for by in rules]}


def _spec(spec: str, cases: Iterable[CaseReport]) -> Json:
    noun = "calls" if any(case.case.whole_calls for case in cases) else "values"
    return {"id": spec, "family": family(spec), "noun": noun}


def _family(document: Document, name: str) -> Json:
    every = (cases for spec, cases in document.cases.items() if family(spec) == name)
    one = matrix((case.case, case.status) for cases in every for case in cases)
    return {"name": name, "rows": one.sources, "columns": one.targets}


def _case(rules: dict[Decision, int], one: CaseReport) -> Json:
    case, found = one.case, one.found
    row, column = cell_of(case)
    layout = [("layout", case.layout)] if case.layout else []
    return {
        "id": case.id,
        "spec": case.spec,
        "row": row,
        "column": column,
        "inputs": [t.name for t in case.inputs],
        "outputs": [t.name for t in case.outputs],
        "setting": case.name.partition("/")[2],
        "attributes": [*layout, *((name, str(value)) for name, value in case.attributes)],
        "status": one.status.word,
        "judged": found.values_judged,
        "coverage": found.coverage,
        "message": clean(found.message),
        "entries": _counted(rules, found.groups),
    }


def _counted(rules: dict[Decision, int], groups: Iterable[Group]) -> list[Json]:
    """Count values that did not fail, passing ones of all rows together."""
    counts: Counter[Hashable] = Counter()
    for one in groups:
        if one.verdict not in FAILURES:
            passes, by = one.verdict == "pass", one.decision
            rule = None if passes else rules.setdefault(by, len(rules))
            kind = "" if passes else one.reading or one.kind
            counts[one.verdict, by.level, rule, kind] += one.count
    names = ("status", "level", "rule", "kind")
    return [{**dict(zip(names, key, strict=True)), "count": n} for key, n in counts.items()]  # type: ignore[call-overload]


def _rule(by: Decision) -> Json:
    return {
        **{name: getattr(by, name) for name in ("rule", "name", "level", "row_in_words")},
        "place": str(by.place),
        "sentences": [
            {
                "of": one.of,
                "cite": one.text and cited(one.text, "“", "”"),
                "source": one.document,
                "gloss": translated(one.gloss) if one.gloss else "",
            }
            for one in by.sentences
        ],
    }


# Failures ------------------------------------------------------------------------------------


def _finding(rules: dict[Decision, int], places: Mapping[str, int], finding: Finding) -> Json:
    first, excuse = finding.members[0].group, finding.excuse
    told = ("id", "status", "verdict", "kind", "places", "where", "message")
    return {
        **{name: getattr(finding, name) for name in told},
        "names": finding.cases,
        "rules": [rules.setdefault(by, len(rules)) for by in finding.decisions],
        "reading": first.reading if first else "",
        "placement": first.placement if first else "",
        "excuse": excuse and [excuse.kind, excuse.reason, excuse.issue, str(excuse.place)],
        "members": [_member(rules, places, one) for one in finding.members],
    }


def _member(rules: dict[Decision, int], places: Mapping[str, int], one: CaseFailure) -> Json:
    by, group = one.decision, one.group
    return {
        "case": places[one.case.id],
        "count": one.count,
        "of": one.of if by else 0,
        "rule": rules.setdefault(by, len(rules)) if by else None,
        "kind": clean(", ".join(each.kind for each in one.groups)),
        "evidence": _evidence(one.case, group) if group else None,
    }


def _evidence(case: Case, found: Group) -> Json:
    source = case.inputs[0].format
    single = found.ranges and len(case.outputs) == 1
    return {
        "digest": found.digest,
        "ranges": [pair(source, span) for span in found.ranges],
        "more": found.more_ranges,
        "examples": [_example(case, found, one) for one in found.examples],
        "overview": overview(source, found.ranges) if single else None,
        "axis": axis(source, case.outputs[0].format) if single else None,
    }


def _example(case: Case, group: Group, shown: Example | CallExample) -> Json:
    """Return an example in words, with the arguments of its explain command."""
    made = _call(group, shown) if isinstance(shown, CallExample) else _element(case, group, shown)
    return {
        **made,
        "reading": shown.reading if isinstance(shown, CallExample) else "",
        "message": clean(shown.message),
        "words": " ".join(explain_arguments(case, with_deciding_words(shown))),
    }


def _element(case: Case, group: Group, shown: Example) -> Json:
    rows, line = element_in_words(case, shown, group.verdict), None
    if len(shown.inputs) == 1:
        words = (shown.inputs[0], shown.expected, shown.got)
        line = near(case.inputs[0].format, case.outputs[0].format, words, group.ranges)
    types = [t.name for t in (*case.inputs[: len(shown.inputs)], *case.outputs * 2)]
    return {"rows": msgspec.to_builtins(rows), "types": types, "line": line}


def _call(group: Group, shown: CallExample) -> Json:
    told: Json = msgspec.to_builtins(call_in_words(shown, group.verdict, named=False))
    output, element = shown.difference or (0, -1)
    if isinstance(shown.expected, str) or shown.got is None or element < 0:
        return told
    due, got = shown.expected[output], shown.got[output]
    fmt, i = due.format, element - due.first
    if fmt is None or not 0 <= i < min(len(due.words), len(got.words)):
        return told
    one, other = labels(group.verdict)
    wanted = code_in_words(one, fmt, due.words[i])
    came = marked(code_in_words(other, fmt, got.words[i]), wanted)
    line = near(fmt, fmt, (None, due.words[i], got.words[i]))
    rows = msgspec.to_builtins((wanted, came))
    return {**told, "rows": rows, "types": [due.type, due.type], "line": line}


# Causes --------------------------------------------------------------------------------------


def _cause(
    rules: dict[Decision, int],
    places: Mapping[str, int],
    failures: Mapping[str, Sequence[CaseFailure]],
    one: ToldCause,
) -> Json:
    shown = shown_failures(one, failures)
    told = ("letter", "label", "says", "whole", "names", "scope", "gated")
    return {
        **{name: getattr(one, name) for name in told},
        "where": one.where.lines,
        "answers": one.found.answers,
        "others": tuple(one.others.values()),
        "wrong": one.wrong_answer,
        "shown": [{**_member(rules, places, each), "verdict": each.verdict} for each in shown],
        "cases": [places[case.id] for case in one.cases],
    }


def shown_failures(
    one: ToldCause, failures: Mapping[str, Sequence[CaseFailure]]
) -> list[CaseFailure]:
    """Return a cause's main failure and up to two of other types.

    Failures with both types different are preferred. `failures` maps case ids to failures.
    """
    kept = [one.finding.members[0]]
    for fresh in (all, any):
        for case in one.cases:
            seen = zip(*(cell_of(shown.case) for shown in kept), strict=True)
            new = [side not in some for side, some in zip(cell_of(case), seen, strict=True)]
            asked = [each for each in failures[case.id] if each.groups and not each.excuse]
            if len(kept) < _SHOWN and fresh(new) and asked:
                kept.append(max(asked, key=lambda each: each.count))
    return kept
