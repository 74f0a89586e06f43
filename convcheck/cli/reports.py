"""Print and write reports: of a run, of several side by side, and of surveys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import partial

from convcheck.cli.options import Reports, source_date
from convcheck.cli.outputs import GITHUB, path_of, show
from convcheck.errors import UsageError
from convcheck.gate.known import KnownList, hold, read_known
from convcheck.judge.result import RunResult, Timing
from convcheck.plan.runner import Turn
from convcheck.records import replace
from convcheck.report.blocks import Block
from convcheck.report.document import Document
from convcheck.report.draw import terminal
from convcheck.report.draw.github import annotation_lines
from convcheck.report.draw.side_by_side import Side, side_by_side_page
from convcheck.report.draw.survey import survey_page
from convcheck.report.environment import environment
from convcheck.report.formats import FORMATS, LOG
from convcheck.report.json.encode import text_of_several
from convcheck.report.short_names import short_names
from convcheck.rules.cases import cases
from convcheck.rules.load import Catalog
from convcheck.rules.types import Types
from convcheck.survey.view import Survey

FAILED, NOTHING, NOT_STARTED, INTERRUPTED = 1, 3, 4, 130  # exit codes


def hold_to_known(result: RunResult, loaded: Catalog, known: str | KnownList | None) -> RunResult:
    """Compare a run with a list of known failures, or with the file of one, if given.

    Raises UsageError.
    """
    if known is None:
        return result
    listed = read_known(known, loaded) if isinstance(known, str) else known
    return hold(result, listed, every_id(loaded), date.today())


def every_id(loaded: Catalog) -> Callable[[tuple[str, ...]], Iterable[str]]:
    """Return a function from prefixes to the ids of all cases of matching specs."""

    def every(starts: tuple[str, ...]) -> Iterator[str]:
        specs = (spec for name, spec in loaded.specs.items() if name.startswith(starts))
        return (case.id for spec in specs for case in cases(spec))

    return every


def write_reports(
    result: RunResult, reports: Reports, types: Types, command: str = "", source: str = ""
) -> int:
    """Print the report, write the files, and return the exit code.

    `source` is the file of a report that is rendered again.
    """
    result = replace(result, environment=result.environment or environment())
    file = source or path_of(reports.files, LOG) or "-"
    at = source_date()
    dated = replace(result, timing=Timing(at, 0.0)) if at else result
    made = Document(dated, types, "" if file == "-" else file)

    def page(whole: bool) -> Iterable[Block]:
        return terminal.report_page(made, reports.verbose, reports.quiet, whole)

    def annotations() -> str:
        lines = annotation_lines(made) if path_of(reports.files, GITHUB) is not None else []
        return "".join(f"{line}\n" for line in lines)

    texts = ((path, partial(FORMATS[form].draw, result, made, command))
             for form, path, _ in reports.files if form != GITHUB)  # fmt: skip
    show(page, *texts, commands=annotations)
    return exit_code(result)


def exit_code(result: RunResult) -> int:
    """Return the exit code of a run: 0, 1, 3, or 130 if interrupted."""
    if result.interrupted:
        return INTERRUPTED
    return {"fail": FAILED, "nothing": NOTHING}.get(result.outcome, 0)


def refuse_what_is_of_one(reports: Reports, others: Mapping[str, object], of: str) -> None:
    """Raise UsageError for options that work with one run only.

    `others` are more such options. `of` names the repeated argument.
    """
    given = {"--known": reports.known, **others, **reports.besides_log}
    if option := next((name for name, value in given.items() if value), None):
        hint = "one at a time; side by side only the terminal and a log (-o FILE.jsonl) are written"
        raise UsageError(f"{option} works with one {of} only", hint=hint)


def show_side_by_side(turns: Sequence[Turn], reports: Reports) -> int:
    """Show runs side by side, and write JSON if asked. Return the most serious exit code."""
    names = short_names([turn.address for turn in turns])
    sides = [
        Side(name, Document(turn.run) if turn.run else None, turn.error)
        for name, turn in zip(names, turns, strict=True)
    ]

    def page(whole: bool) -> Iterable[Block]:
        return side_by_side_page(sides, reports.verbose, whole)

    show(page, (path_of(reports.files, LOG), partial(text_of_several, turns)))
    codes = [NOT_STARTED if turn.run is None else exit_code(turn.run) for turn in turns]
    order = (INTERRUPTED, FAILED, NOT_STARTED, NOTHING, 0)
    return min(codes, key=order.index)


def show_survey(turns: Sequence[Turn], reports: Reports, types: Types) -> int:
    """Show a survey, and write JSON if asked. Return the exit code."""
    survey = Survey(tuple(turns))
    show(survey_page(survey, types), (path_of(reports.files, LOG), partial(text_of_several, turns)))
    if survey.interrupted:
        return INTERRUPTED
    if any(turn.run is None for turn in turns):
        return NOT_STARTED
    return 0 if survey.rows else NOTHING
