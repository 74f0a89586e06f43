"""Collect the site's data from reports, by runtime, release, rule and cause."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from convcheck.history.matrix import (
    AskedRelease,
    CauseHistory,
    History,
    RowHistory,
    RuleKey,
    chosen_for,
    history_of,
    results_of,
    row_histories,
)
from convcheck.history.releases import Release
from convcheck.judge.result import BackendInfo, CaseResult, Names, RunResult
from convcheck.report.draw.history import row_story
from convcheck.report.site.names import release_order
from convcheck.report.site.runs import SiteRun


@dataclass(frozen=True)
class SiteRuntime:
    """A runtime with all its releases."""

    name: str
    #: The oldest first.
    runs: tuple[SiteRun, ...]
    #: The history of each cause, in releases tested with the same vectors.
    history: History
    #: The history of each rule that any release breaks.
    rules: Mapping[RuleKey, RowHistory]
    #: Specs of releases tested with other vectors than the newest: 'onnx.Cast-19 of 1.0'.
    apart: tuple[str, ...]

    @property
    def newest(self) -> SiteRun:
        """Return the newest release."""
        return self.runs[-1]

    def state(self, rule: RuleKey, release: str) -> Mapping[str, str]:
        """Return the state of each case of a broken rule.

        {} if the release was tested with other vectors than the newest.
        """
        row = self.rules.get(rule)
        return row.states.get(Release(release), {}) if row else {}

    @cached_property
    def stories(self) -> Mapping[RuleKey, list[str]]:
        """Return the history of each rule in words."""
        return {rule: self.story(row) for rule, row in self.rules.items()}

    def story(self, row: RowHistory) -> list[str]:
        """Return a row's history in words; empty if there is one release."""
        return list(row_story(row, self.history)) if len(self.runs) > 1 else []


@dataclass(frozen=True)
class Site:
    """The data of a site."""

    runtimes: tuple[SiteRuntime, ...]

    @cached_property
    def standards(self) -> tuple[str, ...]:
        """Return the standards with tested specs."""
        specs = (spec for one in self.runtimes for run in one.runs for spec in run.specs)
        return tuple(sorted({spec.partition(".")[0] for spec in specs}))

    @cached_property
    def rules(self) -> tuple[RuleKey, ...]:
        """Return the rules that decided values, sorted by home."""
        found = {rule for one in self.runtimes for run in one.runs for rule in run.rules}
        return tuple(sorted(found, key=lambda rule: (rule.place, rule.rule)))

    @cached_property
    def causes(self) -> Mapping[Names, Mapping[str, CauseHistory]]:
        """Return the history of each cause by runtime.

        Causes of most runtimes are first, then of most cases. () stands for unexplained failures,
        which are last.
        """
        found: dict[Names, dict[str, CauseHistory]] = {}
        for one in self.runtimes:
            for cause in one.history.causes:
                names = tuple(c.name for c in cause.causes)
                found.setdefault(names, {})[one.name] = cause
        order = sorted(found, key=lambda n: (not n, -len(found[n]), -_size(found[n].values()), n))
        return {names: found[names] for names in order}

    def runtime(self, name: str) -> SiteRuntime:
        """Return a runtime by name."""
        return next(one for one in self.runtimes if one.name == name)


def _size(histories: Iterable[CauseHistory]) -> int:
    cases = ({name for row in one.rows for some in row.states.values() for name in some}
             for one in histories)  # fmt: skip
    return sum(map(len, cases))


def site_of(runs: Sequence[SiteRun]) -> Site:
    """Return the data of some releases. Causes are chosen for all of them at once."""
    by_runtime: dict[str, list[SiteRun]] = {}
    for run in sorted(runs, key=lambda run: (run.name.runtime, release_order(run.name.release))):
        by_runtime.setdefault(run.name.runtime, []).append(run)
    asked = {name: [_asked(run, some) for run in some] for name, some in by_runtime.items()}
    results = {
        (name, *key): result for name, some in asked.items()
        for key, result in results_of(some).items()
    }  # fmt: skip
    named = {cause.name: cause for run in runs for cause in run.causes.values()}
    chosen = chosen_for(results, named)
    return Site(tuple(_runtime(name, some, asked[name], chosen)
                      for name, some in by_runtime.items()))  # fmt: skip


def _runtime(
    name: str, runs: Sequence[SiteRun], asked: Sequence[AskedRelease],
    chosen: Mapping[tuple[str, Release, str], Names],
) -> SiteRuntime:  # fmt: skip
    results = results_of(asked)
    by_release = {Release(run.name.release): run for run in runs}
    broken = {key: by_release[key[0]].broken.get(key[1], ()) for key in results}
    rows = row_histories(results, broken)
    mine = {key[1:]: names for key, names in chosen.items() if key[0] == name}
    return SiteRuntime(
        name, tuple(runs), history_of(asked, mine), {row.key: row for row in rows},
        tuple(_apart(runs)),
    )  # fmt: skip


def _newest(runs: Sequence[SiteRun]) -> dict[str, tuple[str, str]]:
    """Return each spec's vectors in the newest release with that spec."""
    return {spec: facts.vectors for run in runs for spec, facts in run.specs.items()}


def _apart(runs: Sequence[SiteRun]) -> Iterator[str]:
    newest = _newest(runs)
    for run in runs:
        for spec, facts in run.specs.items():
            if facts.vectors != newest[spec]:
                yield f"{spec} of {run.name.release}"


def _asked(run: SiteRun, runs: Sequence[SiteRun]) -> AskedRelease:
    """Return the comparable cases of a release: tested with the newest vectors, without errors of
    convcheck.
    """
    newest = _newest(runs)
    cases = tuple(one for one in run.results.values() if _compares(run, one, newest))
    backend = BackendInfo(run.name.runtime, run.version)
    result = RunResult(backend, "", "disputed", (), cases, causes=tuple(run.causes.values()))
    return AskedRelease(Release(run.name.release), result)


def _compares(run: SiteRun, case: CaseResult, newest: Mapping[str, tuple[str, str]]) -> bool:
    spec = case.case.spec
    return case.verdict != "error" and run.specs[spec].vectors == newest[spec]
