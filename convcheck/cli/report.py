"""`convcheck report`: a run's report again, from its JSON."""

from __future__ import annotations

import click

from convcheck.cli.options import catalog
from convcheck.cli.options import specs_option as specs
from convcheck.cli.reports import Reports, hold_to_known, report_options, write_reports

EXAMPLE = """\b
Examples:
  convcheck report run.json
  convcheck report run.json --html run.html --junit run.xml
  convcheck report run.json --known known.toml --github
"""


@click.command("report", epilog=EXAMPLE)
@click.argument("path", metavar="FILE")
@report_options
@specs
def command(path: str, reports: Reports, specs: tuple[str, ...]) -> int:
    """Render the report of a run again, from the JSON that `run --json` wrote.

    Nothing is asked. With --known, the run is held against that list. The exit code is the run's.
    """
    import gc

    from convcheck.report.json.decode import read
    from convcheck.rules.load import data_dir
    from convcheck.vectors.corpus import open_corpus

    gc.disable()  # a report has no cycles, and to look for them takes a fifth of the time

    loaded = catalog(specs)
    corpus = open_corpus(loaded, "exhaustive", 0, data_dir("vectors"))
    result = read(path, loaded.types.types, corpus.conversion)
    return write_reports(hold_to_known(result, loaded, reports.known), reports)
