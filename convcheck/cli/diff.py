"""`convcheck diff`: what changed between two runs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from convcheck.cli.options import catalog
from convcheck.cli.options import specs_option as specs
from convcheck.cli.outputs import check_outputs

if TYPE_CHECKING:
    from convcheck.plan.diff import RunDifference

WORSE = 1
EXAMPLE = """\b
Examples:
  convcheck diff old.json new.json
  convcheck diff --exit-code main.json branch.json
  convcheck diff -v --json diff.json ort-1.24.json ort-1.31.json
"""


@click.command("diff", epilog=EXAMPLE)
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option(
    "--exit-code",
    is_flag=True,
    help="Exit with 1 if anything fails that did not, or fails differently.",
)
@click.option(
    "--any-corpus",
    is_flag=True,
    help="Compare even runs that asked other vectors, by kinds of failures.",
)
@click.option("--json", "json_path", metavar="FILE", help="Write it as JSON; - for stdout.")
@click.option(
    "--verbose",
    "-v",
    is_flag=True,
    help="Show every finding and case, also on a terminal.",
)
@specs
def command(
    old: str,
    new: str,
    exit_code: bool,
    any_corpus: bool,
    json_path: str | None,
    verbose: bool,
    specs: tuple[str, ...],
) -> int:
    """Show what changed between two runs, given the JSON reports of both.

    First by cause: NEW, GROWN, MOVED, SHRUNK or GONE, by the cases that it explains; of a case
    that fails in both runs it may be another. Then by finding: NEW did not fail before; CHANGED
    fails differently (other inputs, other answers, another way); FIXED no longer fails, though it
    was asked; NOT ASKED is hidden by a crash or a missing kernel.
    Cases in only one of the runs are added or removed. Known failures count like any others, and
    so do those below the gate.

    Exit codes: 0 whatever changed; with --exit-code, 1 where anything is new or changed, or an
    added case fails; 2 where the runs cannot be compared.
    """
    from convcheck.plan.diff import check_comparable, diff_runs
    from convcheck.report.json.decode import read

    check_outputs({"--json": json_path}, {"OLD": old, "NEW": new})
    types = catalog(specs).types.types
    before, after = read(old, types), read(new, types)
    if not any_corpus:
        check_comparable(before, after, (old, new))
    found = diff_runs(before, after)
    _report(found, json_path, verbose)
    return WORSE if exit_code and found.worse else 0


def _report(found: RunDifference, json_path: str | None, verbose: bool) -> None:
    from rich.console import Console

    from convcheck.files import write_all
    from convcheck.report.draw.console import is_terminal, put
    from convcheck.report.draw.diff import diff_page
    from convcheck.report.json.codec import json_text

    console = Console(stderr=json_path == "-")
    every = verbose or not is_terminal(console)  # of what is in a file nothing is cut

    def page() -> None:
        put(diff_page(found, every), console)

    write_all([(json_path, partial(json_text, found))] if json_path else [], page)
