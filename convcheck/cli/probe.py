"""`convcheck backend probe`: does a program speak the process protocol?"""

from __future__ import annotations

import shlex

from convcheck.backends.process.probe import Probe, questions
from convcheck.cli.options import catalog
from convcheck.cli.progress import progress
from convcheck.errors import UnavailableError, UsageError
from convcheck.plan.select import select
from convcheck.plan.selection import Selection
from convcheck.report.blocks import BLANK, Block, Text
from convcheck.report.draw import probe as page
from convcheck.report.draw.console import put

FAILED = 1
STARTS = "starts"  # the first step
SCHEME = "process:"


def main(selection: Selection, address: str) -> int:
    """Check, step by step, that a program speaks the process protocol."""
    if not address.startswith(SCHEME) or not address.removeprefix(SCHEME).strip():
        hint = "--backend 'process:./mine --flag'; other backends need no probe"
        raise UsageError(f"{address!r} is not a program", hint=hint)
    loaded = catalog()
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
