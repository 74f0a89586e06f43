"""The result of a run as a document: what every format says, said once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import PurePath

from convcheck.judge.failure import of_types
from convcheck.judge.result import (
    CallExample,
    CaseResult,
    Group,
    Problem,
    RunResult,
    Tolerance,
    Verdict,
)
from convcheck.judge.words import GLUE, clean, explain_arguments, number, pair, plural
from convcheck.report.document import (
    CallInWords,
    CaseReport,
    Document,
    ElementInWords,
    Finding,
    Listed,
    ProblemInWords,
    RuleRemark,
    SpecCounts,
)
from convcheck.report.examples import call_in_words, deciding_words, element_in_words
from convcheck.report.groups import Block, Member, blocks_of
from convcheck.report.matrix import Matrix, failing, matrix
from convcheck.report.naming import compact_ids, family
from convcheck.report.promotions import compact, wrong_types
from convcheck.report.status import BELOW, excuses_of, fails, status_of
from convcheck.report.tally import Tally, by_spec, tally
from convcheck.rules.model import Case, Level
from convcheck.semantics.expected import Decision


def document(result: RunResult) -> Document:
    """Return the report of a run."""
    word, reasons = _summary(result)
    found = findings(result.cases, result.level)
    specs = by_spec(result)
    return Document(
        result=result,
        verdict=word,
        reasons=tuple(reasons),
        backend=clean(f"{result.backend.name} {result.backend.version}"),
        setting=tuple(_setting(result)),
        remarks=tuple(map(clean, result.remarks)),
        counted=_counted(result),
        specs=tuple(_counts(spec, cases, result.level) for spec, cases in specs.items()),
        matrices={spec: matrix(cases, result.level) for spec, cases in specs.items()},
        failing=_failing(specs, result.level),
        findings=tuple(found),
        problems=tuple(map(_problem, result.problems)),
        listed=tuple(_listed(found)),
        rules=tuple(_rules(result)),
        readings=_readings(result),
        unsupported=_unsupported(result.cases),
        wrong_types=tuple(wrong_types(result)),
        wrong_types_that_count=tuple(wrong_types(_unexcused(result))),
        cases={
            spec: tuple(case_report(case, result.level) for case in cases)
            for spec, cases in specs.items()
        },
    )


def _failing(specs: Mapping[str, Sequence[CaseResult]], level: Level) -> dict[str, Matrix]:
    some = {s: cases for s, cases in specs.items() if any(fails(case, level) for case in cases)}
    return {spec: failing(cases, level) for spec, cases in some.items()}


def _unexcused(result: RunResult) -> RunResult:
    """Return a run without the groups that a list excuses."""
    cases = tuple(
        replace(case, groups=tuple(group for group in case.groups if not group.excuse))
        if excuses_of(case)
        else case
        for case in result.cases
    )
    return replace(result, cases=cases)


def case_report(case: CaseResult, level: Level) -> CaseReport:
    """Return a case with its findings, in a run gated at `level`."""
    return CaseReport(case, status_of(case, level), partial(findings, [case], level))


def findings(cases: Iterable[CaseResult], level: Level) -> list[Finding]:
    """Return the failures of some cases of a run gated at `level`, the gravest first."""
    return [_finding(block) for block in blocks_of(cases, level)]


# Findings ------------------------------------------------------------------------------------


def _finding(block: Block) -> Finding:
    group, shown = block.group, block.shown
    sample = shown.group if shown.group and shown.group.examples else None
    case = shown.case.case
    short = compact if all(of_types(m.case.case) for m in block.members) else compact_ids
    what = _what(block, group) if group else ""
    return Finding(
        block=block,
        cases=tuple(short(m.case.case.id for m in block.members)),
        rule=group.decision.name if group else "",
        row=_row(block, group) if group else "",
        places=_places(block) if group else "",
        cited=_cited(group.decision) if group else "",
        what=what,
        gist=clean(_gist(block, group, what)) or block.verdict,
        message=block.message,
        examples=_examples(case, sample) if sample else (),
        ranges=tuple(pair(case.inputs[0].format, span) for span in sample.ranges) if sample else (),
        more_ranges=sample.more_ranges if sample else 0,
        explain=_explain(case, sample) if sample else (),
    )


def _row(block: Block, group: Group) -> str:
    """Return the row that decided, the first of several: some-rule / else, and 2 more rows."""
    others = len(block.rows) - 1
    return group.decision.name + (f", and {plural(others, 'more row')}" if others else "")


def _places(block: Block) -> str:
    """Return where the row stands, a place a file."""
    each = [str(place) for place in block.places]
    return ", ".join([each[0], *(_beside(*both) for both in pairwise(each))])


def _beside(before: str, place: str) -> str:
    """Return a place that stands beside another: no folders, of the same file its line only."""
    file, _, line = place.rpartition(":")
    return line if before.rpartition(":")[0] == file else place.rpartition("/")[2]


def _what(block: Block, group: Group) -> str:
    said = block.kind
    if group.verdict == "inconsistent":
        example = (block.shown.group or group).examples[0]
        return clean(f"{said}: {example.message}")  # both ways with what they give
    if group.reading:
        said += f", read as {group.reading}"
    if group.placement:
        said += f', only in placement "{group.placement}"'
    return clean(said.lstrip(", "))  # a type in it is named by the backend


def _gist(block: Block, group: Group | None, what: str) -> str:
    if group is None:
        return block.message
    if block.verdict == "refused":
        return group.examples[0].message if group.examples else group.decision.name
    return what


@lru_cache(256)
def _cited(by: Decision) -> str:
    source = f" — {by.source}" if by.source else ""
    quoted = f'"{clean(by.cite)}"' if by.cite else ""
    return f"{quoted}{source} (level:{GLUE}{by.level})".lstrip()


def _examples(case: Case, group: Group) -> tuple[ElementInWords | CallInWords, ...]:
    disputed = group.decision.level == "disputed"
    return tuple(
        call_in_words(example, group.verdict, named=disputed)
        if isinstance(example, CallExample)
        else element_in_words(case, example, group.verdict)
        for example in group.examples
    )


def _explain(case: Case, group: Group) -> tuple[str, ...]:
    """Return the command that explains the first example, the values in one part."""
    example = group.examples[0]
    if isinstance(example, CallExample):
        example = replace(example, arguments=deciding_words(example))
    arguments = explain_arguments(case, example)
    at = 2 if arguments[0] == "--" else 1
    start = " ".join(["convcheck explain", *arguments[: at - 1]])
    return start, arguments[at - 1], " ".join(arguments[at:])


# Lists of known failures ---------------------------------------------------------------------


def _problem(problem: Problem) -> ProblemInWords:
    lines = problem.repair.strip("\n").splitlines()
    plain = tuple("".join(c if c.isprintable() else " " for c in line) for line in lines)
    return ProblemInWords(problem, clean(problem.message), plain)


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
    members: list[Member] = [member for finding in found for member in finding.block.members]
    rules = dict.fromkeys(finding.rule for finding in found if finding.rule)
    ways = dict.fromkeys(_way(finding.block) for finding in found)
    said = f"{', '.join(rules)}: {next(iter(ways))}".removeprefix(": ")
    more = f" and {plural(len(ways) - 1, 'other way')}" if len(ways) > 1 else ""
    excuse = found[0].excuse
    assert excuse  # noqa: S101
    return Listed(
        excuse,
        len({member.case.case.id for member in members}),
        ", ".join(dict.fromkeys(family(m.case.case.spec) for m in members)),
        said + more,
    )


def _way(block: Block) -> str:
    said = block.kind if block.group else block.message
    if said in ("", block.verdict):
        return block.verdict
    return clean(said) if block.verdict == "fail" else f"{block.verdict}, {clean(said)}"


def _to_repair(result: RunResult) -> str:
    """Return how many entries are wrong: 3 entries of known.toml to repair (2 stale, 1 changed)."""
    counts = Counter(problem.kind for problem in result.problems)
    each = ", ".join(f"{number(n)} {kind}" for kind, n in counts.items())
    total = len(result.problems)
    entry = "1 entry" if total == 1 else f"{number(total)} entries"
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


def _counts(spec: str, cases: Sequence[CaseResult], level: Level) -> SpecCounts:
    statuses = Counter(status_of(case, level) for case in cases)
    return SpecCounts(spec, len(cases), sum(case.checked for case in cases), statuses)


def _counted(result: RunResult) -> str:
    asked = {c.case.whole_calls for c in result.cases}
    return "asked" if len(asked) > 1 else "calls" if True in asked else "values"


def _setting(result: RunResult) -> Iterator[str]:
    shard = f", shard {result.shard.index} of {result.shard.of}" if result.shard else ""
    yield f"{result.tier} tier, gate: {result.level}{shard}"
    if result.selected is not None:
        asked, chosen = number(len(result.cases)), plural(result.selected, "case")
        # where it was stopped, those that were asked are not all that apply
        yield f"{asked} of {chosen} {'asked' if result.interrupted else 'apply'}"


def _summary(result: RunResult) -> tuple[str, list[str]]:
    """Return the verdict as a word, then what it rests on, why first, and what else there was."""
    counts = tally(result.cases, result.level)
    word, said = _outcome(result, counts)
    parts = [*said, *_other_counts(result, counts)]
    if result.interrupted and word != "INTERRUPTED":
        parts.append("interrupted, results are partial")
    if result.ended_early:
        parts.append("ended early, results are partial")
    return word, parts


def _outcome(result: RunResult, counts: Tally) -> tuple[str, list[str]]:
    asked = plural(counts.judged, "case")
    values = ", ".join(_asked(result, wrong=False))
    wrong_list = [_to_repair(result)] if result.problems else []
    if counts.gated:
        wrong = ", ".join(_asked(result, wrong=True))
        return "FAIL", [f"{number(counts.gated)} of {asked}, {wrong}", *wrong_list]
    if wrong_list:
        return "FAIL", [*wrong_list, f"nothing else in {asked}, {values}"]
    if not counts.judged:
        return "NOTHING JUDGED", [f"{plural(counts.cases, 'case')} asked, none judged"]
    if result.interrupted:
        return "INTERRUPTED", [f"no failure so far in {asked}, {values}"]
    return "PASS", [f"{asked}, {values}"]


def _asked(result: RunResult, wrong: bool) -> Iterator[str]:
    """Yield what was asked, values and calls apart; with `wrong`, how many of them are wrong."""
    calls = [case for case in result.cases if case.case.whole_calls]
    values = [case for case in result.cases if not case.case.whole_calls]
    for noun, cases in (("value", values), ("call", calls)):
        counts = tally(cases, result.level)
        said = plural(counts.checked, noun)
        if counts.checked or (noun == "value" and not calls):
            yield f"{number(counts.wrong)} of {said}" if wrong else said


def _other_counts(result: RunResult, counts: Tally) -> Iterator[str]:
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
    others: tuple[Verdict, ...] = ("undefined", "unsupported")
    for verdict in others:
        if counts.verdicts[verdict]:
            yield f"{number(counts.verdicts[verdict])} {verdict}"
