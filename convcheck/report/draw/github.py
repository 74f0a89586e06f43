"""What a run found as workflow commands: GitHub Actions shows them as annotations."""

from collections.abc import Iterator

from convcheck.judge.result import Problem, RunResult
from convcheck.judge.words import clean, plural
from convcheck.report import blocks, digest, problems
from convcheck.report.draw.terminal import summary
from convcheck.report.groups import Block
from convcheck.report.groups import blocks as failures
from convcheck.report.layout import cut

_MOST = 10  # errors of a step that are shown
_WIDTH = 100
_LONG = 120  # of a title
_NEW_LINE = "\n"


def annotations(result: RunResult) -> Iterator[str]:
    """Give a line an annotation: what is wrong with the list of known failures, then the findings.

    Of more than are shown, the last says how many are left out. A run that has nothing to say
    gives nothing.
    """
    found = [_finding(block) for block in failures(result) if block.gated]
    wrong = [_problem(problem) for problem in result.problems]
    total, most = len(found) + len(wrong), _MOST
    if total > _MOST:
        most -= 1
        wrong = wrong[: max(most - len(found), most // 2)]
    yield from [*wrong, *found][:most]
    word, parts = summary(result)
    if total > most:
        title = f"{plural(total - most, 'more finding')} of convcheck"
        yield _command("error", f"{word}: {'; '.join(parts)}", title=title)
    if word == "NOTHING JUDGED":
        yield _command("error", "; ".join(parts), title=f"convcheck: {word.lower()}")
    elif result.interrupted:
        yield _command("warning", "results are partial", title="convcheck: interrupted")


def _problem(problem: Problem) -> str:
    lines = [clean(problem.message), *problems.repair(problem)]
    place = {"file": problem.place.file, "line": str(problem.place.line or 1)}
    title = f"known failures: {problem.kind}"
    return _command("error", _NEW_LINE.join(lines), **place, title=title)


def _finding(block: Block) -> str:
    """Give what is wrong, and as the message the lines of the block as the terminal prints them."""
    count = plural(len(block.members), "case")
    lines = [line.plain.rstrip() for line in blocks.show(block, _WIDTH, False)]
    title = f"{blocks.label(block)}: {cut(digest.gist(block), _LONG)} ({count})"
    return _command("error", _NEW_LINE.join(lines), title=title)


def _command(name: str, message: str, **properties: str) -> str:
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{name} {listed}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
