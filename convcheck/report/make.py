"""The result of a run as a document: what every format says, said once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath

from convcheck.causes.gather import gathered
from convcheck.judge.result import (
    FAILURES,
    CaseResult,
    Group,
    Problem,
    RunResult,
    Tolerance,
    Verdict,
)
from convcheck.judge.words import clean, timestamp
from convcheck.report.causes import letters_of, told_causes
from convcheck.report.counts import CaseCounts, by_spec, counts_of
from convcheck.report.coverage import coverage_line, covered_cases
from convcheck.report.document import (
    CaseFailure,
    CaseReport,
    CoveredCases,
    Document,
    Finding,
    Listed,
    ProblemInWords,
    RowCount,
    RuleRemark,
    RunHead,
    SpecCounts,
    ToldCause,
)
from convcheck.report.findings import failures_of, findings_of
from convcheck.report.letters import Bundle, letter_bundles
from convcheck.report.matrix import StatusMatrix, matrix, part_with
from convcheck.report.short_names import family
from convcheck.report.status import BELOW, excuses_of, status_of
from convcheck.report.wrong_types import wrong_types
from convcheck.rules.model import Case
from convcheck.rules.types import Types
from convcheck.wording import number, plural


def document(result: RunResult, types: Types | None = None) -> Document:
    """Return the report of a run. Without `types`, no families of types are named."""
    word, reasons = _summary(result)
    address = result.backend.address
    cases = _cases(result)
    failures = [one for some in cases.values() for case in some for one in case.failures]
    found = findings_of(failures, address)
    diagnosis = gathered(result.cases, result.causes)
    causes = told_causes(diagnosis, address, result.level, types, result.whole)
    left = _left(failures, causes)
    coverage = tuple(covered_cases(result))
    matrices = {
        spec: matrix((case.case, case.status) for case in some) for spec, some in cases.items()
    }
    failing = _failing(cases, matrices)
    return Document(
        head=_head(result),
        verdict=word,
        reasons=tuple(reasons),
        backend=clean(f"{result.backend.name} {result.backend.version}"),
        setting=tuple(_setting(result, coverage)),
        coverage=coverage,
        remarks=tuple(map(clean, result.remarks)),
        counted=_counted(result),
        specs=tuple(_counts(spec, some) for spec, some in cases.items()),
        matrices=matrices,
        failing=failing,
        findings=tuple(found),
        causes=causes,
        unexplained=tuple(found if left == failures else findings_of(left, address)),
        letters=_letters(cases, (matrices, failing), causes, types),
        problems=tuple(map(_problem, result.problems)),
        listed=tuple(_listed(found)),
        rules=tuple(_rules(result)),
        readings=_readings(result),
        unsupported=_unsupported(result.cases),
        wrong_types=tuple(wrong_types(result)),
        wrong_types_that_count=tuple(wrong_types(_unexcused(result))),
        cases=cases,
    )


def _cases(result: RunResult) -> dict[str, tuple[CaseReport, ...]]:
    return {
        spec: tuple(_case(case, result) for case in found)
        for spec, found in by_spec(result).items()
    }


def _letters(
    cases: Mapping[str, Sequence[CaseReport]],
    matrices: tuple[Mapping[str, StatusMatrix], Mapping[str, StatusMatrix]],
    causes: Sequence[ToldCause],
    types: Types | None,
) -> tuple[Bundle, ...]:
    return letter_bundles(cases, matrices, letters_of(causes), types) if causes else ()


def _left(failures: Sequence[CaseFailure], causes: Sequence[ToldCause]) -> list[CaseFailure]:
    """Return the failures, not excused, of cases that no cause explains."""
    explained = letters_of(causes)
    return [one for one in failures if one.case.id not in explained and not one.excuse]


def _head(result: RunResult) -> RunHead:
    return RunHead(
        name=clean(result.backend.name),
        version=clean(result.backend.version),
        address=result.backend.address,
        tier=result.tier,
        level=result.level,
        outcome=result.outcome,
        interrupted=result.interrupted,
        shard=(result.shard.index, result.shard.of) if result.shard else None,
        known=result.known,
        corpora=result.corpora,
        environment=result.environment,
        began=timestamp(result.timing.began) if result.timing else "",
    )


def _case(case: CaseResult, result: RunResult) -> CaseReport:
    """Return what was found in a case of a run."""
    level, timing = result.level, result.timing
    return CaseReport(
        case=case.case,
        verdict=case.verdict,
        status=status_of(case, level),
        checked=case.checked,
        judged=case.values_judged,
        coverage=case.coverage,
        seconds=timing.cases.get(case.case.id) if timing else None,
        message=clean(case.message),
        row_counts=tuple(
            RowCount(group.verdict, group.decision, group.reading, group.kind, group.count)
            for group in case.groups
            if group.verdict not in FAILURES
        ),
        failures=tuple(failures_of(case, level)),
    )


def _failing(
    cases: Mapping[str, Sequence[CaseReport]], matrices: Mapping[str, StatusMatrix]
) -> dict[str, StatusMatrix]:
    some = {spec: [one.case for one in found if one.fails] for spec, found in cases.items()}
    return {spec: part_with(matrices[spec], found) for spec, found in some.items() if found}


def _unexcused(result: RunResult) -> RunResult:
    """Return a run without the groups that a list excuses."""
    cases = tuple(
        replace(case, groups=tuple(group for group in case.groups if not group.excuse))
        if excuses_of(case)
        else case
        for case in result.cases
    )
    return replace(result, cases=cases)


# Lists of known failures ---------------------------------------------------------------------


def _problem(problem: Problem) -> ProblemInWords:
    lines = problem.repair.strip("\n").splitlines()
    plain = tuple("".join(c if c.isprintable() else " " for c in line) for line in lines)
    return ProblemInWords(problem.kind, problem.place, clean(problem.message), plain)


def _listed(found: Sequence[Finding]) -> Iterator[Listed]:
    """Yield the entries of a list that excuse findings, those of most cases first."""
    kinds: tuple[Tolerance, ...] = ("known", "waived")
    for kind in kinds:
        entries: dict[object, list[Finding]] = {}
        for finding in found:
            if finding.excuse and finding.excuse.kind == kind:
                entries.setdefault(finding.excuse, []).append(finding)
        made = [_entry(several) for several in entries.values()]
        yield from sorted(made, key=lambda entry: -entry.cases)


def _entry(found: Sequence[Finding]) -> Listed:
    cases = {one.case.id: one.case for finding in found for one in finding.members}
    rules = dict.fromkeys(finding.rule for finding in found if finding.rule)
    ways = dict.fromkeys(map(_way, found))
    said = f"{', '.join(rules)}: {next(iter(ways))}".removeprefix(": ")
    more = f" and {plural(len(ways) - 1, 'other way')}" if len(ways) > 1 else ""
    excuse = found[0].excuse
    assert excuse  # noqa: S101
    families = ", ".join(dict.fromkeys(family(case.spec) for case in cases.values()))
    return Listed(excuse, len(cases), families, said + more)


def _way(finding: Finding) -> str:
    said = finding.kind if finding.rule else finding.message
    if said in ("", finding.verdict):
        return finding.verdict
    return said if finding.verdict == "fail" else f"{finding.verdict}, {said}"


def _to_repair(result: RunResult) -> str:
    """Return how many entries are wrong: 3 entries of known.toml to repair (2 stale, 1 changed)."""
    counts = Counter(problem.kind for problem in result.problems)
    each = ", ".join(f"{number(n)} {kind}" for kind, n in counts.items())
    entry = plural(len(result.problems), "entry", "entries")
    file = clean(PurePath(result.known).name) or "the list"
    return f"{entry} of {file} to repair ({each})"


# Rules that are open -------------------------------------------------------------------------


def _rules(result: RunResult) -> Iterator[RuleRemark]:
    verdicts: tuple[Verdict, ...] = ("tolerated", "undefined")
    for verdict in verdicts:
        found: dict[str, dict[str, list[Case]]] = {}
        for case, group in groups_of(result, verdict):
            what = f'reads it as "{group.reading}"' if group.reading else group.kind
            found.setdefault(group.decision.rule, {}).setdefault(what, []).append(case.case)
        for rule, ways in found.items():
            yield RuleRemark(verdict, rule, tuple(_read(*way) for way in ways.items()))


def _read(what: str, cases: Sequence[Case]) -> tuple[str, str, int]:
    families = ", ".join(dict.fromkeys(family(case.spec) for case in cases))
    return what, families, len({case.id for case in cases})


def _readings(result: RunResult) -> tuple[tuple[str, str, str], ...]:
    found = (
        (family(case.case.spec), group.decision.rule, group.reading)
        for case, group in groups_of(result, "tolerated")
    )
    return tuple(dict.fromkeys(found))


def _unsupported(cases: Iterable[CaseResult]) -> tuple[tuple[str, str], ...]:
    some = (case for case in cases if case.verdict == "unsupported")
    return tuple((case.case.id, clean(case.message)) for case in some)


def groups_of(result: RunResult, verdict: Verdict) -> Iterator[tuple[CaseResult, Group]]:
    """Yield the groups that have a verdict, with their cases."""
    for case in result.cases:
        for group in case.groups:
            if group.verdict == verdict:
                yield case, group


# Counts --------------------------------------------------------------------------------------


def _counts(spec: str, cases: Sequence[CaseReport]) -> SpecCounts:
    statuses = Counter(case.status for case in cases)
    asked, judged = (sum(getattr(case, name) for case in cases) for name in ("checked", "judged"))
    return SpecCounts(spec, len(cases), asked, judged, statuses)


def _counted(result: RunResult) -> str:
    asked = {c.case.whole_calls for c in result.cases}
    return "asked" if len(asked) > 1 else "calls" if True in asked else "values"


def _setting(result: RunResult, coverage: Sequence[CoveredCases]) -> Iterator[str]:
    shard = f", shard {result.shard.index} of {result.shard.of}" if result.shard else ""
    yield f"{result.tier} tier, gate: {result.level}{shard}"
    if coverage:
        yield coverage_line(coverage)


def _summary(result: RunResult) -> tuple[str, list[str]]:
    """Return the verdict as a word, then what it rests on, why first, and what else there was."""
    asked = _counts_by_noun(result)
    counts = sum(asked.values(), counts_of((), result.level))
    word, said = _outcome(result, counts, asked)
    parts = [*said, *_other_counts(result, counts)]
    if result.interrupted and word != "INTERRUPTED":
        parts.append("interrupted, results are partial")
    if result.ended_early:
        parts.append("ended early, results are partial")
    return word, parts


def _counts_by_noun(result: RunResult) -> dict[str, CaseCounts]:
    """Count the cases of which values are asked, and those of which calls are, apart."""
    calls = [case for case in result.cases if case.case.whole_calls]
    values = [case for case in result.cases if not case.case.whole_calls]
    both = {"value": values, "call": calls}
    return {noun: counts_of(cases, result.level) for noun, cases in both.items()}


def _outcome(
    result: RunResult, counts: CaseCounts, by_noun: Mapping[str, CaseCounts]
) -> tuple[str, list[str]]:
    asked = plural(counts.judged, "case")
    values = ", ".join(_asked(by_noun, wrong=bool(counts.gated)))
    wrong_list = [_to_repair(result)] if result.problems else []
    if counts.gated:
        return "FAIL", [f"{number(counts.gated)} of {asked}, {values}", *wrong_list]
    if wrong_list:
        return "FAIL", [*wrong_list, f"nothing else in {asked}, {values}"]
    if not counts.judged:
        return "NOTHING JUDGED", [f"{plural(counts.cases, 'case')} asked, none judged"]
    if result.interrupted:
        return "INTERRUPTED", [f"no failure so far in {asked}, {values}"]
    return "PASS", [f"{asked}, {values}"]


def _asked(by_noun: Mapping[str, CaseCounts], wrong: bool) -> Iterator[str]:
    """Yield what was judged, values and calls apart, and what was asked where that is more; with
    `wrong`, how many of them are wrong.
    """
    for noun, counts in by_noun.items():
        said = plural(counts.values_judged, noun)
        if counts.values_judged != counts.checked:
            said += f" judged of {number(counts.checked)} asked"
        if counts.checked or (noun == "value" and not by_noun["call"].cases):
            yield f"{number(counts.wrong)} of {said}" if wrong else said


def _other_counts(result: RunResult, counts: CaseCounts) -> Iterator[str]:
    below = sum(status_of(c, result.level) == BELOW for c in result.cases)
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
        free = "" if result.known else " (nothing holds the backend to them)"
        yield f"{number(counts.verdicts['unsupported'])} unsupported{free}"
