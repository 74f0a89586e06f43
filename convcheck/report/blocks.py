"""A failure as a person reads it: where, how many, which rule, what it says, and the bits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from rich.text import Text

from convcheck.report import bits, strips
from convcheck.report.groups import Block, Member
from convcheck.report.layout import INDENT, cut, labelled, paragraph, spread
from convcheck.report.naming import compact_ids
from convcheck.report.promotions import compact, of_types
from convcheck.report.status import BELOW
from convcheck.report.words import GLUE, clean, explain_arguments, number, pair, plural, shown
from convcheck.run.result import CallExample, Example, Group, Word
from convcheck.spec.model import Case

_CASE_LINES = 6
_LISTED = 16  # words of a list in braces
_RANGES = 6
_LONG = 400
_LABELS = {"fail": "FAIL", "refused": "REFUSED", "crashed": "CRASHED", "error": "ERROR"}


def show(block: Block, width: int, verbose: bool) -> Iterator[Text]:
    """Give the lines of a block. Below the gate it is short and dim, unless `verbose`."""
    lines = [*_heading(block, width, verbose), *_body(block, width, verbose)]
    if not block.gated:
        for line in lines:
            line.stylize("dim")
    yield from lines


def _body(block: Block, width: int, verbose: bool) -> Iterator[Text]:
    group, shown = block.group, block.shown
    if group:
        yield from _rule(block, group, width)
    if group and (block.gated or verbose):
        yield from _cite(group, width)
    if block.message:
        yield from paragraph(block.message if verbose else cut(block.message, _LONG), width)
    if shown.group and shown.group.examples:
        yield from _explain(shown.case.case, shown.group, width)
        if block.gated or verbose:
            yield from _ranges(shown.case.case, shown.group, width, verbose)
            yield from _examples(shown, shown.group, width)


def _heading(block: Block, width: int, verbose: bool) -> Iterator[Text]:
    label, style = _LABELS[block.verdict], "bold red"
    if not block.gated:
        label, style = f"{label.lower()} (below the gate)", BELOW.style
    short = compact if all(of_types(m.case.case) for m in block.members) else compact_ids
    names = short(m.case.case.id for m in block.members)
    first, *more = _names(names, block, width, verbose)
    *front, last = labelled(label, style, first if verbose else _shortened(first), width)
    yield from front
    yield from spread(last, _count(block), width)
    for name in more:
        said = name if verbose else _shortened(name)
        yield from paragraph(said, width, hang=2, style="bold")


def _shortened(name: str) -> str:
    """Leave out most of a long list in braces."""

    def shorten(match: re.Match[str]) -> str:
        words = match[1].split(",")
        if len(words) <= _LISTED:
            return match[0]
        return "{" + ",".join(words[: _LISTED - 1]) + f",…{GLUE}{len(words) - _LISTED + 1} more}}"

    return re.sub(r"\{([^}]*)\}", shorten, name)


def _names(names: Sequence[str], block: Block, width: int, verbose: bool) -> list[str]:
    """Give the names that are shown; the last line says how many are not."""
    if verbose or len(names) <= _CASE_LINES:
        return list(names)
    kept = list(names[: _CASE_LINES - 1])
    named = sum(_denoted(name) for name in kept)
    return [*kept, f"… and {plural(len(block.members) - named, 'more case')} (-v lists all)"]


def _denoted(name: str) -> int:
    """Count the cases that a name with braces stands for."""
    count = 1
    for part in name.split("{")[1:]:
        count *= part.partition("}")[0].count(",") + 1
    return count


def _count(block: Block) -> Text:
    cases = len(block.members)
    words = f"{number(block.count)} of {number(block.of)}" if block.of else ""
    several = f"{'in ' if words else ''}{plural(cases, 'case')}" if cases > 1 else ""
    return Text(" ".join(filter(None, (words, several))))


def _rule(block: Block, group: Group, width: int) -> Iterator[Text]:
    places = [str(place) for place in block.places]
    place = ", ".join([places[0], *(_beside(*pair) for pair in pairwise(places))])
    others = len(block.rows) - 1
    name = group.decision.name + (f", and {plural(others, 'more row')}" if others else "")
    *front, last = paragraph(name, width, hang=2)
    yield from front
    yield from spread(last, Text(place, "dim"), width)
    kind = block.kind
    if group.reading:
        kind += f", read as {group.reading}"
    if group.placement:
        kind += f', only in placement "{group.placement}"'
    yield from paragraph(kind.lstrip(", "), width, style="bold")


def _beside(before: str, place: str) -> str:
    """Give a place that stands beside another: without folders, of the same file its line only."""
    file, _, line = place.rpartition(":")
    return line if before.rpartition(":")[0] == file else place.rpartition("/")[2]


def _cite(group: Group, width: int) -> Iterator[Text]:
    by = group.decision
    source = f" — {by.source}" if by.source else ""
    quoted = f'"{clean(by.cite)}"' if by.cite else ""
    yield from paragraph(
        f"{quoted}{source} (level:{GLUE}{by.level})".lstrip(), width, style="italic"
    )


def _explain(case: Case, group: Group, width: int) -> Iterator[Text]:
    """Give the command; where it is too long for a line, broken so that a shell still takes it."""
    *dashes, name, values = _arguments(case, group)
    start = " ".join(["convcheck explain", *dashes])
    whole, halved = f"{start} {name} {values}".rstrip(), [f"{start} {name}", values]
    lines = [whole]
    if INDENT + len(whole) > width:
        room = width - INDENT - len(" \\")
        lines = halved if values and len(halved[0]) <= room else [start, name, values]
    lines = list(filter(None, lines))
    for i, line in enumerate(lines):
        end = " \\" if i < len(lines) - 1 else ""
        yield Text(" " * (INDENT + (2 if i else 0)) + line + end, "cyan")


def _arguments(case: Case, group: Group) -> list[str]:
    """Give the arguments of the command, the values in one."""
    example = group.examples[0]
    if isinstance(example, CallExample):
        example = replace(example, arguments=_values(example))
    arguments = explain_arguments(case, example)
    at = 2 if arguments[0] == "--" else 1
    return [*arguments[:at], " ".join(arguments[at:])]


def _values(example: CallExample) -> tuple[Word, ...]:
    """Give a word an input: those that meet the element that differs, else those of its index in
    tensors of the output's shape, and the first of other tensors; none where one has no elements.
    """
    output, element = example.difference or (0, -1)
    strips = () if isinstance(example.expected, str) else example.expected
    shape = strips[output].shape if output < len(strips) else None
    at = [max(element - s.first, 0) if s.shape == shape else 0 for s in example.inputs]
    if not all(i < len(s.words) for i, s in zip(at, example.inputs, strict=True)):
        return ()
    return example.arguments or tuple(
        strip.words[i] for i, strip in zip(at, example.inputs, strict=True)
    )


def _ranges(case: Case, group: Group, width: int, verbose: bool) -> Iterator[Text]:
    """Give the ranges of inputs, some of the lowest and some of the highest."""
    spans = [pair(case.inputs[0].format, span) for span in group.ranges]
    half, hidden = len(spans) // 2, group.more_ranges
    if len(spans) > _RANGES and not verbose:
        hidden += len(spans) - _RANGES
        spans, half = spans[: _RANGES // 2] + spans[-(_RANGES // 2) :], _RANGES // 2
    if hidden:
        spans.insert(half, f"({number(hidden)} more)")
    yield from paragraph(", ".join(spans), width)


def _extreme(case: Case, example: Example) -> Text:
    both = zip(case.inputs, example.inputs, strict=True)
    words = "  ".join(shown(dtype.format, word) for dtype, word in both)
    return Text.assemble((" " * INDENT + "extreme   ", "dim"), words)


def _examples(member: Member, group: Group, width: int) -> Iterator[Text]:
    case = member.case.case
    for i, example in enumerate(group.examples):
        if isinstance(example, CallExample):
            disputed = group.decision.level == "disputed"
            yield from strips.show(example, group.verdict, width, named=disputed)
            continue
        if i:  # the first example's input stands in the explain command
            yield _extreme(case, example)
        yield from bits.show(case, example, group.verdict, width)
