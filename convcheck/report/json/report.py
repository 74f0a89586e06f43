"""`convcheck-run/3`: what a run of one backend found.

Two runs with the same answers on the same machine give the same bytes: the order is the plan's,
and nothing in it is a time. A case is told by its head, a code by its spelling and its value, and a
row by its place in the table of rules.
"""

from __future__ import annotations

from typing import Final, Literal

from convcheck.judge.result import CallExample, CauseInWords, Example, RunResult
from convcheck.records import Count, Record
from convcheck.report.counts import Summary
from convcheck.semantics.expected import Decision

FORMAT: Final = "convcheck-run/3"
SEVERAL: Final = "convcheck-runs/3"  # the reports of several backends, as in reports.py


class ExplainedCase(Record, frozen=True, kw_only=True):
    """A case of which a cause gives every answer."""

    case: str
    #: How many answers a rule decides.
    answers: Count
    #: How many of them are wrong.
    wrong: Count


class ExplainedCause(Record, frozen=True, kw_only=True):
    """A cause of what fails, or several together, with the cases of which it gives every answer."""

    #: A, B and so on, as the report for people has it.
    letter: str
    #: What is at work together, mostly one.
    together: tuple[CauseInWords, ...]
    #: What gives every answer of all of these cases, too: each is a list as `together` is.
    others: tuple[tuple[CauseInWords, ...], ...]
    #: How many answers it gives, right and wrong ones: all that a rule decides.
    explained: Count
    #: A wrong answer that it explains.
    example: Example | CallExample
    #: The case of the example.
    example_case: str
    cases: tuple[ExplainedCase, ...]


class Report(RunResult, frozen=True, kw_only=True, rename={"explained": "causes"}):
    """What a run of convcheck found."""

    format: Literal["convcheck-run/3"]
    #: The version of convcheck.
    convcheck: str
    #: A hash of all vectors that the plan asks.
    corpus_sha256: str
    summary: Summary
    #: The rows that groups name by their places here.
    rules: tuple[Decision, ...] = ()
    #: The few causes of what fails and is not excused, that of most cases first; absent for none.
    explained: tuple[ExplainedCause, ...] = ()
