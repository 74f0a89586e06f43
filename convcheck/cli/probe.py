"""`convcheck probe`: does a program speak the process protocol?"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from convcheck.cli.options import catalog, selection_options
from convcheck.cli.options import specs_option as specs
from convcheck.cli.progress import progress, progress_option
from convcheck.errors import UnavailableError, UsageError

if TYPE_CHECKING:
    from convcheck.backends.process.probe import Probe
    from convcheck.plan.selection import Selection
    from convcheck.report.blocks import Block

FAILED = 1
STARTS = "starts"  # the first step
SCHEME = "process:"
EXAMPLE = """\b
Examples:
  convcheck probe --backend process:./mine
  convcheck probe --backend 'process:python mine.py --fast' onnx.Cast-21
  convcheck probe --backend process:./mine onnx.Cast-21 --from float32
"""


@click.command("probe", epilog=EXAMPLE)
@selection_options
@click.option("--backend", "address", metavar="process:COMMAND", required=True,
              help="The program, as `convcheck run --backend` takes it.")  # fmt: skip
@progress_option
@specs
def command(selection: Selection, address: str, specs: tuple[str, ...]) -> int:
    """Check, step by step, that a program speaks the process protocol.

    Stops at the first thing wrong, says what came, and which line of the protocol has it. Values
    are not judged: that is for `convcheck run`. Without SPEC, every spec is asked. For each
    combination of types, attribute values are tried until one is answered. Exit codes: 0 all well,
    1 something is wrong, 4 it could not be started.
    """
    from convcheck.backends.process.probe import Probe, questions
    from convcheck.plan.select import select
    from convcheck.report.blocks import BLANK, Text
    from convcheck.report.draw import probe as page
    from convcheck.report.draw.console import put

    if not address.startswith(SCHEME) or not address.removeprefix(SCHEME).strip():
        hint = "--backend 'process:./mine --flag'; other backends need no probe"
        raise UsageError(f"{address!r} is not a program", hint=hint)
    loaded = catalog(specs)
    asked = questions(select(loaded, selection))
    probe = Probe(address.removeprefix(SCHEME), loaded, asked)
    put([Text(address, "bold"), BLANK])
    wrong = missing = False
    with progress(len(asked), "probing", "question") as advance:
        probe.advance = advance
        for step in probe.steps():
            put(page.step(step))
            wrong = wrong or bool(step.wrong)
            missing = missing or (step.name == STARTS and wrong)
    put(_end(probe, wrong))
    if missing:
        return UnavailableError.exit_code
    return FAILED if wrong else 0


def _end(probe: Probe, wrong: bool) -> list[Block]:
    from convcheck.report.blocks import BLANK, Text
    from convcheck.report.draw import probe as page

    if wrong:
        return list(page.printed(probe.printed))
    first = probe.supported[-1].spec
    todo = f"convcheck run --backend {shlex.quote(SCHEME + probe.command)} {first}"
    return [
        *page.supported(probe.supported, probe.catalog.types),
        BLANK,
        Text("it speaks the protocol; to see whether it is right:"),
        Text(todo, indent=2, whole=True),
    ]
