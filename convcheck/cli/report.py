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
from convcheck.cli.turns import Turn
from convcheck.errors import UsageError
from convcheck.records import replace

if TYPE_CHECKING:
    from convcheck.judge.result import RunResult
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
    are shown side by side, with the causes that they share. The exit code is for what is shown: of
    several files the gravest.
    """
    import gc

    files, specs_named = _files(path, selection.specs)
    selection = replace(selection, specs=specs_named)
    check_outputs(reports.outputs, {f"the report {name}": name for name in files})
    gc.disable()  # a report has no cycles, and to look for them takes a fifth of the time

    if "json" in reports.files and (finding or cause or level or any(astuple(selection))):
        hint = "leave out what selects: --json is the whole run, for `diff` and `merge`"
        raise UsageError("--json of a part of a run", hint=hint)
    loaded = catalog(specs)
    if len(files) > 1:
        refuse_what_is_of_one(reports, {"--finding": finding, "--cause": cause}, "report")
    read_all = _read(loaded, files)
    held = [hold_to_known(result, loaded, reports.known) for result in read_all]
    parts = [_part(result, loaded, selection, finding, cause) for result in held]
    gated = [replace(part, level=level) if level else part for part in parts]
    if len(gated) > 1:
        return show_side_by_side(_named(files, gated), reports)
    return write_reports(gated[0], reports, loaded.types, source=files[0])


def _files(path: str, words: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the files among some words, with the first, and the words that are none."""
    more = [word for word in words if word.endswith(".json")]
    return tuple(dict.fromkeys((path, *more))), tuple(word for word in words if word not in more)


def _read(loaded: Catalog, files: Sequence[str]) -> list[RunResult]:
    """Return the runs in files. Raises UsageError where one cannot be read, or asked other vectors
    than the first.
    """
    from convcheck.plan.diff import check_comparable
    from convcheck.report.json.decode import read

    runs = [read(path, loaded.types.types) for path in files]
    for path, run in zip(files[1:], runs[1:], strict=True):
        check_comparable(runs[0], run, (files[0], path), instead="")
    return runs


def _named(files: Sequence[str], runs: Sequence[RunResult]) -> list[Turn[RunResult]]:
    """Return runs by their backends; where several are of one, by their files as well."""
    addresses = [run.backend.address for run in runs]
    if len(set(addresses)) < len(runs):
        addresses = [f"{a} in {file}" for a, file in zip(addresses, files, strict=True)]
    named = [
        replace(run, backend=replace(run.backend, address=address))
        for run, address in zip(runs, addresses, strict=True)
    ]
    return [Turn(run.backend.address, run) for run in named]


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
