"""The causes of two runs -> what became of each. Pure.

Mostly several causes give all answers of a case. So that a cause is not said to have changed where
only another was chosen, both runs are told by the same few causes, and a case that fails in both
runs by one that explains both, where there is any. A case that fails with the same answers has the
same cause.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from convcheck.causes.gather import chosen_causes
from convcheck.judge.result import (
    FAILURES,
    CaseResult,
    CauseInWords,
    ExplainedCase,
    Names,
    RunResult,
)
from convcheck.records import Count, Record

CauseWay = Literal["new", "grown", "moved", "shrunk", "gone", "not asked"]
CAUSE_WAYS: tuple[CauseWay, ...] = ("new", "grown", "moved", "shrunk", "gone", "not asked")
Untried = Literal["", "old", "new"]
OTHER, UNEXPLAINED = "other cause", "not explained"
_UNASKED = {"unsupported", "crashed", "error"}  # verdicts that hide whether a cause is gone
_EXPLAINABLE = {"fail", "refused"}  # verdicts that a cause may explain
_Told = Mapping[tuple[int, str], Names]  # run (0 or 1) and id of a case -> what explains it


class CauseChange(Record, frozen=True, kw_only=True):
    """A cause that does not explain the same cases in both runs."""

    #: `gone` where it explains none any more; `not asked` where all that it explained hides that.
    change: CauseWay
    #: What is at work together, mostly one.
    together: tuple[CauseInWords, ...]
    #: What it explains in the old run.
    before: tuple[ExplainedCase, ...] = ()
    #: What it explains in the new run.
    after: tuple[ExplainedCase, ...] = ()
    #: What the cases that are explained only now did before, and how many of them: a verdict,
    #: `other cause`, or `not explained` of a failure.
    came: dict[str, Count]
    #: What the cases that are explained no more do now, likewise.
    left: dict[str, Count]


class OtherCause(Record, frozen=True, kw_only=True):
    """A case that fails in both runs, and of which the cause is another."""

    case: str
    #: What explains it in the old run; empty where nothing does.
    before: tuple[CauseInWords, ...] = ()
    #: What explains it in the new run; empty where nothing does.
    after: tuple[CauseInWords, ...] = ()


@dataclass(frozen=True)
class CauseDifference:
    """What became of the causes, in the cases that both runs asked."""

    #: In the order of `CAUSE_WAYS`, those of most cases first.
    changes: tuple[CauseChange, ...] = ()
    #: In the order of the plan.
    others: tuple[OtherCause, ...] = ()
    #: The run in which no causes were tried, where the other one has some: nothing is compared.
    untried: Untried = ""


@dataclass(frozen=True)
class ComparedCase:
    """A case in both runs."""

    #: In the old run.
    before: CaseResult
    #: In the new run.
    after: CaseResult
    #: Whether it fails with the same answers.
    same: bool


def cause_changes(cases: Sequence[ComparedCase], old: RunResult, new: RunResult) -> CauseDifference:
    """Return what became of the causes of some cases; nothing where a run has not tried any."""
    if not _has_tried(old) or not _has_tried(new):
        return CauseDifference(untried=_untried(old, new))
    words = {cause.name: cause for cause in (*old.causes, *new.causes)}
    told = _told(cases, words)
    found = [_change(names, cases, told, words) for names in dict.fromkeys(told.values())]
    changes = [one for one in found if one is not None]
    return CauseDifference(
        tuple(sorted(changes, key=lambda one: CAUSE_WAYS.index(one.change))),
        tuple(_others(cases, told, words)),
    )


def _untried(old: RunResult, new: RunResult) -> Untried:
    """Return the run whose causes are missed: the other one has some."""
    if _diagnosed(new):
        return "old"
    return "new" if _diagnosed(old) else ""


def _has_tried(run: RunResult) -> bool:
    """Return whether causes were tried on what fails: in reports of before there were any, none."""
    values = (case.verdict for case in run.cases if not case.case.whole_calls)
    fails = any(verdict in _EXPLAINABLE for verdict in values)
    return _diagnosed(run) or not fails


def _diagnosed(run: RunResult) -> bool:
    return any(case.diagnosis for case in run.cases)


def _told(cases: Sequence[ComparedCase], words: Mapping[str, CauseInWords]) -> _Told:
    """Return what explains each case of each run, those causes first that explain most."""
    fits: dict[tuple[int, str], Sequence[Names]] = {}
    for one in cases:
        before, after = _fits(one.before), _fits(one.after)
        both = [names for names in after if names in before]
        if both or one.same:
            before = after = both or after
        for run, found in enumerate((before, after)):
            if found:
                fits[run, one.after.case.id] = found
    return {key: names for names, keys in chosen_causes(fits, words) for key in keys}


def _fits(case: CaseResult) -> Sequence[Names]:
    return case.diagnosis.fits if case.diagnosis and case.verdict in FAILURES else ()


def _change(
    names: Names, cases: Sequence[ComparedCase], told: _Told, words: Mapping[str, CauseInWords]
) -> CauseChange | None:
    """Return what became of a cause; None where it explains the same cases."""
    had, has = (
        {one.after.case.id for one in cases if told.get((run, one.after.case.id)) == names}
        for run in (0, 1)
    )
    if had == has:
        return None
    gained = (_state(0, one.before, told) for one in cases if one.after.case.id in has - had)
    lost = (_state(1, one.after, told) for one in cases if one.after.case.id in had - has)
    came, left = Counter(gained), Counter(lost)
    return CauseChange(
        change=_way(len(had), len(has), left),
        together=tuple(words[name] for name in names),
        before=explained_cases(one.before for one in cases if one.before.case.id in had),
        after=explained_cases(one.after for one in cases if one.after.case.id in has),
        came=dict(came),
        left=dict(left),
    )


def explained_cases(cases: Iterable[CaseResult]) -> tuple[ExplainedCase, ...]:
    """Return cases that a cause explains."""
    return tuple(
        ExplainedCase(case=each.case.id, answers=found.answers, wrong=found.wrong)
        for each in cases
        if (found := each.diagnosis)
    )


def _way(before: int, after: int, left: Mapping[str, int]) -> CauseWay:
    if not before:
        return "new"
    if not after:
        return "gone" if left.keys() - _UNASKED else "not asked"
    if before == after:
        return "moved"
    return "grown" if after > before else "shrunk"


def _state(run: int, case: CaseResult, told: _Told) -> str:
    """Return what a case does in a run that a cause does not explain."""
    if (run, case.case.id) in told:
        return OTHER
    return UNEXPLAINED if case.verdict in _EXPLAINABLE else case.verdict


def _others(
    cases: Sequence[ComparedCase], told: _Told, words: Mapping[str, CauseInWords]
) -> list[OtherCause]:
    found = []
    for one in cases:
        case = one.after.case
        before, after = (told.get((run, case.id), ()) for run in (0, 1))
        fails = one.before.verdict in FAILURES and one.after.verdict in FAILURES
        if fails and before != after:
            said = [tuple(words[name] for name in names) for names in (before, after)]
            found.append(OtherCause(case=case.id, before=said[0], after=said[1]))
    return found
