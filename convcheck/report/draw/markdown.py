"""Draw a run for GitHub: as annotations, and as Markdown for job summaries, under 64 KB.

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
from convcheck.report.findings import Finding, ToldCause
from convcheck.streams import GLUE, no_commands, plural, visible

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


_MOST = 10  # errors that GitHub shows per step
_COLUMNS = 100
_TITLE = 120  # of a title


def annotation_lines(document: Document) -> Iterator[str]:
    """Yield an annotation per problem of the known-failures list, cause and unexplained finding.

    If there are too many, the last line counts the rest.
    """
    found = list(_found(document))
    wrong = [_listed(problem) for problem in document.problems]
    total, most = len(found) + len(wrong), _MOST
    if total > _MOST:
        most -= 1
        wrong = wrong[: max(most - len(found), most // 2)]
    yield from [*wrong, *found][:most]
    word, reasons = document.verdict, "; ".join(document.reasons)
    if total > most:
        title = f"{plural(total - most, 'more finding')} of convcheck"
        yield _command("error", f"{word}: {reasons}", title=title)
    if word == "NOTHING JUDGED":
        yield _command("error", reasons, title=f"convcheck: {word.lower()}")
    elif document.result.interrupted:
        yield _command("warning", "results are partial", title="convcheck: interrupted")


def _found(document: Document) -> Iterator[str]:
    causes = [one for one in document.causes if one.gated]
    yield from (_cause(one) for one in causes if one.says)
    yield from (_finding(finding) for finding in document.unexplained if finding.gated)
    yield from (_cause(one) for one in causes if not one.says)


def _cause(one: ToldCause) -> str:
    title = f"{cut(one.line, _TITLE)} ({one.count})"
    return _error(plain_lines(cause_at_length(one), _COLUMNS), title)


def _listed(one: Problem) -> str:
    where = {"file": one.place.file, "line": str(one.place.line or 1)}
    return _error([one.message, *one.repair.splitlines()], f"known failures: {one.kind}", **where)


def _finding(finding: Finding) -> str:
    count = plural(len(finding.members), "case")
    title = f"{finding.label} {finding.id}: {cut(finding.gist, _TITLE)} ({count})"
    return _error(plain_lines(finding_blocks(finding), _COLUMNS), title)


def _error(lines: Iterable[str], title: str, **where: str) -> str:
    return _command("error", "\n".join(lines), **where, title=title)


def _command(name: str, message: str, **properties: str) -> str:
    said = ((key, _data(value)) for key, value in properties.items())
    listed = (f"{key}={text.replace(':', '%3A').replace(',', '%2C')}" for key, text in said)
    return f"::{name} {','.join(listed)}::{_data(message)}"


def _data(text: str) -> str:
    text = no_commands(visible(text))
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
