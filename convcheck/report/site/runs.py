"""Reduce a report to the data of the site, since dozens are in memory at once."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from convcheck.backends.process.native import RUNTIMES
from convcheck.errors import UsageError
from convcheck.history.matrix import RuleKey
from convcheck.judge.failure import fails_whole
from convcheck.judge.reading import Types
from convcheck.judge.result import FAILURES, CaseResult, CauseInWords, Group, RunResult
from convcheck.judge.words import clean
from convcheck.records import replace
from convcheck.report.findings import CaseFailure, Finding, failures_of, findings_of
from convcheck.report.json.decode import read_each
from convcheck.report.site.names import RunName, rule_of_group, rule_of_whole, run_name
from convcheck.report.status import Status, status_of
from convcheck.semantics.expected import Decision
from convcheck.wording import plural

CASES, RANGES = 12, 12  # case names and input ranges shown in a finding
_ENVIRONMENT = re.compile(rf"^env:.*:((?:{'|'.join(RUNTIMES)})(?::[^:]*)?)$")
ACCUSED = FAILURES - {"error"}  # an error belongs to convcheck or its adapter


@dataclass
class RuleFacts:
    """A release's results for the cases of a rule."""

    #: Cases with an input judged by the rule.
    judged: set[str] = field(default_factory=set)
    #: Cases that break it.
    failing: set[str] = field(default_factory=set)
    #: Cases for which it leaves results undefined.
    undefined: set[str] = field(default_factory=set)
    #: The first decision of each row.
    rows: dict[str, Decision] = field(default_factory=dict)
    #: The cases that break each row.
    broken: dict[str, set[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class SpecFacts:
    """A release's results for the cases of a spec."""

    statuses: Mapping[Status, int]
    #: The tier and a hash of the vectors.
    vectors: tuple[str, str]


@dataclass
class SiteRun:
    """A release's results, from one report or several reports of distinct specs."""

    name: RunName
    version: str
    files: list[str] = field(default_factory=list)
    specs: dict[str, SpecFacts] = field(default_factory=dict)
    rules: dict[RuleKey, RuleFacts] = field(default_factory=dict)
    #: The failures of each broken rule, at least one each.
    findings: dict[RuleKey, list[Finding]] = field(default_factory=dict)
    #: The cases' results, reduced to data for histories.
    results: dict[str, CaseResult] = field(default_factory=dict)
    broken: dict[str, tuple[RuleKey, ...]] = field(default_factory=dict)
    causes: dict[str, CauseInWords] = field(default_factory=dict)
    #: Remarks on the whole run.
    remarks: list[str] = field(default_factory=list)


def add_report(runs: dict[RunName, SiteRun], path: str, types: Types) -> None:
    """Add each run in a report to its release.

    Raises UsageError if a run is incomplete, or a spec is already present.
    """
    for result in read_each(path, types):
        if result.shard:
            said = f"{path} is shard {result.shard.index} of {result.shard.of} only"
            raise UsageError(said, hint="`convcheck report` puts the shards of a run together")
        name = run_name(result.backend)
        _add(runs.setdefault(name, SiteRun(name, clean(result.backend.version))), path, result)


def _add(run: SiteRun, path: str, result: RunResult) -> None:
    specs = _specs(result)
    if same := [spec for spec in specs if spec in run.specs]:
        files = " and ".join((*run.files, path))
        more = f" and {plural(len(same) - 1, 'more spec')}" if len(same) > 1 else ""
        said = f"{files} are both of {run.name}, and both have {same[0]}{more}"
        raise UsageError(said, hint="give one report of each runtime, release and spec")
    run.files.append(path)
    run.specs |= specs
    run.causes |= {cause.name: cause for cause in result.causes}
    run.remarks += dict.fromkeys(map(clean, _remarks(result)))
    for rule, findings in _findings(result).items():
        run.findings.setdefault(rule, []).extend(findings)
    for case in result.cases:
        _take(run, case)


def _remarks(result: RunResult) -> Iterator[str]:
    if result.interrupted or result.ended_early:
        yield "the run was ended before all cases were done"
    if result.own_inputs:
        yield "a user's own inputs were asked"
    if result.without_causes:
        yield "no causes were tried"
    yield from result.remarks


def _specs(result: RunResult) -> dict[str, SpecFacts]:
    statuses: defaultdict[str, Counter[Status]] = defaultdict(Counter)
    for case in result.cases:
        statuses[case.case.spec][status_of(case, result.level)] += 1
    digests = dict(result.corpora)
    return {
        spec: SpecFacts(counts, (result.tier, digests.get(spec, "")))
        for spec, counts in statuses.items()
    }


def _take(run: SiteRun, case: CaseResult) -> None:
    name, broken = case.case.id, dict[RuleKey, None]()
    for group in case.groups:
        rule = rule_of_group(group)
        _count(run.rules.setdefault(rule, RuleFacts()), name, group)
        if group.verdict in ACCUSED:
            broken[rule] = None
    if fails_whole(case) and case.verdict in ACCUSED:
        whole = rule_of_whole(case)
        run.rules.setdefault(whole, RuleFacts()).failing.add(name)
        broken[whole] = None
    if broken:
        run.broken[name] = tuple(broken)
    kept = tuple(_slim(group) for group in case.groups if group.verdict in FAILURES)
    run.results[name] = CaseResult(
        case.case, case.verdict, case.checked, case.coverage, kept, diagnosis=case.diagnosis
    )


def _slim(group: Group) -> Group:
    return replace(group, ranges=(), examples=()) if group.examples or group.ranges else group


def _count(facts: RuleFacts, case: str, group: Group) -> None:
    by = group.decision
    facts.rows.setdefault(by.row, by)
    if group.verdict == "undefined":
        facts.undefined.add(case)
        return
    facts.judged.add(case)
    if group.verdict in ACCUSED:
        facts.failing.add(case)
        facts.broken.setdefault(by.row, set()).add(case)


# Findings ------------------------------------------------------------------------------------


def _findings(result: RunResult) -> dict[RuleKey, list[Finding]]:
    by_rule: dict[RuleKey, list[CaseFailure]] = {}
    for case in result.cases:
        for rule, part in _by_rule(case):
            by_rule.setdefault(rule, []).extend(failures_of(part, result.level))
    address = _ENVIRONMENT.sub(r"env:PATH/TO/PYTHON:\1", result.backend.address)
    return {rule: findings_of(failures, address) for rule, failures in by_rule.items()}


def _by_rule(case: CaseResult) -> Iterator[tuple[RuleKey, CaseResult]]:
    """Yield each broken rule with its part of the case, including rows that pass."""
    if case.verdict not in FAILURES:
        return
    found: dict[RuleKey, list[Group]] = {}
    for group in case.groups:
        if group.verdict != "error":
            found.setdefault(rule_of_group(group), []).append(group)
    for rule, groups in found.items():
        failing = [group.verdict for group in groups if group.verdict in FAILURES]
        if failing:
            yield rule, replace(case, verdict=failing[0], groups=tuple(groups))
    if fails_whole(case) and case.verdict in ACCUSED:
        yield rule_of_whole(case), replace(case, groups=())


def all_statuses(specs: Sequence[SpecFacts]) -> Counter[Status]:
    """Count the cases of several specs by status."""
    found: Counter[Status] = Counter()
    for one in specs:
        found.update(one.statuses)
    return found
