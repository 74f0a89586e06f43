"""Draw a run as Markdown for job summaries, under 64 KB.

Parts of the terminal's page unfold under a title. Findings share the room that other parts leave;
those that do not fit are counted.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from convcheck.judge.result import Problem
from convcheck.report.blocks import Block, cut
from convcheck.report.document import Document
from convcheck.report.draw.console import plain_lines
from convcheck.report.draw.finding import (
    NOT_TRIED,
    cause_at_length,
    cause_per_line,
    causes_summary,
    finding_blocks,
    unexplained_summary,
)
from convcheck.report.draw.matrix import matrix_blocks
from convcheck.report.draw.terminal import counts_table, excused_blocks
from convcheck.report.findings import Finding
from convcheck.streams import GLUE, plural

LIMIT = 64_000  # bytes
_WIDTH = 90  # of code blocks
_OPEN = 3  # unfolded findings
_LONG = 300
_ROWS = 30  # causes with a line
_SHARES = {  # limits in bytes
    "problems": 20_000, "causes": 16_000, "counts": 6_000, "matrices": 12_000, "known": 6_000,
}  # fmt: skip
_MARKS = re.compile(r"([\\`*_\[\]<>#~$&])")
_REFERENCE = re.compile(r"([@#])(?=\w)")


def render(document: Document, command: str = "") -> str:
    """Return the report: verdict, errors, counts."""
    problems = [_problem(one) for one in document.problems]
    before = [
        _head(document),
        *_fit(problems, _SHARES["problems"], "more entry", "more entries"),
        *(_causes(document) if document.causes else ()),
    ]
    lettered = bool(document.causes)
    grids = matrix_blocks(document.letters if lettered else document.failing, lettered)
    where = [_folded("Where it fails", [_block(grids)])] if document.failing else []
    counts = [_block([counts_table(document)])] if document.cases else []
    after = [
        *_fit(where, _SHARES["matrices"], "matrix", "matrices"),
        *_fit(counts, _SHARES["counts"], "table", "tables"),
    ]
    if any(finding.excuse for finding in document.findings):
        known = _folded("Known and waived failures", [_block(excused_blocks(document.findings))])
        after += _fit([known], _SHARES["known"], "list", "lists")
    left = LIMIT - _size([*before, *after])
    findings = list(_findings(document.unexplained, opened=0 if document.causes else _OPEN))
    shown = _fit(findings, left, "more finding", "more findings")
    page = "\n\n".join([*before, *shown, *after]) + "\n"
    return page.encode(errors="backslashreplace").decode()  # paths need not be Unicode


def _fit(pieces: Sequence[str], room: int, one: str, many: str) -> list[str]:
    kept = list(pieces)
    while kept and _size(kept) > room - _LONG * (len(kept) < len(pieces)):
        kept.pop()
    if left := len(pieces) - len(kept):
        kept.append(f"… and {left:,} {one if left == 1 else many}, for which there is no room.")
    return kept


def _size(pieces: Iterable[str]) -> int:
    return sum(len(piece.encode(errors="backslashreplace")) + 2 for piece in pieces)


def _head(document: Document) -> str:
    first, *others = document.reasons
    notes = [cut(note, _LONG) for note in document.remarks[:_OPEN]]
    return "\n\n".join([
        f"## {document.verdict}: {escaped(cut(document.backend, _LONG))}",
        f"**{escaped(first)}**" + "".join(f"; {escaped(part)}" for part in others),
        escaped("; ".join(document.setting)),
        *(f"Note: {escaped(note)}" for note in notes),
    ])  # fmt: skip


def _problem(one: Problem) -> str:
    kind, place = one.kind.upper(), code(str(one.place))
    said = f"**{kind}** {place}: {escaped(one.message)}"
    return "\n\n".join([said, *([fence(one.repair.splitlines(), "toml")] if one.repair else [])])


def _causes(document: Document) -> Iterator[str]:
    causes = document.causes
    yield f"**{escaped(causes_summary(document))}**"
    yield _block(cause_per_line(causes[:_ROWS]))
    if left := causes[_ROWS:]:
        yield f"… and {plural(len(left), 'more cause')}."
    yield NOT_TRIED
    pieces = [
        _folded(f"{cut(one.line, _LONG)} ({one.count})", [_block(cause_at_length(one))])
        for one in causes
    ]
    yield from _fit(pieces, _SHARES["causes"], "more cause", "more causes")
    if document.unexplained:
        yield f"**{escaped(unexplained_summary(document))}**"


def _findings(found: Sequence[Finding], opened: int) -> Iterator[str]:
    for i, finding in enumerate(found):
        title = f"{finding.label} {finding.id}: {cut(finding.line, _LONG)}"
        count, shown = finding.count or "1 case", _block(finding_blocks(finding))
        if i < opened and finding.gated:
            yield f"### {escaped(title)} ({count})\n\n{shown}"
        else:
            yield _folded(f"{title} ({count})", [shown])


def _block(page: Iterable[Block]) -> str:
    return fence(plain_lines(page, _WIDTH))


def escaped(words: str) -> str:
    """Escape the markup of Markdown, HTML and GitHub."""
    plain = " ".join(words.replace(GLUE, " ").split())
    return _unmentioned(_MARKS.sub(r"\\\1", plain).replace("\\&", "&amp;").replace("\\<", "&lt;"))


def _unmentioned(said: str) -> str:
    """Break mentions and references with an invisible comment."""
    return _REFERENCE.sub(r"\1<!-- -->", said)


def code(words: str) -> str:
    """Return words as inline code, with enough backticks."""
    runs = [len(run) for run in re.findall("`+", words)]
    ticks = "`" * (max(runs, default=0) + 1)
    pad = " " if words[:1] == "`" or words[-1:] == "`" else ""
    return f"{ticks}{pad}{words}{pad}{ticks}" if words else ""


def fence(lines: Sequence[str], language: str = "") -> str:
    """Return lines as a code block, with enough backticks."""
    runs = [len(run) for line in lines for run in re.findall("`+", line)]
    ticks = "`" * max(3, max(runs, default=0) + 1)
    return "\n".join([ticks + language, *lines, ticks])


def _folded(title: str, pieces: Iterable[str]) -> str:
    head = f"<details><summary>{_unmentioned(escape(title.replace(GLUE, ' ')))}</summary>"
    return "\n\n".join([head, *pieces, "</details>"])
