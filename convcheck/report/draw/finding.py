"""Draw a finding: cases, count, rule, quotation and bits."""

from collections.abc import Iterator, Sequence

from convcheck.judge.words import clean
from convcheck.records import replace
from convcheck.report.blocks import (
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
from convcheck.report.examples import CallInWords, Elements
from convcheck.report.findings import Finding
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
