"""What `convcheck probe` prints: a line a step, what is wrong, and what is supported."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from convcheck.backends.process.probe import STEPS, ProbeStep
from convcheck.judge.words import clean
from convcheck.report.draw.styled import StyledText
from convcheck.report.short_names import compact_specs
from convcheck.rules.model import Case
from convcheck.rules.types import Types

_NAME = max(map(len, STEPS))
_MOST = 6  # lines for an operator


def title(address: str) -> list[StyledText]:
    """Name the program."""
    return [StyledText(address, "bold"), StyledText("")]


def step(it: ProbeStep, width: int) -> Iterator[StyledText]:
    """Show a step: a line where it is well, what came and what is due where not."""
    if not it.wrong:
        note = textwrap.shorten(clean(it.note), max(width - _NAME - 7, 20), placeholder=" …")
        yield StyledText.assemble(("✓ ", "green"), f"{it.name:<{_NAME}}   ", (note, "dim"))
        return
    yield StyledText.assemble(("✗ ", "bold red"), (it.name, "bold"))
    parts = (("got", it.wrong), ("protocol", it.rule), ("to do", it.hint))
    for label, words in parts:
        if words:
            yield from _paragraph(f"    {label:<9} ", clean(words), width)


def printed(lines: Sequence[str], width: int) -> Iterator[StyledText]:
    """Show the last of what the program wrote to stderr."""
    for line in lines:
        yield from _paragraph("    stderr    ", clean(line), width)


def supported_lines(cases: Sequence[Case], types: Types, width: int) -> Iterator[StyledText]:
    """Say what gave outputs: per operator, which versions do which pairs of types."""
    yield StyledText("")
    yield StyledText("gave outputs for", "bold")
    for specs, pairs in _by_pairs(cases, types):
        lines = [f"{source} to {target}" if target else source for source, target in pairs]
        yield StyledText(f"  {compact_specs(specs)}")
        for line in lines[:_MOST]:
            yield from _paragraph("    ", line, width)
        if len(lines) > _MOST:
            yield StyledText(f"    … and {len(lines) - _MOST} more sources")


def _by_pairs(
    cases: Sequence[Case], types: Types
) -> Iterator[tuple[list[str], list[tuple[str, str]]]]:
    """Put specs together that support the same pairs."""
    specs: dict[str, dict[str, list[str]]] = {}
    for case in cases:
        targets = specs.setdefault(case.spec, {}).setdefault(_source(case), [])
        if case.outputs:
            targets.append(case.outputs[0].name)
    same: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for spec, sources in specs.items():
        same.setdefault(tuple(_folded(sources, types)), []).append(spec)
    for pairs, names in same.items():
        yield names, list(pairs)


def _folded(sources: dict[str, list[str]], types: Types) -> Iterator[tuple[str, str]]:
    """Put sources together that have the same destinations, and families for their members."""
    by_targets: dict[tuple[str, ...], list[str]] = {}
    for source, targets in sources.items():
        by_targets.setdefault(tuple(dict.fromkeys(targets)), []).append(source)
    for due, names in by_targets.items():
        yield _joined(types.folded(names)), _joined(types.folded(due))


def _joined(names: Iterable[str]) -> str:
    return ", ".join(names)


def _source(case: Case) -> str:
    return "-".join(dtype.name for dtype in case.sources)


def _paragraph(start: str, words: str, width: int) -> Iterator[StyledText]:
    """Break words to the width, under each other."""
    blank = " " * len(start)
    for number, line in enumerate(textwrap.wrap(words, max(width - len(start), 20))):
        yield StyledText((start if number == 0 else blank) + line)
