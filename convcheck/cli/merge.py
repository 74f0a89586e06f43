"""`convcheck merge`: the shards of a run, put together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from convcheck.cli.options import catalog
from convcheck.cli.options import specs_option as specs
from convcheck.cli.outputs import check_outputs
from convcheck.cli.progress import progress, progress_option
from convcheck.cli.reports import (
    Reports,
    hold_to_known,
    report_options,
    write_reports,
)
from convcheck.errors import UsageError

if TYPE_CHECKING:
    from convcheck.rules.load import Catalog

EXAMPLE = """\b
Examples:
  convcheck run --backend ort --shard 1/4 --json shard-1.json     and so on, on four machines
  convcheck merge shard-*.json --json run.json --html run.html --known known.toml
"""


@click.command("merge", epilog=EXAMPLE)
@click.argument("paths", nargs=-1, required=True, metavar="FILE...")
@report_options
@progress_option
@specs
def command(paths: tuple[str, ...], reports: Reports, specs: tuple[str, ...]) -> int:
    """Put the shards of a run or of a survey together, as if it had been run in one piece.

    Every shard must be there once, and all must be of the same run; otherwise the exit code is 2.
    Known failures are held against the whole. The exit code is the run's.
    """
    import gc

    from convcheck.gate.known import released
    from convcheck.plan.merge import merge_shards
    from convcheck.report.json.decode import read
    from convcheck.rules.load import data_dir
    from convcheck.vectors.corpus import open_corpus

    check_outputs(reports.outputs, {f"shard {n}": path for n, path in enumerate(paths, 1)})
    loaded = catalog(specs)
    if _is_survey(paths[0]):
        return _merge_surveys(paths, reports, loaded)
    gc.disable()  # a report has no cycles, and to look for them takes a fifth of the time
    corpus = open_corpus(loaded, "exhaustive", 0, data_dir("vectors"))
    shards = []
    with progress(len(paths), "merge", "shard") as advance:
        for path in paths:
            shards.append((path, released(read(path, loaded.types.types))))
            advance()
    result = merge_shards(shards, corpus.conversion)
    return write_reports(hold_to_known(result, loaded, reports.known), reports, loaded.types)


def _is_survey(path: str) -> bool:
    """Return whether a file begins as a survey does."""
    if not Path(path).is_file():
        return False
    with Path(path).open("rb") as file:
        return b'"convcheck-survey/' in file.read(64)


def _merge_surveys(paths: tuple[str, ...], reports: Reports, loaded: Catalog) -> int:
    from convcheck.cli.survey import report_survey
    from convcheck.report.json.survey_merge import merge_surveys, read_shard

    if reports.files.keys() - {"json"} or reports.known or reports.github:
        said = "a merged survey is printed, and written as JSON; it has no other formats"
        raise UsageError(said, hint="--json survey.json, or no option")
    types = loaded.types.types
    whole = merge_surveys([(path, read_shard(path, types)) for path in paths])
    return report_survey(whole, loaded.types, reports.files.get("json"))
