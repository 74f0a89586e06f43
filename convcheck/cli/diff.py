"""`convcheck diff`: what changed between two runs."""

from __future__ import annotations

from functools import partial

from rich.console import Console

from convcheck.cli.options import catalog
from convcheck.cli.outputs import check_outputs
from convcheck.files import write_all
from convcheck.plan.diff import RunDifference, diff_runs
from convcheck.report.draw.console import is_terminal, put
from convcheck.report.draw.diff import diff_page
from convcheck.report.json.codec import json_text
from convcheck.report.json.decode import read

WORSE = 1


def main(
    old: str,
    new: str,
    fail: bool,
    json_path: str | None,
    verbose: bool,
) -> int:
    """Show what changed between two runs, given the JSON reports of both."""
    check_outputs({"--json": json_path}, {"OLD": old, "NEW": new})
    types = catalog().types.types
    before, after = read(old, types), read(new, types)
    found = diff_runs(before, after)
    _report(found, json_path, verbose)
    return WORSE if fail and found.worse else 0


def _report(found: RunDifference, json_path: str | None, verbose: bool) -> None:
    console = Console(stderr=json_path == "-")
    every = verbose or not is_terminal(console)  # of what is in a file nothing is cut

    def page() -> None:
        put(diff_page(found, every), console)

    write_all([(json_path, partial(json_text, found))] if json_path else [], page)
