"""Find the release in which a cause appeared or disappeared, by bisection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from convcheck.history.matrix import UNJUDGED, AskedRelease
from convcheck.history.releases import Release
from convcheck.judge.result import FAILURES, RunResult


@dataclass(frozen=True)
class Shown:
    """A tested release, with the number of cases that have the cause."""

    asked: AskedRelease
    count: int
    #: How many of them were judged.
    judged: int


@dataclass(frozen=True)
class Bisected:
    """The result of a bisection."""

    #: All tested releases, in test order.
    steps: tuple[Shown, ...]
    #: The last release like the first of the range, and the next one. None: the ends are alike or
    #: untested.
    between: tuple[Shown, Shown] | None
    #: The number of cases with the cause at either end.
    cases: int
    #: Versions between these two that could not be tested.
    missing: tuple[str, ...] = ()


def bisect(
    releases: Sequence[Release], ask: Callable[[Release], AskedRelease], cause: str
) -> Bisected:
    """Test both ends, then halve the range.

    Releases that cannot be tested are skipped. If a cause comes and goes more than once, one of the
    changes is found.
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
    """Return the failing cases that the cause explains, alone or with others."""
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
