"""`convcheck site`: build static pages from reports of runtimes and releases."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from pathlib import Path

from convcheck.cli.options import catalog
from convcheck.cli.outputs import tracked
from convcheck.errors import UsageError
from convcheck.report.site.data import SiteRun, add_report, site_of
from convcheck.report.site.folder import check_folder, write_site
from convcheck.report.site.names import RunName
from convcheck.report.site.pages import made_from, site_files
from convcheck.streams import plural, say


def main(folder: str, reports: Sequence[str]) -> int:
    """Write static pages from JSON reports of runtimes and releases."""
    if not reports:
        hint = "make one with: convcheck run --backend ort -o ort.jsonl"
        raise UsageError("no report is named", hint=hint)
    gc.disable()  # reports have no cycles, and the search for them costs half of the time
    target = Path(folder)
    check_folder(target)
    types, runs = catalog().types.types, dict[RunName, SiteRun]()
    for path in tracked(dict.fromkeys(reports), "read", "report"):
        add_report(runs, path, types)
    site = site_of([*runs.values()])
    pages = len(site.rules) + sum(len(run.rules) + 1 for run in site.runs)  # roughly
    count, size = write_site(tracked(site_files(site), "write", "page", pages), target)
    said = f"{plural(count, 'file')}, {size / 1e6:,.1f} MB"
    say(f"{target / 'index.html'}: {made_from(site)}, {said}", err=True)
    return 0
