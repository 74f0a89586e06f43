"""Draw `convcheck backend probe`."""

from collections.abc import Iterator, Sequence

from convcheck.backends.process.probe import STEPS, ProbeStep
from convcheck.judge.words import clean
from convcheck.report.blocks import BLANK, Block, Text
from convcheck.report.where import JudgedCases
from convcheck.rules.model import Case
from convcheck.rules.types import Types

_NAME = max(map(len, STEPS))
_MOST = 60  # lines of supported cases


def step(it: ProbeStep) -> Iterator[Block]:
    """Yield a step; if it is wrong, the received line, the rule and a hint."""
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
    """Yield the end of the program's stderr."""
    yield from (Text(clean(line), label="    stderr    ") for line in lines)


def supported(cases: Sequence[Case], types: Types) -> Iterator[Block]:
    """Yield the supported versions and pairs of types."""
    yield BLANK
    yield Text("gave outputs for", "bold")
    found = JudgedCases(cases, types).where(cases).lines
    yield from (Text(said, indent=2, hang=2) for said in found[:_MOST])
    if len(found) > _MOST:
        yield Text(f"… and {len(found) - _MOST} more", indent=2)
