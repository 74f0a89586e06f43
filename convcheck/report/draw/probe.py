"""What `convcheck backend probe` prints: a line a step, what is wrong, and what is supported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from convcheck.backends.process.probe import STEPS, ProbeStep
from convcheck.judge.words import clean
from convcheck.report.blocks import BLANK, Block, Text
from convcheck.report.short_names import compact_specs
from convcheck.rules.model import Case
from convcheck.rules.types import Types

_NAME = max(map(len, STEPS))
_MOST = 6  # lines for an operator


def step(it: ProbeStep) -> Iterator[Block]:
    """Show a step: a line where it is well, what came and what is due where not."""
    if not it.wrong:
        name = [("✓ ", "green"), (f"{it.name:<{_NAME}}   ", "")]
        yield Text(clean(it.note), "dim", label=name, cut=True)
        return
    yield Text(it.name, "bold", label=[("✗ ", "bold red")])
    parts = (("got", it.wrong), ("protocol", it.rule), ("to do", it.hint))
    for label, words in parts:
        if words:
            yield Text(clean(words), label=f"    {label:<9} ")


def printed(lines: Sequence[str]) -> Iterator[Block]:
    """Show the last of what the program wrote to stderr."""
    yield from (Text(clean(line), label="    stderr    ") for line in lines)


def supported(cases: Sequence[Case], types: Types) -> Iterator[Block]:
    """Say what gave outputs: per operator, which versions do which pairs of types."""
    yield BLANK
    yield Text("gave outputs for", "bold")
    for specs, pairs in _by_pairs(cases, types):
        lines = [f"{source} to {target}" if target else source for source, target in pairs]
        yield Text(compact_specs(specs), indent=2)
        for line in lines[:_MOST]:
            yield Text(line, indent=4)
        if len(lines) > _MOST:
            yield Text(f"… and {len(lines) - _MOST} more sources", indent=4)


def _by_pairs(
    cases: Sequence[Case], types: Types
) -> Iterator[tuple[list[str], list[tuple[str, str]]]]:
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
        yield ", ".join(types.folded(names)), ", ".join(types.folded(due))


def _source(case: Case) -> str:
    return "-".join(dtype.name for dtype in case.sources)
