"""The report of a run as Markdown, for the summary page of a job: GitHub's, and others'.

It stays under 64 KB, of which the findings have what the rest leaves; whole findings are left out
from the end, and the report says how many.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from textwrap import dedent

from convcheck.judge.result import Group, Problem, RunResult, Tolerance
from convcheck.judge.words import GLUE, clean, plural
from convcheck.report import blocks, digest, matrix, overview, problems
from convcheck.report.draw.terminal import setting, summary
from convcheck.report.groups import Block
from convcheck.report.groups import blocks as failures
from convcheck.report.layout import cut
from convcheck.report.naming import compact_specs
from convcheck.report.status import STATUSES, fails
from convcheck.report.tally import by_spec

LIMIT = 64_000  # bytes
_WIDTH = 90  # of what stands in code blocks
_OPEN = 3  # findings that are not folded
_LONG = 300
_SHARES = {"problems": 20_000, "counts": 6_000, "matrices": 12_000, "known": 6_000}  # at most
_MARKS = re.compile(r"([\\`*_\[\]<>#~$&])")
_LINK = re.compile(r"https?://[^\s<>]+")
_REFERENCE = re.compile(r"([@#])(?=\w)")


def render(result: RunResult, command: str = "") -> str:
    """Return the report: the verdict, what is wrong, then the counts."""
    found = failures(result)
    head = _head(result)
    before = _fit(list(_problems(result)), _SHARES["problems"], "more entry", "more entries")
    after = [
        *_fit(list(_matrices(result)), _SHARES["matrices"], "more matrix", "more matrices"),
        *_fit(_counts(result), _SHARES["counts"], "table", "tables"),
        *_known(found),
    ]
    left = LIMIT - _size([head, *before, *after])
    findings = list(_findings([block for block in found if not block.excuse]))
    shown = _fit(findings, left, "more finding", "more findings")
    page = "\n\n".join([head, *before, *shown, *after]) + "\n"
    return page.encode(errors="backslashreplace").decode()  # a path need not be of Unicode


def _fit(pieces: Sequence[str], room: int, one: str, many: str) -> list[str]:
    """Keep as many of the first pieces as there is room for, in bytes, and count the others."""
    kept = list(pieces)
    while kept and _size(kept) > room - _LONG * (len(kept) < len(pieces)):
        kept.pop()
    if left := len(pieces) - len(kept):
        kept.append(f"… and {left:,} {one if left == 1 else many}, for which there is no room.")
    return kept


def _size(pieces: Iterable[str]) -> int:
    return sum(len(piece.encode(errors="backslashreplace")) + 2 for piece in pieces)


def _head(result: RunResult) -> str:
    word, parts = summary(result)
    backend = cut(clean(f"{result.backend.name} {result.backend.version}"), _LONG)
    notes = [cut(clean(note), _LONG) for note in result.remarks[:_OPEN]]
    return "\n\n".join([
        f"## {word}: {text(backend)}",
        f"**{text(parts[0])}**" + "".join(f"; {text(part)}" for part in parts[1:]),
        text("; ".join(setting(result))),
        *(f"Note: {text(note)}" for note in notes),
    ])  # fmt: skip


# The parts -----------------------------------------------------------------------------------


def _problems(result: RunResult) -> Iterator[str]:
    """Give each problem of the list of known failures, with the text to have there."""
    for problem in result.problems:
        yield _problem(problem)


def _problem(problem: Problem) -> str:
    lines = problems.repair(problem)
    said = f"**{problem.kind.upper()}** {code(str(problem.place))}: {text(clean(problem.message))}"
    return "\n\n".join([said, *([fence(lines, "toml")] if lines else [])])


def _findings(found: Sequence[Block]) -> Iterator[str]:
    """Give the findings, the first in full and the others folded; below the gate all are."""
    for i, block in enumerate(found):
        title = f"{blocks.label(block)}: {cut(digest.finding(block), _LONG)}"
        count = blocks.count(block) or "1 case"
        if i < _OPEN and block.gated:
            yield "\n\n".join([f"### {text(title)} ({count})", *_finding(block)])
        else:
            yield folded(f"{title} ({count})", _finding(block))


def _finding(block: Block) -> Iterator[str]:
    """Give the cases, the rule with its citation, an example and the command that explains it."""
    yield "\n".join(f"- {_cases(name)}" for name in blocks.names(block))
    group, shown = block.group, block.shown
    if group:
        yield f"{code(blocks.row(block, group))} in {code(blocks.places(block))}"
        yield "> " + text(blocks.cited(group).replace(GLUE, " "))
    if block.message:
        yield fence([cut(block.message, _LONG)])
    if shown.group and shown.group.examples:
        yield fence(_example(block, shown.group))
        yield fence(blocks.explain(shown.case.case, shown.group, _WIDTH), "sh")


def _cases(name: str) -> str:
    if name.startswith("…"):  # the terminal's way to see them is not this page's
        return text(name.partition(" (")[0])
    return code(name.replace(GLUE, " "))


def _example(block: Block, group: Group) -> list[str]:
    lines = (line.plain.rstrip() for line in blocks.examples(block.shown, group, _WIDTH))
    return dedent("\n".join(lines)).splitlines()


def _matrices(result: RunResult) -> Iterator[str]:
    """Give the rows and columns with failures of each spec's matrix; of equal ones one."""
    every = {
        spec: matrix.failing(cases, result.level)
        for spec, cases in by_spec(result).items()
        if any(fails(case, result.level) for case in cases)
    }
    for one in dict.fromkeys(every.values()):
        specs = compact_specs(spec for spec, other in every.items() if other == one)
        yield folded(f"{specs}: where it fails", [_grid(one), _legend(one)])


def _grid(one: matrix.Matrix) -> str:
    cells = {(source, target): status.symbol for source, target, status in one.cells}
    rows = [
        [code(source), *(_cell(cells.get((source, target), "")) for target in one.targets)]
        for source in one.sources
    ]
    return table(["", *map(code, one.targets)], rows)


def _cell(symbol: str) -> str:
    return f"**{symbol}**" if symbol.isupper() else text(symbol)


def _legend(one: matrix.Matrix) -> str:
    present = {status for *_, status in one.cells}
    said = ", ".join(f"{s.symbol} {s.word}" for s in STATUSES if s in present)
    return text(f"{said}. Rows and columns without a failure are left out.")


def _counts(result: RunResult) -> list[str]:
    if not result.cases:
        return []
    heads, *rows = overview.cells(result)
    return [table(heads, rows)]


def _known(found: Sequence[Block]) -> Iterator[str]:
    """Give the entries of the list that excuse failures, folded."""
    kinds: tuple[Tolerance, ...] = ("known", "waived")
    for kind in kinds:
        listed = problems.entries(found, kind)
        lines = [_entry(entry) for entry in listed]
        if lines:
            kept = _fit(lines, _SHARES["known"], "more entry", "more entries")
            title = {"known": "Known failures", "waived": "Waived failures"}[kind]
            yield folded(title, ["\n".join(f"- {line}" for line in kept)])


def _entry(entry: problems.Entry) -> str:
    excuse = entry.excuse
    said = f"{code(entry.families)} {text(entry.what)} ({plural(entry.cases, 'case')})"
    issue = excuse.issue if _LINK.fullmatch(excuse.issue) else ""
    why = text(cut(clean(excuse.reason), _LONG)), f"<{issue}>" if issue else text(excuse.issue)
    return ", ".join(filter(None, (f"{said}: {why[0]}", why[1], code(str(excuse.place)))))


# Markdown ------------------------------------------------------------------------------------


def text(words: str) -> str:
    """Escape what Markdown, HTML or GitHub would obey, so that the words are shown as they are."""
    plain = " ".join(words.replace(GLUE, " ").split())
    return _unmentioned(_MARKS.sub(r"\\\1", plain).replace("\\&", "&amp;").replace("\\<", "&lt;"))


def _unmentioned(said: str) -> str:
    """Keep a name from being mentioned: a comment within it is not seen."""
    return _REFERENCE.sub(r"\1<!-- -->", said)


def code(words: str) -> str:
    """Give words as code, which nothing in them ends."""
    runs = [len(run) for run in re.findall("`+", words)]
    ticks = "`" * (max(runs, default=0) + 1)
    pad = " " if words[:1] == "`" or words[-1:] == "`" else ""
    return f"{ticks}{pad}{words}{pad}{ticks}" if words else ""


def fence(lines: Sequence[str], language: str = "") -> str:
    """Give lines as a code block, which nothing in them ends."""
    runs = [len(run) for line in lines for run in re.findall("`+", line)]
    ticks = "`" * max(3, max(runs, default=0) + 1)
    return "\n".join([ticks + language, *lines, ticks])


def folded(title: str, pieces: Iterable[str]) -> str:
    """Give pieces that are shown when their title is clicked."""
    head = f"<details><summary>{_unmentioned(escape(title.replace(GLUE, ' ')))}</summary>"
    return "\n\n".join([head, *pieces, "</details>"])


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Give a table of cells that are Markdown."""
    lines = [heads, ["---", *["--:"] * (len(heads) - 1)], *rows]
    cells = ((cell.replace("|", "\\|") for cell in line) for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)
