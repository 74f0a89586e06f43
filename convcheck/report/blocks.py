"""A failure as a person reads it: where, how many, which rule, what it says, and the bits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

from rich.text import Text

from convcheck.judge.failure import of_types
from convcheck.judge.result import CallExample, Example, Excuse, Group, Word
from convcheck.judge.words import GLUE, clean, explain_arguments, number, pair, plural, shown
from convcheck.report import bits, strips
from convcheck.report.groups import Block, Member
from convcheck.report.layout import INDENT, cut, labelled, paragraph, spread
from convcheck.report.naming import compact_ids
from convcheck.report.promotions import compact
from convcheck.report.status import BELOW
from convcheck.rules.model import Case
from convcheck.semantics.expected import Decision

_CASE_LINES = 6
_LISTED = 16  # words of a list in braces
_RANGES = 6
_LONG = 400
_LABELS = {
    "fail": "FAIL", "refused": "REFUSED", "crashed": "CRASHED", "error": "ERROR",
    "inconsistent": "INCONSISTENT",
}  # fmt: skip


def show(block: Block, width: int, verbose: bool) -> Iterator[Text]:
    """Give the lines of a block; one that fails no run is dim, and short unless `verbose`."""
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
        yield from paragraph(cited(group), width, style="italic")
    if block.excuse:
        reason = f"{block.excuse.kind}: {clean(block.excuse.reason)}"
        yield from paragraph(reason, width)
        yield Text(" " * INDENT + where(block.excuse))
    if block.message:
        yield from paragraph(block.message if verbose else cut(block.message, _LONG), width)
    if shown.group and shown.group.examples:
        for line in explain(shown.case.case, shown.group, width - INDENT):
            yield Text(" " * INDENT + line, "cyan")
        if block.gated or verbose:
            yield from _ranges(shown.case.case, shown.group, width, verbose)
            yield from examples(shown, shown.group, width)


def _heading(block: Block, width: int, verbose: bool) -> Iterator[Text]:
    first, *more = names(block, verbose)
    *front, last = labelled(label(block), style(block), first, width)
    yield from front
    yield from spread(last, Text(count(block)), width)
    for name in more:
        yield from paragraph(name, width, hang=2, style="bold")


def label(block: Block) -> str:
    """Give the verdict in capitals; in small letters, with the reason, if it fails no run."""
    word = _LABELS[block.verdict]
    if block.gated:
        return word
    return f"{word.lower()} ({block.excuse.kind if block.excuse else 'below the gate'})"


def style(block: Block) -> str:
    """Give the colour of a block's label."""
    return "bold red" if block.gated else BELOW.style


def _shortened(name: str) -> str:
    """Leave out most of a long list in braces."""

    def shorten(match: re.Match[str]) -> str:
        words = match[1].split(",")
        if len(words) <= _LISTED:
            return match[0]
        return "{" + ",".join(words[: _LISTED - 1]) + f",…{GLUE}{len(words) - _LISTED + 1} more}}"

    return re.sub(r"\{([^}]*)\}", shorten, name)


def names(block: Block, verbose: bool = False) -> list[str]:
    """Name the cases shortly, on a few lines; the last says how many are not named."""
    short = compact if all(of_types(m.case.case) for m in block.members) else compact_ids
    every = list(short(m.case.case.id for m in block.members))
    if verbose:
        return every
    kept = every if len(every) <= _CASE_LINES else every[: _CASE_LINES - 1]
    left = len(block.members) - sum(_denoted(name) for name in kept)
    more = [f"… and {plural(left, 'more case')} (-v lists all)"] if len(kept) < len(every) else []
    return [*map(_shortened, kept), *more]


def _denoted(name: str) -> int:
    """Count the cases that a name with braces stands for."""
    count = 1
    for part in name.split("{")[1:]:
        count *= part.partition("}")[0].count(",") + 1
    return count


def count(block: Block) -> str:
    """Count the values that fail, and the cases if they are several: 12 of 90 in 3 cases."""
    cases = len(block.members)
    words = f"{number(block.count)} of {number(block.of)}" if block.of else ""
    several = f"{'in ' if words else ''}{plural(cases, 'case')}" if cases > 1 else ""
    return " ".join(filter(None, (words, several)))


def _rule(block: Block, group: Group, width: int) -> Iterator[Text]:
    *front, last = paragraph(row(block, group), width, hang=2)
    yield from front
    yield from spread(last, Text(places(block), "dim"), width)
    yield from paragraph(what(block, group), width, style="bold")


def row(block: Block, group: Group) -> str:
    """Name the rule's row that decided, the first of several: some-rule / else, and 2 more rows."""
    others = len(block.rows) - 1
    return group.decision.name + (f", and {plural(others, 'more row')}" if others else "")


def places(block: Block) -> str:
    """Say where the row stands, a place a file."""
    each = [str(place) for place in block.places]
    return ", ".join([each[0], *(_beside(*pair) for pair in pairwise(each))])


def what(block: Block, group: Group) -> str:
    """Say what is wrong, under which reading, and in which placement if not in all."""
    said = block.kind
    if group.verdict == "inconsistent":
        example = (block.shown.group or group).examples[0]
        return clean(f"{said}: {example.message}")  # both ways with what they give
    if group.reading:
        said += f", read as {group.reading}"
    if group.placement:
        said += f', only in placement "{group.placement}"'
    return clean(said.lstrip(", "))  # a type in it is named by the backend


def _beside(before: str, place: str) -> str:
    """Give a place that stands beside another: without folders, of the same file its line only."""
    file, _, line = place.rpartition(":")
    return line if before.rpartition(":")[0] == file else place.rpartition("/")[2]


def cited(group: Group) -> str:
    """Give the sentence of the standard that decided, where it stands, and how strong it is."""
    return _cited(group.decision)


@lru_cache(256)
def _cited(by: Decision) -> str:
    source = f" — {by.source}" if by.source else ""
    quoted = f'"{clean(by.cite)}"' if by.cite else ""
    return f"{quoted}{source} (level:{GLUE}{by.level})".lstrip()


def excused(excuse: Excuse) -> str:
    """Give the entry of a list that a failure stands in, why, and the issue."""
    said = f"{excuse.kind}: {clean(excuse.reason)}".rstrip(": ")
    return ", ".join(filter(None, (said, clean(excuse.issue), str(excuse.place))))


def where(excuse: Excuse) -> str:
    """Give the place of an entry of a list, and the issue, which is not to be broken."""
    return f"{excuse.place}  {clean(excuse.issue)}".rstrip()


def explain(case: Case, group: Group, width: int) -> list[str]:
    """Give the command; where it is too long for a line, broken so that a shell still takes it."""
    *dashes, name, values = _arguments(case, group)
    start = " ".join(["convcheck explain", *dashes])
    whole, halved = f"{start} {name} {values}".rstrip(), [f"{start} {name}", values]
    lines = [whole]
    if len(whole) > width:
        room = width - len(" \\")
        lines = halved if values and len(halved[0]) <= room else [start, name, values]
    lines = list(filter(None, lines))
    broken = [f"{line} \\" for line in lines[:-1]] + lines[-1:]
    return ["  " * bool(i) + line for i, line in enumerate(broken)]


def _arguments(case: Case, group: Group) -> list[str]:
    """Give the arguments of the command, the values in one."""
    example = group.examples[0]
    if isinstance(example, CallExample):
        example = replace(example, arguments=values(example))
    arguments = explain_arguments(case, example)
    at = 2 if arguments[0] == "--" else 1
    return [*arguments[:at], " ".join(arguments[at:])]


def values(example: CallExample) -> tuple[Word, ...]:
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
    both = zip(case.inputs, example.inputs, strict=False)  # of a companion only the type counts
    words = "  ".join(shown(dtype.format, word) for dtype, word in both)
    return Text.assemble((" " * INDENT + "extreme   ", "dim"), words)


def examples(member: Member, group: Group, width: int) -> Iterator[Text]:
    """Show the examples of a group, bit by bit, or a call element by element."""
    case = member.case.case
    for i, example in enumerate(group.examples):
        if isinstance(example, CallExample):
            disputed = group.decision.level == "disputed"
            yield from strips.show(example, group.verdict, width, named=disputed)
            continue
        if i:  # the first example's input stands in the explain command
            yield _extreme(case, example)
        yield from bits.show(case, example, group.verdict, width)
