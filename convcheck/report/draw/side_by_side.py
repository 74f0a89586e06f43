"""The report of several backends side by side: a column each, and what they share once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from convcheck.causes.gather import Diagnosis, gathered
from convcheck.causes.shared import shared_causes
from convcheck.judge.result import FAILURES, RunResult
from convcheck.judge.words import clean
from convcheck.report.causes import said_of
from convcheck.report.document import Document
from convcheck.report.draw.finding import finding_lines
from convcheck.report.draw.layout import MAX_WIDTH, cut, labelled, paragraph
from convcheck.report.draw.side_by_side_matrix import matrices
from convcheck.report.draw.styled import StyledText
from convcheck.report.draw.table import WHOLE, cells, table_lines
from convcheck.report.draw.terminal import verdict_lines
from convcheck.report.make import document as made
from convcheck.report.shared_findings import SharedFinding, extent, shared_findings
from convcheck.report.status import STATUSES
from convcheck.rules.case_names import compact_names
from convcheck.wording import number, plural

_FEW = 3  # so many findings are a digest of themselves
_LINES = 16
_GAP = "  "
_Cells = list[str]


@dataclass(frozen=True)
class Side:
    """A backend's part."""

    #: Its name in the columns.
    name: str
    #: The report of its run; None where it could not be started.
    document: Document | None
    #: Why it could not be started.
    error: str = ""
    #: The causes of its run.
    found: Diagnosis | None = None


def side_of(name: str, result: RunResult | None, error: str = "") -> Side:
    """Return a backend's part of a report, given its run, or why there is none."""
    if result is None:
        return Side(name, None, error)
    return Side(name, made(result), error, gathered(result.cases, result.causes))


def side_by_side_lines(
    sides: Sequence[Side], width: int, verbose: bool, whole: bool = False
) -> Iterator[StyledText]:
    """Yield the lines of the report; what is long is cut unless it is to be shown `whole`."""
    ran = [(side.name, side.document) for side in sides if side.document is not None]
    text_width = min(width, MAX_WIDTH)
    yield from _title(sides, text_width)
    if ran:
        yield StyledText()
        yield from _table(ran, text_width)
        yield StyledText()
        yield from matrices(ran, width, verbose)
        told = {side.name: side.found for side in sides if side.found}
        causes = list(_causes(told, text_width, whole))
        yield from (*causes, StyledText()) if causes else ()
        found = shared_findings(ran)
        for finding in found:
            yield from _finding(finding, len(ran), text_width, verbose, whole)
            yield StyledText()
        digest = list(_digest(found, [name for name, _ in ran], text_width, verbose, whole))
        yield from (*digest, StyledText()) if digest else ()
        tolerated = list(_tolerated(ran, text_width))
        yield from (*tolerated, StyledText()) if tolerated else ()
    yield from _verdicts(sides, text_width)


def _title(sides: Sequence[Side], width: int) -> Iterator[StyledText]:
    room = max((len(side.name) for side in sides), default=0)
    for side in sides:
        name, document = side.name.ljust(room), side.document
        if document is None:
            said = f"could not be started: {clean(side.error)}"
            yield from labelled(name, "bold red", said, width)
        else:
            yield from labelled(name, "bold", document.head.version, width)
    head = next((side.document.head for side in sides if side.document is not None), None)
    if head is not None:
        yield StyledText(f"{head.tier} tier, gate: {head.level}")
    notes = {(note, side.name) for side in sides if side.document for note in side.document.remarks}
    for note in dict.fromkeys(note for note, _ in sorted(notes)):
        names = ", ".join(side.name for side in sides if (note, side.name) in notes)
        yield from paragraph(f"note: {names}: {note}", width, 0, 6, "yellow")


# The table: a line a spec with what fails there, then a line a status and the values.


def _table(ran: Sequence[tuple[str, Document]], width: int) -> Iterator[StyledText]:
    """Yield a column a backend; a status that no case has is left out."""
    specs = list(dict.fromkeys(spec for _, document in ran for spec in document.cases))
    label = max(map(len, [*specs, "all cases", *(s.word for s in STATUSES)]))
    columns = [_column(document, specs) for _, document in ran]
    rows = [
        [StyledText(name.ljust(label)), *map(_cell, found)]
        for name, *found in zip(_labels(specs), *columns, strict=True)
        if name in specs or set(found) - {"0", ""}
    ]
    heads = [cells(["", *(name for name, _ in ran)], "bold")]
    yield from table_lines(heads, rows, width, right=range(1, len(ran) + 1))


def _labels(specs: Sequence[str]) -> list[str]:
    return [
        *specs,
        "all cases",
        *(status.word for status in STATUSES),
        "values asked",
        "values judged",
    ]


def _column(document: Document, specs: Sequence[str]) -> _Cells:
    cells = [_gist(document, spec) for spec in specs]
    found = [one.statuses for one in document.specs]
    counts = [sum(statuses.get(status, 0) for statuses in found) for status in STATUSES]
    names = ("cases", "asked", "judged")
    cases, asked, judged = (sum(getattr(one, n) for one in document.specs) for n in names)
    return [*cells, *map(number, (cases, *counts, asked, judged))]


def _gist(document: Document, spec: str) -> str:
    """Return how a spec went in a few characters: what fails, else whether anything passed."""
    statuses = next((one.statuses for one in document.specs if one.spec == spec), None)
    if statuses is None:
        return "not asked"
    found = {status.word: count for status, count in statuses.items()}
    if failing := sum(found.get(word, 0) for word in FAILURES):
        return f"{number(failing)} FAIL"
    if not found.keys() - {"undefined", "unsupported"}:
        return "not judged"
    below = found.get("below gate", 0)
    return f"{number(below)} below" if below else "pass"


def _cell(word: str) -> StyledText:
    style = "bold red" if word.endswith("FAIL") else "dim" if word == "0" else ""
    return StyledText(word, "green" if word == "pass" else style)


# The causes.


def _causes(found: Mapping[str, Diagnosis], width: int, whole: bool) -> Iterator[StyledText]:
    """Yield each cause with the cases that it explains in each backend."""
    shared = shared_causes(found)
    if not shared:
        return
    said = f"{plural(len(shared), 'cause')}, and the cases that each explains in each backend:"
    yield StyledText(said, "bold")
    rows = [([one.cases(name) for name in found], "", said_of(one.causes)) for one in shared]
    yield from _counted(list(found), rows, width, whole)


# The findings.


def _finding(
    finding: SharedFinding, sides: int, width: int, verbose: bool, whole: bool
) -> Iterator[StyledText]:
    """Yield a finding with the names of those that have it, and where theirs is another extent."""
    if sides > 1:
        names = ", ".join(name for name, _ in finding.sides)
        yield from paragraph(names, width, indent=0, style="bold cyan")
    yield from finding_lines(finding.shown, width, verbose, whole)
    first = extent(finding.shown)
    for name, one in finding.sides:
        if (here := extent(one)) != first:
            cases = plural(len(one.members), "case")
            said = f"{name}: {' in '.join(filter(None, (one.values, cases)))}"
            ids = ", ".join(compact_names(case for case, _ in here))
            where = f": {ids}" if {c for c, _ in here} != {c for c, _ in first} else ""
            yield from paragraph(said + where, width, hang=2, style="dim")


def _digest(
    found: Sequence[SharedFinding], names: Sequence[str], width: int, verbose: bool, whole: bool
) -> Iterator[StyledText]:
    """Yield each finding a line, with the cases in which each backend has it."""
    if len(found) <= _FEW:
        return
    said = f"{plural(len(found), 'finding')}, and the cases in which each backend has them:"
    yield StyledText(said, "bold")
    shown = found if verbose or whole else found[:_LINES]
    rows = []
    for each in shown:
        here = {name: len(one.members) for name, one in each.sides}
        counts = [here.get(name, 0) for name in names]
        rows.append((counts, f"{each.shown.id}{_GAP}", each.shown.labelled_line))
    yield from _counted(names, rows, width, whole)
    if len(found) > len(shown):
        yield StyledText(f"  … and {len(found) - len(shown)} more (-v shows all)", "dim")


def _counted(
    names: Sequence[str], rows: Sequence[tuple[Sequence[int], str, str]], width: int, whole: bool
) -> Iterator[StyledText]:
    """Yield lines with a count for each backend, in columns, then an id and what is counted."""
    heads = list(names)
    if sum(len(_GAP) + max(len(name), 4) for name in names) > width // 2:
        heads = [f"({i})" for i in range(1, len(names) + 1)]
        order = " ".join(f"{head} {name}" for head, name in zip(heads, names, strict=True))
        yield from paragraph(order, width, indent=0, style="dim")
    titles = cells(["", *(head.rjust(4) for head in heads)], "dim")
    counts = [[StyledText(), *(_cell(number(count)) for count in here)] for here, *_ in rows]
    first, *lines = table_lines([titles], counts, WHOLE, right=range(1, len(names) + 1))
    yield first
    for line, (_, name, said) in zip(lines, rows, strict=True):
        line = StyledText.assemble(line, _GAP, (name, "dim"))
        yield StyledText.assemble(line, said if whole else cut(said, width - line.cell_len))


def _tolerated(ran: Sequence[tuple[str, Document]], width: int) -> Iterator[StyledText]:
    """Yield a line a disputed rule: how each backend reads it."""
    rules: dict[str, dict[str, list[str]]] = {}
    for name, document in ran:
        for family, rule, reading in document.readings:
            readers = rules.setdefault(f"{family} {rule}", {}).setdefault(reading, [])
            readers += [name] if name not in readers else []
    for rule, readings in rules.items():
        said = ", ".join(f'{" and ".join(who)} as "{how}"' for how, who in readings.items())
        yield from labelled("tolerated", "yellow", f"{rule}: read by {said}", width)


def _verdicts(sides: Sequence[Side], width: int) -> Iterator[StyledText]:
    """Yield the last lines: the verdict of each backend."""
    room = max((len(side.name) for side in sides), default=0) + len(_GAP)
    for side in sides:
        name = StyledText(side.name.ljust(room), "bold")
        if side.document is None:
            yield StyledText.assemble(name, ("NOT STARTED", "bold red"))
            continue
        first, *more = verdict_lines(side.document, width - room)
        yield StyledText.assemble(name, first)
        yield from (StyledText.assemble(" " * room, line) for line in more)
