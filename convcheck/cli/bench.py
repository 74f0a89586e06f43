"""`convcheck bench`: what asking and judging costs beside what the backend needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import click

from convcheck.cli.options import (
    catalog,
    complete_backends,
    count_option,
    selection_options,
)
from convcheck.cli.options import specs_option as specs
from convcheck.cli.outputs import check_outputs
from convcheck.cli.progress import duration, progress, progress_option
from convcheck.cli.turns import selected
from convcheck.errors import UsageError
from convcheck.streams import say
from convcheck.wording import plural

if TYPE_CHECKING:
    from convcheck.backends.protocol import Backend
    from convcheck.plan.bench import Bench, Measured
    from convcheck.plan.selection import Selection
    from convcheck.rules.load import Catalog
    from convcheck.rules.model import Case
    from convcheck.vectors.span import Span

NOTHING_MEASURED = 3
MOST = 1 << 32
DEFAULT_SPEC, DEFAULT_SOURCE = "onnx.Cast-21", "float32"
BY_HAND = "ml_dtypes"
BESIDES = "a runtime may refuse their attribute values (--where or --case measures them)"
EXAMPLE = """\b
Examples:
  convcheck bench --backend ort
  convcheck bench --backend ort --to float8e4m3fn --values 2^32
  convcheck bench --backend openvino onnx.Cast-21 --from int32 --json bench.json
"""


@click.command("bench", epilog=EXAMPLE)
@click.option("--backend", "address", metavar="NAME", shell_complete=complete_backends,
              help="ort, openvino, torch … (`convcheck list backends`).")  # fmt: skip
@selection_options
@click.option(
    "--values", metavar="N", default="2^28", show_default=True, callback=count_option(1, MOST),
    help="Values to convert per case, rounded up to whole parts; 2^32 is all of them.",
)  # fmt: skip
@click.option(
    "--json", "json_path", metavar="FILE", help="Write the figures as JSON; - for stdout."
)
@progress_option
@specs
def command(
    selection: Selection,
    address: str | None,
    values: int,
    json_path: str | None,
    specs: tuple[str, ...],
) -> int:
    """Measure what asking and judging cost beside the backend's own time.

    Cases with a 32-bit source are measured as the exhaustive tier streams them: by default those of
    onnx.Cast-21 from float32. Those with a 64-bit source are measured by samples. The backend runs
    in this process, on one core, so if it crashes, the command crashes too. Nothing is said about
    right and wrong: `run` judges. Exit codes: 0 something was measured, 2 bad input, 3 nothing was
    measured, 4 the backend could not be started.
    """
    from convcheck.backends.protocol import prepare_backend
    from convcheck.plan.bench import one_core, spans_for

    if not address:
        raise UsageError("which backend?", hint="--backend ort; see `convcheck list backends`")
    loaded = catalog(specs)
    selection = _selection(loaded, address, selection)
    cases, left_out = _streamed(
        selected(loaded, selection, [address]), bool(selection.where or selection.globs)
    )
    check_outputs({"--json": json_path})
    prepare_backend(address, partial(say, err=True))
    with one_core():  # before it is opened: its threads are kept there, too
        backend, spans_of = _open(address, loaded), partial(spans_for, values=values)
        bench = _bench(backend, loaded, cases, spans_of, left_out)
    _report(bench, json_path)
    return 0 if any(measured.parts for measured in bench.cases) else NOTHING_MEASURED


def _selection(loaded: Catalog, address: str, selection: Selection) -> Selection:
    """Select as asked; where nothing is said, the conversions that most backends have."""
    from convcheck.backends.protocol import takes

    if not selection.specs and takes(address, loaded.specs[DEFAULT_SPEC]):
        selection = replace(selection, specs=(DEFAULT_SPEC,))
    if not selection.sources and not selection.globs:
        selection = replace(selection, sources=(DEFAULT_SOURCE,))
    return selection


def _streamed(cases: Sequence[Case], named: bool) -> tuple[list[Case], Counter[str]]:
    """Keep the cases whose source is streamed, and count the others by reason.

    A case of which a refusal is accepted is left out, too, unless it is `named`. Raises UsageError
    where none is left.
    """
    from convcheck.judge.refusals import is_accepted
    from convcheck.plan.bench import why_not_measured

    kept, left_out = [], Counter[str]()
    for case in cases:
        why_not = why_not_measured(case) or (BESIDES if is_accepted(case) and not named else "")
        if why_not:
            left_out[why_not] += 1
        else:
            kept.append(case)
    if not kept:
        example = f"{cases[0].id}: {next(iter(left_out))}"
        hint = "measure a source of 32 or 64 bits, such as --from float32 --to float16"
        raise UsageError(f"no selected case can be measured; {example}", hint=hint)
    return kept, left_out


def _open(address: str, loaded: Catalog) -> Backend:
    """Open the backend in this process. Raises UsageError, and UnavailableError for all else."""
    from convcheck.backends.protocol import DiedError, ProtocolError, last_words, open_backend
    from convcheck.errors import ConvcheckError, UnavailableError

    try:
        return open_backend(address, loaded)
    except Exception as error:  # an adapter may raise anything
        if isinstance(error, ConvcheckError) and not isinstance(error, ProtocolError):
            raise
        message = f"backend {address!r} could not be started"
        why = str(error) if isinstance(error, DiedError) else last_words(error)
        raise UnavailableError(message, hint=why) from error


def _bench(
    backend: Backend, loaded: Catalog, cases: Sequence[Case],
    spans_of: Callable[[Case], Sequence[Span]], left_out: Counter[str],
) -> Bench:  # fmt: skip
    from convcheck.judge.result import BackendInfo
    from convcheck.plan.bench import Bench, expected_seconds, measure, spans_of_bench

    by_hand = _by_hand(loaded)
    spans, samples = spans_of_bench(cases, spans_of)
    found = Bench(
        BackendInfo(backend.name, backend.version), by_hand.version if by_hand else "",
        spans, (), tuple(left_out.items()), samples,
    )  # fmt: skip
    if seconds := expected_seconds(backend, loaded.specs, cases, spans_of, by_hand):
        values, time = plural(found.values, "value"), duration(max(seconds, 1))
        say(f"{plural(len(cases), 'case')} of {values}: about {time}", err=True)
    measured: list[Measured] = []
    total = sum(len(spans_of(case)) for case in cases)
    with progress(total, "measuring", "part", streamed=True) as advance:
        for case in cases:
            spec, parts = loaded.specs[case.spec], spans_of(case)
            measured.append(measure(backend, spec, case, parts, by_hand, lambda: advance()))
            for _ in range(len(parts) - len(measured[-1].parts)):
                advance()
    return replace(found, cases=tuple(measured))


def _by_hand(loaded: Catalog) -> Backend | None:
    """Open what the comparison by hand converts with, where it is there."""
    from convcheck.backends.protocol import open_backend
    from convcheck.errors import UnavailableError

    try:
        return open_backend(BY_HAND, loaded)
    except UnavailableError:
        return None


def _report(bench: Bench, json_path: str | None) -> None:
    from rich.console import Console

    from convcheck.files import write_all
    from convcheck.report.draw import bench as page
    from convcheck.report.draw.console import put, room, width_of
    from convcheck.report.json.bench import bench_text

    # With the JSON on stdout, the table for people goes to stderr.
    console = Console(stderr=json_path == "-")

    def shown() -> None:
        put(page.bench_lines(bench, width_of(console), room(console)), console)

    write_all([(json_path, partial(bench_text, bench))] if json_path else [], shown)
