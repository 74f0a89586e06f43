"""What the page of a run has to know, as small as it can be: what recurs stands once, in a pool.

Passing groups are counted, and nothing else is kept of them. What is in each array is said where
it is made; `templates/model.js` takes it apart again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from convcheck.judge.result import FAILURES, Excuse, Group, Word
from convcheck.judge.words import cited, clean, code_text, pair, translated
from convcheck.numerics.format import Format, Text
from convcheck.report.causes import ToldCause
from convcheck.report.document import Document
from convcheck.report.findings import CaseFailure, CaseReport, Finding
from convcheck.report.html.example import example_data, layout
from convcheck.report.html.line import axis, overview
from convcheck.report.matrix import cell_of, matrix
from convcheck.report.short_names import family
from convcheck.report.status import BELOW, KNOWN, STATUSES, WAIVED
from convcheck.rules.model import LEVELS, Case
from convcheck.semantics.expected import Decision, Quotation

_SHOWN = 3  # examples of a cause
_RANK = {status.word: i for i, status in enumerate(STATUSES)}


class Pool:
    """Things that recur: each stands in `items` once."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self._index: dict[str, int] = {}

    def index(self, item: Any) -> int:
        """Return where an item stands."""
        key = item if isinstance(item, str) else json.dumps(item)
        if key not in self._index:
            self._index[key] = len(self.items)
            self.items.append(item)
        return self._index[key]


@dataclass(frozen=True)
class _Page:
    """The pools of a page, and where in them stands what was met before."""

    texts: Pool = field(default_factory=Pool)
    names: Pool = field(default_factory=Pool)
    signatures: Pool = field(default_factory=Pool)
    settings: Pool = field(default_factory=Pool)
    sentences: Pool = field(default_factory=Pool)
    decisions: Pool = field(default_factory=Pool)
    profiles: Pool = field(default_factory=Pool)
    evidence: Pool = field(default_factory=Pool)
    examples: Pool = field(default_factory=Pool)
    excuses: Pool = field(default_factory=Pool)
    axes: Pool = field(default_factory=Pool)
    types: dict[str, list[Any]] = field(default_factory=dict)
    axis_of: dict[int, int] = field(default_factory=dict)
    met: dict[Hashable, int] = field(default_factory=dict)


def data(document: Document) -> dict[str, Any]:
    """Return all that the page knows of the cases of a run and of their failures."""
    page, specs = _Page(), document.cases
    families = list(dict.fromkeys(map(family, specs)))
    every = [(i, case) for i, cases in enumerate(specs.values()) for case in cases]
    cases = [_case(page, i, case) for i, case in every]
    positions = {id(one): at for at, (_, case) in enumerate(every) for one in case.failures}
    by_id = {case.case.id: (at, case) for at, (_, case) in enumerate(every)}
    findings = [_finding(page, positions, finding) for finding in document.findings]
    return {
        "statuses": [[s.word, s.symbol, s.word in _FAILING] for s in STATUSES],
        "levels": LEVELS,
        "specs": [[spec, families.index(family(spec)), _noun(found)]
                  for spec, found in specs.items()],
        "families": [_family(document, name) for name in families],
        "cases": cases,
        "findings": findings,
        "causes": [_cause(page, by_id, cause) for cause in document.causes],
        "axisOf": page.axis_of,
        "types": page.types,
        **{name: pool.items for name, pool in vars(page).items() if isinstance(pool, Pool)},
    }  # fmt: skip


_FAILING = {*FAILURES, *(status.word for status in (BELOW, KNOWN, WAIVED))}


def _noun(cases: Iterable[CaseReport]) -> str:
    return "calls" if any(case.case.whole_calls for case in cases) else "values"


def _family(document: Document, name: str) -> list[Any]:
    """Return [name, rows, columns] of the specs that differ in their version only."""
    every = (cases for spec, cases in document.cases.items() if family(spec) == name)
    one = matrix((case.case, case.status) for cases in every for case in cases)
    return [name, one.sources, one.targets]


# Cases ---------------------------------------------------------------------------------------


def _case(page: _Page, spec: int, case: CaseReport) -> list[Any]:
    """Return [spec, name, status, judged, coverage, message, profile] of a case."""
    return [
        spec,
        _name(page, case.case),
        _RANK[case.status.word],
        case.found.values_judged,
        page.texts.index(case.found.coverage),
        page.texts.index(clean(case.found.message)) if case.found.message else -1,
        page.profiles.index(list(_profile(page, case.found.groups))),
    ]


def _name(page: _Page, case: Case) -> int:
    key = (case.name, case.bound, len(case.inputs), len(case.outputs))
    if key not in page.met:
        page.met[key] = page.names.index(_named(page, case))
    return page.met[key]


def _named(page: _Page, case: Case) -> list[int]:
    """Return where the two parts of a name stand: [types, row, column, inputs, outputs], and
    [settings, attributes, layout].
    """
    row, column = cell_of(case)
    for dtype in (*case.inputs, *case.outputs):
        page.types.setdefault(dtype.name, layout(dtype.format))
    types, _, settings = case.name.partition("/")
    inputs, outputs = ([t.name for t in some] for some in (case.inputs, case.outputs))
    attributes = [[name, str(value)] for name, value in case.attributes]
    return [
        page.signatures.index([types, row, column, inputs, outputs]),
        page.settings.index([settings, attributes, case.layout]),
    ]


def _profile(page: _Page, found: Iterable[Group]) -> Iterator[list[int]]:
    """Return [status, level, decision, what, count] of what did not fail; of passes one a level."""
    counts: Counter[tuple[int, int, int, int]] = Counter()
    for one in (group for group in found if group.verdict not in FAILURES):
        level, by, what = LEVELS.index(one.decision.level), -1, -1
        if one.verdict != "pass":
            by = _decision(page, one.decision)
            what = page.texts.index(one.reading or one.kind)
        counts[_RANK[one.verdict], level, by, what] += one.count
    yield from ([*key, count] for key, count in counts.items())


def _decision(page: _Page, by: Decision) -> int:
    """Return where [rule, row, level, sentences, row in words, place] stands: texts, but for the
    level and the sentences.
    """
    if by not in page.met:
        words = (by.rule, by.row, by.row_in_words, str(by.place))
        rule, row, in_words, place = map(page.texts.index, words)
        sentences = [_sentence(page, one) for one in by.sentences]
        made = [rule, row, LEVELS.index(by.level), sentences, in_words, place]
        page.met[by] = page.decisions.index(made)
    return page.met[by]


def _sentence(page: _Page, one: Quotation) -> int:
    """Return where [part, citation, source, translation] stands: texts."""
    gloss = translated(one.gloss) if one.gloss else ""
    words = (one.of, one.text and cited(one.text, "“", "”"), one.document, gloss)
    return page.sentences.index([*map(page.texts.index, words)])


# Failures ------------------------------------------------------------------------------------


def _finding(page: _Page, positions: dict[int, int], finding: Finding) -> list[Any]:
    """Return [status, kind, names, rows, places, reading, placement, where, message, verdict,
    excuse, id, members].

    `names` are short ones of the cases, 0 of one case; of `members` each has six numbers.
    """
    members, text, first = finding.members, page.texts.index, finding.members[0]
    return [
        _RANK[finding.status],
        text(finding.kind),
        list(finding.cases) if len(members) > 1 else 0,
        [_decision(page, by) for by in finding.decisions],
        text(finding.places),
        text(first.group.reading if first.group else ""),
        text(first.group.placement if first.group else ""),
        text(finding.where),
        text(finding.message),
        text(finding.verdict),
        page.excuses.index(_excuse(finding.excuse)) if finding.excuse else -1,
        finding.id,
        [number for one in members for number in _member(page, positions, finding, one)],
    ]


def _excuse(excuse: Excuse) -> list[str]:
    return [excuse.kind, excuse.reason, excuse.issue, str(excuse.place)]


def _member(
    page: _Page, positions: dict[int, int], finding: Finding, one: CaseFailure
) -> tuple[int, ...]:
    """Return case, count, of, decision, kind (-1 for the finding's) and evidence."""
    at = positions[id(one)]
    if one.decision is None or one.group is None:
        return at, 0, 0, -1, -1, -1
    kind = clean(", ".join(group.kind for group in one.groups))
    other = page.texts.index(kind) if kind != finding.kind else -1
    by, evidence = _decision(page, one.decision), _evidence(page, one.case, one.group)
    return at, one.count, one.of, by, other, evidence


def _evidence(page: _Page, case: Case, found: Group) -> int:
    """Return where [digest, ranges, ranges left out, examples, ranges on the line] stands."""
    name, source = _name(page, case), case.inputs[0].format
    if found.ranges and name not in page.axis_of and len(case.outputs) == 1:
        page.axis_of[name] = page.axes.index(axis(source, case.outputs[0].format))
    key = (name, id(found))
    if key not in page.met:
        shown = [
            page.examples.index(example_data(case, found.ranges, one)) for one in found.examples
        ]
        spans = overview(source, found.ranges)
        made = [found.digest, _ranges(source, found.ranges), found.more_ranges, shown, spans]
        page.met[key] = page.evidence.index(made)
    return page.met[key]


def _ranges(fmt: Format, ranges: Iterable[tuple[Word, Word]]) -> str | list[str]:
    """Return ranges: 'c0e005 c0a000-1f' for 0xc0e005, 0xc0a000 … 0xc0a01f; texts in quotes."""
    if isinstance(fmt, Text):
        return [pair(fmt, span) for span in ranges]
    said = []
    for span in ranges:
        low, high = (code_text(fmt, word).removeprefix("0x") for word in span)
        shared = next((i for i, digit in enumerate(low) if digit != high[i]), len(low))
        said.append(f"{low}-{high[shared:]}" if low != high else low)
    return " ".join(said)


# Causes --------------------------------------------------------------------------------------


def _cause(page: _Page, by_id: Mapping[str, tuple[int, CaseReport]], one: ToldCause) -> list[Any]:
    """Return [letter, its label, says, whole, names, scope, where, answers, others, gated, wrong
    answer, shown, cases]; `shown` are a case and its evidence each.
    """
    failures = {case.id: by_id[case.id][1].failures for case in one.cases}
    return [
        one.letter,
        one.label,
        one.says,
        one.whole,
        " ".join(one.names),
        one.scope,
        one.where.lines,
        one.found.answers,
        tuple(one.others.values()),
        one.gated,
        one.wrong_answer,
        [
            [by_id[shown.case.id][0], _evidence(page, shown.case, shown.group)]
            for shown in shown_failures(one, failures)
            if shown.group
        ],
        [by_id[case.id][0] for case in one.cases],
    ]


def shown_failures(
    one: ToldCause, failures: Mapping[str, Sequence[CaseFailure]]
) -> list[CaseFailure]:
    """Return the failure that a cause is told by, and two of other types as far as there are any:
    both types others if possible. `failures` are those of its cases, by id.
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
