"""`convcheck history`: what became of each cause, release by release."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from convcheck import signals
from convcheck.cli.options import catalog, selection_options
from convcheck.cli.options import specs_option as specs
from convcheck.cli.progress import progress_option
from convcheck.cli.run_options import JOBS, TIMEOUT, RunOptions
from convcheck.errors import UnavailableError, UsageError
from convcheck.streams import say

if TYPE_CHECKING:
    from convcheck.history.matrix import AskedRelease
    from convcheck.history.releases import Release, Wanted
    from convcheck.plan.selection import Selection
    from convcheck.rules.load import Catalog
    from convcheck.rules.model import Case
    from convcheck.vectors.corpus import Corpus

NOTHING, INTERRUPTED = 3, 130
EXAMPLE = """\b
Examples:
  convcheck history onnxruntime==1.15.1..1.31.1 onnx.Cast-19
  convcheck history onnxruntime==1.16.0..1.31.1 --to float8 --env-dir envs --jobs 4
  convcheck history onnxruntime==1.16.0..1.31.1 onnx.Cast-19 --bisect nan-to-max
"""


class _StoppedError(Exception):
    """Somebody pressed Ctrl-C while a release was asked."""


@click.command("history", epilog=EXAMPLE)
@click.argument("releases", metavar="PACKAGE==FIRST..LAST")
@selection_options
@click.option(
    "--env-dir", "folder", metavar="DIR",
    help="Keep environments and reports here, to be used again. Default: in the user's cache.",
)  # fmt: skip
@click.option(
    "--bisect", "cause", metavar="CAUSE",
    help="Find the release with which this cause came or went, by halves.",
)  # fmt: skip
@JOBS
@TIMEOUT
@progress_option
@specs
def command(
    releases: str,
    selection: Selection,
    folder: str | None,
    cause: str | None,
    jobs: int | None,
    timeout: float,
    specs: tuple[str, ...],
) -> int:
    """Ask every release of a runtime in an environment of its own, and tell what became of causes.

    PACKAGE is onnxruntime, openvino or torch. FIRST and LAST are releases, both included. The
    environments are made with uv, or pip, from the package index that it is set to use. All of them
    are kept, as folders DIR/PACKAGE-VERSION, and so is the report of each release: the same command
    goes on from an interrupted one. A release whose report is there needs no environment: its
    folder may be deleted. A release that cannot be installed, or does not start, is a column that
    says so.

    Exit codes: 0 the history is printed, 2 bad input, 3 nothing was judged, 4 nothing can be
    installed, 130 interrupted.
    """
    from convcheck.history.environments import environments_folder
    from convcheck.history.releases import find_releases, parse_wanted

    wanted, loaded = parse_wanted(releases), catalog(specs)
    if cause is not None:
        _check_cause(cause, loaded)
    work = _work(wanted, loaded, selection, environments_folder(folder), (jobs, timeout))
    found = find_releases(wanted)
    try:
        return _bisect(work, found, cause) if cause else _tell(work, found)
    except (_StoppedError, KeyboardInterrupt):
        signals.handled()
        say(f"the same command goes on from {work.reports}", err=True)
        return INTERRUPTED


def _check_cause(name: str, loaded: Catalog) -> None:
    from convcheck.causes.catalogue import causes_of
    from convcheck.wording import meant

    known = [cause.name for cause in causes_of(loaded)]
    if name not in known:
        hint = meant(name, known, "the history without --bisect names those that it finds")
        raise UsageError(f"there is no cause {name!r}", hint=hint)


@dataclass(frozen=True)
class HistoryWork:
    """What each release is asked, and where its environment and its report are kept."""

    wanted: Wanted
    #: The specs and types.
    loaded: Catalog
    #: What is asked.
    cases: Sequence[Case]
    #: The vectors that are asked.
    corpus: Corpus
    #: How it is asked.
    options: RunOptions
    #: The folder of the environments.
    folder: Path

    @property
    def reports(self) -> Path:
        """The folder of the reports of just these questions, asked and judged in just this way."""
        from convcheck import __version__
        from convcheck.backends.process.environment import SERVER
        from convcheck.rules.cause_files import cause_files

        asked = [*map(str, self.corpus.digests(self.cases)), *(case.id for case in self.cases)]
        causes = [file.text for file in cause_files(self.loaded)]
        text = "\n".join((__version__, SERVER.read_text("utf-8"), *asked, *causes))
        return self.folder / "reports" / hashlib.sha256(text.encode()).hexdigest()[:12]


def _work(
    wanted: Wanted, loaded: Catalog, selection: Selection, folder: Path,
    how: tuple[int | None, float],
) -> HistoryWork:  # fmt: skip
    from convcheck.cli.run_options import corpus_of_run
    from convcheck.cli.turns import selected

    jobs, timeout = how
    options = RunOptions(
        "edge", "disputed", jobs, timeout, 0, 1 << 24, None, 0, None, consistency=False,
        causes="all",
    )  # fmt: skip
    cases = selected(loaded, selection, [wanted.runtime])
    return HistoryWork(
        wanted, loaded, cases, corpus_of_run(loaded, options, cases), options, folder
    )


def _ask(work: HistoryWork, release: Release) -> AskedRelease:
    """Return what a release answers: its report if that is kept, else a run that is then kept."""
    from convcheck.cli.ask_run import ask_run
    from convcheck.files import write_whole
    from convcheck.history.environments import NotInstalledError, made_environment
    from convcheck.history.matrix import AskedRelease
    from convcheck.report.json.decode import read
    from convcheck.report.json.encode import text

    path = work.reports / f"{work.wanted.package}-{release.version}.json"
    if path.is_file():
        return AskedRelease(release, read(str(path), work.loaded.types.types))
    say(f"{work.wanted.package} {release}", err=True)
    try:
        python = made_environment(work.wanted, release, work.folder)
        address = f"env:{python}:{work.wanted.runtime}"
        run = ask_run(address, work.cases, work.corpus, work.options)
    except (NotInstalledError, UnavailableError) as error:
        return AskedRelease(release, None, str(error).replace("\n", "; "))
    if run.interrupted:
        raise _StoppedError
    write_whole(path, text(run).encode(), folders=True)
    return AskedRelease(release, run)


def _tell(work: HistoryWork, releases: Sequence[Release]) -> int:
    from convcheck.history.matrix import history_of
    from convcheck.report.draw.console import put
    from convcheck.report.draw.history import history_page
    from convcheck.wording import plural

    asked = [_ask(work, release) for release in releases]
    found = history_of(asked)
    count, cases = plural(len(asked), "release"), plural(len(work.cases), "case")
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
    from convcheck.history.bisect import bisect
    from convcheck.report.draw.console import put
    from convcheck.report.draw.history import bisected_page

    found = bisect(releases, lambda release: _ask(work, release), cause)
    put(bisected_page(found, cause))
    return 0 if found.between else NOTHING
