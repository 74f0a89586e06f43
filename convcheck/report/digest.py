"""The findings of a long report once more, a line each, where a reader of its end sees them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from convcheck.judge.words import clean, plural
from convcheck.report.blocks import what
from convcheck.report.groups import Block
from convcheck.report.layout import cut

_FEW = 3  # so many blocks are a digest of themselves
_LINES = 16


def show(blocks: Sequence[Block], width: int, verbose: bool) -> Iterator[Text]:
    """Give the digest of the blocks, the gravest and those of most cases first."""
    if len(blocks) <= _FEW:
        return
    yield Text(f"{plural(len(blocks), 'finding')}, those in most cases first:", "bold")
    yield from lines(blocks, width, verbose)


def lines(blocks: Sequence[Block], width: int, verbose: bool = False) -> Iterator[Text]:
    """Give a line a block, and one for those that are left out if not `verbose`."""
    shown = blocks if verbose else blocks[:_LINES]
    for block in shown:
        yield from _line(block, width)
    if len(blocks) > len(shown):
        rest = sum(len(block.members) for block in blocks[len(shown) :])
        yield Text(f"  … and {len(blocks) - len(shown)} more, in {plural(rest, 'case')}", "dim")


def gist(block: Block) -> str:
    """Say in a few words what is wrong: the runtime's own where it did not answer."""
    group = block.group
    if group is None:
        said = block.message
    elif block.verdict == "refused":
        said = group.examples[0].message if group.examples else group.decision.name
    else:
        said = what(block, group)
    return clean(said) or block.verdict


def finding(block: Block) -> str:
    """Say in a line what is wrong, and by which row where the runtime did answer."""
    by_rule = block.group if block.verdict != "refused" else None
    return f"{gist(block)}: {by_rule.decision.name}" if by_rule else gist(block)


def _line(block: Block, width: int) -> Iterator[Text]:
    count = f"{plural(len(block.members), 'case'):>10}  "
    refused = "refused: " if block.group and block.verdict == "refused" else ""
    yield Text.assemble(count, cut(refused + finding(block), width - len(count)))
