"""The reports of a run: the options that name them, and writing them."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from convcheck.cli.outputs import check_outputs
from convcheck.errors import UsageError
from convcheck.files import write_all
from convcheck.records import replace
from convcheck.report.formats import FORMATS
from convcheck.streams import put_out

if TYPE_CHECKING:
    from datetime import datetime

    from convcheck.gate.known import KnownList
    from convcheck.judge.result import RunResult
    from convcheck.rules.load import Catalog
    from convcheck.rules.types import Types

FAILED, NOTHING_JUDGED, INTERRUPTED = 1, 3, 130


@dataclass(frozen=True)
class Reports:
    """What the options say: files, None for none and '-' for stdout."""

    #: Files by the name of their format.
    files: Mapping[str, str]
    #: Whether annotations for GitHub are printed.
    github: bool
    #: The file of the list of known failures, None for none.
    known: str | None
    #: Whether each case has a line.
    verbose: bool
    #: Whether only what fails and the last line are printed.
    quiet: bool

    @property
    def outputs(self) -> Mapping[str, str]:
        """The files by their option."""
        return {f"--{name}": path for name, path in self.files.items()}


_OPTIONS = (
    click.option("--known", metavar="FILE", help="Known failures and waivers, TOML."),
    *(click.option(f"--{f.name}", metavar="FILE", help=f.help) for f in FORMATS.values()),
    click.option("--github", is_flag=True, help="Print annotations for GitHub Actions."),
    click.option("--verbose", "-v", is_flag=True, help="Show every matrix, case and message."),
    click.option("--quiet", "-q", is_flag=True, help="Show only the verdict and what is wrong."),
)


def report_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the options; the command gets them as `reports`."""

    @functools.wraps(function)
    def packed(**given: Any) -> int:
        files = {name: path for name in FORMATS if (path := given.pop(name)) is not None}
        others = {name: given.pop(name) for name in ("github", "known", "verbose", "quiet")}
        reports = Reports(files, **others)
        _check(reports)
        return function(reports=reports, **given)

    for option in reversed(_OPTIONS):
        packed = option(packed)
    return packed


def _check(reports: Reports) -> None:
    """Refuse before the run what cannot be written after it."""
    check_outputs(reports.outputs, {"--known": reports.known})
    source_date()
    if reports.verbose and reports.quiet:
        raise UsageError("--verbose and --quiet", hint="choose one")


def hold_to_known(result: RunResult, loaded: Catalog, known: str | KnownList | None) -> RunResult:
    """Hold a run against a list of known failures, or the file of one, if there is one.

    Raises UsageError.
    """
    if known is None:
        return result
    from datetime import date

    from convcheck.gate.known import hold, read_known

    listed = read_known(known, loaded) if isinstance(known, str) else known
    return hold(result, listed, every_id(loaded), date.today())


def every_id(loaded: Catalog) -> Callable[[tuple[str, ...]], Iterable[str]]:
    """Return the ids of all cases of specs whose names begin with one of some texts."""
    from convcheck.rules.cases import cases

    def every(starts: tuple[str, ...]) -> Iterable[str]:
        specs = (spec for name, spec in loaded.specs.items() if name.startswith(starts))
        return (case.id for spec in specs for case in cases(spec))

    return every


def write_reports(
    result: RunResult,
    reports: Reports,
    types: Types,
    command: str = "",
    source: str = "",
) -> int:
    """Print the report, write the files, and return the run's exit code. `source` is the file of
    the report that is rendered again.
    """
    from rich.console import Console

    from convcheck.report.document import Document
    from convcheck.report.draw import terminal
    from convcheck.report.draw.console import is_terminal, put
    from convcheck.report.environment import environment

    result = replace(result, environment=result.environment or environment())
    file = source or reports.files.get("json", "-")
    made = Document(_dated(result), types, "" if file == "-" else file)
    texts: list[tuple[str, Callable[[], str]]] = [
        (path, partial(FORMATS[name].draw, result, made, command))
        for name, path in reports.files.items()
    ]
    # With a file on stdout, the report for people goes to stderr.
    console = Console(stderr="-" in dict(texts))

    def page() -> None:
        whole = not is_terminal(console)
        put(terminal.report_page(made, reports.verbose, reports.quiet, whole), console)
        if reports.github:
            from convcheck.report.draw.github import annotation_lines

            put_out("".join(f"{line}\n" for line in annotation_lines(made)), console.file)

    write_all(texts, page)
    return exit_code(result)


def source_date() -> datetime | None:
    """Return the moment in SOURCE_DATE_EPOCH, which builds set whose bytes are to be equal; None
    where it is not set. Raises UsageError for anything but seconds.
    """
    from datetime import UTC, datetime

    said = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not said:
        return None
    if not re.fullmatch(r"[0-9]{1,11}", said):
        hint = "seconds since 1970, or leave it unset"
        raise UsageError(f"SOURCE_DATE_EPOCH is {said!r} in the environment", hint=hint)
    return datetime.fromtimestamp(int(said), UTC)


def _dated(result: RunResult) -> RunResult:
    """Return a run as reports date it: where SOURCE_DATE_EPOCH is set, by that, without times."""
    from convcheck.judge.result import Timing

    date = source_date()
    return replace(result, timing=Timing(date, 0.0)) if date else result


def exit_code(result: RunResult) -> int:
    """Return the exit code of a run: 0, 1, 3, or 130 if it was interrupted."""
    if result.interrupted:
        return INTERRUPTED
    return {"fail": FAILED, "nothing": NOTHING_JUDGED}.get(result.outcome, 0)
