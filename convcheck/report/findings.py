"""Failures that are the same across cases, put together and in words."""

from __future__ import annotations

import shlex
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from convcheck.judge.failure import (
    FailureKey,
    fails_whole,
    failure_key_of_case,
    failure_key_of_cause,
    of_types,
    sort_of,
)
from convcheck.judge.result import (
    FAILURES,
    CallExample,
    CaseResult,
    Example,
    Excuse,
    Group,
    Verdict,
    gates,
)
from convcheck.judge.words import (
    cited,
    clean,
    explain_arguments,
    pair,
    row_names,
    shell_word,
    translated,
)
from convcheck.report.document import CallInWords, CaseFailure, ElementInWords, Evidence, Finding
from convcheck.report.examples import call_in_words, element_in_words, with_deciding_words
from convcheck.report.wrong_types import compact
from convcheck.rules.case_names import compact_names
from convcheck.rules.model import Case, Level
from convcheck.semantics.expected import Decision, Quotation
from convcheck.wording import GLUE

SEVERAL = "wrong elements of several kinds"
_URGENT: tuple[Verdict, ...] = ("error", "crashed")


# The failures of a case ----------------------------------------------------------------------


def failures_of(case: CaseResult, level: Level) -> Iterator[CaseFailure]:
    """Yield the failures of a case of a run gated at `level`, groups of one cause as one."""
    found: dict[tuple[FailureKey, Excuse | None], list[Group]] = {}
    for group in case.groups:
        if group.verdict in FAILURES:
            cause = failure_key_of_cause(group, case.case)
            found.setdefault((cause, group.excuse), []).append(group)
    for (cause, _), groups in found.items():
        yield _failure(case, cause, groups, level)
    if fails_whole(case):
        key, gated = failure_key_of_case(case), case.excuse is None
        yield CaseFailure(case.case, case.verdict, gated, case.excuse, key, clean(case.message))


def _failure(
    case: CaseResult, cause: FailureKey, groups: Sequence[Group], level: Level
) -> CaseFailure:
    """Return a case's groups of one cause as one failure; the first stands for all."""
    first = groups[0]
    decided = {group.decision.name: group.of for group in groups}  # of several kinds, once
    return CaseFailure(
        case=case.case,
        verdict=first.verdict,
        gated=gates(first, level),
        excuse=first.excuse,
        cause=cause,
        message="" if case.verdict == "error" else clean(case.message),  # it has its own finding
        decision=first.decision,
        kinds=tuple(group.kind for group in groups),
        sort=sort_of(first),
        reading=first.reading,
        placement=first.placement,
        only_there=_only_there(case, first),
        count=sum(group.count for group in groups),
        of=sum(decided.values()),
        evidence=Evidence(first.digest, first.ranges, first.more_ranges, first.examples),
    )


# Findings ------------------------------------------------------------------------------------


def findings_of(failures: Iterable[CaseFailure], address: str) -> list[Finding]:
    """Return the failures of some cases, those of one cause together, the gravest first. `address`
    is that of the backend, '' where not known.
    """
    found: dict[Hashable, list[CaseFailure]] = {}
    for failure in failures:
        found.setdefault((failure.cause, failure.excuse), []).append(failure)
    ordered = sorted(found.values(), key=_gravity)
    return [_finding(tuple(same), address) for same in ordered]


def _gravity(members: Sequence[CaseFailure]) -> tuple[bool, bool, int, int, int]:
    one = members[0]
    rank = _URGENT.index(one.verdict) if one.verdict in _URGENT else len(_URGENT)
    count = sum(member.count for member in members)
    return (not one.gated, one.excuse is not None, rank, -len(members), -count)


def _finding(members: tuple[CaseFailure, ...], address: str) -> Finding:
    first, shown = members[0], _shown(members)
    by, evidence = first.decision, shown.evidence
    decisions = _decisions(members)
    short = compact if all(of_types(one.case) for one in members) else compact_names
    kind, message = _kind(members), _message(first, evidence)
    where = _where(members)
    what = _what(first, kind, where, evidence) if by else ""
    seen = evidence if evidence and evidence.examples else None
    return Finding(
        members=members,
        cases=tuple(short(one.case.id for one in members)),
        decisions=decisions,
        rule=by.name if by else "",
        row=row_names([by.name for by in decisions]),
        places=_places(members),
        cited=cited_lines(by) if by else (),
        kind=clean(kind),
        where=where,
        what=what,
        gist=clean(_gist(first, what, message)) or first.verdict,
        message=message,
        examples=_examples(shown, seen) if seen else (),
        ranges=tuple(pair(shown.case.inputs[0].format, s) for s in seen.ranges) if seen else (),
        more_ranges=seen.more_ranges if seen else 0,
        explain=_explain(shown, seen, address) if seen else (),
    )


def _shown(members: Sequence[CaseFailure]) -> CaseFailure:
    """Return the first failure that has an example."""
    return next((one for one in members if one.evidence and one.evidence.examples), members[0])


def _kind(members: Sequence[CaseFailure]) -> str:
    kinds = list(dict.fromkeys(kind for one in members for kind in one.kinds))
    if len(kinds) < 2:
        return "".join(kinds)
    return members[0].sort or ", ".join(kind for kind in kinds if kind != SEVERAL)


def _message(first: CaseFailure, evidence: Evidence | None) -> str:
    """Return the runtime's own words, where no example says them."""
    examples = evidence.examples if evidence else ()
    return "" if any(clean(one.message) == first.message for one in examples) else first.message


def _decisions(members: Sequence[CaseFailure]) -> tuple[Decision, ...]:
    """Return the rows that decided the failing values, of each name the first case's."""
    found: dict[str, Decision] = {}
    for one in members:
        if one.decision:
            found.setdefault(one.decision.name, one.decision)
    return tuple(found.values())


def _places(members: Sequence[CaseFailure]) -> str:
    """Return where the first row stands, one place a spec file that changed it."""
    every = [one.decision for one in members if one.decision]
    places = dict.fromkeys(str(by.place) for by in every if by.name == every[0].name)
    each = list(places)
    return ", ".join([*each[:1], *(_beside(*both) for both in pairwise(each))])


def _beside(before: str, place: str) -> str:
    """Return a place that stands beside another: no folders, of the same file its line only."""
    file, _, line = place.rpartition(":")
    return line if before.rpartition(":")[0] == file else place.rpartition("/")[2]


def _only_there(case: CaseResult, group: Group) -> bool:
    """Return whether a group's inputs were asked in another placement, and are right in each."""
    others = [
        other
        for other in case.groups
        if other.decision.name == group.decision.name and other.placement != group.placement
    ]
    right = any(other.verdict in ("pass", "tolerated") for other in others)
    return right and not any(other.verdict in FAILURES for other in others)


def _where(members: Sequence[CaseFailure]) -> str:
    """Return in which placement a finding shows, '' where in all."""
    first = members[0]
    if not first.placement:
        return ""
    if first.verdict == "inconsistent":
        return f"seen with: {first.placement}"
    only = "only " if all(one.only_there for one in members) else ""
    return f'{only}in placement "{first.placement}"'


def _what(first: CaseFailure, kind: str, where: str, evidence: Evidence | None) -> str:
    if first.verdict == "inconsistent" and evidence:
        return clean(f"{kind}: {evidence.examples[0].message}")  # both ways with what they give
    said = kind
    if first.reading:
        said += f"; closest reading: {first.reading}"
    if where:
        said += f", {where}"
    return clean(said.lstrip(",; "))  # a type in it is named by the backend


def _gist(first: CaseFailure, what: str, message: str) -> str:
    if first.decision is None:
        return message
    examples = first.evidence.examples if first.evidence else ()
    said = examples[0].message if examples else ""
    if first.verdict == "refused":
        return said or first.decision.name
    return said if said and first.verdict == "crashed" else what


@lru_cache(256)
def cited_lines(by: Decision) -> tuple[str, ...]:
    """Return what a row rests on: a line a sentence, its translation, what the row says."""
    lines: list[str] = []
    for one in by.sentences:
        level = f" (level:{GLUE}{by.level})" if one == by.sentences[-1] else ""
        lines.append(f"{_sentence(one)}{level}".lstrip())
        lines += [translated(one.gloss)] if one.gloss else []
    return (*lines, *([f"in its row: {by.row_in_words}"] if by.row_in_words else []))


def _sentence(one: Quotation) -> str:
    """Return a sentence with where it stands, after what of the row rests on it."""
    part = f"{one.of}: " if one.of else ""
    document = f" — {one.document}" if one.document else ""
    return part + (cited(one.text) if one.text else "") + document


def _examples(shown: CaseFailure, evidence: Evidence) -> tuple[ElementInWords | CallInWords, ...]:
    disputed = shown.decision is not None and shown.decision.level == "disputed"
    return tuple(
        call_in_words(example, shown.verdict, named=disputed)
        if isinstance(example, CallExample)
        else element_in_words(shown.case, example, shown.verdict)
        for example in evidence.examples
    )


def _explain(shown: CaseFailure, evidence: Evidence, address: str) -> tuple[str, ...]:
    """Return the command that explains the first example."""
    return explain_command(shown.case, with_deciding_words(evidence.examples[0]), address)


def explain_command(
    case: Case, example: Example | CallExample, address: str
) -> tuple[str, str, str]:
    """Return the command that explains an example and asks the backend again: its beginning, the
    case, and the values.
    """
    asked = ["--backend", shell_word(address)] if address else []
    if case.is_pair:
        start = " ".join(("convcheck run --chains", *asked, case.spec, "--case"))
        return start, shlex.quote(case.id), ""
    if case.hops:
        types = (case.inputs[0], *(hop.outputs[0] for hop in case.hops))
        where = (f"--where {name}={value}" for name, value in case.attributes)
        start = " ".join(("convcheck chain", *asked, "--spec", case.spec, *where))
        return start, " ".join(dtype.name for dtype in types), ""
    arguments = explain_arguments(case, example)
    at = 2 if arguments[0] == "--" else 1
    start = " ".join(["convcheck explain", *asked, *arguments[: at - 1]])
    return start, arguments[at - 1], " ".join(arguments[at:])
