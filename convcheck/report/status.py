"""How a case stands, as a word, a symbol and a colour; failures below the gate have their own."""

from __future__ import annotations

from dataclasses import dataclass

from convcheck.run.result import FAILURES, CaseResult
from convcheck.spec.model import Level


@dataclass(frozen=True)
class Status:
    """A way for a case to stand. The symbol tells it without colour; `short` is its short word."""

    word: str
    short: str
    symbol: str
    style: str


BELOW = Status("below gate", "below", "f", "yellow")
STATUSES = (  # the worst first
    Status("error", "error", "E", "bold magenta"),
    Status("crashed", "crash", "C", "bold red"),
    Status("fail", "fail", "F", "bold red"),
    Status("refused", "refus", "R", "bold red"),
    BELOW,
    Status("tolerated", "toler", "~", "yellow"),
    Status("pass", "pass", ".", "green"),
    Status("undefined", "undef", "u", "cyan"),
    Status("unsupported", "unsup", "-", "dim"),
)
_BY_WORD = {status.word: status for status in STATUSES}


def status_of(case: CaseResult, level: Level) -> Status:
    """Give a case's status in a run gated at `level`."""
    if case.verdict in FAILURES and not case.gates(level):
        return BELOW
    return _BY_WORD[case.verdict]
