"""Compare the causes of two runs. Pure.

Often several causes give all answers of a case. So that another choice does not look like a change,
both runs use the same few causes, and a case that fails in both uses one that explains both, if
possible. A case that fails with the same answers has the same cause.
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
_UNASKED = {"unsupported", "crashed", "error"}  # verdicts that hide a cause
_EXPLAINABLE = {"fail", "refused"}
_Told = Mapping[tuple[int, str], Names]  # (run 0 or 1, case id) -> causes


class CauseChange(Record, frozen=True, kw_only=True):
    """A cause that explains other cases in the new run."""

    #: `gone` if it explains no case any more; `not asked` if all its cases are now unsupported,
    #: crashed or in error.
    change: CauseWay
    #: The causes that act together, mostly one.
    together: tuple[CauseInWords, ...]
    #: The cases that it explains in the old run.
    before: tuple[ExplainedCase, ...] = ()
    #: The cases that it explains in the new run.
    after: tuple[ExplainedCase, ...] = ()
    #: The previous states of the cases gained, counted: a verdict, `other cause`, or `not
    #: explained`.
    came: dict[str, Count]
    #: The present states of the cases lost, counted.
    left: dict[str, Count]


class OtherCause(Record, frozen=True, kw_only=True):
    """A case that fails in both runs for different causes."""

    case: str
    #: Its causes in the old run; empty if unexplained.
    before: tuple[CauseInWords, ...] = ()
    #: Its causes in the new run; empty if unexplained.
    after: tuple[CauseInWords, ...] = ()


@dataclass(frozen=True)
class CauseDifference:
    """The changes of causes in the cases of both runs."""

    #: In the order of `CAUSE_WAYS`, then by number of cases.
    changes: tuple[CauseChange, ...] = ()
    #: In plan order.
    others: tuple[OtherCause, ...] = ()
    #: The run without a search for causes, if the other has one. Nothing is compared.
    untried: Untried = ""


@dataclass(frozen=True)
class ComparedCase:
    """A case in both runs."""

    before: CaseResult
    after: CaseResult
    #: Whether its failures and answers are the same.
    same: bool


def cause_changes(cases: Sequence[ComparedCase], old: RunResult, new: RunResult) -> CauseDifference:
    """Compare the causes of some cases. Empty if a run searched for none."""
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
    if _diagnosed(new):
        return "old"
    return "new" if _diagnosed(old) else ""


def _has_tried(run: RunResult) -> bool:
    """Return whether causes were tried on failures. Older reports have none."""
    values = (case.verdict for case in run.cases if not case.case.whole_calls)
    fails = any(verdict in _EXPLAINABLE for verdict in values)
    return _diagnosed(run) or not fails


def _diagnosed(run: RunResult) -> bool:
    return any(case.diagnosis for case in run.cases)


def _told(cases: Sequence[ComparedCase], words: Mapping[str, CauseInWords]) -> _Told:
    """Return the causes of each case of each run, preferring causes of many cases."""
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
    """Return the cases with a diagnosis, for a cause that explains them."""
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
