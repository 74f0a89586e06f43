"""Draw a finding: cases, count, rule, quotation and bits."""

from collections.abc import Iterable, Iterator, Sequence

from convcheck.judge.words import clean
from convcheck.records import replace
from convcheck.report.blocks import (
    BLANK,
    INDENT,
    Block,
    Codes,
    Command,
    Dim,
    Fitting,
    Said,
    Table,
    Text,
    field,
    item,
    under,
)
from convcheck.report.counts import BELOW
from convcheck.report.document import Document
from convcheck.report.examples import CallInWords, Elements
from convcheck.report.findings import FEW_ANSWERS, Finding, ToldCause
from convcheck.streams import number, plural

_RANGES = 6
_LONG = 400


def finding_blocks(finding: Finding, verbose: bool = False) -> Iterator[Block]:
    """Yield a finding. It is dim if it fails no run, and then short unless `verbose`."""
    style = "bold red" if finding.gated else BELOW.style
    first, *more = finding.cases if verbose else finding.few_cases
    count = f"  {plural(len(finding.members), 'case')}" if len(finding.members) > 1 else ""
    blocks: list[Block] = [
        item(finding.label, style, first, right=[(finding.id, "dim"), (count, "")]),
        *(under(name, "bold", hang=2) for name in more),
        *evidence_blocks(finding, verbose),
    ]
    yield from blocks if finding.gated else [Dim(blocks)]


def evidence_blocks(finding: Finding, verbose: bool) -> Iterator[Block]:
    """Yield the evidence of a finding."""
    shown = finding.gated or verbose
    if finding.rule:
        yield under(finding.row, hang=2, right=[(finding.places, "dim")])
        yield under("; ".join(filter(None, (finding.what, finding.share))), "bold")
        yield from (under(said, "italic") for said in finding.cited if shown)
    if excuse := finding.excuse:
        yield under(f"{excuse.kind}: {clean(excuse.reason)}")
        place = f"{excuse.place}  {clean(excuse.issue)}".rstrip()
        yield Text(place, indent=INDENT, whole=True)
    if finding.message:
        yield Text(finding.message, indent=INDENT, limit=0 if verbose else _LONG)
    if finding.explain:
        yield Command(finding.explain)
        if shown:
            yield from _ranges(finding, verbose)
            yield from _example_blocks(finding)


def _ranges(finding: Finding, verbose: bool) -> Iterator[Block]:
    spans = list(finding.ranges)
    half, hidden = len(spans) // 2, finding.more_ranges
    if len(spans) > _RANGES and not verbose:
        hidden += len(spans) - _RANGES
        spans, half = spans[: _RANGES // 2] + spans[-(_RANGES // 2) :], _RANGES // 2
    if hidden:
        spans.insert(half, f"({number(hidden)} more)")
    if spans:
        yield under(", ".join(spans))


def _example_blocks(finding: Finding) -> Iterator[Block]:
    for i, example in enumerate(finding.examples):
        if isinstance(example, CallInWords):
            yield from call_blocks(example)
            continue
        *inputs, due, got = example
        if i:  # the explain command has the first example's input
            codes = (row.code[1:-1] or row.words for row in inputs)
            yield field("extreme", "  ".join(codes), indent=INDENT)
        yield Codes((*(replace(row, code="") for row in inputs), due, got))


def call_blocks(example: CallInWords, indent: int = INDENT) -> Iterator[Block]:
    """Yield a call, with its elements side by side."""
    for one in example.lines:
        yield field(one.label, one.words, "bold red" if one.wrong else "", indent=indent)
    if (table := example.elements) and table.rows:
        shown = replace(table, wrong=()) if example.message else table
        inputs = len(table.heads) - 2
        ways: list[Sequence[bool | None]] = [
            [True] * (inputs + 2),
            [False] * inputs + [True] * 2,
            [False] * (inputs + 2),
            [None] * inputs + [False] * 2,
        ]
        yield Fitting([[_table(shown, way, max(indent - 2, 0))] for way in ways])
        if table.rest:
            yield Text(table.rest, "dim", indent=max(indent, 2))


def _table(table: Elements, full: Sequence[bool | None], indent: int) -> Table:
    shown = [i for i, f in enumerate(full) if f is not None]
    head = f"output {table.output}" if table.output else "element"
    heads: list[Said] = [[("  " + head, "dim")], *([(table.heads[i], "dim")] for i in shown)]
    rows: list[list[Said]] = []
    for at, cells in enumerate(table.rows):
        index = str(table.first + at).rjust(len(head))
        mark = "→ " if table.first + at == table.at else "  "
        said = [cells[i].full if full[i] else cells[i].brief for i in shown]
        wrong = "bold red" if at in table.wrong else ""
        rows.append([mark + index, *said[:-1], [(said[-1], wrong)]])
    return Table([heads], rows, indent)


_FEW = 2  # causes shown bit by bit
_LINES = 4  # lines of case names
IN_FULL = 5  # of many causes
NOT_TRIED = "Causes found in a runtime are tried first; where one fits, others are not."


def causes_summary(document: Document) -> str:
    """Return how many cases fail, and how many of them the causes explain."""
    failing, judged = _failing(document), 0
    for some in document.cases.values():
        judged += sum(one.found.values_judged > 0 or one.fails for one in some)
    asked = plural(judged, "case")
    if not failing:
        return f"none of {asked} fails: there is nothing to explain"
    count = len({name for one in document.causes for name in one.names})
    said = f"{number(failing)} of {asked} {'fails' if failing == 1 else 'fail'}; "
    if not count:
        return said + "no cause gives every answer of any of them"
    does = "cause explains" if count == 1 else "causes explain"
    if failing == 1:
        return f"{said}{count} {does} it, every answer"
    explained = number(sum(len(one.cases) for one in document.causes))
    return f"{said}{count} {does} {explained} of them, every answer of each"


def unexplained_summary(document: Document) -> str:
    """Return how many cases and findings no cause explains."""
    left = _failing(document) - len(document.explained_by)
    findings = plural(len(document.unexplained), "finding")
    return f"not explained: {plural(left, 'case')}, {findings}"


def _failing(document: Document) -> int:
    return sum(one.fails for some in document.cases.values() for one in some)


def cause_blocks(causes: Sequence[ToldCause], verbose: bool) -> Iterator[Block]:
    """Yield causes: few bit by bit, of many the first in full."""
    if verbose or len(causes) <= _FEW:
        for i, one in enumerate(causes):
            yield from (BLANK,) if i else ()
            yield from _weighed(one, cause_at_length(one, verbose))
    else:
        single = [one for one in causes if one.says]
        for one in single[:IN_FULL]:
            yield from _weighed(one, _in_full(one))
        for one in single[IN_FULL:]:
            yield from _weighed(one, [_title(one, one.finding.id, named=False)])
        if together := [one for one in causes if not one.says]:
            cases = plural(sum(len(one.cases) for one in together), "case")
            explain = "pair of these explains" if len(together) == 1 else "pairs of these explain"
            said = f"{number(len(together))} {explain} {cases} (-v)"
            yield item("together", "bold red", said)
    if causes and (verbose or len(causes) <= _FEW):
        yield under(NOT_TRIED, "dim", hang=2)


def cause_per_line(causes: Sequence[ToldCause]) -> Iterator[Block]:
    """Yield a line for each cause: cases, letter, effect."""
    rows: list[list[Said]] = []
    for one in causes:
        answers = number(one.found.answers)
        effects = one.says or " and ".join(one.names)  # those of several are told above
        said = f"{effects}, {answers} of {answers}: {one.scope}"
        count = f"{plural(len(one.cases), 'case'):>10}"
        rows.append([count, [(one.letter, "bold red")], said])
    if rows:
        yield Table([], rows, prose=True)


def _weighed(one: ToldCause, blocks: Iterable[Block]) -> Iterable[Block]:
    return blocks if one.gated else [Dim(blocks)]


def cause_at_length(one: ToldCause, verbose: bool = False) -> Iterator[Block]:
    """Yield a cause with its wrong answer bit by bit."""
    answers = number(one.found.answers)
    yield _title(one, f"{answers} of {answers}")
    where = one.where.lines
    if not verbose and len(where) > _LINES:
        where = (*where[: _LINES - 1], f"and {len(where) - _LINES + 1} more (-v)")
    yield from (under(said, hang=2) for said in where[:-1])
    yield under(where[-1], hang=2, right=[(one.finding.id, "dim")])
    yield from evidence_blocks(one.finding, verbose)
    if others := "; ".join(one.others.values()):
        yield under(f"no input asked tells it from: {others}", "dim", hang=2)


def _in_full(one: ToldCause) -> Iterator[Block]:
    finding = one.finding
    yield _title(one, "")
    yield under(one.scope + ("; default attributes" * one.found.hits_defaults), hang=2)
    if finding.sentence:
        yield under(finding.sentence, "italic", hang=2)
    cut, right = not one.instance, [(finding.id, "dim")]
    yield Text(one.wrong_answer, "bold", INDENT, hang=2, cut=cut, right=right)
    if finding.explain:
        yield Command(finding.explain)


def _title(one: ToldCause, more: str, named: bool = True) -> Text:
    between = ":  " if len(one.names) > 1 and one.says else "  "
    said = f"{one.label}{between}{one.says}".rstrip()
    for note in () if named else (*one.names, FEW_ANSWERS):
        said = said.replace(f" ({note})", "")
    gate = "" if one.gated else " (below the gate)"
    count = f"{plural(len(one.cases), 'case')}  {more}".rstrip()
    return Text(said + gate, "bold red", hang=3, right=[(count, "dim")])
