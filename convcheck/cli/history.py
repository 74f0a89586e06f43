"""`convcheck history`: the history of each cause over releases."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from convcheck import __version__, signals
from convcheck.backends.process.environment import SERVER
from convcheck.causes.catalogue import causes_of
from convcheck.cli.asking import Asking, corpus_of_run, selected
from convcheck.cli.options import RunOptions, catalog
from convcheck.errors import UnavailableError, UsageError
from convcheck.files import write_whole
from convcheck.history.environments import NotInstalledError, environments_folder, made_environment
from convcheck.history.matrix import AskedRelease, bisect, history_of
from convcheck.history.releases import Release, Wanted, find_releases, parse_wanted
from convcheck.plan.selection import Selection
from convcheck.report.draw.console import put
from convcheck.report.draw.history import bisected_page, history_page
from convcheck.report.json.decode import read
from convcheck.report.json.encode import text
from convcheck.rules.causes import cause_files
from convcheck.rules.load import Catalog
from convcheck.streams import meant, plural, say

NOTHING, INTERRUPTED = 3, 130


class _StoppedError(Exception):
    """Ctrl-C was pressed during a release."""


def main(
    releases: str,
    selection: Selection,
    folder: str | None,
    cause: str | None,
    jobs: int | None,
    timeout: float,
) -> int:
    """Run every release, or bisect them."""
    wanted, loaded = parse_wanted(releases), catalog()
    if cause is not None:
        _check_cause(cause, loaded)
    options, cases = RunOptions(jobs, timeout), selected(loaded, selection, [wanted.runtime])
    asking = Asking(cases, corpus_of_run(loaded, options, cases), options)
    work = HistoryWork(wanted, loaded, asking, environments_folder(folder))
    found = find_releases(wanted)
    try:
        return _bisect(work, found, cause) if cause else _tell(work, found)
    except (_StoppedError, KeyboardInterrupt):
        signals.handled()
        say(f"the same command goes on from {work.reports}", err=True)
        return INTERRUPTED


def _check_cause(name: str, loaded: Catalog) -> None:
    known = [cause.name for cause in causes_of(loaded)]
    if name not in known:
        hint = meant(name, known, "the history without --bisect names those that it finds")
        raise UsageError(f"there is no cause {name!r}", hint=hint)


@dataclass(frozen=True)
class HistoryWork:
    """The tested releases, and the folder of environments and reports."""

    wanted: Wanted
    loaded: Catalog
    asking: Asking
    #: The folder of environments.
    folder: Path

    @property
    def reports(self) -> Path:
        """Return the folder of reports with the same cases, vectors, causes and code."""
        cases, corpus = self.asking.cases, self.asking.corpus
        asked = [*map(str, corpus.digests(cases)), *(case.id for case in cases)]
        causes = [file.text for file in cause_files(self.loaded)]
        text = "\n".join((__version__, SERVER.read_text("utf-8"), *asked, *causes))
        return self.folder / "reports" / hashlib.sha256(text.encode()).hexdigest()[:12]


def _ask(work: HistoryWork, release: Release) -> AskedRelease:
    """Return a release's results, from its stored report or from a new run."""
    path = work.reports / f"{work.wanted.package}-{release.version}.json"
    if path.is_file():
        return AskedRelease(release, read(str(path), work.loaded.types.types))
    say(f"{work.wanted.package} {release}", err=True)
    try:
        python = made_environment(work.wanted, release, work.folder)
        address = f"env:{python}:{work.wanted.runtime}"
        run = work.asking.ask(address)
    except (NotInstalledError, UnavailableError) as error:
        return AskedRelease(release, None, str(error).replace("\n", "; "))
    if run.interrupted:
        raise _StoppedError
    write_whole(path, text(run).encode(), folders=True)
    return AskedRelease(release, run)


def _tell(work: HistoryWork, releases: Sequence[Release]) -> int:
    asked = [_ask(work, release) for release in releases]
    found = history_of(asked)
    count, cases = plural(len(asked), "release"), plural(len(work.asking.cases), "case")
    say(f"{work.wanted}: {count}, {cases}, edge inputs")
    if not any(release.date for release in releases):
        say("the package index has no dates")
    put(history_page(found))
    say(f"\nreports: {work.reports}")
    judged = {"pass", "tolerated", "fail", "refused", "crashed", "inconsistent"}
    if any(one.verdict in judged for run in found.runs.values() for one in run.cases):
        return 0
    say("nothing was judged", err=True)
    return NOTHING


def _bisect(work: HistoryWork, releases: Sequence[Release], cause: str) -> int:
    found = bisect(releases, lambda release: _ask(work, release), cause)
    put(bisected_page(found, cause))
    return 0 if found.between else NOTHING
