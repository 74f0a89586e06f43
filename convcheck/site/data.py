"""The data of a site: releases of runtimes, and their history.

Reports are reduced as they are read, since dozens are in memory at once. Names derive from reports,
so that links stay valid.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from pathlib import PurePosixPath
from typing import Any

from packaging.version import InvalidVersion, Version

from convcheck.backends.process.backend import RUNTIMES
from convcheck.documents.decode import read_each
from convcheck.errors import UsageError
from convcheck.history.environments import Release
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
from convcheck.judge.failure import fails_whole
from convcheck.judge.reading import Types
from convcheck.judge.result import (
    FAILURES,
    BackendInfo,
    CaseResult,
    CauseInWords,
    Group,
    Names,
    RunResult,
)
from convcheck.judge.words import clean
from convcheck.records import replace
from convcheck.report.counts import (
    FAILING,
    STATUSES,
    Status,
    required_score,
    status_of,
)
from convcheck.report.draw.history import row_story
from convcheck.report.findings import CaseFailure, Finding, failures_of, findings_of
from convcheck.semantics.expected import Decision
from convcheck.streams import number, plural

WHOLE = "as a whole"
_NUMBER = re.compile(r"v?\d+(\.\w+)*([+-]\S+)?")
_FAITHFUL = re.compile(r"[a-z0-9]+([.-][a-z0-9]+)*")
_LONGEST = 60  # characters of a part of a file name


@dataclass(frozen=True, order=True)
class RunName:
    """A runtime and its release."""

    #: The runtime's own name, such as onnxruntime, with the backend's variant if it has one.
    runtime: str
    release: str  # the version; '' if unknown

    def __str__(self) -> str:
        return f"{self.runtime} {self.release}".strip()


def run_name(backend: BackendInfo) -> RunName:
    """Split a backend's version into name and release: 'onnxruntime 1.31.1, CPU …'.

    The name includes the backend's variant: openvino:const. By default, it is the backend's name.
    """
    words = re.split("[,(]", clean(backend.version))[0].split()
    at = next((i for i, word in enumerate(words) if _NUMBER.fullmatch(word)), None)
    if at is None:
        return RunName(clean(backend.name), " ".join(words))
    said = " ".join((*words[:at], *words[at + 1 :])) or clean(backend.name)
    inside = _ENVIRONMENT.match(backend.name)
    before, _, variant = (inside[1] if inside else backend.name).partition(":")
    variant = "" if before == "process" or "." in before else clean(variant)
    return RunName(f"{said}:{variant}" if variant else said, words[at])


def release_order(release: str) -> tuple[bool, Version, tuple[tuple[bool, int, str], ...]]:
    """Return a sort key: versions by PEP 440, after all other strings."""
    parts = re.findall(r"\d+|\D+", release)
    natural = tuple((p.isdigit(), int(p) if p.isdigit() else 0, p) for p in parts)
    try:
        return True, Version(release), natural
    except InvalidVersion:
        return False, Version("0"), natural


def rule_of_row(row: RuleKey) -> RuleKey:
    """Return the rule of a history's row. Cases that fail as a whole have no home."""
    file = row.place.rpartition(":")[0]
    return _rule_in(row.rule, file) if file else RuleKey(f"{row.rule} {WHOLE}", "", "")


@lru_cache(4096)
def _rule_in(name: str, place: str) -> RuleKey:
    """Return a rule with its home: the standard and the spec file without version, onnx/cast."""
    file = PurePosixPath(place.replace("\\", "/"))
    stem = re.sub(r"-\d+(\.\d+)*$", "", file.stem)
    return RuleKey(name, "", f"{file.parent.name}/{stem}".lstrip("/"))


def _rule_of_whole(case: CaseResult) -> RuleKey:
    standard, _, operator = case.case.op.rpartition(".")
    return RuleKey(f"{case.verdict} {WHOLE}", "", f"{standard}/{operator}".lower().lstrip("/"))


def finding_of_site(name: RunName, rule: RuleKey) -> str:
    """Return a twelve-digit id of a rule's failures in a release."""
    said = json.dumps([rule.place, rule.rule, name.runtime, name.release])
    return hashlib.sha256(said.encode()).hexdigest()[:12]


def file_name(*parts: str) -> str:
    """Return a file name of portable letters, with a hash if parts had to be changed."""
    slugs = [re.sub(r"[^a-z0-9.]+", "-", part.lower()).strip("-.")[:_LONGEST] for part in parts]
    name = "_".join(slug or "x" for slug in slugs)
    if all(_FAITHFUL.fullmatch(part) and len(part) <= _LONGEST for part in parts):
        return name
    return f"{name}~{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:6]}"


def page_of_rule(rule: RuleKey) -> str:
    """Return the path of a rule's page."""
    return f"rules/{file_name(*rule.place.split('/'), rule.rule)}.html"


def page_of_runtime(runtime: str) -> str:
    """Return the path of a runtime's page."""
    return f"runtimes/{file_name(runtime)}.html"


def page_of_finding(name: RunName, rule: RuleKey) -> str:
    """Return the permanent path of a finding's page."""
    return f"findings/{finding_of_site(name, rule)}.html"


_ENVIRONMENT = re.compile(rf"^env:.*:((?:{'|'.join(RUNTIMES)})(?::[^:]*)?)$")
_ACCUSED = FAILURES - {"error"}  # an error belongs to convcheck or its adapter


@dataclass
class RuleFacts:
    """A release's results for the cases of a rule."""

    judged: set[str] = field(default_factory=set)  # cases with an input judged by the rule
    failing: set[str] = field(default_factory=set)  # cases that break it
    undefined: set[str] = field(default_factory=set)  # cases for which it leaves results undefined
    rows: dict[str, Decision] = field(default_factory=dict)  # the first decision of each row
    broken: dict[str, set[str]] = field(default_factory=dict)  # the cases that break each row
    #: The failures, at least one if any case breaks it.
    findings: list[Finding] = field(default_factory=list)


@dataclass
class SiteRun:
    """A release's results, from one or several reports."""

    name: RunName
    version: str
    files: list[str] = field(default_factory=list)
    #: The number of cases by spec and status.
    statuses: dict[str, Counter[Status]] = field(default_factory=dict)
    #: The tier and a hash of the vectors by spec.
    vectors: dict[str, tuple[str, str]] = field(default_factory=dict)
    rules: dict[RuleKey, RuleFacts] = field(default_factory=dict)
    #: The cases' results, reduced to data for histories.
    results: dict[str, CaseResult] = field(default_factory=dict)
    causes: dict[str, CauseInWords] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)  # remarks on the whole run

    @property
    def standards(self) -> list[str]:
        """The standards of its specs."""
        return list(dict.fromkeys(spec.partition(".")[0] for spec in self.statuses))

    def total(self, standard: str = "") -> Counter[Status]:
        """Return the number of cases by status, in all specs or those of a standard."""
        counts = (
            n for spec, n in self.statuses.items() if standard in ("", spec.partition(".")[0])
        )
        return sum(counts, Counter())


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
    specs = dict.fromkeys(case.case.spec for case in result.cases)
    if same := [spec for spec in specs if spec in run.vectors]:
        files = " and ".join((*run.files, path))
        more = f" and {plural(len(same) - 1, 'more spec')}" if len(same) > 1 else ""
        said = f"{files} are both of {run.name}, and both have {same[0]}{more}"
        raise UsageError(said, hint="give one report of each runtime, release and spec")
    digests = dict(result.corpora)
    run.files.append(path)
    run.vectors |= {spec: (result.tier, digests.get(spec, "")) for spec in specs}
    run.causes |= {cause.name: cause for cause in result.causes}
    run.remarks += dict.fromkeys(map(clean, _remarks(result)))
    failures: dict[RuleKey, list[CaseFailure]] = {}
    for case in result.cases:
        run.statuses.setdefault(case.case.spec, Counter())[status_of(case, result.level)] += 1
        for rule, part in _by_rule(case):
            _count(run.rules.setdefault(rule, RuleFacts()), part)
            if part.verdict in FAILURES:
                failures.setdefault(rule, []).extend(failures_of(part, result.level))
        kept = tuple(
            replace(group, ranges=(), examples=())
            for group in case.groups
            if group.verdict in FAILURES
        )
        run.results[case.case.id] = replace(case, groups=kept)
    address = _ENVIRONMENT.sub(r"env:PATH/TO/PYTHON:\1", result.backend.address)
    for rule, some in failures.items():
        run.rules[rule].findings += findings_of(some, address)


def _remarks(result: RunResult) -> Iterator[str]:
    if result.interrupted or result.ended_early:
        yield "the run was ended before all cases were done"
    if result.own_inputs:
        yield "a user's own inputs were asked"
    if result.without_causes:
        yield "no causes were tried"
    yield from result.remarks


def _by_rule(case: CaseResult) -> Iterator[tuple[RuleKey, CaseResult]]:
    found: dict[RuleKey, list[Group]] = {}
    for group in case.groups:
        if group.verdict != "error":
            rule = _rule_in(group.decision.rule, group.decision.place.file)
            found.setdefault(rule, []).append(group)
    for rule, groups in found.items():
        verdicts = [group.verdict for group in groups if group.verdict in _ACCUSED]
        yield rule, replace(case, verdict=(*verdicts, "pass")[0], groups=tuple(groups))
    if fails_whole(case) and case.verdict in _ACCUSED:
        yield _rule_of_whole(case), replace(case, groups=())


def _count(facts: RuleFacts, part: CaseResult) -> None:
    name = part.case.id
    if not part.groups:
        facts.failing.add(name)
    for group in part.groups:
        by = group.decision
        facts.rows.setdefault(by.row, by)
        (facts.undefined if group.verdict == "undefined" else facts.judged).add(name)
        if group.verdict in _ACCUSED:
            facts.failing.add(name)
            facts.broken.setdefault(by.row, set()).add(name)


@dataclass(frozen=True, eq=False)
class SiteRuntime:
    """A runtime with all its releases."""

    name: str
    runs: tuple[SiteRun, ...]  # the oldest first
    history: History  # the history of each cause, in releases tested with the same vectors
    rules: Mapping[RuleKey, RowHistory]  # the history of each rule that any release breaks

    @property
    def newest(self) -> SiteRun:
        """The newest release."""
        return self.runs[-1]

    @property
    def apart(self) -> list[str]:
        """Specs tested with other vectors than the newest: 'onnx.Cast-19 of 1.0'."""
        newest = _newest_vectors(self.runs)
        return [
            f"{spec} of {run.name.release}"
            for run in self.runs
            for spec, vectors in run.vectors.items()
            if vectors != newest[spec]
        ]

    @cached_property
    def broken(self) -> list[RuleKey]:
        """The rules that any release breaks, sorted by home."""
        return _sorted(r for run in self.runs for r, facts in run.rules.items() if facts.findings)

    @cached_property
    def kept(self) -> list[RuleKey]:
        """The rules that no release breaks, sorted by home."""
        judged = {r for run in self.runs for r, facts in run.rules.items() if facts.judged}
        return _sorted(judged - {*self.broken})

    def story(self, rule: RuleKey) -> list[str]:
        """Return the history of a rule in words; empty if there is one release."""
        row = self.rules.get(rule)
        return list(row_story(row, self.history)) if row and len(self.runs) > 1 else []

    def failing_now(self, cause: CauseHistory) -> int:
        """Return how many cases show a cause in the newest release."""
        return [*_cause_states(cause, self.newest.name.release).values()].count("fails")


def _cause_states(cause: CauseHistory, release: str) -> dict[str, str]:
    order = ("fails", "otherwise", "passes", "lacks")
    found: dict[str, str] = {}
    for row in cause.rows:
        for name, state in row.states.get(Release(release), {}).items():
            found[name] = min(found.get(name, state), state, key=order.index)
    return found


@dataclass(frozen=True)
class Site:
    """The data of a site."""

    runtimes: tuple[SiteRuntime, ...]
    #: requirement set -> the ids of its cases
    requirements: Mapping[str, Collection[str]] = field(default_factory=dict)

    @property
    def runs(self) -> list[SiteRun]:
        """The releases of all runtimes."""
        return [run for one in self.runtimes for run in one.runs]

    @cached_property
    def standards(self) -> list[str]:
        """The standards with tested specs."""
        return sorted({standard for run in self.runs for standard in run.standards})

    @cached_property
    def rules(self) -> list[RuleKey]:
        """The rules that decided values, sorted by home."""
        return _sorted(rule for run in self.runs for rule in run.rules)

    @cached_property
    def causes(self) -> list[Mapping[str, CauseHistory]]:
        """The history of each cause by runtime.

        Causes of most runtimes are first, then of most cases; unexplained failures are last.
        """
        found: dict[Names, dict[str, CauseHistory]] = {}
        for one in self.runtimes:
            for cause in one.history.causes:
                names = tuple(c.name for c in cause.causes)
                found.setdefault(names, {})[one.name] = cause
        order = sorted(found, key=lambda n: (not n, -len(found[n]), -_size(found[n].values()), n))
        return [found[names] for names in order]

    def runtime(self, name: str) -> SiteRuntime:
        """Return a runtime by name."""
        return next(one for one in self.runtimes if one.name == name)


def _sorted(rules: Iterable[RuleKey]) -> list[RuleKey]:
    return sorted({*rules}, key=lambda rule: (rule.place, rule.rule))


def _size(histories: Iterable[CauseHistory]) -> int:
    rows = (row for one in histories for row in one.rows)
    return len({name for row in rows for some in row.states.values() for name in some})


def site_of(
    runs: Sequence[SiteRun], requirements: Mapping[str, Collection[str]] | None = None
) -> Site:
    """Return the data of some releases. Causes are chosen for all of them at once."""
    by_runtime: dict[str, list[SiteRun]] = {}
    for run in sorted(runs, key=lambda run: (run.name.runtime, release_order(run.name.release))):
        by_runtime.setdefault(run.name.runtime, []).append(run)
    asked = {name: list(_asked(some)) for name, some in by_runtime.items()}
    results = {
        (name, *key): result
        for name, some in asked.items()
        for key, result in results_of(some).items()
    }
    named = {cause.name: cause for run in runs for cause in run.causes.values()}
    chosen = chosen_for(results, named)
    return Site(
        tuple(_runtime(name, some, asked[name], chosen) for name, some in by_runtime.items()),
        requirements or {},
    )


def _runtime(
    name: str,
    runs: Sequence[SiteRun],
    asked: Sequence[AskedRelease],
    chosen: Mapping[tuple[str, Release, str], Names],
) -> SiteRuntime:
    results, broken = results_of(asked), dict[tuple[Release, str], list[RuleKey]]()
    for run in runs:
        for rule, facts in run.rules.items():
            for case in facts.failing:
                key = Release(run.name.release), case
                if key in results:
                    broken.setdefault(key, []).append(rule)
    rows = {row.key: row for row in row_histories(results, broken)}
    mine = {key[1:]: names for key, names in chosen.items() if key[0] == name}
    return SiteRuntime(name, tuple(runs), history_of(asked, mine), rows)


def _newest_vectors(runs: Sequence[SiteRun]) -> dict[str, tuple[str, str]]:
    return {spec: vectors for run in runs for spec, vectors in run.vectors.items()}


def _asked(runs: Sequence[SiteRun]) -> Iterator[AskedRelease]:
    """Yield the cases of each release tested with the newest vectors, without internal errors."""
    newest = _newest_vectors(runs)
    for run in runs:
        cases = tuple(
            one
            for one in run.results.values()
            if one.verdict != "error" and run.vectors[one.case.spec] == newest[one.case.spec]
        )
        backend = BackendInfo(run.name.runtime, run.version)
        result = RunResult(backend, "", "disputed", (), cases, causes=tuple(run.causes.values()))
        yield AskedRelease(Release(run.name.release), result)


_WHOLE, _LEAST = 1000, 5  # a bar's length, and its shortest part's
_HEATS = 5
_LETTER = 6.4  # pixels of a badge per letter


Drawn = dict[str, Any]  # the data of a template


def bar_parts(statuses: Mapping[Status, int]) -> list[Drawn]:
    """Return the parts of a bar, the worst first. Small parts stay visible."""
    counts = {one: statuses[one] for one in STATUSES if statuses.get(one)}
    total = sum(counts.values())
    room = _WHOLE - _LEAST * len(counts)
    parts, x = list[Drawn](), 0
    for status, count in counts.items():
        width = _LEAST + round(room * count / total)
        part = {"word": status.word, "count": number(count), "key": status.word.split()[0]}
        parts.append({**part, "x": x, "width": width})
        x += width
    return parts


@cache
def heat_cells(one: SiteRuntime, rule: RuleKey) -> list[Drawn]:
    """Return a cell per release for the cases of a rule that any release breaks."""
    row, cells = one.rules.get(rule), []
    for run in one.runs:
        facts, release = run.rules.get(rule, RuleFacts()), run.name.release
        states = row.states.get(Release(release), {}) if row else {}
        url = page_of_finding(run.name, rule) if facts.findings else ""
        if states or not url:
            cells.append(_state_cell(release, states, url, len(facts.judged)))
        else:
            failing = plural(len(facts.failing), "case")
            other = "of other inputs than the newest release was asked"
            cells.append(_cell("≠", "none", f"{release}: {failing} fail, {other}", url))
    return cells


def with_mark(cells: Sequence[Drawn], at: int) -> list[Drawn]:
    """Mark the cell of the current page."""
    return [c | {"key": f"{c['key']} here"} if i == at else c for i, c in enumerate(cells)]


def _cell(sign: str, key: str, title: str, url: str = "") -> Drawn:
    return {"sign": sign, "key": key, "title": title, "url": url}


def _state_cell(release: str, states: Mapping[str, str], url: str = "", judged: int = 0) -> Drawn:
    """Return a cell. Its heat is the share of failures among `judged` cases, others included."""
    counts = Counter(states.values())
    if not states:
        return _cell("", "none", f"{release}: not asked, or with other inputs")
    said = ", ".join(
        f"{number(counts[state])} {words}" for state, words in _STATES.items() if counts[state]
    )
    title = f"{release}: of {plural(len(states), 'case')}, {said}"
    if failing := counts["fails"]:
        heat = -(-_HEATS * failing // max(judged, len(states)))
        short = str(failing) if failing < 1000 else f"{failing / 1000:.1f}k"
        return _cell(short, f"h{heat}", title, url)
    sign, key = next(_SIGNS[state] for state in _SIGNS if counts[state])
    return _cell(sign, key, title, url)


_STATES = {
    "fails": "fail", "otherwise": "fail otherwise or died", "passes": "pass",
    "lacks": "are lacking, or nothing is due",
}  # fmt: skip
_SIGNS = {"otherwise": ("~", "other"), "passes": ("·", "pass"), "lacks": ("–", "lacks")}


def cause_cells(one: SiteRuntime, cause: CauseHistory) -> list[Drawn]:
    """Return a cell per release with the number of cases that show a cause."""
    told = {run.name.release: _cause_states(cause, run.name.release) for run in one.runs}
    return [_state_cell(name, states, judged=2 * len(states)) for name, states in told.items()]


def newest_cell(run: SiteRun, rule: RuleKey) -> Drawn:
    """Return how many cases of a rule fail in a release: 7 of 90."""
    facts = run.rules.get(rule)
    if facts is None:
        return {"said": "–", "key": "soft"}
    if facts.failing:
        of = f" of {number(len(facts.judged))}" if facts.judged else ""
        url = page_of_finding(run.name, rule)
        return {"said": f"{number(len(facts.failing))}{of}", "key": "bad", "url": url}
    if facts.judged:
        return {"said": number(len(facts.judged)), "key": "good"}
    return {"said": "free", "key": "free"}


def badges(run: SiteRun, requirements: Mapping[str, Collection[str]]) -> Iterator[Drawn]:
    """Yield the badges of a release: in total, per standard, per requirement set that it ran."""
    name = file_name(run.name.runtime)
    yield _badge(f"badges/{name}.svg", str(run.name), run.total())
    for standard in run.standards:
        url = f"badges/{name}_{file_name(standard)}.svg"
        yield _badge(url, f"{run.name}, {standard}", run.total(standard))
    for title, ids in requirements.items():
        if run.results.keys() >= set(ids):
            passed, tier = required_score(map(run.results.__getitem__, ids), len(ids))
            said = f"{passed} of {len(ids)} required cases, tier {tier}"
            colour = {1: "#3f7d52", 2: "#8a6d1f", 3: "#b3423a"}[tier]
            yield _drawn(f"badges/{name}_{title}.svg", f"{run.name}, {title}", said, colour)


def _badge(url: str, left: str, statuses: Mapping[Status, int]) -> Drawn:
    """Return a badge without a percentage, which would hide unsupported cases."""
    counts = {one.word: count for one, count in statuses.items()}
    failing = sum(counts.get(word, 0) for word in FAILING - {"error"})
    unjudged = ("unsupported", "undefined", "error")
    judged = sum(counts.values()) - sum(counts.get(word, 0) for word in unjudged)
    lacking = counts.get("unsupported", 0)
    verb = "fails" if failing == 1 else "fail"
    said = f"{number(failing)} of {plural(judged, 'case')} {verb}" if judged else "nothing judged"
    if lacking:
        said += f", {number(lacking)} unsupported"
    colour = "#7a828b" if not judged else "#b3423a" if failing else "#3f7d52"
    return _drawn(url, left, said, colour)


def _drawn(url: str, left: str, right: str, colour: str) -> Drawn:
    split = round(len(left) * _LETTER) + 14  # start of the right part
    return {
        "url": url, "left": left, "right": right, "alt": f"{left}: {right}", "split": split,
        "width": split + round(len(right) * _LETTER) + 14, "colour": colour,
    }  # fmt: skip
