"""`convcheck diagnose`: the few causes of all failures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

import click

from convcheck.cli.options import catalog, complete_backends, selection_options
from convcheck.cli.options import specs_option as specs
from convcheck.cli.outputs import check_outputs, show
from convcheck.cli.progress import progress, progress_option
from convcheck.cli.run_options import JOBS, TIMEOUT
from convcheck.cli.turns import selected
from convcheck.errors import UsageError
from convcheck.records import replace

if TYPE_CHECKING:
    from convcheck.causes.gather import Diagnosis
    from convcheck.judge.result import BackendInfo, CaseResult, CauseInWords, WholeRun
    from convcheck.plan.selection import Selection
    from convcheck.rules.load import Catalog
    from convcheck.rules.model import Case
    from convcheck.vectors.model import Tier

UNEXPLAINED, NOTHING, INTERRUPTED = 1, 3, 130
EXAMPLE = """\b
Examples:
  convcheck diagnose --backend ort onnx.Cast-21
  convcheck diagnose --backend openvino --from float32 --tier boundary --json causes.json
  convcheck diagnose --report run.json
"""


@click.command("diagnose", epilog=EXAMPLE)
@click.option(
    "--backend", metavar="NAME", shell_complete=complete_backends,
    help="Ask this backend; see `convcheck list backends`.",
)  # fmt: skip
@click.option("--report", "path", metavar="FILE", help="Or take the JSON of a run; - for stdin.")
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
    backend: str | None,
    path: str | None,
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
    only if it gives every answer of a case, the right ones and the wrong ones. Of a single --case,
    all that was tried is told, and how close it comes. Exit codes: 0 every
    failing case is explained, or none fails; 1 some are not; 2 bad input; 3 nothing was asked; 4
    the backend could not be started.
    """
    if (backend is None) == (path is None):
        raise UsageError("one of --backend and --report is needed",
                         hint="`convcheck list backends` has their names")  # fmt: skip
    loaded = catalog(specs)
    check_outputs({"--json": json_path}, {"the report": path} if path else {})
    if path:
        it = _read(loaded, selection, path)
    else:
        assert backend is not None  # noqa: S101
        it = _asked(loaded, selected(loaded, selection, [backend]), backend, tier, (jobs, timeout))
    _report(it, loaded, verbose, json_path)
    if it.interrupted:
        return INTERRUPTED
    if not it.found.judged:
        return NOTHING
    return UNEXPLAINED if it.found.unexplained else 0


@dataclass(frozen=True)
class Diagnosed:
    """Why a backend failed in a run."""

    #: The causes, and what none explains.
    found: Diagnosis
    #: Who answered, with the address.
    backend: BackendInfo
    #: Which inputs were asked.
    tier: str
    #: Whether it was ended before all cases were asked.
    interrupted: bool
    #: The case that was asked for alone, with all that was tried on it; None where there is none.
    alone: CaseResult | None = None
    #: The causes that it names.
    causes: tuple[CauseInWords, ...] = ()
    #: The run that this is a part of, None for a whole one.
    whole: WholeRun | None = None


def _read(loaded: Catalog, selection: Selection, path: str) -> Diagnosed:
    """Return the diagnosis in the report of a run. Raises UsageError where it has none."""
    from convcheck.causes.gather import gathered
    from convcheck.plan.excerpt import excerpt_of
    from convcheck.report.json.decode import read

    run = read(path, loaded.types.types)
    if run.without_causes:
        hint = "run it without `--causes none`, or ask the backend again: --backend NAME"
        raise UsageError(f"{path}: no causes were tried in this run", hint=hint)
    if any(astuple(selection)):
        run = excerpt_of(run, loaded, selection)
    found = gathered(run.cases, run.causes)
    return Diagnosed(found, run.backend, run.tier, run.interrupted, whole=run.whole)


def _asked(
    loaded: Catalog,
    cases: Sequence[Case],
    backend: str,
    tier: Tier,
    how: tuple[int | None, float],
) -> Diagnosed:
    """Ask the backend, and search for causes next to its answers."""
    from convcheck.causes.catalogue import causes_of
    from convcheck.causes.gather import causes_named, gathered
    from convcheck.plan.runner import execute
    from convcheck.rules.cause_files import cause_files
    from convcheck.rules.load import data_dir
    from convcheck.vectors.corpus import open_corpus

    corpus = open_corpus(loaded, tier, 0, data_dir("vectors"))
    corpus.check(cases)
    sent = corpus.only(cases)
    jobs, timeout = how
    with progress(len(cases), backend) as advance:
        done = execute(
            backend,
            cases,
            sent,
            jobs=jobs,
            timeout=timeout,
            on_result=lambda result: advance(),
            catalog=sent.catalog,
            causes=cause_files(loaded),
            every_cause=len(cases) == 1,
        )
    causes = causes_named(done.results, causes_of(loaded))
    several = len(cases) != 1 or cases[0].whole_calls  # of whole calls, what comes closest is told
    alone = None if several or not done.results else done.results[0]
    info = replace(done.backend, address=backend)
    return Diagnosed(gathered(done.results, causes), info, tier, done.interrupted, alone, causes)


def _report(it: Diagnosed, loaded: Catalog, verbose: bool, json_path: str | None) -> None:
    """Write a diagnosis as JSON where that is asked for, and print it for people (on stderr where
    stdout has the JSON).
    """
    from functools import partial

    from convcheck.report.causes import told_causes
    from convcheck.report.draw.diagnosis import diagnosis_page, tried
    from convcheck.report.json.diagnosis import diagnosis_text

    causes = told_causes(it.found, it.backend.address, "disputed", loaded.types, it.whole)
    page = [*diagnosis_page(it.found, causes, verbose)]
    page += tried(it.alone, it.causes, verbose) if it.alone else ()
    text = partial(diagnosis_text, it.found, it.backend, it.tier, it.interrupted, it.alone)
    show(page, (json_path, text))
