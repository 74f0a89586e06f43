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
    from collections.abc import Iterator, Sequence

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

    They need no server and no network: a page for each rule, runtime and finding, and badges. A
    report is what `convcheck run --json` writes, of
    one backend or several, or what `convcheck history` keeps; of each runtime, release and spec
    there is one. DIR must be new, be empty, or hold an earlier site, which is replaced as a whole.
    Exit codes: 0, or 2 for bad input.
    """
    from convcheck.report.site.folder import check_folder, write_site
    from convcheck.report.site.pages import Pages

    if not reports:
        hint = "make one with: convcheck run --backend ort --json ort.json"
        raise UsageError("no report is named", hint=hint)
    gc.disable()  # a report has no cycles, and to look for them takes half of the time
    target = Path(folder)
    check_folder(target)
    pages = Pages(_site(catalog(specs), reports))
    count, size = write_site(_drawn(pages), target)
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


def _drawn(pages: Pages) -> Iterator[tuple[str, bytes]]:
    with progress(pages.count, "write", "page") as advance:
        for one in pages.files():
            yield one
            advance()
