"""`convcheck site`: build static pages from reports of runtimes and releases."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from pathlib import Path

from convcheck.cli.options import catalog
from convcheck.cli.progress import tracked
from convcheck.errors import UsageError
from convcheck.report.site.folder import check_folder, write_site
from convcheck.report.site.model import site_of
from convcheck.report.site.names import RunName
from convcheck.report.site.pages import Pages
from convcheck.report.site.runs import SiteRun, add_report
from convcheck.streams import say
from convcheck.wording import plural


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
    pages = Pages(site_of([*runs.values()]))
    count, size = write_site(tracked(pages.files(), "write", "page", pages.count), target)
    said = f"{plural(count, 'file')}, {size / 1e6:,.1f} MB"
    say(f"{target / 'index.html'}: {pages.made_from}, {said}", err=True)
    return 0
