"""`convcheck site`: static pages from the reports of runtimes and releases."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING

import click

from convcheck.cli.options import catalog
from convcheck.cli.options import specs_option as specs
from convcheck.cli.progress import progress, progress_option
from convcheck.errors import UsageError
from convcheck.streams import say
from convcheck.wording import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from convcheck.report.site.folder import EarlierSite
    from convcheck.report.site.model import Site
    from convcheck.report.site.pages import Pages
    from convcheck.report.site.runs import SiteRun
    from convcheck.rules.load import Catalog

EXAMPLE = """\b
Examples:
  convcheck site public ort.json openvino.json
  convcheck site public envs/reports/*/*.json
"""


@click.command("site", epilog=EXAMPLE)
@click.argument("folder", metavar="DIR")
@click.argument("reports", metavar="REPORT...", nargs=-1)
@progress_option
@specs
def command(folder: str, reports: Sequence[str], specs: tuple[str, ...]) -> int:
    """Write static pages of what runtimes do, from JSON reports of any number of releases.

    They need no server and no network: a page for each rule, runtime, cause and finding, questions
    that compare runtimes, badges, and a feed of what changed. A report is what `convcheck run
    --json` writes, of one backend or several, or what `convcheck history` keeps; of each runtime,
    release and spec there is one. DIR must be new, be empty, or hold an earlier site, which is
    replaced as a whole. Exit codes: 0, or 2 for bad input.
    """
    from convcheck.report.site.folder import earlier_site, write_site
    from convcheck.report.site.pages import Pages

    if not reports:
        hint = "make one with: convcheck run --backend ort --json ort.json"
        raise UsageError("no report is named", hint=hint)
    gc.disable()  # a report has no cycles, and to look for them takes half of the time
    target = Path(folder)
    earlier = earlier_site(target)
    site = _site(catalog(specs), reports)
    pages = Pages(site, _dates(site, earlier))
    count, size = write_site(_drawn(pages), target, pages.dates)
    said = f"{plural(count, 'file')}, {size / 1e6:,.1f} MB"
    say(f"{target / 'index.html'}: {pages.made_from}, {said}", err=True)
    return 0


def _site(loaded: Catalog, reports: Sequence[str]) -> Site:
    from convcheck.report.site.model import site_of
    from convcheck.report.site.runs import gathered_runs, read_runs

    files = dict.fromkeys(reports)

    def runs() -> Iterator[SiteRun]:
        with progress(len(files), "read", "report") as advance:
            for path in files:
                yield from read_runs(path, loaded.types.types)
                advance()

    return site_of(gathered_runs(runs()))


def _dates(site: Site, earlier: EarlierSite) -> Mapping[str, str]:
    """Return since when each entry of the feed is in it: those of the site before keep theirs."""
    from datetime import UTC, datetime

    from convcheck.cli.reports import source_date
    from convcheck.judge.words import timestamp
    from convcheck.report.site.changes import changes_of

    now = timestamp(source_date() or datetime.now(UTC))
    ids = [change.id for one in site.runtimes for change in changes_of(one)]
    return {one: (earlier.dates or {}).get(one, now) for one in ids}


def _drawn(pages: Pages) -> Iterator[tuple[str, bytes]]:
    with progress(pages.count, "write", "page") as advance:
        for one in pages.files():
            yield one
            advance()
