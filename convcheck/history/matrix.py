"""The runs of several releases -> rule × release by cause: what came and what went, and when.

A cause is chosen for all releases at once, so that what two of them do alike has one name. Where
two are at work together and another release has one of them alone in the same case, the rows that
this one breaks are its own, and the others are the other's. What is said of a release is what was
judged of it: one that lacks a kernel, or that could not be asked at all, does not pass.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeVar

from convcheck.causes.gather import chosen_causes
from convcheck.history.releases import Release
from convcheck.judge.result import FAILURES, CaseResult, CauseInWords, Group, Names, RunResult

K = TypeVar("K", bound=Hashable)
State = Literal["fails", "passes", "otherwise", "lacks"]
UNJUDGED = ("unsupported", "undefined")
DIED = ("error", "crashed")


@dataclass(frozen=True)
class AskedRelease:
    """A release with its run, or why there is none."""

    release: Release
    #: What it answered, None where it could not be asked.
    run: RunResult | None
    #: Why it could not be asked, '' where it was.
    why: str = ""


@dataclass(frozen=True)
class RuleKey:
    """A row of a rule, whatever version of an operator is asked."""

    rule: str
    row: str
    #: Its line in a spec file.
    place: str


@dataclass(frozen=True)
class ReleaseTurn:
    """What changed from one release to the next that was asked, in the cases of a row."""

    #: The earlier of the two.
    before: Release
    #: The later of the two.
    after: Release
    #: Case -> its state before, and after.
    cases: Mapping[str, tuple[State, State]]

    def count(self, before: State, after: State) -> int:
        """Return how many cases went from one state to another."""
        return sum(states == (before, after) for states in self.cases.values())


@dataclass(frozen=True)
class RowHistory:
    """What became of a row of a rule that a cause breaks."""

    #: The row.
    key: RuleKey
    #: For each release that was asked: the state of each case that has the cause in any of them.
    states: Mapping[Release, Mapping[str, State]]

    def failing(self, release: Release) -> int:
        """Return how many cases fail."""
        return sum(state == "fails" for state in self.states[release].values())

    def state(self, release: Release) -> State | None:
        """Return what a release does, None for one that was not asked: it fails if any case does,
        and passes only where one was judged and none fails.
        """
        return _gravest(self.states.get(release, {}).values())

    @property
    def first_bad(self) -> Release:
        """The first release that fails."""
        return next(release for release in self.states if self.failing(release))

    @property
    def turns(self) -> Iterator[ReleaseTurn]:
        """Where a case began or ceased to fail, from one release that was asked it to the next."""
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
    """What became of a cause: of each row that it breaks. Without causes, of what none explains."""

    #: The causes that are at work together; () where none is known.
    causes: tuple[CauseInWords, ...]
    #: The rows.
    rows: tuple[RowHistory, ...]

    def state(self, release: Release) -> State | None:
        """Return what a release does in all rows, None for one that was not asked."""
        return _gravest(state for row in self.rows if (state := row.state(release)))


@dataclass(frozen=True)
class History:
    """What became of everything that any release got wrong."""

    #: The oldest first.
    asked: tuple[AskedRelease, ...]
    #: The cause of most cases first; what no cause explains is the last.
    causes: tuple[CauseHistory, ...]

    @property
    def runs(self) -> Mapping[Release, RunResult]:
        """The releases that could be asked."""
        return {one.release: one.run for one in self.asked if one.run}


def history_of(asked: Sequence[AskedRelease], causes: Mapping[Key, Names] | None = None) -> History:
    """Return what became of each cause. `causes` are those of the cases of each release, where they
    are chosen already, as for several runtimes at once.
    """
    results, named = results_of(asked), causes_of_releases(asked)
    chosen = chosen_for(results, named) if causes is None else causes
    judged = _Judged.of(results, _blamed(results, chosen))
    found: dict[Names, dict[RuleKey, dict[str, None]]] = defaultdict(lambda: defaultdict(dict))
    for (_, name), rows in judged.blamed.items():
        for row, names in rows.items():
            found[names][row][name] = None
    order = sorted(found, key=lambda names: (not names, -len(set().union(*found[names].values()))))
    told = [
        CauseHistory(
            tuple(named[name] for name in names),
            tuple(_row_history(row, names, cases, judged) for row, cases in found[names].items()),
        )
        for names in order
    ]
    return History(tuple(asked), tuple(told))


Key = tuple[Release, str]  # a release and the id of a case
Blamed = Mapping[Key, Mapping[RuleKey, Names]]  # of what fails: the rows, each with its causes


@dataclass(frozen=True)
class _Judged:
    """What was judged, with what is to blame."""

    #: The oldest first.
    releases: tuple[Release, ...]
    #: By the id of a case: what came out in each release that was asked it.
    by_case: Mapping[str, Mapping[Release, CaseResult]]
    blamed: Blamed

    @staticmethod
    def of(results: Mapping[Key, CaseResult], blamed: Blamed) -> _Judged:
        by_case: dict[str, dict[Release, CaseResult]] = defaultdict(dict)
        for (release, name), result in results.items():
            by_case[name][release] = result
        return _Judged(tuple(dict.fromkeys(release for release, _ in results)), by_case, blamed)


def results_of(asked: Iterable[AskedRelease]) -> dict[Key, CaseResult]:
    """Return the result of each case of each release."""
    runs = ((one.release, one.run) for one in asked if one.run)
    return {(release, result.case.id): result for release, run in runs for result in run.cases}


def causes_of_releases(asked: Iterable[AskedRelease]) -> dict[str, CauseInWords]:
    """Return the causes that the runs of releases name, by their names."""
    return {cause.name: cause for one in asked if one.run for cause in one.run.causes}


def chosen_for(
    results: Mapping[K, CaseResult], named: Mapping[str, CauseInWords]
) -> dict[K, Names]:
    """Return few causes for all that fails and is explained, by whatever names the results."""
    fits = {
        key: result.diagnosis.fits
        for key, result in results.items()
        if result.verdict in FAILURES and result.diagnosis and result.diagnosis.fits
    }
    return {key: names for names, keys in chosen_causes(fits, named) for key in keys}


def row_histories(
    results: Mapping[Key, CaseResult], broken: Mapping[Key, Iterable[RuleKey]]
) -> list[RowHistory]:
    """Return what became of each row that a release breaks, whatever the cause. `broken` has those
    of each case that fails; they may stand for several rows.
    """
    blamed: Blamed = {key: dict.fromkeys(rows, ()) for key, rows in broken.items()}
    judged = _Judged.of(results, blamed)
    cases: dict[RuleKey, dict[str, None]] = defaultdict(dict)
    for (_, name), rows in blamed.items():
        for row in rows:
            cases[row][name] = None
    return [_row_history(row, (), some, judged) for row, some in cases.items()]


def _blamed(results: Mapping[Key, CaseResult], causes: Mapping[Key, Names]) -> Blamed:
    """Return the rows that each failing case breaks, with the causes that break each."""
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
    """Return which of the causes at work together break a row: those that do so alone in the same
    case, else those that are never alone in it.
    """
    seen = [name for name in names if (case, name) in alone]
    having = [name for name in seen if row in alone[case, name]]
    return tuple(having or [name for name in names if name not in seen] or names)


def _broken(result: CaseResult) -> list[RuleKey]:
    """Name the rows that a failing case breaks; of one that fails as a whole its verdict."""
    groups = [group for group in result.groups if group.verdict in FAILURES]
    rows = dict.fromkeys(map(_row_of, groups))
    return list(rows) or [RuleKey(result.verdict, "as a whole", "")]


def _row_of(group: Group) -> RuleKey:
    return RuleKey(group.decision.rule, group.decision.row, str(group.decision.place))


def _row_history(row: RuleKey, names: Names, cases: Iterable[str], judged: _Judged) -> RowHistory:
    found: dict[Release, dict[str, State]] = {release: {} for release in judged.releases}
    for name in cases:
        for release, result in judged.by_case[name].items():
            rows = judged.blamed.get((release, name), {})
            found[release][name] = _state(row, names, result, rows)
    return RowHistory(row, {release: states for release, states in found.items() if states})


def _state(row: RuleKey, names: Names, result: CaseResult, rows: Mapping[RuleKey, Names]) -> State:
    if result.verdict in UNJUDGED:
        return "lacks"
    if row in rows:
        return "fails" if rows[row] == names else "otherwise"
    return "otherwise" if result.verdict in DIED else "passes"  # of a death nobody knows more
