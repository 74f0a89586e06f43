"""`convcheck-run/3`: the log of a run, lines of JSON.

The first line is the head, then come the results of cases as they are done, and the rows that they
name where they are met first; the last line is the end. A log without an end is that of a run that
was not finished. Several logs one after another are those of several backends.
Two runs with the same answers on the same machine give the same bytes: the order is the plan's,
and nothing in it is a time. A case is told by its head, a code by its spelling and its value, and a
row by its place among the rows before.
"""

from __future__ import annotations

from typing import Final, Literal

from convcheck.judge.result import (
    BackendInfo,
    CallExample,
    CaseResult,
    CauseInWords,
    Environment,
    Example,
    ExplainedCase,
    Part,
    Problem,
    Shard,
)
from convcheck.records import Count, Record
from convcheck.report.counts import Summary
from convcheck.rules.model import Level
from convcheck.semantics.expected import Decision

FORMAT: Final = "convcheck-run/3"


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


class Head(Record, frozen=True, kw_only=True):
    """What is known of a run before anything is asked: the first line of its log."""

    format: Literal["convcheck-run/3"]
    #: The version of convcheck.
    convcheck: str
    backend: BackendInfo
    #: Which vectors were asked.
    tier: str = ""
    #: The gate: failures of rules at this level and stronger fail the run.
    level: Level = "disputed"
    #: A sha256 of the vectors of each spec that the plan asks.
    corpora: tuple[tuple[str, str], ...] = ()
    #: A hash of all vectors that the plan asks.
    corpus_sha256: str = ""
    #: Where it ran.
    environment: Environment | None = None
    #: Which part of the plan this is; absent for the whole of it.
    shard: Shard | None = None
    #: Whether the inputs asked are a user's own (--inputs), not the tier's.
    own_inputs: bool = False
    #: Whether what was answered was asked again in other ways.
    consistency: bool = False
    #: Whether no causes were tried on what fails.
    without_causes: bool = False
    #: Whether it is a survey of what the standard leaves open: nothing is judged.
    survey: bool = False
    #: Why the backend could not be started; then nothing follows. Absent where it was.
    error: str = ""


class End(Record, frozen=True, kw_only=True):
    """What is known of a run when it is done: the last line of its log."""

    summary: Summary | None = None
    #: Remarks on the run, such as that vectors were made again for an edited spec.
    notes: tuple[str, ...] = ()
    #: Whether it was ended before all cases were done.
    interrupted: bool = False
    #: Whether a number of failures ended the run; then the cases are those that were finished.
    ended_early: bool = False
    #: How often a worker had to be started anew.
    restarts: Count = 0
    #: The list of known failures that it was held against.
    known: str = ""
    #: What is wrong with that list.
    problems: tuple[Problem, ...] = ()
    #: The few causes of what fails and is not excused, that of most cases first; absent for none.
    causes: tuple[ExplainedCause, ...] = ()
    #: The causes that the diagnoses of cases name.
    catalogue: tuple[CauseInWords, ...] = ()


class Line(Record, frozen=True, kw_only=True):
    """A line after the first: one of these."""

    #: A row. Groups name it by its place among the rows of the log, from 0.
    rule: Decision | None = None
    #: The result of a case.
    case: CaseResult | None = None
    #: What there is of a case that is not done: in a shard, the tallies that add up.
    part: Part | None = None
    #: Of a part in the file of --resume, which unit of the plan it is.
    unit: str = ""
    end: End | None = None
