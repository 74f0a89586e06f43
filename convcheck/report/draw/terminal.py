"""Draw a run on a terminal."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from convcheck.judge.result import CaseResult, Excuse, Problem, Verdict
from convcheck.judge.words import clean
from convcheck.records import grouped
from convcheck.report.blocks import (
    BLANK,
    INDENT,
    Block,
    Fitting,
    Said,
    Table,
    Text,
    cut,
    item,
    styled,
    under,
)
from convcheck.report.counts import KNOWN, STATUSES, WAIVED
from convcheck.report.document import Document, groups_of
from convcheck.report.draw.causes import (
    IN_FULL,
    cause_blocks,
    cause_per_line,
    causes_summary,
    unexplained_summary,
)
from convcheck.report.draw.finding import finding_blocks
from convcheck.report.draw.matrix import letters_only, matrix_blocks
from convcheck.report.draw.wrong_types import wrong_type_blocks
from convcheck.report.findings import Finding
from convcheck.report.matrix import family, without_unsupported
from convcheck.rules.find import compact_names
from convcheck.rules.model import Case
from convcheck.streams import GLUE, number, plural

_REASONS = 3
_VERDICTS = {
    "FAIL": "bold red",
    "PASS": "bold green",
    "INTERRUPTED": "bold yellow",
    "NOTHING JUDGED": "bold yellow",
}
_RULES: tuple[Verdict, ...] = ("tolerated", "undefined")
_STYLES = {status.word: status.style for status in STATUSES}
_LISTED = {"known": KNOWN.style, "waived": WAIVED.style}
_READINGS = 2  # readings listed per rule
_FEW = 3  # findings need no digest
_LINES = 16
_ENTRIES = 6  # entries of each kind in a list
_NAMES = 30  # columns of case names in a finding's line


def report_page(
    document: Document, verbose: bool, quiet: bool = False, whole: bool = False
) -> Iterator[Block]:
    """Yield the report.

    `verbose` shows all matrices, cases and messages, and explained findings. `quiet` shows problems
    of the list, a line per cause and unexplained finding, and the verdict. If `whole`, the digest
    has all findings.
    """
    if not quiet:
        yield from _full(document, verbose, whole)
        return
    yield from _problems(document.problems)
    yield from cause_per_line([one for one in document.causes if one.gated])
    gated = [finding for finding in document.unexplained if finding.gated]
    yield from _a_line_each(gated, whole, named=True)
    yield verdict_line(document)


def _full(document: Document, verbose: bool, whole: bool) -> Iterator[Block]:
    yield Text(document.backend, "bold", hang=2)
    yield Text("; ".join(document.setting), hang=2)
    yield from (Text(f"note: {note}", "yellow", hang=6) for note in document.remarks)
    brief = bool(document.causes) and not verbose
    if document.cases and not brief:
        yield from (BLANK, counts_table(document), BLANK)
    if document.causes:
        yield from (BLANK, Text(causes_summary(document), "bold", hang=2), BLANK)
        yield from (*cause_blocks(document.causes, verbose), BLANK)
        yield from matrix_blocks(document.letters) if verbose else ()
        if document.unexplained:
            yield from (Text(unexplained_summary(document), "bold"), BLANK)
    if not brief:
        every, failing = document.matrices, document.failing
        yield from matrix_blocks(
            every if verbose else {spec: without_unsupported(every[spec]) for spec in failing}
        )
        yield from wrong_type_blocks(document, verbose)
    unexcused = [finding for finding in document.findings if not finding.excuse]
    left = list(document.unexplained) if document.causes else unexcused
    excused = [finding for finding in document.findings if finding.excuse and verbose]
    for finding in (*left, *excused):
        yield from (*finding_blocks(finding, verbose), BLANK)
    found = unexcused if verbose else left
    yield from _problems(document.problems)
    if brief:
        few = len(document.causes) <= IN_FULL
        drawn = matrix_blocks(document.letters, lettered=True)
        yield from drawn if few else (*letters_only(document.letters), BLANK)
    if len(found) > _FEW:
        yield Text(f"{plural(len(found), 'finding')}, those in most cases first:", "bold")
        yield from (*_a_line_each(found, verbose or whole), BLANK)
    rest = [*(_asked_otherwise(document.coverage) if verbose else ())]
    rest += () if verbose else excused_blocks(document.findings)
    rest += () if brief else _unjudged(document, verbose)
    yield from (*rest, BLANK) if rest else ()
    yield verdict_line(document)


def _a_line_each(found: Sequence[Finding], every: bool, named: bool = False) -> Iterator[Block]:
    shown = found if every else found[:_LINES]
    rows: list[list[Said]] = []
    for finding in shown:
        names = ", ".join(finding.cases)
        of = f"{names if every else cut(names, _NAMES)}: " if named else ""
        count = f"{plural(len(finding.members), 'case'):>10}"
        gate = "" if finding.gated else " (below the gate)"
        rows.append([count, [(finding.id, "dim")], of + finding.labelled_line + gate])
    if rows:
        yield Table([], rows, prose=True)
    if len(found) > len(shown):
        rest = plural(sum(len(finding.members) for finding in found[len(shown) :]), "case")
        yield Text(f"  … and {len(found) - len(shown)} more, in {rest}", "dim")


def verdict_line(document: Document) -> Text:
    """Return the last line: verdict and counts."""
    glued = (one.replace(" ", GLUE).replace(f",{GLUE}", ", ") for one in document.reasons)
    return item(document.verdict, _VERDICTS[document.verdict], "; ".join(glued))


def counts_table(document: Document) -> Block:
    """Return a line per spec, short if the width needs it."""
    return Fitting([[_counts(document, short)] for short in (False, True)])


def _counts(document: Document, short: bool) -> Table:
    present, spell = document.statuses, _short if short else number
    heads = ["spec", "cases", document.counted, "judged"]
    heads += [status.short if short else status.word for status in present]
    rows: list[list[Said]] = []
    for spec, cases in document.cases.items():
        statuses = Counter(case.status for case in cases)
        asked = spell(sum(case.found.checked for case in cases))
        judged = spell(sum(case.found.values_judged for case in cases))
        found = [(number(statuses[status]), status.style) for status in present]
        row = [(number(len(cases)), ""), (asked, ""), (judged, ""), *found]
        rows.append([spec, *([(n, "dim" if n == "0" else style)] for n, style in row)])
    right = range(1, len(heads))
    return Table([styled("dim", heads)], rows, gap=1 if short else 2, right=right)


def _short(count: int) -> str:
    for unit, power in (("G", 9), ("M", 6)):
        if count >= 10 ** (power + 1):
            return f"{count / 10**power:,.1f} {unit}"
    return number(count)


def _problems(problems: Sequence[Problem]) -> Iterator[Block]:
    for one in problems:
        yield item(one.kind.upper(), "bold red", str(one.place))
        yield under(one.message)
        yield from (Text(line, "cyan", INDENT, whole=True) for line in one.repair.splitlines())
        yield BLANK


def excused_blocks(found: Sequence[Finding]) -> Iterator[Block]:
    """Yield excused failures, then place and reason, the most cases first."""
    for kind in _LISTED:
        excused = ((one.excuse, one) for one in found if one.excuse)
        entries = grouped((excuse, one) for excuse, one in excused if excuse.kind == kind)
        cases = {
            excuse: {one.case.id: one.case for finding in some for one in finding.members}
            for excuse, some in entries.items()
        }
        order = sorted(entries, key=lambda excuse: -len(cases[excuse]))
        for excuse in order[:_ENTRIES]:
            yield from _entry(excuse, entries[excuse], cases[excuse])
        if left := order[_ENTRIES:]:
            of = plural(sum(len(cases[excuse]) for excuse in left), "case")
            said = f"… and {number(len(left))} more, of {of} (-v shows all, in full)"
            yield Text(said, "dim", len(kind) + 2)


def _entry(excuse: Excuse, found: Sequence[Finding], cases: Mapping[str, Case]) -> Iterator[Block]:
    rules = dict.fromkeys(finding.rule for finding in found if finding.rule)
    first, *more = dict.fromkeys(map(_way, found))
    what = f"{', '.join(rules)}: {first}".removeprefix(": ")
    what += f" and {plural(len(more), 'other way')}" if more else ""
    said = f"{_families(cases)} {what} {_of(cases)}"
    yield item(excuse.kind, _LISTED[excuse.kind], [(said, "dim")])
    why = f"{excuse.place}  {clean(excuse.issue or excuse.reason)}".rstrip()
    yield Text(why, "dim", len(excuse.kind) + 2, whole=bool(excuse.issue))  # issues can be copied


def _way(finding: Finding) -> str:
    said = finding.kind if finding.rule else finding.message
    if said in ("", finding.verdict):
        return finding.verdict
    return said if finding.verdict == "fail" else f"{finding.verdict}, {said}"


def _families(cases: Mapping[str, Case]) -> str:
    return ", ".join(dict.fromkeys(family(case.spec) for case in cases.values()))


def _of(cases: Mapping[str, Case]) -> str:
    return f"({plural(len(cases), 'case')})".replace(" ", GLUE)


def _asked_otherwise(coverage: Sequence[tuple[str, Sequence[str]]]) -> Iterator[Block]:
    most = max((len(cases) for _, cases in coverage), default=0)
    for words, cases in coverage:
        if len(cases) < most:
            yield item("asked", "dim", f"{words}: {plural(len(cases), 'case')}")
            yield from (Text(name, "dim", 7, 2) for name in compact_names(cases))


def _unjudged(document: Document, verbose: bool) -> Iterator[Block]:
    for verdict in _RULES if verbose else _RULES[:1]:
        rules: dict[str, dict[str, dict[str, Case]]] = {}
        for result, group in groups_of(document.result, verdict):
            way = f'reads it as "{group.reading}"' if group.reading else group.kind
            ways = rules.setdefault(group.decision.rule, {})
            ways.setdefault(way, {})[result.case.id] = result.case
        for rule, ways in rules.items():
            yield from _rule(verdict, rule, ways, verbose)
    yield from _unsupported(document.result.cases, verbose)


def _rule(
    verdict: Verdict, rule: str, ways: Mapping[str, Mapping[str, Case]], verbose: bool
) -> Iterator[Block]:
    few = verbose or len(ways) <= _READINGS
    others = "" if few else f"; {len(ways) - 1}{GLUE}other{GLUE}ways (-v)"
    for what in ways if few else [max(ways, key=lambda way: len(ways[way]))]:
        said = f"{_families(ways[what])} {rule}{': ' if what else ''}{what}"
        yield item(verdict, _STYLES[verdict], f"{said} {_of(ways[what])}{others}")


def _unsupported(cases: Sequence[CaseResult], verbose: bool) -> Iterator[Block]:
    reasons: dict[str, list[tuple[str, str]]] = {}
    lacking = [case for case in cases if case.verdict == "unsupported"]
    for case in lacking:  # versions and line numbers vary in the same message
        message = clean(case.message)
        alike = message if verbose else re.sub(r"\b[0-9]+\b", "0", message)
        reasons.setdefault(alike, []).append((case.case.id, message))
    if len(reasons) > _REASONS and not verbose:
        yield item("unsupported", "dim", f"{plural(len(lacking), 'case')} (-v says why)")
        return
    for some in reasons.values():
        messages = dict.fromkeys(message for _, message in some)
        such = ", such as" if len(messages) > 1 else ""
        said = f"{plural(len(some), 'case')}{such}: {next(iter(messages)) or 'no reason given'}"
        yield item("unsupported", "dim", said, cut=not verbose)
        for name in compact_names(case for case, _ in some) if verbose else ():
            yield Text(name, "dim", 13, 2)
