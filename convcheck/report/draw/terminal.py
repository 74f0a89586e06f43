"""The report of a run for a person at a terminal: quiet when all is well."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from convcheck.judge.words import clean
from convcheck.report.document import (
    CoveredCases,
    Document,
    Finding,
    Listed,
    ProblemInWords,
    RuleRemark,
    SpecCounts,
)
from convcheck.report.draw.causes import (
    cause_lines,
    cause_per_line,
    causes_summary,
    unexplained_summary,
)
from convcheck.report.draw.finding import finding_lines
from convcheck.report.draw.layout import INDENT, MAX_WIDTH, cut, labelled, paragraph
from convcheck.report.draw.matrix import letter_lines, matrix_lines
from convcheck.report.draw.styled import StyledText
from convcheck.report.draw.table import WHOLE, cells, table_lines
from convcheck.report.draw.wrong_types import wrong_type_lines
from convcheck.report.matrix import without_unsupported
from convcheck.report.status import KNOWN, WAIVED, Status
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


def report_lines(
    document: Document, width: int, verbose: bool, quiet: bool = False, whole: bool = False
) -> Iterator[StyledText]:
    """Yield the lines of a report, as wide as `width`; `verbose` shows every matrix, case and
    message, `quiet` what is wrong with a list of known failures, a line a cause, one a finding that
    none explains, and the verdict. What is long is cut to the width unless it is to be shown
    `whole`, as in a file.
    """
    return _brief(document, width, whole) if quiet else _lines(document, width, verbose, whole)


def _brief(document: Document, width: int, whole: bool) -> Iterator[StyledText]:
    text_width = min(width, MAX_WIDTH)
    yield from _problems(document.problems, text_width)
    room = WHOLE if whole else text_width
    yield from cause_per_line([one for one in document.causes if one.gated], room)
    gated = [finding for finding in document.unexplained if finding.gated]
    yield from _a_line_each(gated, room, whole, named=True)
    yield from verdict_lines(document, text_width)


def _lines(document: Document, width: int, verbose: bool, whole: bool) -> Iterator[StyledText]:
    text_width = min(width, MAX_WIDTH)
    yield from paragraph(document.backend, text_width, indent=0, hang=2, style="bold")
    for line in document.setting:
        yield from paragraph(line, text_width, indent=0, hang=2)
    for note in document.remarks:
        yield from paragraph(f"note: {note}", text_width, indent=0, hang=6, style="yellow")
    brief = bool(document.causes) and not verbose
    if document.specs and not brief:
        yield from (StyledText(), *overview_lines(document, width), StyledText())
    yield from _causes(document, text_width, verbose, whole)
    if not brief:
        yield from _matrices(document, width, verbose)
    found = [finding for finding in document.findings if not finding.excuse]
    found = list(document.unexplained) if brief else found
    for finding in document.findings if verbose else found:
        yield from (*finding_lines(finding, text_width, verbose, whole), StyledText())
    yield from _problems(document.problems, text_width)
    if brief:
        yield from letter_lines(document.letters, width)
    if len(found) > _FEW:
        yield StyledText(f"{plural(len(found), 'finding')}, those in most cases first:", "bold")
        room = WHOLE if whole else text_width
        yield from (*_a_line_each(found, room, verbose or whole), StyledText())
    rest = [*(_asked_otherwise(document.coverage, text_width) if verbose else ())]
    rest += _rest(document, text_width, verbose, whole, brief)
    yield from (*rest, StyledText()) if rest else ()
    yield from verdict_lines(document, text_width)


def _causes(document: Document, width: int, verbose: bool, whole: bool) -> Iterator[StyledText]:
    if not document.causes:
        return
    said = causes_summary(document)
    yield from (StyledText(), *paragraph(said, width, indent=0, hang=2, style="bold"), StyledText())
    yield from (*cause_lines(document.causes, width, verbose, whole), StyledText())
    if document.unexplained and not verbose:
        yield from (StyledText(unexplained_summary(document), "bold"), StyledText())


def _matrices(document: Document, width: int, verbose: bool) -> Iterator[StyledText]:
    whole = document.matrices
    shown = (
        whole if verbose else {spec: without_unsupported(whole[spec]) for spec in document.failing}
    )
    if shown:
        yield from matrix_lines(shown, width)
    wrong = document.wrong_types if verbose else document.wrong_types_that_count
    yield from wrong_type_lines(wrong, min(width, MAX_WIDTH), verbose)


def _a_line_each(
    found: Sequence[Finding], width: int, every: bool, named: bool = False
) -> Iterator[StyledText]:
    """Yield a line a finding, and one for those that are left out if it is not to be `every` one;
    `named` has operator and types, too.
    """
    shown = found if every else found[:_LINES]
    for finding in shown:
        count = f"{plural(len(finding.members), 'case'):>10}  "
        room = width - len(count) - len(finding.id) - 2
        of = f"{cut(', '.join(finding.cases), room // 2)}: " if named else ""
        said = cut(of + finding.labelled_line, room)
        yield StyledText.assemble(count, (finding.id, "dim"), f"  {said}")
    if len(found) > len(shown):
        rest = sum(len(finding.members) for finding in found[len(shown) :])
        yield StyledText(
            f"  … and {len(found) - len(shown)} more, in {plural(rest, 'case')}", "dim"
        )


def verdict_lines(document: Document, width: int) -> Iterator[StyledText]:
    """Yield the last line: the verdict, the counts behind it, and what else there was."""
    glued = (one.replace(" ", GLUE).replace(f",{GLUE}", ", ") for one in document.reasons)
    yield from labelled(document.verdict, _VERDICTS[document.verdict], "; ".join(glued), width)


# Counts --------------------------------------------------------------------------------------


def overview_lines(document: Document, width: int) -> list[StyledText]:
    """Return a line a spec, with short headings and numbers where the width asks for it."""
    table = _table(document, WHOLE, short=False)
    return table if table[0].cell_len <= width else _table(document, width, short=True)


def _table(document: Document, width: int, short: bool) -> list[StyledText]:
    present = document.statuses
    counts = ["cases", document.counted, "judged"]
    heads = ["spec", *counts, *(s.short if short else s.word for s in present)]
    rows = [_counts(spec, present, short) for spec in document.specs]
    right, gap = range(1, len(heads)), 1 if short else 2
    return list(table_lines([cells(heads, "dim")], rows, width, gap=gap, right=right))


def _counts(counts: SpecCounts, present: Sequence[Status], short: bool) -> list[StyledText]:
    asked, judged = map(_short if short else number, (counts.asked, counts.judged))
    found = [(number(counts.statuses.get(status, 0)), status.style) for status in present]
    said = [(counts.spec, ""), (number(counts.cases), ""), (asked, ""), (judged, ""), *found]
    return [StyledText(word, "dim" if word == "0" else style) for word, style in said]


def _short(count: int) -> str:
    for unit, power in (("G", 9), ("M", 6)):
        if count >= 10 ** (power + 1):
            return f"{count / 10**power:,.1f} {unit}"
    return number(count)


# Lists of known failures ---------------------------------------------------------------------


def _problems(problems: Sequence[ProblemInWords], width: int) -> Iterator[StyledText]:
    """Yield each problem, and under it the exact text to have there, which is not broken."""
    for one in problems:
        place = str(one.place)
        yield from labelled(one.kind.upper(), "bold red", place, width)
        yield from paragraph(one.message, width)
        yield from (StyledText(" " * INDENT + line, "cyan") for line in one.repair)
        yield StyledText()


def _excused(listed: Sequence[Listed], width: int) -> Iterator[StyledText]:
    """Yield two lines an entry: what it excuses, then where it stands and its issue or reason."""
    for kind in _LISTED:
        entries = [entry for entry in listed if entry.excuse.kind == kind]
        for entry in entries[:_ENTRIES]:
            yield from _entry(entry, width)
        if left := entries[_ENTRIES:]:
            cases = plural(sum(entry.cases for entry in left), "case")
            said = f"… and {number(len(left))} more, of {cases} (-v shows all, in full)"
            yield StyledText(" " * (len(kind) + 2) + said, "dim")


def _entry(entry: Listed, width: int) -> Iterator[StyledText]:
    excuse, count = entry.excuse, plural(entry.cases, "case").replace(" ", GLUE)
    said = f"{entry.families} {entry.what} ({count})"
    indent = len(excuse.kind) + 2
    lines = list(labelled(excuse.kind, _LISTED[excuse.kind], said, width))
    if excuse.issue:  # it is not to be broken
        lines.append(StyledText(" " * indent + f"{excuse.place}  {clean(excuse.issue)}".rstrip()))
    else:
        why = f"{excuse.place}  {clean(excuse.reason)}".rstrip()
        lines += paragraph(why, width, indent=indent)
    for line in lines:
        line.stylize("dim", indent)
        yield line


# Coverage ------------------------------------------------------------------------------------


def _asked_otherwise(coverage: Sequence[CoveredCases], width: int) -> Iterator[StyledText]:
    """Yield the cases that were asked in another way than most."""
    most = max(coverage, key=lambda one: len(one.cases), default=None)
    for one in coverage:
        if one is not most:
            said = f"{one.words}: {plural(len(one.cases), 'case')}"
            yield from labelled("asked", "dim", said, width)
            for name in compact_names(one.cases):
                yield from paragraph(name, width, indent=7, hang=2, style="dim")


# What is not judged --------------------------------------------------------------------------


def _rest(
    document: Document, width: int, verbose: bool, whole: bool, brief: bool
) -> Iterator[StyledText]:
    yield from () if verbose else _excused(document.listed, width)
    if brief:
        yield from _tolerated(document.rules, width)
    for rule in () if brief else document.rules:
        if verbose or rule.verdict == "tolerated":
            yield from _rule(rule, width, verbose)
    yield from _unsupported(document.unsupported, width, verbose, whole)


def _tolerated(rules: Sequence[RuleRemark], width: int) -> Iterator[StyledText]:
    """Yield how many rules there are of which a reading is tolerated."""
    names = dict.fromkeys(rule.rule for rule in rules if rule.verdict == "tolerated")
    if names:
        said = f"{plural(len(names), 'disputed rule')} (-v says which readings)"
        yield from labelled("tolerated", _RULES["tolerated"], said, width)


def _rule(rule: RuleRemark, width: int, verbose: bool) -> Iterator[StyledText]:
    """Yield `tolerated  onnx.Cast-* some-rule: reads it as … (12 cases)`.

    Of a rule with many readings only that of most cases is named, unless `verbose`.
    """
    few = verbose or len(rule.ways) <= _READINGS
    for what, families, cases in rule.ways if few else [max(rule.ways, key=lambda way: way[2])]:
        said = f"{families} {rule.rule}{': ' if what else ''}{what}"
        count = plural(cases, "case").replace(" ", GLUE)
        others = f"; {len(rule.ways) - 1}{GLUE}other{GLUE}ways (-v)" if not few else ""
        yield from labelled(rule.verdict, _RULES[rule.verdict], f"{said} ({count}){others}", width)


def _unsupported(
    cases: Sequence[tuple[str, str]], width: int, verbose: bool, whole: bool
) -> Iterator[StyledText]:
    """Yield the runtime's own words for what it does not take, if they are few or asked for."""
    reasons: dict[str, list[tuple[str, str]]] = {}
    for case, message in cases:  # messages of one reason differ in version and line numbers
        alike = message if verbose else re.sub(r"\b[0-9]+\b", "0", message)
        reasons.setdefault(alike, []).append((case, message))
    if len(reasons) > _REASONS and not verbose:
        count = plural(len(cases), "case")
        yield StyledText.assemble(("unsupported", "dim"), f"  {count} (-v says why)")
        return
    for some in reasons.values():
        yield from _reason(some, width, verbose, whole)


def _reason(
    cases: Sequence[tuple[str, str]], width: int, verbose: bool, whole: bool
) -> Iterator[StyledText]:
    messages = dict.fromkeys(message for _, message in cases)
    such = ", such as" if len(messages) > 1 else ""
    said = f"{plural(len(cases), 'case')}{such}: {next(iter(messages)) or 'no reason given'}"
    left = width - len("unsupported  ")
    yield from labelled("unsupported", "dim", said if verbose or whole else cut(said, left), width)
    for name in compact_names(case for case, _ in cases) if verbose else ():
        yield from paragraph(name, width, indent=13, hang=2, style="dim")
