"""The report of a run as Markdown, for the summary page of a job: GitHub's, and others'.

It stays under 64 KB, of which the findings have what the rest leaves; whole findings are left out
from the end, and the report says how many. Causes come first, in a table that fits a screen.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from html import escape
from textwrap import dedent

from convcheck.judge.result import Problem
from convcheck.judge.words import clean
from convcheck.report.blocks import cut, plain
from convcheck.report.causes import ToldCause
from convcheck.report.document import Document, Listed
from convcheck.report.draw.causes import NOT_TRIED, causes_summary, unexplained_summary
from convcheck.report.draw.console import command_lines, plain_lines
from convcheck.report.draw.finding import example_blocks
from convcheck.report.draw.matrix import LETTERS
from convcheck.report.draw.terminal import counts
from convcheck.report.findings import Finding
from convcheck.report.matrix import StatusMatrix
from convcheck.report.short_names import compact_specs
from convcheck.report.status import STATUSES
from convcheck.wording import GLUE, number, plural

LIMIT = 64_000  # bytes
_WIDTH = 90  # of what stands in code blocks
_OPEN = 3  # findings that are not folded
_LONG = 300
_ROWS = 30  # of the table of causes
_SHARES = {  # at most, in bytes
    "problems": 20_000, "causes": 16_000, "counts": 6_000, "matrices": 12_000, "known": 6_000,
}  # fmt: skip
_MARKS = re.compile(r"([\\`*_\[\]<>#~$&])")
_LINK = re.compile(r"https?://[^\s<>]+")
_REFERENCE = re.compile(r"([@#])(?=\w)")


def render(document: Document, command: str = "") -> str:
    """Return the report: the verdict, what is wrong, then the counts."""
    head = _head(document)
    problems = [_problem(one) for one in document.problems]
    before = [
        *_fit(problems, _SHARES["problems"], "more entry", "more entries"),
        *(_causes(document) if document.causes else ()),
    ]
    after = [
        *_fit(list(_matrices(document)), _SHARES["matrices"], "more matrix", "more matrices"),
        *_fit(_counts(document), _SHARES["counts"], "table", "tables"),
        *_known(document.listed),
    ]
    left = LIMIT - _size([head, *before, *after])
    findings = list(_findings(document.unexplained, opened=0 if document.causes else _OPEN))
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


def _head(document: Document) -> str:
    first, *others = document.reasons
    notes = [cut(note, _LONG) for note in document.remarks[:_OPEN]]
    return "\n\n".join([
        f"## {document.verdict}: {escaped(cut(document.backend, _LONG))}",
        f"**{escaped(first)}**" + "".join(f"; {escaped(part)}" for part in others),
        escaped("; ".join(document.setting)),
        *(f"Note: {escaped(note)}" for note in notes),
    ])  # fmt: skip


# The parts -----------------------------------------------------------------------------------


def _problem(one: Problem) -> str:
    """Return a problem of the list of known failures, with the text to have there."""
    kind, place = one.kind.upper(), code(str(one.place))
    said = f"**{kind}** {place}: {escaped(one.message)}"
    return "\n\n".join([said, *([fence(one.repair.splitlines(), "toml")] if one.repair else [])])


def _causes(document: Document) -> Iterator[str]:
    """Yield a row a cause, then folded what there is to say of each."""
    causes = document.causes
    yield f"**{escaped(causes_summary(document))}**"
    heads = ("", "what it does", "cases", "answers", "such as")
    yield table(heads, map(_row, causes[:_ROWS]), words=(0, 1, 4))
    if left := causes[_ROWS:]:
        yield f"… and {plural(len(left), 'more cause')}."
    yield NOT_TRIED
    pieces = [_cause(one) for one in causes]
    shown = _fit(pieces, _SHARES["causes"], "more cause", "more causes")
    yield folded("The causes: where, by which rule, and how to see it", shown)
    if document.unexplained:
        yield f"**{escaped(unexplained_summary(document))}**"


def _row(one: ToldCause) -> list[str]:
    answers = number(one.found.answers)
    gate = "" if one.gated else " (below the gate)"
    return [
        f"**{one.label}**",
        escaped(cut(one.says or "both", _LONG) + gate),
        number(len(one.cases)),
        f"{answers} of {answers}",
        code(cut(one.wrong_answer, _LONG)),
    ]


def _cause(one: ToldCause) -> str:
    others = escaped(cut("; ".join(one.others.values()), _LONG))
    _, *shown = _finding(one.finding)  # the first names the example's case alone
    return "\n\n".join([
        f"**{escaped(cut(one.line, _LONG))}** ({one.count})",
        "\n".join(f"- {code(cut(line, _LONG))}" for line in one.where.lines),
        *([f"No input asked tells it from: {others}"] if others else []),
        *shown,
    ])  # fmt: skip


def _findings(found: Sequence[Finding], opened: int) -> Iterator[str]:
    """Yield the findings, the first in full and the others folded; below the gate all are."""
    for i, finding in enumerate(found):
        title = f"{finding.label} {finding.id}: {cut(finding.line, _LONG)}"
        count = finding.count or "1 case"
        if i < opened and finding.gated:
            yield "\n\n".join([f"### {escaped(title)} ({count})", *_finding(finding)])
        else:
            yield folded(f"{title} ({count})", _finding(finding))


def _finding(finding: Finding) -> Iterator[str]:
    """Yield the cases, the rule with its citation, an example and the command that explains it."""
    yield "\n".join(f"- {_cases(name)}" for name in finding.few_cases)
    if finding.rule:
        share = f": {finding.share}" if finding.share else ""
        yield f"{code(finding.row)} in {code(finding.places)}{share}"
        yield "\n>\n".join("> " + escaped(said.replace(GLUE, " ")) for said in finding.cited)
    if finding.message:
        yield fence([cut(finding.message, _LONG)])
    if finding.examples:
        yield fence(_example(finding))
        yield fence(command_lines(finding.explain, _WIDTH), "sh")


def _cases(name: str) -> str:
    if name.startswith("…"):  # the terminal's way to see them is not this page's
        return escaped(name.partition(" (")[0])
    return code(name.replace(GLUE, " "))


def _example(finding: Finding) -> list[str]:
    return dedent("\n".join(plain_lines(example_blocks(finding), _WIDTH))).splitlines()


def _matrices(document: Document) -> Iterator[str]:
    """Yield the rows and columns with failures of each spec's matrix, of equal ones one; where
    there are causes, that of one version of each operator.
    """
    lettered = {spec: one for bundle in document.letters for spec, one in bundle.items()}
    every = lettered if document.causes else document.failing
    for one in dict.fromkeys(every.values()):
        specs = compact_specs(spec for spec, other in every.items() if other == one)
        yield folded(f"{specs}: where it fails", [_grid(one), _legend(one)])


def _grid(one: StatusMatrix) -> str:
    cells = {(source, target): status.symbol for source, target, status in one.cells}
    rows = [
        [code(source), *(_cell(cells.get((source, target), "")) for target in one.targets)]
        for source in one.sources
    ]
    return table(["", *map(code, one.targets)], rows)


def _cell(symbol: str) -> str:
    return f"**{symbol}**" if symbol.isupper() else escaped(symbol)


def _legend(one: StatusMatrix) -> str:
    present = {status for *_, status in one.cells}
    said = ", ".join(f"{s.symbol} {s.word}" for s in STATUSES if s in present)
    letters = f"; {LETTERS}" if present - set(STATUSES) else ""
    return escaped(f"{said}{letters}. Rows and columns without a failure are left out.")


def _counts(document: Document) -> list[str]:
    counted = counts(document, short=False)
    heads, *rows = ([plain(cell) for cell in row] for row in (*counted.heads, *counted.rows))
    return [table(heads, rows)] if rows else []


def _known(listed: Sequence[Listed]) -> Iterator[str]:
    """Yield the entries of the list that excuse failures, folded."""
    for kind, title in (("known", "Known failures"), ("waived", "Waived failures")):
        lines = [_entry(entry) for entry in listed if entry.excuse.kind == kind]
        if lines:
            kept = _fit(lines, _SHARES["known"], "more entry", "more entries")
            yield folded(title, ["\n".join(f"- {line}" for line in kept)])


def _entry(entry: Listed) -> str:
    excuse = entry.excuse
    said = f"{code(entry.families)} {escaped(entry.what)} ({plural(entry.cases, 'case')})"
    issue = excuse.issue if _LINK.fullmatch(excuse.issue) else ""
    why = (
        escaped(cut(clean(excuse.reason), _LONG)),
        f"<{issue}>" if issue else escaped(excuse.issue),
    )
    return ", ".join(filter(None, (f"{said}: {why[0]}", why[1], code(str(excuse.place)))))


# Markdown ------------------------------------------------------------------------------------


def escaped(words: str) -> str:
    """Return words with escapes for what Markdown, HTML or GitHub would obey."""
    plain = " ".join(words.replace(GLUE, " ").split())
    return _unmentioned(_MARKS.sub(r"\\\1", plain).replace("\\&", "&amp;").replace("\\<", "&lt;"))


def _unmentioned(said: str) -> str:
    """Keep a name from being mentioned: a comment within it is not seen."""
    return _REFERENCE.sub(r"\1<!-- -->", said)


def code(words: str) -> str:
    """Return words as code, which nothing in them ends."""
    runs = [len(run) for run in re.findall("`+", words)]
    ticks = "`" * (max(runs, default=0) + 1)
    pad = " " if words[:1] == "`" or words[-1:] == "`" else ""
    return f"{ticks}{pad}{words}{pad}{ticks}" if words else ""


def fence(lines: Sequence[str], language: str = "") -> str:
    """Return lines as a code block, which nothing in them ends."""
    runs = [len(run) for line in lines for run in re.findall("`+", line)]
    ticks = "`" * max(3, max(runs, default=0) + 1)
    return "\n".join([ticks + language, *lines, ticks])


def folded(title: str, pieces: Iterable[str]) -> str:
    """Return pieces that are shown when their title is clicked."""
    head = f"<details><summary>{_unmentioned(escape(title.replace(GLUE, ' ')))}</summary>"
    return "\n\n".join([head, *pieces, "</details>"])


def table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], words: Collection[int] = (0,)
) -> str:
    """Return a table of cells that are Markdown; columns that are not of words are to the right."""
    sides = ["---" if i in words else "--:" for i in range(len(heads))]
    lines = [heads, sides, *rows]
    cells = ((cell.replace("|", "\\|") for cell in line) for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)
