"""The findings of a long report once more, a line each, where a reader of its end sees them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from convcheck.report.groups import Block
from convcheck.report.layout import cut
from convcheck.report.words import plural

_FEW = 3  # so many blocks are a digest of themselves
_LINES = 16


def show(blocks: Sequence[Block], width: int, verbose: bool) -> Iterator[Text]:
    """Give the digest of the blocks, the gravest and those of most cases first."""
    if len(blocks) <= _FEW:
        return
    yield Text(f"{plural(len(blocks), 'finding')}, those in most cases first:", "bold")
    shown = blocks if verbose else blocks[:_LINES]
    for block in shown:
        yield from _line(block, width)
    if len(blocks) > len(shown):
        rest = sum(len(block.members) for block in blocks[len(shown) :])
        yield Text(f"  … and {len(blocks) - len(shown)} more, in {plural(rest, 'case')}", "dim")


def _line(block: Block, width: int) -> Iterator[Text]:
    group = block.group
    count = f"{plural(len(block.members), 'case'):>10}  "
    if group is None:
        said = block.message
    elif block.verdict == "refused":
        said = f"refused: {group.examples[0].message if group.examples else group.decision.name}"
    else:
        where = f", in placement {group.placement}" if group.placement else ""
        said = f"{block.kind}{where}: {group.decision.name}"
    yield Text.assemble(count, cut(" ".join(said.split()), width - len(count)))
