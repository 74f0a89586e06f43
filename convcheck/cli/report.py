"""`convcheck report`: a run's report again, from its JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from typing import TYPE_CHECKING

import click

from convcheck.cli.options import catalog, selection_options
from convcheck.cli.options import specs_option as specs
from convcheck.cli.outputs import check_outputs
from convcheck.cli.reports import Reports, hold_to_known, report_options, write_reports
from convcheck.cli.several import refuse_what_is_of_one, show_side_by_side
from convcheck.errors import UsageError
from convcheck.records import replace

if TYPE_CHECKING:
    from convcheck.judge.result import RunResult
    from convcheck.plan.runner import Turn
    from convcheck.plan.selection import Selection
    from convcheck.rules.load import Catalog
    from convcheck.rules.model import Level

EXAMPLE = """\b
Examples:
  convcheck report run.json
  convcheck report run.json --html run.html --junit run.xml
  convcheck report run.json --known known.toml --github
  convcheck report run.json onnx.Cast-21 --to float8 --where saturate=0
  convcheck report run.json --finding 3f2a91c4 -v
  convcheck report run.json --cause B
  convcheck report ort.json openvino.json
  convcheck report shard-*.json --json run.json
"""


@click.command("report", epilog=EXAMPLE)
@click.argument("path", metavar="FILE...")
@selection_options
@click.option(
    "--level",
    type=click.Choice(["normative", "implied", "disputed"]),
    help="Fail on rules of this level and stronger, instead of the run's level.",
)
@click.option("--finding", metavar="ID", help="Only this finding, by its id or its first digits.")
@click.option(
    "--cause", metavar="NAME",
    help="Only cases in which this cause is at work: its letter or its name.",
)  # fmt: skip
@report_options
@specs
def command(
    path: str,
    selection: Selection,
    level: Level | None,
    finding: str | None,
    cause: str | None,
    reports: Reports,
    specs: tuple[str, ...],
) -> int:
    """Render the report of a run again, from the JSON that `run --json` wrote.

    No backend is asked. With --known, the run is held against that list. SPEC and the options that
    select cases are those of `run`. Several files, all of which but the first have to end in .json,
    are shown side by side, with the causes that they share; the shards of a run are put together,
    as if it had been run in one piece. The exit code is for what is shown: of several runs the
    gravest.
    """
    import gc

    files, specs_named = _files(path, selection.specs)
    selection = replace(selection, specs=specs_named)
    check_outputs(reports.outputs, {f"the report {name}": name for name in files})
    gc.disable()  # a report has no cycles, and to look for them takes a fifth of the time

    if "json" in reports.files and (finding or cause or level or any(astuple(selection))):
        hint = "leave out what selects: --json is the whole run, for `diff`"
        raise UsageError("--json of a part of a run", hint=hint)
    loaded = catalog(specs)
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


def _files(path: str, words: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the files among some words, with the first, and the words that are none."""
    more = [word for word in words if word.endswith(".json")]
    return tuple(dict.fromkeys((path, *more))), tuple(word for word in words if word not in more)


def _read(loaded: Catalog, files: Sequence[str]) -> list[tuple[str, RunResult]]:
    """Return the runs in files, each with the name of its file."""
    from convcheck.cli.progress import progress
    from convcheck.report.json.decode import read_each

    runs = []
    with progress(len(files), "read", "report") as advance:
        for path in files:
            runs += [(path, run) for run in read_each(path, loaded.types.types, surveys=True)]
            advance()
    return runs


def _merged(loaded: Catalog, runs: list[tuple[str, RunResult]]) -> list[tuple[str, RunResult]]:
    """Put shards of a run together, of each backend. Raises UsageError where that cannot be, and
    where runs asked other vectors than the first.
    """
    from convcheck.plan.diff import check_comparable

    of = {run.shard.of for _, run in runs if run.shard}
    if of and (len(runs) > 1 or of == {1}):
        from convcheck.gate.known import released
        from convcheck.plan.merge import merge_shards
        from convcheck.rules.load import data_dir
        from convcheck.vectors.corpus import open_corpus

        corpus = open_corpus(loaded, "exhaustive", 0, data_dir("vectors"))
        sides: dict[str, list[tuple[str, RunResult]]] = {}
        for name, run in runs:
            sides.setdefault(run.backend.address, []).append((name, released(run)))
        return [("-", merge_shards(side, corpus.conversion)) for side in sides.values()]
    for path, run in runs[1:]:
        check_comparable(runs[0][1], run, (runs[0][0], path))
    return runs


def _show_survey(runs: list[tuple[str, RunResult]], reports: Reports, loaded: Catalog) -> int:
    from convcheck.cli.survey import report_survey
    from convcheck.plan.runner import Turn

    if reports.files.keys() - {"json"} or reports.known or reports.github:
        said = "a survey is printed, and written as JSON; it has no other formats"
        raise UsageError(said, hint="--json survey.json, or no option")
    if not all(run.survey for _, run in runs):
        raise UsageError("a survey beside a run", hint="show one or the other")
    turns = [Turn(run.backend.address, run) for _, run in runs]
    return report_survey(turns, loaded.types, reports.files.get("json"))


def _named(runs: Sequence[tuple[str, RunResult]]) -> list[Turn]:
    """Return runs by their backends; where several are of one, by their files as well."""
    from convcheck.plan.runner import Turn

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
    """Return what of a run is selected. Raises UsageError where that is nothing."""
    from convcheck.plan.excerpt import excerpt_of, of_cause, of_finding

    if any(astuple(selection)):
        result = excerpt_of(result, loaded, selection)
    if cause is not None:
        result = of_cause(result, cause)
    if finding is not None:
        result = of_finding(result, finding)
    return result
