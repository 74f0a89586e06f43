"""`convcheck report`: a run's report again, from its JSON."""

from __future__ import annotations

from dataclasses import astuple, replace
from typing import TYPE_CHECKING

import click

from convcheck.cli.options import catalog, selection_options
from convcheck.cli.options import specs_option as specs
from convcheck.cli.outputs import check_outputs
from convcheck.cli.reports import Reports, hold_to_known, report_options, write_reports
from convcheck.errors import UsageError

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
"""


@click.command("report", epilog=EXAMPLE)
@click.argument("path", metavar="FILE")
@selection_options
@click.option(
    "--level",
    type=click.Choice(["normative", "implied", "disputed"]),
    help="Fail on rules of this level and stronger, instead of the run's level.",
)
@click.option("--finding", metavar="ID", help="Only this finding, by its id or its first digits.")
@click.option(
    "--cause", metavar="NAME",
    help="Only what this cause explains: its letter in the report, or its name in the catalogue.",
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
    select cases are those of `run`. The exit code is for what is shown.
    """
    import gc

    from convcheck.report.json.decode import read
    from convcheck.rules.load import data_dir
    from convcheck.vectors.corpus import open_corpus

    check_outputs(reports.outputs, {"the report": path})
    gc.disable()  # a report has no cycles, and to look for them takes a fifth of the time

    if "json" in reports.files and (finding or cause or level or any(astuple(selection))):
        hint = "leave out what selects: --json is the whole run, for `diff` and `merge`"
        raise UsageError("--json of a part of a run", hint=hint)
    loaded = catalog(specs)
    corpus = open_corpus(loaded, "exhaustive", 0, data_dir("vectors"))
    result = read(path, loaded.types.types, corpus.conversion)
    held = hold_to_known(result, loaded, reports.known)
    part = _part(held, loaded, selection, finding, cause)
    gated = replace(part, level=level) if level else part
    return write_reports(gated, reports, loaded.types)


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
