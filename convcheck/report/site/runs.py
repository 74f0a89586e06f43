"""A report -> what the site has to know of it, and no more: 50 of them are in memory at once."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
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

CASES, RANGES = 12, 12  # names of cases, and ranges of inputs, that a finding shows
_ENVIRONMENT = re.compile(rf"^env:.*:((?:{'|'.join(RUNTIMES)})(?::[^:]*)?)$")
ACCUSED = FAILURES - {"error"}  # an error is convcheck's own, or its adapter's


@dataclass
class RuleFacts:
    """What a release does with the cases that a rule decides."""

    #: The cases with an input that is judged by it.
    judged: set[str] = field(default_factory=set)
    #: The cases in which it is broken.
    failing: set[str] = field(default_factory=set)
    #: The cases in which nothing is due by it.
    undefined: set[str] = field(default_factory=set)
    #: The decisions of its rows, of each row the first.
    rows: dict[str, Decision] = field(default_factory=dict)
    #: Row -> the cases in which that row is broken.
    broken: dict[str, set[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class SpecFacts:
    """What a release does with the cases of a spec."""

    statuses: Mapping[Status, int]
    #: The tier and a hash of the vectors.
    vectors: tuple[str, str]


@dataclass
class SiteRun:
    """What a release of a runtime does, from one report or several of other specs each."""

    name: RunName
    files: list[str]
    specs: dict[str, SpecFacts]
    rules: dict[RuleKey, RuleFacts]
    #: What it does wrong, by rule; each at least once.
    findings: dict[RuleKey, list[Finding]]
    #: The results of cases without what no history needs.
    results: dict[str, CaseResult]
    broken: dict[str, tuple[RuleKey, ...]]
    causes: dict[str, CauseInWords]
    #: What there is to say of the run as a whole.
    remarks: list[str]
    version: str

    def facts(self, rule: RuleKey) -> RuleFacts:
        """Return what is known of a rule, to be added to."""
        if rule not in self.rules:
            self.rules[rule] = RuleFacts()
        return self.rules[rule]


def read_runs(path: str, types: Types) -> Iterator[SiteRun]:
    """Yield what there is in a report, or in each one of a run of several backends. Raises
    UsageError for what is no whole report.
    """
    for result in read_each(path, types):
        yield _run_of(path, result)


def _run_of(path: str, result: RunResult) -> SiteRun:
    if result.shard:
        said = f"{path} is shard {result.shard.index} of {result.shard.of} only"
        raise UsageError(said, hint="`convcheck report` puts the shards of a run together")
    name = run_name(result.backend)
    own = list(dict.fromkeys(map(clean, _remarks(result))))
    run = SiteRun(
        name, [path], _specs(result), {}, _findings(result), {}, {},
        {cause.name: cause for cause in result.causes}, own, clean(result.backend.version),
    )  # fmt: skip
    for case in result.cases:
        _take(run, case)
    return run


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
    """Put a case into what is known of rules."""
    name, broken = case.case.id, dict[RuleKey, None]()
    for group in case.groups:
        rule = rule_of_group(group)
        _count(run.facts(rule), name, group)
        if group.verdict in ACCUSED:
            broken[rule] = None
    if fails_whole(case) and case.verdict in ACCUSED:
        whole = rule_of_whole(case)
        run.facts(whole).failing.add(name)
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
    """Yield what of a case is of each rule that it breaks; the rows beside it are there, too."""
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


# Several reports -----------------------------------------------------------------------------


def gathered_runs(runs: Iterable[SiteRun]) -> list[SiteRun]:
    """Put the reports of a release together. Raises UsageError where two have the same spec."""
    found: dict[RunName, SiteRun] = {}
    for run in runs:
        before = found.setdefault(run.name, run)
        if before is not run:
            _check_apart(before, run)
            _add(before, run)
    return list(found.values())


def _check_apart(before: SiteRun, run: SiteRun) -> None:
    same = [spec for spec in run.specs if spec in before.specs]
    if same:
        files = " and ".join((*before.files, *run.files))
        more = f" and {plural(len(same) - 1, 'more spec')}" if len(same) > 1 else ""
        said = f"{files} are both of {run.name}, and both have {same[0]}{more}"
        raise UsageError(said, hint="give one report of each runtime, release and spec")


def _add(run: SiteRun, more: SiteRun) -> None:
    for rule, facts in more.rules.items():
        own = run.facts(rule)
        own.judged |= facts.judged
        own.failing |= facts.failing
        own.undefined |= facts.undefined
        own.rows = facts.rows | own.rows
        for row, cases in facts.broken.items():
            own.broken.setdefault(row, set()).update(cases)
    for rule, findings in more.findings.items():
        run.findings.setdefault(rule, []).extend(findings)
    run.files += more.files
    run.remarks += more.remarks
    for part in ("specs", "results", "broken", "causes"):
        getattr(run, part).update(getattr(more, part))


def all_statuses(specs: Sequence[SpecFacts]) -> Counter[Status]:
    """Return the cases of several specs by status."""
    found: Counter[Status] = Counter()
    for one in specs:
        found.update(one.statuses)
    return found
