"""The report of a run: the data of every format, computed when used."""

import os
import platform
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePath

from convcheck.causes.gather import Diagnosis, gathered
from convcheck.judge.result import CaseResult, Cpu, Environment, Group, Problem, RunResult, Verdict
from convcheck.judge.words import clean
from convcheck.records import replace
from convcheck.report.counts import (
    BELOW,
    STATUSES,
    CaseCounts,
    Status,
    by_spec,
    counts_of,
    required_score,
    status_of,
)
from convcheck.report.findings import (
    CaseReport,
    Finding,
    ToldCause,
    failures_of,
    findings_of,
    letters_of,
    told_causes,
)
from convcheck.report.matrix import StatusMatrix, lettered_matrices, matrix, part_with
from convcheck.rules.types import Types
from convcheck.streams import number, plural
from convcheck.vectors.model import Coverage

# The most complete first.
_WORDS: dict[Coverage, str] = {
    "exhaustive": "exhaustively",
    "boundary-complete": "on every boundary",
    "sampled": "by samples",
    "edge": "by edge inputs",
    "partial": "in part",
}
_OWN = "by inputs of your own"


@dataclass(frozen=True, eq=False)
class Document:
    """The report of a run. Without `types`, types are not folded into families."""

    result: RunResult
    types: Types | None = None
    file: str = ""  # the JSON file of the report, '' for none

    @cached_property
    def cases(self) -> dict[str, tuple[CaseReport, ...]]:
        """The cases with their failures, by spec, in plan order."""
        return {spec: tuple(map(self._case, found)) for spec, found in by_spec(self.result).items()}

    def _case(self, found: CaseResult) -> CaseReport:
        level, timing = self.result.level, self.result.timing
        seconds = timing.cases.get(found.case.id) if timing else None
        failures = tuple(failures_of(found, level))
        return CaseReport(found, status_of(found, level), failures, seconds)

    @cached_property
    def findings(self) -> list[Finding]:
        """The findings, the most serious first."""
        failures = (one for some in self.cases.values() for case in some for one in case.failures)
        return findings_of(failures, self.result.backend.address)

    @property
    def backend(self) -> str:
        """The backend's name and version."""
        return clean(f"{self.result.backend.name} {self.result.backend.version}")

    @property
    def setting(self) -> tuple[str, ...]:
        """The tier, gate, shard and coverage."""
        shard = self.result.shard
        of = f", shard {shard.index} of {shard.of}" if shard else ""
        first = f"{self.result.tier} tier, gate: {self.result.level}{of}"
        if not self.coverage:
            return (first,)
        (words, ids), *others = self.coverage
        counts = [f"{plural(len(ids), 'case')} {words}"]
        counts += (f"{number(len(ids))} {words}" for words, ids in others)
        return first, f"asked: {', '.join(counts)}"

    @cached_property
    def coverage(self) -> list[tuple[str, Sequence[str]]]:
        """The kinds of coverage with their case ids, the most complete first."""
        found: list[tuple[str, Sequence[str]]] = []
        for coverage, words in _WORDS.items():
            asked = (c for c in self.result.cases if c.checked and c.coverage == coverage)
            if ids := tuple(case.case.id for case in asked):
                found.append((_OWN if self.result.own_inputs else words, ids))
        return found

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on the whole run."""
        return tuple(map(clean, self.result.remarks))

    @cached_property
    def _summary(self) -> tuple[str, list[str]]:
        result = self.result
        calls = [case for case in result.cases if case.case.whole_calls]
        values = [case for case in result.cases if not case.case.whole_calls]
        asked = {"value": counts_of(values, result.level), "call": counts_of(calls, result.level)}
        counts = sum(asked.values(), counts_of((), result.level))
        word, said = _outcome(result, counts, asked)
        parts = [*said, *_other_counts(result, counts)]
        if result.interrupted and word != "INTERRUPTED":
            parts.append("interrupted, results are partial")
        if result.ended_early:
            parts.append("ended early, results are partial")
        return word, parts

    @property
    def verdict(self) -> str:
        """PASS, FAIL, INTERRUPTED or NOTHING JUDGED."""
        return self._summary[0]

    @property
    def reasons(self) -> list[str]:
        """The reasons for the verdict, then other counts."""
        return self._summary[1]

    @property
    def counted(self) -> str:
        """The counted unit: values or calls, or "asked" for both."""
        asked = {c.case.whole_calls for c in self.result.cases}
        return "asked" if len(asked) > 1 else "calls" if True in asked else "values"

    @cached_property
    def statuses(self) -> tuple[Status, ...]:
        """The statuses with cases, the worst first."""
        found = {case.status for some in self.cases.values() for case in some}
        return tuple(status for status in STATUSES if status in found)

    @cached_property
    def matrices(self) -> dict[str, StatusMatrix]:
        """The matrix of each spec."""
        return {s: matrix((c.case, c.status) for c in some) for s, some in self.cases.items()}

    @cached_property
    def failing(self) -> dict[str, StatusMatrix]:
        """The rows and columns with unexcused failures, for each spec that has some."""
        some = {s: [c.case for c in found if c.fails] for s, found in self.cases.items()}
        return {s: part_with(self.matrices[s], found) for s, found in some.items() if found}

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """The causes of the run and their explained cases."""
        return gathered(self.result.cases, self.result.causes)

    @cached_property
    def causes(self) -> tuple[ToldCause, ...]:
        """The causes of unexcused failures, the most harmful first."""
        run = self.result
        return told_causes(self.diagnosis, run.backend.address, run.level, self.types, run.whole)

    @cached_property
    def explained_by(self) -> Mapping[str, ToldCause]:
        """The cause of each explained case, by case id."""
        return {case.id: one for one in self.causes for case in one.cases}

    @cached_property
    def unexplained(self) -> list[Finding]:
        """The unexcused findings of unexplained cases."""
        explained = letters_of(self.causes)
        failures = (one for some in self.cases.values() for case in some for one in case.failures)
        left = [one for one in failures if one.case.id not in explained and not one.excuse]
        return findings_of(left, self.result.backend.address)

    @cached_property
    def letters(self) -> dict[str, StatusMatrix]:
        """The matrices of failing operators with letters of causes; empty without causes."""
        matrices = (self.matrices, self.failing if self.causes else {})
        return lettered_matrices(self.cases, matrices, letters_of(self.causes), self.types)

    @cached_property
    def problems(self) -> list[Problem]:
        """The problems of the known-failures list."""
        found = []
        for one in self.result.problems:
            repair = "".join(
                c if c.isprintable() or c == "\n" else " " for c in one.repair.strip("\n")
            )
            found.append(replace(one, message=clean(one.message), repair=repair))
        return found


def _to_repair(result: RunResult) -> str:
    counts = Counter(problem.kind for problem in result.problems)
    each = ", ".join(f"{number(n)} {kind}" for kind, n in counts.items())
    entry = plural(len(result.problems), "entry", "entries")
    file = clean(PurePath(result.known).name) or "the list"
    return f"{entry} of {file} to repair ({each})"


def groups_of(result: RunResult, verdict: Verdict) -> Iterator[tuple[CaseResult, Group]]:
    """Yield the groups with a verdict, and their cases."""
    for case in result.cases:
        for group in case.groups:
            if group.verdict == verdict:
                yield case, group


def _outcome(
    result: RunResult, counts: CaseCounts, by_noun: Mapping[str, CaseCounts]
) -> tuple[str, list[str]]:
    asked = plural(counts.judged, "case")
    values = ", ".join(_asked(by_noun, wrong=bool(counts.gated)))
    wrong_list = [_to_repair(result)] if result.problems else []
    if counts.gated:
        return "FAIL", [f"{number(counts.gated)} of {asked}, {values}", *wrong_list]
    if result.lacks_required:
        return "FAIL", ["the set has unsupported cases", f"no failure in {asked}, {values}"]
    if wrong_list:
        return "FAIL", [*wrong_list, f"nothing else in {asked}, {values}"]
    if not counts.judged:
        return "NOTHING JUDGED", [f"{plural(counts.cases, 'case')} asked, none judged"]
    if result.interrupted:
        return "INTERRUPTED", [f"no failure so far in {asked}, {values}"]
    return "PASS", [f"{asked}, {values}"]


def _asked(by_noun: Mapping[str, CaseCounts], wrong: bool) -> Iterator[str]:
    for noun, counts in by_noun.items():
        said = plural(counts.values_judged, noun)
        if counts.values_judged != counts.checked:
            said += f" judged of {number(counts.checked)} asked"
        if counts.checked or (noun == "value" and not by_noun["call"].cases):
            yield f"{number(counts.wrong)} of {said}" if wrong else said


def _other_counts(result: RunResult, counts: CaseCounts) -> Iterator[str]:
    below = sum(status_of(c, result.level) == BELOW for c in result.cases)
    if required := result.required:
        passed, tier = required_score(result.cases, required.cases)
        of = f"{number(passed)} of {number(required.cases)} required cases ({required.name})"
        yield f"{of}, tier {tier}"
        yield f"{plural(required.later, 'other case')} not scored"
    rules = len({group.decision.rule for _, group in groups_of(result, "tolerated")})
    if counts.known:
        yield f"{plural(counts.known, 'case')} with known failures"
    if counts.waived:
        yield f"{plural(counts.waived, 'case')} with waived failures"
    if below:
        yield f"{plural(below, 'case')} below the gate"
    if rules:
        yield f"{plural(rules, 'disputed rule')} tolerated"
    if counts.verdicts["undefined"]:
        yield f"{number(counts.verdicts['undefined'])} undefined"
    if counts.verdicts["unsupported"]:
        free = "" if result.known or result.required else " (nothing holds the backend to them)"
        yield f"{number(counts.verdicts['unsupported'])} unsupported{free}"


_PACKAGES = ("numpy", "onnx", "onnxruntime", "ml_dtypes")
_FEATURES = re.compile(  # features that select conversion kernels, of x86 and Arm
    r"sse4\w+|ssse3|avx\w*|amx\w*|f16c|fma\w*|gfni"
    r"|neon|asimd\w*|fphp|fp16|bf16|i8mm|sve\w*|sme|sme[0-9_]\w*"
)


def environment() -> Environment:
    """Describe the machine and the libraries, without importing them."""
    model, features = _cpu()
    versions = {"python": platform.python_version(), **{p: _version(p) for p in _PACKAGES}}
    cpu = Cpu(model, tuple(features), os.cpu_count())
    limited = hasattr(os, "sched_getaffinity")
    threads = len(os.sched_getaffinity(0)) if limited else os.cpu_count()
    return Environment(platform.platform(), cpu, threads, versions)


def _cpu() -> tuple[str, list[str]]:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine(), []
    facts: dict[str, str] = {}
    for line in lines:
        key, _, fact = line.partition(":")
        facts.setdefault(key.strip(), fact.strip())
    model = facts.get("model name") or platform.processor() or platform.machine()
    flags = (facts.get("flags") or facts.get("Features") or "").split()
    return model, sorted(f for f in flags if _FEATURES.fullmatch(f))


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
