"""`convcheck diff`: the changes between two runs."""

from __future__ import annotations

from functools import partial

from convcheck.cli.options import catalog
from convcheck.cli.outputs import Output, check_outputs, named, show
from convcheck.plan.diff import diff_runs
from convcheck.report.draw.diff import diff_page
from convcheck.report.json.codec import json_text
from convcheck.report.json.decode import read

WORSE = 1


def main(old: str, new: str, fail: bool, outputs: tuple[Output, ...], verbose: bool) -> int:
    """Show the changes between two runs, from their JSON reports."""
    check_outputs(named(outputs), {"OLD": old, "NEW": new})
    types = catalog().types.types
    found = diff_runs(read(old, types), read(new, types))
    # nothing is cut in files
    texts = ((one.path, partial(json_text, found)) for one in outputs)
    show(lambda whole: diff_page(found, verbose or whole), *texts)
    return WORSE if fail and found.worse else 0
