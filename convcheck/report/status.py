"""The statuses of cases.

Failures that do not fail the run have their own statuses: known, waived, below the gate.
"""

from __future__ import annotations

from dataclasses import dataclass

from convcheck.judge.result import FAILURES, CaseResult, Tolerance
from convcheck.rules.model import Level


@dataclass(frozen=True)
class Status:
    """A status of a case. `short` abbreviates the word, `symbol` replaces colour."""

    word: str
    short: str
    symbol: str
    #: A style of rich.
    style: str


KNOWN = Status("known", "known", "k", "yellow")
BELOW = Status("below gate", "below", "f", "yellow")
WAIVED = Status("waived", "waive", "w", "cyan")
STATUSES = (  # the worst first
    Status("error", "error", "E", "bold magenta"),
    Status("crashed", "crash", "C", "bold red"),
    Status("fail", "fail", "F", "bold red"),
    Status("refused", "refus", "R", "bold red"),
    Status("inconsistent", "incon", "I", "bold red"),
    KNOWN,
    BELOW,
    WAIVED,
    Status("tolerated", "toler", "~", "yellow"),
    Status("pass", "pass", ".", "green"),
    Status("undefined", "undef", "u", "cyan"),
    Status("unsupported", "unsup", "-", "dim"),
)
_BY_WORD = {status.word: status for status in STATUSES}
_RANKS = {status.word: rank for rank, status in enumerate(STATUSES)}


def worse(one: Status, other: Status) -> Status:
    """Return the worse of two statuses."""
    return other if _RANKS[other.word] < _RANKS[one.word] else one


def status_of(case: CaseResult, level: Level) -> Status:
    """Return a case's status in a run gated at `level`."""
    if case.verdict in FAILURES and not case.gates(level):
        kinds = excuses_of(case)
        return KNOWN if "known" in kinds else WAIVED if "waived" in kinds else BELOW
    return _BY_WORD[case.verdict]


def excuses_of(case: CaseResult) -> frozenset[Tolerance]:
    """Return the kinds of excuses among a case's failures."""
    if case.verdict not in FAILURES:
        return frozenset()
    given = (case.excuse, *(group.excuse for group in case.groups))
    return frozenset(excuse.kind for excuse in given if excuse)
