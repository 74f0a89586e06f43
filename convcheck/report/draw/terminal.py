"""The report of a run for a person at a terminal: quiet when all is well."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.console import Console
from rich.text import Text

from convcheck.judge.result import CaseResult, Group, RunResult, Verdict
from convcheck.judge.words import GLUE, clean, number, plural
from convcheck.report import blocks, digest, matrix, overview, problems, promotions
from convcheck.report.groups import Block
from convcheck.report.groups import blocks as failures
from convcheck.report.layout import MAX_WIDTH, cut, labelled, paragraph
from convcheck.report.naming import compact_ids, family
from convcheck.report.spec_page.lines import put, room
from convcheck.report.status import BELOW, excuses_of, fails, status_of
from convcheck.report.tally import Tally, by_spec, tally
from convcheck.rules.model import Level

_REASONS = 3
_STYLES = {
    "FAIL": "bold red", "PASS": "bold green",
    "INTERRUPTED": "bold yellow", "NOTHING JUDGED": "bold yellow",
}  # fmt: skip
_READINGS = 2  # of a rule, that are named


def report(result: RunResult, console: Console, verbose: bool, quiet: bool = False) -> None:
    """Print the report of a run; `verbose` shows every matrix, case and message.

    `quiet` shows what is wrong with a list of known failures, a line a finding, and the verdict.
    """
    width = room(console)
    put(_brief(result, width) if quiet else _lines(result, width, verbose), console)


def _brief(result: RunResult, width: int) -> Iterator[Text]:
    text_width = min(width, MAX_WIDTH)
    yield from problems.show(result.problems, text_width)
    gated = [block for block in failures(result) if block.gated]
    yield from digest.lines(gated, text_width)
    yield from verdict(result, text_width)


def _lines(result: RunResult, width: int, verbose: bool) -> Iterator[Text]:
    text_width = min(width, MAX_WIDTH)
    yield from _title(result, text_width)
    for note in result.remarks:
        yield from paragraph(f"note: {clean(note)}", text_width, indent=0, hang=6, style="yellow")
    if result.cases:
        yield Text()
        yield from overview.show(result, width)
        yield Text()
    yield from _matrices(result, width, verbose)
    every = failures(result)
    found = [block for block in every if not block.excuse]
    for block in every if verbose else found:
        yield from blocks.show(block, text_width, verbose)
        yield Text()
    yield from problems.show(result.problems, text_width)
    summary = list(digest.show(found, text_width, verbose))
    yield from (*summary, Text()) if summary else ()
    yield from _rest(result, every, text_width, verbose)
    yield from verdict(result, text_width)


def _title(result: RunResult, width: int) -> Iterator[Text]:
    backend = clean(f"{result.backend.name} {result.backend.version}")
    yield from paragraph(backend, width, indent=0, hang=2, style="bold")
    for line in setting(result):
        yield Text(line)


def setting(result: RunResult) -> list[str]:
    """Say what was asked: the tier and the gate, which shard, and how many of the cases apply."""
    shard = f", shard {result.shard.index} of {result.shard.of}" if result.shard else ""
    lines = [f"{result.tier} tier, gate: {result.level}{shard}"]
    if result.selected is not None:
        asked, chosen = number(len(result.cases)), plural(result.selected, "case")
        # where it was stopped, those that were asked are not all that apply
        lines.append(f"{asked} of {chosen} {'asked' if result.interrupted else 'apply'}")
    return lines


def _matrices(result: RunResult, width: int, verbose: bool) -> Iterator[Text]:
    shown = {
        spec: _matrix(cases, result.level, verbose)
        for spec, cases in by_spec(result).items()
        if verbose or any(fails(case, result.level) for case in cases)
    }
    if shown:
        yield from matrix.show(shown, width)
    told = result if verbose else replace(result, cases=tuple(map(_unexcused, result.cases)))
    yield from promotions.show(told, min(width, MAX_WIDTH), verbose)


def _matrix(cases: Sequence[CaseResult], level: Level, verbose: bool) -> matrix.Matrix:
    whole = matrix.matrix(cases, level)
    return whole if verbose else matrix.supported(whole)


def _unexcused(case: CaseResult) -> CaseResult:
    if not excuses_of(case):
        return case
    return replace(case, groups=tuple(group for group in case.groups if not group.excuse))


def _rest(result: RunResult, found: list[Block], width: int, verbose: bool) -> Iterator[Text]:
    lines = [
        *(() if verbose else problems.excused(found, width)),
        *_by_rule(result, "tolerated", "yellow", width, verbose),
        *(_by_rule(result, "undefined", "cyan", width, verbose) if verbose else ()),
        *_unsupported(result, width, verbose),
    ]
    if lines:
        yield from (*lines, Text())


def _by_rule(
    result: RunResult, verdict: Verdict, style: str, width: int, verbose: bool
) -> Iterator[Text]:
    """Give a line a rule: `tolerated  onnx.Cast-* some-rule: reads it as … (12 cases)`.

    Of a rule with many readings only that of most cases is named, unless `verbose`.
    """
    found: dict[str, dict[str, list[CaseResult]]] = {}
    for case, group in _groups(result, verdict):
        what = f'reads it as "{group.reading}"' if group.reading else group.kind
        found.setdefault(group.decision.rule, {}).setdefault(what, []).append(case)
    for rule, ways in found.items():
        kept = dict(sorted(ways.items(), key=lambda way: -len(way[1]))[:1])
        few = verbose or len(ways) <= _READINGS
        for what, cases in (ways if few else kept).items():
            families = ", ".join(dict.fromkeys(family(c.case.spec) for c in cases))
            said = f"{families} {rule}{': ' if what else ''}{what}"
            count = plural(len({c.case.id for c in cases}), "case").replace(" ", GLUE)
            others = f"; {len(ways) - 1}{GLUE}other{GLUE}ways (-v)" if not few else ""
            yield from labelled(verdict, style, f"{said} ({count}){others}", width)


def _groups(result: RunResult, verdict: Verdict) -> Iterator[tuple[CaseResult, Group]]:
    for case in result.cases:
        for group in case.groups:
            if group.verdict == verdict:
                yield case, group


def _unsupported(result: RunResult, width: int, verbose: bool) -> Iterator[Text]:
    """Give the runtime's own words for what it does not take, if they are few or asked for."""
    reasons: dict[str, list[CaseResult]] = {}
    for case in result.cases:
        if case.verdict == "unsupported":
            reasons.setdefault(_alike(clean(case.message), verbose), []).append(case)
    if len(reasons) > _REASONS and not verbose:
        count = plural(sum(map(len, reasons.values())), "case")
        yield Text.assemble(("unsupported", "dim"), f"  {count} (-v says why)")
        return
    for cases in reasons.values():
        yield from _reason(cases, width, verbose)


def _alike(message: str, verbose: bool) -> str:
    """Give what messages of one reason have in common: they differ in version and line numbers."""
    return message if verbose else re.sub(r"\b[0-9]+\b", "0", message)


def _reason(cases: list[CaseResult], width: int, verbose: bool) -> Iterator[Text]:
    messages = dict.fromkeys(clean(c.message) for c in cases)
    such = ", such as" if len(messages) > 1 else ""
    said = f"{plural(len(cases), 'case')}{such}: {next(iter(messages)) or 'no reason given'}"
    room = width - len("unsupported  ")
    yield from labelled("unsupported", "dim", said if verbose else cut(said, room), width)
    for name in compact_ids(c.case.id for c in cases) if verbose else ():
        yield from paragraph(name, width, indent=13, hang=2, style="dim")


def verdict(result: RunResult, width: int) -> Iterator[Text]:
    """Give the last line: the verdict, the counts behind it, and what else there was."""
    word, parts = summary(result)
    glued = (part.replace(" ", GLUE) for part in parts)
    yield from labelled(word, _STYLES[word], "; ".join(glued), width)


def summary(result: RunResult) -> tuple[str, list[str]]:
    """Give the verdict as a word, then what it rests on, why first, and what else there was."""
    counts = tally(result.cases, result.level)
    word, said = _outcome(result, counts)
    parts = [*said, *_remarks(result, counts)]
    if result.interrupted and word != "INTERRUPTED":
        parts.append("interrupted, results are partial")
    if result.ended_early:
        parts.append("ended early, results are partial")
    return word, parts


def _outcome(result: RunResult, counts: Tally) -> tuple[str, list[str]]:
    asked = plural(counts.judged, "case")
    values = ", ".join(_asked(result, wrong=False))
    wrong_list = [problems.gist(result)] if result.problems else []
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
    """Count what was asked, values and calls apart; with `wrong`, how many of them are wrong."""
    calls = [case for case in result.cases if case.case.whole_calls]
    values = [case for case in result.cases if not case.case.whole_calls]
    for noun, cases in (("value", values), ("call", calls)):
        counts = tally(cases, result.level)
        said = plural(counts.checked, noun)
        if counts.checked or (noun == "value" and not calls):
            yield f"{number(counts.wrong)} of {said}" if wrong else said


def _remarks(result: RunResult, counts: Tally) -> Iterator[str]:
    below = sum(status_of(c, result.level) == BELOW for c in result.cases)
    rules = len({group.decision.rule for _, group in _groups(result, "tolerated")})
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
