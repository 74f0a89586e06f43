"""The page of a run: quiet when all is well."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from convcheck.judge.result import Problem
from convcheck.judge.words import clean
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
from convcheck.report.document import Document, Listed, RuleRemark
from convcheck.report.draw.causes import (
    cause_blocks,
    cause_per_line,
    causes_summary,
    unexplained_summary,
)
from convcheck.report.draw.finding import finding_blocks
from convcheck.report.draw.matrix import matrix_blocks
from convcheck.report.draw.wrong_types import wrong_type_blocks
from convcheck.report.findings import Finding
from convcheck.report.matrix import without_unsupported
from convcheck.report.status import KNOWN, WAIVED
from convcheck.rules.case_names import compact_names
from convcheck.wording import GLUE, number, plural

_REASONS = 3
_VERDICTS = {
    "FAIL": "bold red",
    "PASS": "bold green",
    "INTERRUPTED": "bold yellow",
    "NOTHING JUDGED": "bold yellow",
}
_RULES = {"tolerated": "yellow", "undefined": "cyan"}
_LISTED = {"known": KNOWN.style, "waived": WAIVED.style}
_READINGS = 2  # of a rule, that are named
_FEW = 3  # so many findings are a digest of themselves
_LINES = 16
_ENTRIES = 6  # of a list, of each kind
_NAMES = 30  # columns of the names of cases in a line of a finding


def report_page(
    document: Document, verbose: bool, quiet: bool = False, whole: bool = False
) -> Iterator[Block]:
    """Yield the report; `verbose` shows every matrix, case and message, `quiet` what is wrong with
    a list of known failures, a line a cause, one a finding that none explains, and the verdict.
    `whole`, as in a file, has all findings in the digest.
    """
    return _brief(document, whole) if quiet else _full(document, verbose, whole)


def _brief(document: Document, whole: bool) -> Iterator[Block]:
    yield from _problems(document.problems)
    yield from cause_per_line([one for one in document.causes if one.gated])
    gated = [finding for finding in document.unexplained if finding.gated]
    yield from _a_line_each(gated, whole, named=True)
    yield verdict_line(document)


def _full(document: Document, verbose: bool, whole: bool) -> Iterator[Block]:
    yield Text(document.backend, "bold", hang=2)
    yield from (Text(line, hang=2) for line in document.setting)
    yield from (Text(f"note: {note}", "yellow", hang=6) for note in document.remarks)
    brief = bool(document.causes) and not verbose
    if document.specs and not brief:
        yield from (BLANK, counts_table(document), BLANK)
    if document.causes:
        yield from (BLANK, Text(causes_summary(document), "bold", hang=2), BLANK)
        yield from (*cause_blocks(document.causes, verbose), BLANK)
        if document.unexplained and not verbose:
            yield from (Text(unexplained_summary(document), "bold"), BLANK)
    if not brief:
        yield from _matrices(document, verbose)
    found = [finding for finding in document.findings if not finding.excuse]
    found = list(document.unexplained) if brief else found
    for finding in document.findings if verbose else found:
        yield from (*finding_blocks(finding, verbose), BLANK)
    yield from _problems(document.problems)
    if brief:
        yield from matrix_blocks(document.letters, lettered=True)
    if len(found) > _FEW:
        yield Text(f"{plural(len(found), 'finding')}, those in most cases first:", "bold")
        yield from (*_a_line_each(found, verbose or whole), BLANK)
    rest = [*(_asked_otherwise(document.coverage) if verbose else ())]
    rest += _rest(document, verbose, brief)
    yield from (*rest, BLANK) if rest else ()
    yield verdict_line(document)


def _matrices(document: Document, verbose: bool) -> Iterator[Block]:
    every = document.matrices
    shown = every if verbose else {s: without_unsupported(every[s]) for s in document.failing}
    yield from matrix_blocks(shown)
    yield from wrong_type_blocks(document, verbose)


def _a_line_each(found: Sequence[Finding], every: bool, named: bool = False) -> Iterator[Block]:
    """Yield a line a finding, and one for those that are left out if it is not to be `every` one;
    `named` has operator and types, too.
    """
    shown = found if every else found[:_LINES]
    if shown:
        yield Table([], [_finding_row(finding, named, every) for finding in shown], prose=True)
    if len(found) > len(shown):
        rest = plural(sum(len(finding.members) for finding in found[len(shown) :]), "case")
        yield Text(f"  … and {len(found) - len(shown)} more, in {rest}", "dim")


def _finding_row(finding: Finding, named: bool, every: bool) -> list[Said]:
    names = ", ".join(finding.cases)
    of = f"{names if every else cut(names, _NAMES)}: " if named else ""
    count = f"{plural(len(finding.members), 'case'):>10}"
    return [count, [(finding.id, "dim")], of + finding.labelled_line]


def verdict_line(document: Document) -> Text:
    """Return the last line: the verdict, the counts behind it, and what else there was."""
    glued = (one.replace(" ", GLUE).replace(f",{GLUE}", ", ") for one in document.reasons)
    return item(document.verdict, _VERDICTS[document.verdict], "; ".join(glued))


# Counts --------------------------------------------------------------------------------------


def counts_table(document: Document) -> Block:
    """Return a line a spec, with short headings and numbers where the width asks for it."""
    return Fitting([[counts(document, short)] for short in (False, True)])


def counts(document: Document, short: bool) -> Table:
    """Return a line a spec, with short or long headings and numbers."""
    present, spell = document.statuses, _short if short else number
    heads = ["spec", "cases", document.counted, "judged"]
    heads += [status.short if short else status.word for status in present]
    rows: list[list[Said]] = []
    for one in document.specs:
        found = [(number(one.statuses.get(status, 0)), status.style) for status in present]
        row = [(number(one.cases), ""), (spell(one.asked), ""), (spell(one.judged), ""), *found]
        rows.append([one.spec, *([(n, "dim" if n == "0" else style)] for n, style in row)])
    right = range(1, len(heads))
    return Table([styled("dim", heads)], rows, gap=1 if short else 2, right=right)


def _short(count: int) -> str:
    for unit, power in (("G", 9), ("M", 6)):
        if count >= 10 ** (power + 1):
            return f"{count / 10**power:,.1f} {unit}"
    return number(count)


# Lists of known failures ---------------------------------------------------------------------


def _problems(problems: Sequence[Problem]) -> Iterator[Block]:
    """Yield each problem, and under it the exact text to have there, which is not broken."""
    for one in problems:
        yield item(one.kind.upper(), "bold red", str(one.place))
        yield under(one.message)
        yield from (Text(line, "cyan", INDENT, whole=True) for line in one.repair.splitlines())
        yield BLANK


def excused_blocks(listed: Sequence[Listed]) -> Iterator[Block]:
    """Yield two lines an entry: what it excuses, then where it stands and its issue or reason."""
    for kind in _LISTED:
        entries = [entry for entry in listed if entry.excuse.kind == kind]
        for entry in entries[:_ENTRIES]:
            yield from _entry(entry)
        if left := entries[_ENTRIES:]:
            cases = plural(sum(entry.cases for entry in left), "case")
            said = f"… and {number(len(left))} more, of {cases} (-v shows all, in full)"
            yield Text(said, "dim", len(kind) + 2)


def _entry(entry: Listed) -> Iterator[Block]:
    excuse, count = entry.excuse, plural(entry.cases, "case").replace(" ", GLUE)
    said = [(f"{entry.families} {entry.what} ({count})", "dim")]
    yield item(excuse.kind, _LISTED[excuse.kind], said)
    why = f"{excuse.place}  {clean(excuse.issue or excuse.reason)}".rstrip()
    yield Text(why, "dim", len(excuse.kind) + 2, whole=bool(excuse.issue))  # it is to be copied


# Coverage ------------------------------------------------------------------------------------


def _asked_otherwise(coverage: Sequence[tuple[str, Sequence[str]]]) -> Iterator[Block]:
    """Yield the cases that were asked in another way than most."""
    most = max((len(cases) for _, cases in coverage), default=0)
    for words, cases in coverage:
        if len(cases) < most:
            yield item("asked", "dim", f"{words}: {plural(len(cases), 'case')}")
            yield from (Text(name, "dim", 7, 2) for name in compact_names(cases))


# What is not judged --------------------------------------------------------------------------


def _rest(document: Document, verbose: bool, brief: bool) -> Iterator[Block]:
    yield from () if verbose else excused_blocks(document.listed)
    tolerated = {rule.rule for rule in document.rules if rule.verdict == "tolerated"}
    if brief and tolerated:
        said = f"{plural(len(tolerated), 'disputed rule')} (-v says which readings)"
        yield item("tolerated", _RULES["tolerated"], said)
    for rule in () if brief else document.rules:
        if verbose or rule.verdict == "tolerated":
            yield from _rule(rule, verbose)
    yield from _unsupported(document.unsupported, verbose)


def _rule(rule: RuleRemark, verbose: bool) -> Iterator[Block]:
    """Yield `tolerated  onnx.Cast-* some-rule: reads it as … (12 cases)`.

    Of a rule with many readings only that of most cases is named, unless `verbose`.
    """
    few = verbose or len(rule.ways) <= _READINGS
    for what, families, cases in rule.ways if few else [max(rule.ways, key=lambda way: way[2])]:
        said = f"{families} {rule.rule}{': ' if what else ''}{what}"
        count = plural(cases, "case").replace(" ", GLUE)
        others = f"; {len(rule.ways) - 1}{GLUE}other{GLUE}ways (-v)" if not few else ""
        yield item(rule.verdict, _RULES[rule.verdict], f"{said} ({count}){others}")


def _unsupported(cases: Sequence[tuple[str, str]], verbose: bool) -> Iterator[Block]:
    """Yield the runtime's own words for what it does not take, if they are few or asked for."""
    reasons: dict[str, list[tuple[str, str]]] = {}
    for case, message in cases:  # messages of one reason differ in version and line numbers
        alike = message if verbose else re.sub(r"\b[0-9]+\b", "0", message)
        reasons.setdefault(alike, []).append((case, message))
    if len(reasons) > _REASONS and not verbose:
        yield item("unsupported", "dim", f"{plural(len(cases), 'case')} (-v says why)")
        return
    for some in reasons.values():
        messages = dict.fromkeys(message for _, message in some)
        such = ", such as" if len(messages) > 1 else ""
        said = f"{plural(len(some), 'case')}{such}: {next(iter(messages)) or 'no reason given'}"
        yield item("unsupported", "dim", said, cut=not verbose)
        for name in compact_names(case for case, _ in some) if verbose else ():
            yield Text(name, "dim", 13, 2)
