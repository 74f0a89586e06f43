"""`convcheck site`: static pages from the reports of runtimes and releases."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from pathlib import Path

from convcheck.cli.options import catalog
from convcheck.cli.progress import progress
from convcheck.errors import UsageError
from convcheck.report.site.folder import check_folder, write_site
from convcheck.report.site.model import Site, site_of
from convcheck.report.site.pages import Pages
from convcheck.report.site.runs import SiteRun, gathered_runs, read_runs
from convcheck.rules.load import Catalog
from convcheck.streams import say
from convcheck.wording import plural


def main(folder: str, reports: Sequence[str]) -> int:
    """Write static pages of what runtimes do, from JSON reports of any number of releases."""
    if not reports:
        hint = "make one with: convcheck run --backend ort --json ort.json"
        raise UsageError("no report is named", hint=hint)
    gc.disable()  # a report has no cycles, and to look for them takes half of the time
    target = Path(folder)
    check_folder(target)
    pages = Pages(_site(catalog(), reports))
    count, size = write_site(_drawn(pages), target)
    said = f"{plural(count, 'file')}, {size / 1e6:,.1f} MB"
    say(f"{target / 'index.html'}: {pages.made_from}, {said}", err=True)
    return 0


def _site(loaded: Catalog, reports: Sequence[str]) -> Site:
    files = dict.fromkeys(reports)

    def runs() -> Iterator[SiteRun]:
        with progress(len(files), "read", "report") as advance:
            for path in files:
                yield from read_runs(path, loaded.types.types)
                advance()

    return site_of(gathered_runs(runs()))


def _drawn(pages: Pages) -> Iterator[tuple[str, bytes]]:
    with progress(pages.count, "write", "page") as advance:
        for one in pages.files():
            yield one
            advance()
