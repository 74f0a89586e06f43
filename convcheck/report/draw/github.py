"""Draw a run as GitHub annotations (workflow commands)."""

from collections.abc import Iterable, Iterator

from convcheck.judge.result import Problem
from convcheck.report.blocks import cut
from convcheck.report.causes import ToldCause
from convcheck.report.document import Document
from convcheck.report.draw.console import plain_lines
from convcheck.report.draw.finding import cause_at_length, finding_blocks
from convcheck.report.findings import Finding
from convcheck.streams import no_commands, plural, visible

_MOST = 10  # errors that GitHub shows per step
_WIDTH = 100
_LONG = 120  # of a title


def annotation_lines(document: Document) -> Iterator[str]:
    """Yield an annotation per problem of the known-failures list, cause and unexplained finding.

    If there are too many, the last line counts the rest.
    """
    found = list(_found(document))
    wrong = [_problem(problem) for problem in document.problems]
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
    title = f"{cut(one.line, _LONG)} ({one.count})"
    return _error(plain_lines(cause_at_length(one), _WIDTH), title)


def _problem(one: Problem) -> str:
    where = {"file": one.place.file, "line": str(one.place.line or 1)}
    return _error([one.message, *one.repair.splitlines()], f"known failures: {one.kind}", **where)


def _finding(finding: Finding) -> str:
    count = plural(len(finding.members), "case")
    title = f"{finding.label} {finding.id}: {cut(finding.gist, _LONG)} ({count})"
    return _error(plain_lines(finding_blocks(finding), _WIDTH), title)


def _error(lines: Iterable[str], title: str, **where: str) -> str:
    return _command("error", "\n".join(lines), **where, title=title)


def _command(name: str, message: str, **properties: str) -> str:
    said = ((key, _data(value)) for key, value in properties.items())
    listed = (f"{key}={text.replace(':', '%3A').replace(',', '%2C')}" for key, text in said)
    return f"::{name} {','.join(listed)}::{_data(message)}"


def _data(text: str) -> str:
    text = no_commands(visible(text))
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
