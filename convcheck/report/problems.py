"""What is wrong with a list of known failures, and the failures that it excuses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from rich.text import Text

from convcheck.judge.result import Excuse, Problem, RunResult, Tolerance
from convcheck.judge.words import GLUE, clean, number, plural
from convcheck.report.blocks import where
from convcheck.report.groups import Block
from convcheck.report.layout import INDENT, labelled, paragraph
from convcheck.report.naming import family
from convcheck.report.status import KNOWN, WAIVED

_ENTRIES = 6  # of each kind, that are shown
_STYLES: dict[Tolerance, str] = {"known": KNOWN.style, "waived": WAIVED.style}


@dataclass(frozen=True)
class Entry:
    """An entry of the list with the failures that it excuses in a run."""

    excuse: Excuse
    blocks: tuple[Block, ...]

    @property
    def cases(self) -> int:
        """Count the cases that have any of them."""
        return len({member.case.case.id for block in self.blocks for member in block.members})

    @property
    def families(self) -> str:
        """Name the specs, their versions left open."""
        members = (member for block in self.blocks for member in block.members)
        return ", ".join(dict.fromkeys(family(m.case.case.spec) for m in members))

    @property
    def what(self) -> str:
        """Say what is wrong: by which rule, and in how many ways if not in one."""
        rules = dict.fromkeys(b.group.decision.name for b in self.blocks if b.group)
        ways = dict.fromkeys(_way(block) for block in self.blocks)
        said = f"{', '.join(rules)}: {next(iter(ways))}".removeprefix(": ")
        more = f" and {plural(len(ways) - 1, 'other way')}" if len(ways) > 1 else ""
        return said + more


def _way(block: Block) -> str:
    said = block.kind if block.group else block.message
    return block.verdict if said in ("", block.verdict) else f"{_verb(block)}{clean(said)}"


def _verb(block: Block) -> str:
    return "" if block.verdict == "fail" else f"{block.verdict}, "


def entries(blocks: Sequence[Block], kind: Tolerance) -> list[Entry]:
    """Put blocks that are excused by one entry of a list together, those of most cases first."""
    found: dict[Excuse, list[Block]] = {}
    for block in blocks:
        if block.excuse and block.excuse.kind == kind:
            found.setdefault(block.excuse, []).append(block)
    made = [Entry(excuse, tuple(several)) for excuse, several in found.items()]
    return sorted(made, key=lambda entry: -entry.cases)


def excused(blocks: Sequence[Block], width: int) -> Iterator[Text]:
    """Give two lines an entry: what it excuses, then where it stands and its issue or reason."""
    kinds: tuple[Tolerance, ...] = ("known", "waived")
    for kind in kinds:
        listed = entries(blocks, kind)
        for entry in listed[:_ENTRIES]:
            yield from _entry(entry, width)
        if left := listed[_ENTRIES:]:
            cases = plural(sum(entry.cases for entry in left), "case")
            said = f"… and {number(len(left))} more, of {cases} (-v shows all, in full)"
            yield Text(" " * (len(kind) + 2) + said, "dim")


def _entry(entry: Entry, width: int) -> Iterator[Text]:
    excuse, count = entry.excuse, plural(entry.cases, "case").replace(" ", GLUE)
    said = f"{entry.families} {entry.what} ({count})"
    indent = len(excuse.kind) + 2
    lines = list(labelled(excuse.kind, _STYLES[excuse.kind], said, width))
    if excuse.issue:
        lines.append(Text(" " * indent + where(excuse)))
    else:
        why = f"{excuse.place}  {clean(excuse.reason)}".rstrip()
        lines += paragraph(why, width, indent=indent)
    for line in lines:
        line.stylize("dim", indent)
        yield line


# Problems ------------------------------------------------------------------------------------


def show(problems: Sequence[Problem], width: int) -> Iterator[Text]:
    """Show each problem, and under it the exact text to have there, which is not broken."""
    for problem in problems:
        yield from labelled(problem.kind.upper(), "bold red", str(problem.place), width)
        yield from paragraph(clean(problem.message), width)
        yield from (Text(" " * INDENT + line, "cyan") for line in repair(problem))
        yield Text()


def repair(problem: Problem) -> list[str]:
    """Give the lines to have in the place of the entry, none where it has to go."""
    lines = problem.repair.strip("\n").splitlines()
    return ["".join(c if c.isprintable() else " " for c in line) for line in lines]


def gist(result: RunResult) -> str:
    """Count what is wrong with the list: 3 entries of known.toml to repair (2 stale, 1 changed)."""
    counts = Counter(problem.kind for problem in result.problems)
    each = ", ".join(f"{number(n)} {kind}" for kind, n in counts.items())
    total = len(result.problems)
    entry = "1 entry" if total == 1 else f"{number(total)} entries"
    file = clean(PurePath(result.known).name) or "the list"
    return f"{entry} of {file} to repair ({each})"
