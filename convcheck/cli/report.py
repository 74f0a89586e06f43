"""`convcheck report`: render a run's report from its JSON."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import astuple

from convcheck.cli.options import Reports, catalog
from convcheck.cli.outputs import check_outputs, named, path_of
from convcheck.cli.progress import tracked
from convcheck.cli.reports import (
    hold_to_known,
    refuse_what_is_of_one,
    show_side_by_side,
    show_survey,
    write_reports,
)
from convcheck.errors import UsageError
from convcheck.gate.known import released
from convcheck.judge.result import RunResult
from convcheck.plan.diff import check_comparable
from convcheck.plan.excerpt import excerpt_of, of_cause, of_finding
from convcheck.plan.merge import merge_shards
from convcheck.plan.runner import Turn
from convcheck.plan.selection import Selection
from convcheck.records import replace
from convcheck.report.formats import LOG
from convcheck.report.json.decode import read_each
from convcheck.rules.load import Catalog, data_dir
from convcheck.rules.model import Level
from convcheck.vectors.corpus import open_corpus


def main(
    files: tuple[str, ...],
    selection: Selection,
    level: Level | None,
    finding: str | None,
    cause: str | None,
    reports: Reports,
) -> int:
    """Render the report of a run from its JSON."""
    check_outputs(named(reports.files), {f"the report {name}": name for name in files})
    gc.disable()  # reports have no cycles, and the search for them costs a fifth of the time

    log = path_of(reports.files, LOG)
    if log and (finding or cause or level or any(astuple(selection))):
        hint = "leave out what selects: the log is the whole run, for `diff`"
        raise UsageError(f"-o {log} of a part of a run", hint=hint)
    loaded = catalog()
    runs = _merged(loaded, _read(loaded, files))
    if any(run.survey for _, run in runs):
        return _show_survey(runs, reports, loaded)
    if len(runs) > 1:
        refuse_what_is_of_one(reports, {"--finding": finding, "--cause": cause}, "report")
    parts = []
    for name, run in runs:
        held = hold_to_known(run, loaded, reports.known)
        part = _part(held, loaded, selection, finding, cause)
        parts.append((name, replace(part, level=level) if level else part))
    if len(parts) > 1:
        return show_side_by_side(_named(parts), reports)
    [(name, run)] = parts
    return write_reports(run, reports, loaded.types, source=name)


def _read(loaded: Catalog, files: Sequence[str]) -> list[tuple[str, RunResult]]:
    types = loaded.types.types
    each = tracked(files, "read", "report")
    return [(path, run) for path in each for run in read_each(path, types, surveys=True)]


def _merged(loaded: Catalog, runs: list[tuple[str, RunResult]]) -> list[tuple[str, RunResult]]:
    """Merge the shards of each backend's run.

    Raises UsageError if shards do not fit together, or runs used other vectors than the first.
    """
    of = {run.shard.of for _, run in runs if run.shard}
    if of and (len(runs) > 1 or of == {1}):
        corpus = open_corpus(loaded, "exhaustive", 0, data_dir("vectors"))
        sides: dict[str, list[tuple[str, RunResult]]] = {}
        for name, run in runs:
            sides.setdefault(run.backend.address, []).append((name, released(run)))
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
    """Return runs by backend, with file names if several have the same backend."""
    addresses = [run.backend.address for _, run in runs]
    alike = len(set(addresses)) < len(runs)
    named = [
        replace(run.backend, address=f"{run.backend.address} in {file}" if alike else address)
        for (file, run), address in zip(runs, addresses, strict=True)
    ]
    both = zip(runs, named, strict=True)
    return [Turn(backend.address, replace(run, backend=backend)) for (_, run), backend in both]


def _part(
    result: RunResult, loaded: Catalog, selection: Selection, finding: str | None,
    cause: str | None,
) -> RunResult:  # fmt: skip
    if any(astuple(selection)):
        result = excerpt_of(result, loaded, selection)
    if cause is not None:
        result = of_cause(result, cause)
    if finding is not None:
        result = of_finding(result, finding)
    return result
