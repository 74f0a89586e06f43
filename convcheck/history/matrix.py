"""Build the history of causes over several releases. Pure.

Causes are chosen for all releases at once. If two act together in a case, and another release has
one of them alone there, the rows that this one breaks are blamed on it and the rest on the other. A
release passes only if it was judged.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, TypeVar

from convcheck.causes.gather import chosen_causes
from convcheck.history.environments import Release
from convcheck.judge.result import FAILURES, CaseResult, CauseInWords, Names, RunResult
from convcheck.records import grouped

K = TypeVar("K", bound=Hashable)
State = Literal["fails", "passes", "otherwise", "lacks"]
UNJUDGED = ("unsupported", "undefined")
DIED = ("error", "crashed")


@dataclass(frozen=True)
class AskedRelease:
    """A release with its run, or why there is none."""

    release: Release
    run: RunResult | None
    why: str = ""  # why it could not be tested


@dataclass(frozen=True)
class RuleKey:
    """A row of a rule, in all versions of an operator."""

    rule: str
    row: str
    place: str  # its line in a spec file


@dataclass(frozen=True)
class ReleaseTurn:
    """The changes in a row's cases between two consecutive tested releases."""

    before: Release
    after: Release
    cases: Mapping[str, tuple[State, State]]  # case id -> its states before and after

    def count(self, before: State, after: State) -> int:
        """Return the number of cases that went from one state to another."""
        return sum(states == (before, after) for states in self.cases.values())


@dataclass(frozen=True)
class RowHistory:
    """The history of a row that a cause breaks."""

    key: RuleKey
    #: By tested release, the state of each case that has the cause in any release.
    states: Mapping[Release, Mapping[str, State]]

    def failing(self, release: Release) -> int:
        """Return the number of failing cases."""
        return sum(state == "fails" for state in self.states[release].values())

    def state(self, release: Release) -> State | None:
        """Return the state of a release, if it was tested: "fails" if any case does."""
        return _gravest(self.states.get(release, {}).values())

    @property
    def first_bad(self) -> Release:
        """The first release that fails."""
        return next(release for release in self.states if self.failing(release))

    @property
    def turns(self) -> Iterator[ReleaseTurn]:
        """The points at which a case began or ceased to fail."""
        places = {release: at for at, release in enumerate(self.states)}
        found: dict[tuple[Release, Release], dict[str, tuple[State, State]]] = {}
        for name in dict.fromkeys(name for some in self.states.values() for name in some):
            told = [(release, some[name]) for release, some in self.states.items() if name in some]
            for (before, old), (after, new) in pairwise(told):
                if "fails" in (old, new) and old != new:
                    found.setdefault((before, after), {})[name] = (old, new)
        for two in sorted(found, key=lambda two: (places[two[1]], places[two[0]])):
            yield ReleaseTurn(*two, found[two])


def _gravest(states: Iterable[State]) -> State | None:
    order: tuple[State, ...] = ("fails", "otherwise", "passes", "lacks")
    return min(states, key=order.index, default=None)


@dataclass(frozen=True)
class CauseHistory:
    """The history of a cause in each row that it breaks, or of unexplained failures."""

    causes: tuple[CauseInWords, ...]  # the causes that act together; () if unknown
    rows: tuple[RowHistory, ...]

    def state(self, release: Release) -> State | None:
        """Return the state of a release over all rows, if it was tested."""
        return _gravest(state for row in self.rows if (state := row.state(release)))

    @property
    def changes(self) -> bool:
        """Whether a case began or ceased to fail."""
        return any(True for row in self.rows for _ in row.turns)


@dataclass(frozen=True)
class History:
    """The history of all failures of any release."""

    asked: tuple[AskedRelease, ...]  # oldest first
    causes: tuple[CauseHistory, ...]  # most cases first; unexplained failures last

    @property
    def document(self) -> dict[str, Any]:
        """The history as JSON: releases, and for each cause its rows with counts of states."""
        causes = [
            {"causes": [cause.name for cause in one.causes],
             "changes": one.changes,
             "rows": [{"rule": row.key.rule, "row": row.key.row, "place": row.key.place,
                       "states": {str(release): Counter(states.values())
                                  for release, states in row.states.items()}}
                      for row in one.rows]}
            for one in self.causes
        ]  # fmt: skip
        asked = [{"release": str(one.release), "why": one.why} for one in self.asked]
        return {"format": "convcheck-history/1", "releases": asked, "causes": causes}

    @property
    def runs(self) -> Mapping[Release, RunResult]:
        """The runs of the releases that could be tested."""
        return {one.release: one.run for one in self.asked if one.run}


def history_of(
    asked: Sequence[AskedRelease], causes: "Mapping[Key, Names] | None" = None
) -> History:
    """Return the history of each cause.

    `causes` of each release's cases are given if several runtimes share the choice.
    """
    results = results_of(asked)
    named = {cause.name: cause for one in asked if one.run for cause in one.run.causes}
    chosen = chosen_for(results, named) if causes is None else causes
    histories = _histories(results, _blamed(results, chosen))
    rows = grouped((names, row) for (names, _), row in histories.items())

    def size(names: Names) -> int:
        cases = (some for row in rows[names] for some in row.states.values())
        return len(set[str]().union(*cases))

    order = sorted(rows, key=lambda names: (not names, -size(names)))
    told = (CauseHistory(tuple(map(named.__getitem__, n)), tuple(rows[n])) for n in order)
    return History(tuple(asked), tuple(told))


Key = tuple[Release, str]  # (release, case id)
Blamed = Mapping[Key, Mapping[RuleKey, Names]]  # of failures: rows with their causes


def results_of(asked: Iterable[AskedRelease]) -> dict[Key, CaseResult]:
    """Return the results by release and case."""
    runs = ((one.release, one.run) for one in asked if one.run)
    return {(release, result.case.id): result for release, run in runs for result in run.cases}


def chosen_for(
    results: Mapping[K, CaseResult], named: Mapping[str, CauseInWords]
) -> dict[K, Names]:
    """Return few causes for all explained failures, by the keys of the results."""
    fits = {
        key: result.diagnosis.fits
        for key, result in results.items()
        if result.verdict in FAILURES and result.diagnosis and result.diagnosis.fits
    }
    return {key: names for names, keys in chosen_causes(fits, named) for key in keys}


def row_histories(
    results: Mapping[Key, CaseResult], broken: Mapping[Key, Iterable[RuleKey]]
) -> list[RowHistory]:
    """Return the history of each broken row, for any cause.

    `broken` has the rows of each failing case, which may be coarser than spec rows.
    """
    blamed: Blamed = {key: dict.fromkeys(rows, ()) for key, rows in broken.items()}
    return list(_histories(results, blamed).values())


def _blamed(results: Mapping[Key, CaseResult], causes: Mapping[Key, Names]) -> Blamed:
    broken = {key: _broken(one) for key, one in results.items() if one.verdict in FAILURES}
    alone: dict[tuple[str, str], set[RuleKey]] = defaultdict(set)
    for key, names in causes.items():
        if len(names) == 1:
            alone[key[1], names[0]].update(broken[key])
    return {
        key: {row: _owners(causes.get(key, ()), key[1], row, alone) for row in rows}
        for key, rows in broken.items()
    }


def _owners(
    names: Names, case: str, row: RuleKey, alone: Mapping[tuple[str, str], set[RuleKey]]
) -> Names:
    """Return the causes that break a row alone, or else those that are never alone in the case."""
    seen = [name for name in names if (case, name) in alone]
    having = [name for name in seen if row in alone[case, name]]
    return tuple(having or [name for name in names if name not in seen] or names)


def _broken(result: CaseResult) -> list[RuleKey]:
    groups = [group for group in result.groups if group.verdict in FAILURES]
    rows = [RuleKey(by.rule, by.row, str(by.place)) for by in (group.decision for group in groups)]
    return list(dict.fromkeys(rows)) or [RuleKey(result.verdict, "as a whole", "")]


def _histories(
    results: Mapping[Key, CaseResult], blamed: Blamed
) -> dict[tuple[Names, RuleKey], RowHistory]:
    releases = dict.fromkeys(release for release, _ in results)
    by_case = grouped((name, (release, result)) for (release, name), result in results.items())
    cases = grouped(
        ((names, row), name) for (_, name), rows in blamed.items() for row, names in rows.items()
    )
    found: dict[tuple[Names, RuleKey], RowHistory] = {}
    for (names, row), having in cases.items():
        states: dict[Release, dict[str, State]] = {release: {} for release in releases}
        for name in dict.fromkeys(having):
            for release, result in by_case[name]:
                rows = blamed.get((release, name), {})
                if result.verdict in UNJUDGED:
                    state: State = "lacks"
                elif row in rows:
                    state = "fails" if rows[row] == names else "otherwise"
                else:  # a crash hides the row
                    state = "otherwise" if result.verdict in DIED else "passes"
                states[release][name] = state
        told = {release: some for release, some in states.items() if some}
        found[names, row] = RowHistory(row, told)
    return found


@dataclass(frozen=True)
class Shown:
    """A tested release, with the number of cases that have the cause."""

    asked: AskedRelease
    count: int
    judged: int  # how many of them were judged


@dataclass(frozen=True)
class Bisected:
    """The result of a bisection."""

    steps: tuple[Shown, ...]  # all tested releases, in test order
    #: The last release like the first of the range, and the next one. None: the ends are alike or
    #: untested.
    between: tuple[Shown, Shown] | None
    cases: int  # the number of cases with the cause at either end
    missing: tuple[str, ...] = ()  # versions between these two that could not be tested


def bisect(
    releases: Sequence[Release], ask: Callable[[Release], AskedRelease], cause: str
) -> Bisected:
    """Test both ends, then halve the range, skipping releases that cannot be tested.

    If a cause comes and goes more than once, one change is found.
    """
    ends = [ask(releases[0]), ask(releases[-1])]
    having = [_cases_with(cause, one.run) for one in ends]
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


def _cases_with(cause: str, run: RunResult | None) -> frozenset[str]:
    return frozenset(
        result.case.id
        for result in (run.cases if run else ())
        if result.verdict in FAILURES and result.diagnosis
        if any(cause in fit for fit in result.diagnosis.fits)
    )


def _shown(asked: AskedRelease, cause: str, cases: frozenset[str]) -> Shown:
    results = asked.run.cases if asked.run else ()
    judged = sum(r.case.id in cases and r.verdict not in UNJUDGED for r in results)
    return Shown(asked, len(_cases_with(cause, asked.run) & cases), judged)
