"""Reduce a run's result to some cases, one finding or one cause."""

from __future__ import annotations

from collections.abc import Sequence

from convcheck.causes.gather import Explanation, gathered, letters_by_name, with_letters
from convcheck.errors import UsageError
from convcheck.judge.failure import fails_whole, failure_key_of_case, finding_id, finding_of
from convcheck.judge.result import (
    CallExample,
    CaseResult,
    CauseInWords,
    Example,
    RunResult,
    WholeRun,
    case_verdict,
)
from convcheck.plan.select import select_of, select_specs
from convcheck.plan.selection import Selection
from convcheck.records import replace
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case
from convcheck.wording import meant


def excerpt_of(result: RunResult, catalog: Catalog, selection: Selection) -> RunResult:
    """Return the run with the selected cases alone. Raises UsageError if there are none."""
    specs = {spec.id for spec in select_specs(catalog, selection.specs)} if selection.specs else ()
    asked = [one.case for one in result.cases if not specs or one.case.spec in specs]
    if not asked:
        raise UsageError(f"the run has no case of {', '.join(selection.specs)}")
    kept = {case.id for case in select_of(catalog, asked, selection)}
    cases = tuple(one for one in result.cases if one.case.id in kept)
    return replace(result, cases=cases, whole=_whole(result))


def _whole(result: RunResult) -> WholeRun:
    if result.whole:
        return result.whole
    found = gathered(result.cases, result.causes)
    return WholeRun(letters_by_name(found), found.judged)


def of_finding(result: RunResult, named: str) -> RunResult:
    """Return the run with the failures of one finding, by its id or the first digits of it.

    Raises UsageError unless exactly one finding matches.
    """
    ids = {one for case in result.cases for one in _ids(case)}
    found = sorted(one for one in ids if named and one.startswith(named.lower()))
    if len(found) != 1:
        what = f"several findings: {', '.join(found)}" if found else "no finding of this run"
        hint = "reports print the id in the heading of each finding"
        raise UsageError(f"--finding {named} names {what}", hint=hint)
    cases = (_only(case, found[0]) for case in result.cases if found[0] in _ids(case))
    return replace(result, cases=tuple(cases))


def _ids(case: CaseResult) -> set[str]:
    whole = {finding_id(failure_key_of_case(case))} if fails_whole(case) else set()
    return whole | {one for group in case.groups if (one := finding_of(group, case.case))}


def _only(case: CaseResult, finding: str) -> CaseResult:
    groups = tuple(group for group in case.groups if finding_of(group, case.case) == finding)
    if not groups:  # the case failed as a whole
        return replace(case, groups=(), diagnosis=None)
    message = "" if fails_whole(case) else case.message  # which is another finding
    verdict = case_verdict(groups)
    return replace(case, groups=groups, verdict=verdict, message=message, diagnosis=None)


def of_cause(result: RunResult, named: str) -> RunResult:
    """Return the run with the cases that a cause explains, alone or with another cause.

    Raises UsageError for an unknown cause.
    """
    ids = {case.case.id for one in explanations_of(result, named) for case in one.cases}
    cases = tuple(one for one in result.cases if one.case.id in ids)
    return replace(result, cases=cases, whole=_whole(result))


def explanations_of(result: RunResult, named: str) -> list[Explanation]:
    """Return the explanations that contain a cause, the shortest first.

    `named` is a letter in the report or a name in the catalogue, or several joined, such as A+C. A
    cause also matches the explanations that no input distinguishes from it. Raises UsageError if
    nothing matches.
    """
    diagnosis = gathered(result.cases, result.causes)
    told = list(with_letters(diagnosis.explanations, result.whole.letters if result.whole else {}))
    names, letters = set(named.split("+")), set(named.upper().split("+"))
    found = [
        one
        for has, one in told
        if letters <= set(has.split("+"))
        or names <= _names(one.causes)
        or any(names == _names(other) for other in one.others)
    ]
    if found:
        return sorted(found, key=lambda one: len(one.causes))
    every = [some for _, one in told for some in (one.causes, *one.others)]
    known = dict.fromkeys(cause.name for some in every for cause in some)
    has = ", ".join(f"{letter} {'+'.join(c.name for c in one.causes)}" for letter, one in told)
    hint = meant(named, known, f"it has {has}" if has else "it has no explained cases")
    raise UsageError(f"--cause {named} names no cause of this run", hint=hint)


def _names(causes: Sequence[CauseInWords]) -> set[str]:
    return {cause.name for cause in causes}


def shown_example(result: RunResult, named: str) -> tuple[Case, Example | CallExample]:
    """Return the case and the first example of a finding. Raises UsageError if it has none."""
    for one in of_finding(result, named).cases:
        for group in one.groups:
            if group.examples:
                return one.case, group.examples[0]
    hint = "its cases failed as a whole: `convcheck report --finding` shows them"
    raise UsageError(f"the finding {named} has no example", hint=hint)
