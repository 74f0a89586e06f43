"""An excerpt of a run's result: of some cases, of one finding, or of one cause."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from convcheck.causes.gather import Explanation, gathered, letters_by_name, with_letters
from convcheck.errors import UsageError
from convcheck.judge.failure import fails_whole, failure_key_of_case, finding_id, finding_of
from convcheck.judge.result import CallExample, CaseResult, Example, RunResult, case_verdict
from convcheck.plan.select import select_of, select_specs
from convcheck.plan.selection import Selection
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case
from convcheck.wording import meant


def excerpt_of(result: RunResult, catalog: Catalog, selection: Selection) -> RunResult:
    """Return a run with the selected cases alone. Raises UsageError where it has none of them."""
    specs = {spec.id for spec in select_specs(catalog, selection.specs)} if selection.specs else ()
    asked = [one.case for one in result.cases if not specs or one.case.spec in specs]
    if not asked:
        raise UsageError(f"the run asked no case of {', '.join(selection.specs)}")
    kept = {case.id for case in select_of(catalog, asked, selection)}
    cases = tuple(one for one in result.cases if one.case.id in kept)
    return replace(result, cases=cases, letters=_letters(result))


def _letters(result: RunResult) -> Mapping[str, str]:
    """Return the letter of each cause in the whole run."""
    return result.letters or letters_by_name(gathered(result.cases, result.causes))


def of_finding(result: RunResult, named: str) -> RunResult:
    """Return a run with the failures of one finding alone, given its id, or the first digits of it.

    Raises UsageError for the id of none or of several.
    """
    ids = {one for case in result.cases for one in _ids(case)}
    found = sorted(one for one in ids if named and one.startswith(named.lower()))
    if len(found) != 1:
        what = f"several findings: {', '.join(found)}" if found else "no finding of this run"
        hint = "an id stands in the heading of its finding, in every report of the run"
        raise UsageError(f"--finding {named} names {what}", hint=hint)
    cases = (_only(case, found[0]) for case in result.cases if found[0] in _ids(case))
    return replace(result, cases=tuple(cases))


def _ids(case: CaseResult) -> set[str]:
    whole = {finding_id(failure_key_of_case(case))} if fails_whole(case) else set()
    return whole | {one for group in case.groups if (one := finding_of(group, case.case))}


def _only(case: CaseResult, finding: str) -> CaseResult:
    """Return the result of a case with what is of a finding alone, without what explains it."""
    groups = tuple(group for group in case.groups if finding_of(group, case.case) == finding)
    if not groups:  # it fails as a whole
        return replace(case, groups=(), diagnosis=None)
    message = "" if fails_whole(case) else case.message  # it has its own finding
    verdict = case_verdict(groups)
    return replace(case, groups=groups, verdict=verdict, message=message, diagnosis=None)


def of_cause(result: RunResult, named: str) -> RunResult:
    """Return a run with the cases alone that a cause explains. Raises as `explanation_of` does."""
    cases = explanation_of(result, named).cases
    return replace(result, cases=cases, letters=_letters(result))


def explanation_of(result: RunResult, named: str) -> Explanation:
    """Return what a cause explains in a run, given its letter in the report or its name in the
    catalogue; of several together those of all: A+C.

    Raises UsageError where it is none of the run's. What no input tells from a cause is that one.
    """
    diagnosis = gathered(result.cases, result.causes)
    found = list(with_letters(diagnosis.explanations, result.letters))
    by_name = dict(found)
    for _, one in found:
        for causes in (one.causes, *one.others):
            by_name.setdefault("+".join(cause.name for cause in causes), one)
    if one_named := by_name.get(named) or by_name.get(named.upper()):
        return one_named
    told = ", ".join(f"{letter} {'+'.join(c.name for c in one.causes)}" for letter, one in found)
    hint = meant(named, by_name, f"it has {told}" if told else "no cause explains a case of it")
    raise UsageError(f"--cause {named} names no cause of this run", hint=hint)


def shown_example(result: RunResult, named: str) -> tuple[Case, Example | CallExample]:
    """Return the first example of a finding, and its case. Raises UsageError, also where there is
    none.
    """
    for one in of_finding(result, named).cases:
        for group in one.groups:
            if group.examples:
                return one.case, group.examples[0]
    hint = "it is of cases that failed as a whole: `convcheck report --finding` shows them"
    raise UsageError(f"the finding {named} has no example", hint=hint)
