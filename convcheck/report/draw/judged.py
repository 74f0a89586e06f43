"""The wrong conversions that give all of some answers, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from convcheck.judge.words import hexadecimal
from convcheck.numerics.decimal import spell
from convcheck.numerics.format import Codes, Text
from convcheck.report.draw.layout import paragraph
from convcheck.report.draw.styled import StyledText
from convcheck.rules.causes import Cause
from convcheck.rules.model import Case
from convcheck.wording import plural

MOST_NAMED = 12  # causes that are named, and told apart
_ASKED = 4  # inputs that are named


def fitting_lines(
    case: Case, fits: Sequence[Cause], telling: Codes, width: int, verbose: bool
) -> Iterator[StyledText]:
    """Yield the lines of causes, and some inputs that tell them apart; `verbose`: all causes."""
    yield StyledText()
    if not fits:
        yield StyledText("no cause of the catalogue gives all of these answers")
        return
    said = "gives" if len(fits) == 1 else "each give"
    yield StyledText(f"{plural(len(fits), 'cause')} {said} all of these answers:", "bold")
    shown = fits if verbose else fits[:MOST_NAMED]
    for cause in shown:
        yield from paragraph(cause.says, width, indent=2, hang=2)
    if len(shown) < len(fits):
        yield StyledText(f"  and {len(fits) - len(shown)} more (-v)", "dim")
    if len(telling) and not isinstance(case.inputs[0].format, Text):
        yield StyledText()
        yield StyledText("inputs that tell some of them apart:")
        for code in telling[:_ASKED].tolist():
            fmt = case.inputs[0].format
            yield StyledText(f"  {hexadecimal(fmt, code)} ({spell(fmt, code)})")
