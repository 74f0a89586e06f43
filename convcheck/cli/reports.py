"""`convcheck report` and `known`, and the reports of other commands."""

import gc
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple
from datetime import date
from functools import partial
from importlib import import_module

from convcheck.cli.options import Reports, catalog, refuse_given, source_date
from convcheck.cli.outputs import GITHUB, check_outputs, named, path_of, show, tracked
from convcheck.documents.decode import read, read_each
from convcheck.documents.encode import text, text_of_several
from convcheck.errors import UsageError
from convcheck.files import write_text
from convcheck.gate.baseline import (
    KnownList,
    Written,
    baseline,
    hold,
    is_judged,
    read_known,
    released,
    updated,
)
from convcheck.judge.result import RunResult, Timing
from convcheck.plan.diff import check_comparable
from convcheck.plan.runner import Turn
from convcheck.plan.select import excerpt_of, of_cause, of_finding
from convcheck.plan.selection import Selection
from convcheck.plan.units import merge_shards
from convcheck.records import grouped, replace
from convcheck.report import FORMATS, LOG
from convcheck.report.document import Document, environment
from convcheck.report.draw import terminal
from convcheck.report.draw.markdown import annotation_lines
from convcheck.report.draw.side_by_side import side_by_side_page
from convcheck.report.draw.survey import survey_page
from convcheck.rules.cases import cases
from convcheck.rules.load import Catalog, data_dir
from convcheck.rules.model import Level
from convcheck.rules.types import Types
from convcheck.streams import no_commands, plural, say
from convcheck.survey.survey import Survey
from convcheck.vectors.corpus import open_corpus

FAILED, NOTHING, NOT_STARTED, INTERRUPTED = 1, 3, 4, 130  # exit codes


def hold_to_known(result: RunResult, loaded: Catalog, known: str | KnownList | None) -> RunResult:
    """Compare a run with known failures or their file, if given. Raises UsageError."""
    if known is None:
        return result
    listed = read_known(known, loaded) if isinstance(known, str) else known
    return hold(result, listed, every_id(loaded), date.today())


def every_id(loaded: Catalog) -> Callable[[tuple[str, ...]], Iterable[str]]:
    """Return a function from prefixes to the ids of matching specs' cases."""

    def every(starts: tuple[str, ...]) -> Iterator[str]:
        specs = (spec for name, spec in loaded.specs.items() if name.startswith(starts))
        return (case.id for spec in specs for case in cases(spec))

    return every


def write_reports(
    result: RunResult, reports: Reports, types: Types, command: str = "", source: str = ""
) -> int:
    """Print the report, write files, and return the exit code.

    `source` is the file of a drawn report.
    """
    result = replace(result, environment=result.environment or environment())
    file = source or path_of(reports.files, LOG) or "-"
    at = source_date()
    dated = replace(result, timing=Timing(at, 0.0)) if at else result
    made = Document(dated, types, "" if file == "-" else file)

    page = partial(terminal.report_page, made, reports.verbose, reports.quiet)

    def annotations() -> str:
        lines = annotation_lines(made) if path_of(reports.files, GITHUB) is not None else []
        return "".join(f"{line}\n" for line in lines)

    texts = ((path, partial(drawn, form, result, made, command))
             for form, path, _ in reports.files if form != GITHUB)  # fmt: skip
    show(page, *texts, commands=annotations)
    return _exit_code(result)


def drawn(form: str, result: RunResult, document: Document, command: str) -> str:
    """Return the text of a report, safe in CI logs. `command` is '' if unknown."""
    if form == LOG:
        return text(result)
    # only what is used is imported
    return no_commands(str(import_module(FORMATS[form]).render(document, command)))


def _exit_code(result: RunResult) -> int:
    if result.interrupted:
        return INTERRUPTED
    return {"fail": FAILED, "nothing": NOTHING}.get(result.outcome, 0)


def refuse_what_is_of_one(reports: Reports, others: Mapping[str, object], of: str) -> None:
    """Raise UsageError for options of one run only. `of` names the repeated argument."""
    hint = "one at a time; side by side only the terminal and a log (-o FILE.jsonl) are written"
    given = {"--known": reports.known, **others, **reports.besides_log}
    refuse_given(given, f"works with one {of} only", hint)


def show_side_by_side(turns: Sequence[Turn], reports: Reports) -> int:
    """Show runs, write logs, and return the most serious exit code."""
    page = partial(side_by_side_page, turns, reports.verbose)
    show(page, *((one.path, partial(text_of_several, turns)) for one in reports.files))
    codes = [NOT_STARTED if turn.run is None else _exit_code(turn.run) for turn in turns]
    order = (INTERRUPTED, FAILED, NOT_STARTED, NOTHING, 0)
    return min(codes, key=order.index)


def show_survey(turns: Sequence[Turn], reports: Reports, types: Types) -> int:
    """Show a survey, write logs, and return the exit code."""
    survey = Survey(tuple(turns))
    texts = ((one.path, partial(text_of_several, turns)) for one in reports.files)
    show(survey_page(survey, types), *texts)
    if survey.interrupted:
        return INTERRUPTED
    if any(turn.run is None for turn in turns):
        return NOT_STARTED
    return 0 if survey.rows else NOTHING


def main(
    files: tuple[str, ...],
    selection: Selection,
    level: Level | None,
    finding: str | None,
    cause: str | None,
    reports: Reports,
) -> int:
    """Draw a report from logs."""
    check_outputs(named(reports.files), {f"the report {name}": name for name in files})
    gc.disable()  # reports have no cycles, and the search for them costs a fifth of the time

    log = path_of(reports.files, LOG)
    if log and (finding or cause or level or any(astuple(selection))):
        hint = "leave out what selects: the log is the whole run, for `diff`"
        raise UsageError(f"-o {log} of a part of a run", hint=hint)
    loaded = catalog()
    each = tracked(files, "read", "report")
    found = [(f, run) for f in each for run in read_each(f, loaded.types.types, surveys=True)]
    runs = _merged(loaded, found)
    if any(run.survey for _, run in runs):
        return _show_survey(runs, reports, loaded)
    if len(runs) > 1:
        refuse_what_is_of_one(reports, {"--finding": finding, "--cause": cause}, "report")
    parts = []
    for name, run in runs:
        held = hold_to_known(run, loaded, reports.known)
        part = excerpt_of(held, loaded, selection) if any(astuple(selection)) else held
        part = part if cause is None else of_cause(part, cause)
        part = part if finding is None else of_finding(part, finding)
        parts.append((name, replace(part, level=level) if level else part))
    if len(parts) > 1:
        return show_side_by_side(_named(parts), reports)
    [(name, run)] = parts
    return write_reports(run, reports, loaded.types, source=name)


def _merged(loaded: Catalog, runs: list[tuple[str, RunResult]]) -> list[tuple[str, RunResult]]:
    of = {run.shard.of for _, run in runs if run.shard}
    if of and (len(runs) > 1 or of == {1}):
        corpus = open_corpus(loaded, "exhaustive", 0, data_dir("vectors"))
        sides = grouped((run.backend.address, (name, released(run))) for name, run in runs)
        return [("-", merge_shards(side, corpus.conversion)) for side in sides.values()]
    for path, run in runs[1:]:
        check_comparable(runs[0][1], run, (runs[0][0], path))
    return runs


def _show_survey(runs: list[tuple[str, RunResult]], reports: Reports, loaded: Catalog) -> int:
    if reports.besides_log or reports.known:
        said = "a survey is printed, and written as a log; it has no other formats"
        raise UsageError(said, hint="-o survey.jsonl, or no option")
    if not all(run.survey for _, run in runs):
        raise UsageError("a survey beside a run", hint="show one or the other")
    turns = [Turn(run.backend.address, run) for _, run in runs]
    return show_survey(turns, reports, loaded.types)


def _named(runs: Sequence[tuple[str, RunResult]]) -> list[Turn]:
    addresses = [run.backend.address for _, run in runs]
    alike = len(set(addresses)) < len(runs)
    named = [
        replace(run.backend, address=f"{run.backend.address} in {file}" if alike else address)
        for (file, run), address in zip(runs, addresses, strict=True)
    ]
    both = zip(runs, named, strict=True)
    return [Turn(backend.address, replace(run, backend=backend)) for (_, run), backend in both]


def known(out: str, report: str, update: bool, prune: bool) -> int:
    """Write or update a list of known failures."""
    loaded = catalog()
    if update and prune:
        raise UsageError("--update and --prune", hint="--update includes what --prune does")
    if not (update or prune) and os.path.isfile(out):
        hint = "--update brings it up to date; --prune removes what no longer holds"
        raise UsageError(f"{out} already exists", hint=hint)
    check_outputs({"FILE": out}, {"the report": report})
    result = read(report, loaded.types.types)
    if result.interrupted or result.ended_early or result.shard:
        hint = "`convcheck report` puts the shards together" if result.shard else "run it again"
        raise UsageError(f"{report} has only a part of a run", hint=hint)
    if result.own_inputs:
        hint = "report a run without --inputs"
        raise UsageError("a list is for the inputs of a tier, not for your own", hint=hint)
    if not any(map(is_judged, result.cases)):
        say("nothing was judged, and nothing written", err=True)
        return NOTHING
    write_list(result, loaded, out, update, prune)
    return 0


def write_list(
    result: RunResult, loaded: Catalog, out: str, update: bool, prune: bool = False
) -> None:
    """Write or update a list, and print changes."""
    if update or prune:
        listed = read_known(out, loaded)
        written = updated(result, listed, every_id(loaded), date.today(), prune)
    else:
        written = baseline(result)
    write_text(written.text, out)
    for line in _said(written):
        say(line, err=True)


def _said(written: Written) -> list[str]:
    kinds = {"new": written.new, "changed": written.changed, "narrowed": written.narrowed,
             "removed": written.removed}  # fmt: skip
    done = ", ".join(f"{count} {kind}" for kind, count in kinds.items() if count)
    lines = [f"{plural(written.entries, 'entry', 'entries')}: {done or 'nothing changed'}"]
    if written.judged:
        cases = plural(written.judged, "case")
        lines.append(f"{cases} judged: a run with this list fails if one of them is declined")
    if written.late:
        entries, places = plural(len(written.late), "entry", "entries"), map(str, written.late)
        lines.append(f"{entries} past the date until which it holds: {', '.join(places)}")
    if written.partly:
        entries = plural(written.partly, "entry", "entries")
        lines.append(f"{entries} left alone: the run has only some of the cases")
    return lines
