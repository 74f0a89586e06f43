"""`convcheck diff`: the changes between two runs."""

from __future__ import annotations

from functools import partial

from convcheck.cli.options import catalog
from convcheck.cli.outputs import check_outputs, show
from convcheck.plan.diff import diff_runs
from convcheck.report.draw.diff import diff_page
from convcheck.report.json.codec import json_text
from convcheck.report.json.decode import read

WORSE = 1


def main(old: str, new: str, fail: bool, json_path: str | None, verbose: bool) -> int:
    """Show the changes between two runs, from their JSON reports."""
    check_outputs({"--json": json_path}, {"OLD": old, "NEW": new})
    types = catalog().types.types
    found = diff_runs(read(old, types), read(new, types))
    # nothing is cut in files
    show(lambda whole: diff_page(found, verbose or whole), (json_path, partial(json_text, found)))
    return WORSE if fail and found.worse else 0
