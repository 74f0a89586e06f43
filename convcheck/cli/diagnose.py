"""`convcheck diagnose`: the few causes of all failures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from convcheck.cli.options import catalog, complete_backends, selection_options
from convcheck.cli.options import specs_option as specs
from convcheck.cli.outputs import check_outputs
from convcheck.cli.progress import progress, progress_option
from convcheck.cli.run_options import JOBS, TIMEOUT
from convcheck.cli.turns import selected

if TYPE_CHECKING:
    from convcheck.causes.gather import Diagnosis
    from convcheck.plan.runner import Execution
    from convcheck.plan.selection import Selection
    from convcheck.rules.load import Catalog
    from convcheck.rules.model import Case
    from convcheck.vectors.model import Tier

UNEXPLAINED, NOTHING, INTERRUPTED = 1, 3, 130
EXAMPLE = """\b
Examples:
  convcheck diagnose --backend ort onnx.Cast-21
  convcheck diagnose --backend openvino --from float32 --tier boundary --json causes.json
"""


@click.command("diagnose", epilog=EXAMPLE)
@click.option(
    "--backend", metavar="NAME", required=True, shell_complete=complete_backends,
    help="Ask this backend; see `convcheck list backends`.",
)  # fmt: skip
@selection_options
@click.option(
    "--tier", type=click.Choice(["edge", "boundary"]), default="edge", show_default=True,
    help="Which inputs, as for `run`.",
)  # fmt: skip
@JOBS
@TIMEOUT
@click.option("-v", "--verbose", is_flag=True, help="Name all cases and all causes.")
@click.option("--json", "json_path", metavar="FILE", help="Write it as JSON; - for stdout.")
@progress_option
@specs
def command(
    selection: Selection,
    backend: str,
    tier: Tier,
    jobs: int | None,
    timeout: float,
    verbose: bool,
    json_path: str | None,
    specs: tuple[str, ...],
) -> int:
    """Say why a backend fails: the wrong conversions that give every answer of the failing cases.

    Each case that fails is held against the causes in specs/causes, one by one and then two by two:
    rounding twice, saturating infinities, an attribute that is ignored, and so on. A cause is told
    only if it gives every answer of a case, the right ones and the wrong ones. Exit codes: 0 every
    failing case is explained, or none fails; 1 some are not; 2 bad input; 3 nothing was asked; 4
    the backend could not be started.
    """
    from convcheck.causes.catalogue import causes_of
    from convcheck.causes.gather import causes_named, gathered

    loaded = catalog(specs)
    causes = causes_of(loaded)
    cases = selected(loaded, selection, [backend])
    check_outputs({"--json": json_path})
    execution = _asked(loaded, cases, backend, tier, (jobs, timeout))
    found = gathered(execution.results, causes_named(execution.results, causes))
    _report(found, execution, loaded, (backend, tier), verbose, json_path)
    if execution.interrupted:
        return INTERRUPTED
    if not found.judged:
        return NOTHING
    return UNEXPLAINED if found.unexplained else 0


def _asked(
    loaded: Catalog,
    cases: Sequence[Case],
    backend: str,
    tier: Tier,
    how: tuple[int | None, float],
) -> Execution:
    """Ask the backend, and search for causes next to its answers."""
    from convcheck.plan.runner import execute
    from convcheck.rules.causes import cause_files
    from convcheck.rules.load import data_dir
    from convcheck.vectors.corpus import open_corpus

    corpus = open_corpus(loaded, tier, 0, data_dir("vectors"))
    corpus.check(cases)
    sent = corpus.only(cases)
    jobs, timeout = how
    with progress(len(cases), backend) as advance:
        return execute(
            backend,
            cases,
            sent,
            jobs=jobs,
            timeout=timeout,
            on_result=lambda result: advance(),
            catalog=sent.catalog,
            causes=cause_files(loaded),
        )


def _report(
    found: Diagnosis,
    execution: Execution,
    loaded: Catalog,
    asked: tuple[str, Tier],
    verbose: bool,
    json_path: str | None,
) -> None:
    """Write a diagnosis as JSON where that is asked for, and print it for people (on stderr where
    stdout has the JSON).
    """
    from functools import partial

    from rich.console import Console

    from convcheck.files import write_all
    from convcheck.report.causes import told_causes
    from convcheck.report.draw.console import put, width_of
    from convcheck.report.draw.diagnosis import diagnosis_lines
    from convcheck.report.json.diagnosis import diagnosis_text

    console = Console(stderr=json_path == "-")
    address, tier = asked

    def shown() -> None:
        width = width_of(console)
        causes = told_causes(found, address, "disputed", loaded.types)
        put(diagnosis_lines(found, causes, width, verbose), console)

    info = replace(execution.backend, address=address)
    text = partial(diagnosis_text, found, info, tier, execution.interrupted)
    write_all([(json_path, text)] if json_path else [], shown)
