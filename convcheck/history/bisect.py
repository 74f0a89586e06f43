"""Which release a cause came or went with, by asking few of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from convcheck.history.matrix import UNJUDGED, AskedRelease
from convcheck.history.releases import Release
from convcheck.judge.result import FAILURES, RunResult


@dataclass(frozen=True)
class Shown:
    """In how many cases a release shows a cause, of those that show it at an end of the range."""

    #: What it answered.
    asked: AskedRelease
    #: How many cases have it.
    count: int
    #: How many of the cases were judged.
    judged: int


@dataclass(frozen=True)
class Bisected:
    """What a search between two releases came to."""

    #: Every release that was asked, in the order in which it was.
    steps: tuple[Shown, ...]
    #: The last release that is as the first one of the range, and the first that is not; None where
    #: both ends are alike, or one of them could not be asked.
    between: tuple[Shown, Shown] | None
    #: How many cases show it where it is shown.
    cases: int
    #: The versions of the releases between these two, none of which could be asked.
    missing: tuple[str, ...] = ()


def bisect(
    releases: Sequence[Release], ask: Callable[[Release], AskedRelease], cause: str
) -> Bisected:
    """Ask both ends, then halve the range as long as there is a release between them.

    One that cannot be asked is passed over. Where a cause comes and goes more than once, one of
    these changes is found.
    """
    ends = [ask(releases[0]), ask(releases[-1])]
    having = [cases_with(cause, one.run) for one in ends]
    cases = having[0] | having[1]
    steps = [_shown(one, cause, cases) for one in ends]
    low, high = steps
    if not (low.asked.run and high.asked.run) or bool(low.count) == bool(high.count):
        return Bisected(tuple(steps), None, len(cases))
    left = list(releases[1:-1])
    while left:
        middle = left[len(left) // 2]
        step = _shown(ask(middle), cause, cases)
        steps.append(step)
        at = left.index(middle)
        if not step.asked.run:
            left.remove(middle)
        elif bool(step.count) == bool(low.count):
            low, left = step, left[at + 1 :]
        else:
            high, left = step, left[:at]
    ends_at = [releases.index(one.asked.release) for one in (low, high)]
    missing = tuple(one.version for one in releases[ends_at[0] + 1 : ends_at[1]])
    return Bisected(tuple(steps), (low, high), len(cases), missing)


def cases_with(cause: str, run: RunResult | None) -> frozenset[str]:
    """Return the failing cases of which the cause gives every answer, alone or with another."""
    return frozenset(
        result.case.id
        for result in (run.cases if run else ())
        if result.verdict in FAILURES and result.diagnosis
        if any(cause in fit for fit in result.diagnosis.fits)
    )


def _shown(asked: AskedRelease, cause: str, cases: frozenset[str]) -> Shown:
    results = asked.run.cases if asked.run else ()
    judged = sum(r.case.id in cases and r.verdict not in UNJUDGED for r in results)
    return Shown(asked, len(cases_with(cause, asked.run) & cases), judged)
