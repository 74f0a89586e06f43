"""The report of a run as a tree of words, made once (`make.py`) and drawn by every format.

Nothing here knows a medium: a piece of text has a role, and a format chooses how a role looks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from convcheck.errors import Place
from convcheck.judge.failure import FailureKey, finding_id
from convcheck.judge.result import (
    FAILURES,
    CallExample,
    Example,
    Excuse,
    Fault,
    Outcome,
    Verdict,
    Word,
)
from convcheck.report.blocks import CodeInWords
from convcheck.report.matrix import StatusMatrix
from convcheck.report.status import BELOW, KNOWN, STATUSES, WAIVED, Status
from convcheck.report.where import Where
from convcheck.report.wrong_types import WrongTypes
from convcheck.rules.model import Case, Level
from convcheck.semantics.expected import Decision
from convcheck.vectors.model import Coverage
from convcheck.wording import GLUE, number, plural

_CASE_LINES = 6
_LISTED = 16  # words of a list in braces
_LABELS = {
    "fail": "FAIL",
    "refused": "REFUSED",
    "crashed": "CRASHED",
    "error": "ERROR",
    "inconsistent": "INCONSISTENT",
}


@dataclass(frozen=True)
class ElementInWords:
    """An example of an element."""

    #: The inputs, what was expected, and what came.
    rows: tuple[CodeInWords, ...]
    #: The codes of the inputs.
    inputs: str


@dataclass(frozen=True)
class ElementCell:
    """An element of a tensor, with its code and without."""

    #: The value, and its code in brackets.
    full: str
    #: The value alone.
    brief: str


@dataclass(frozen=True)
class Elements:
    """Elements of tensors side by side, a row an element: those of inputs of the output's shape,
    what is due, and what came.
    """

    #: The names of the columns; the last two are what is due and what came.
    heads: tuple[str, ...]
    #: A cell a column.
    rows: tuple[tuple[ElementCell, ...], ...]
    #: The number of the output from 1, where there are several; else 0.
    output: int
    #: The index of the first row.
    first: int
    #: The index of the first element that differs; -1 for none.
    at: int
    #: The rows that differ.
    wrong: tuple[int, ...]
    #: How many differ in all, or which elements these are; '' where they are all.
    rest: str


@dataclass(frozen=True)
class Labelled:
    """A line with a label."""

    label: str
    #: What stands after the label.
    words: str
    #: Whether this is what is wrong.
    wrong: bool = False


@dataclass(frozen=True)
class CallInWords:
    """An example of a whole call: types and shapes, then elements about the first difference."""

    #: Types and shapes: of the inputs, of what is due, and of what came.
    lines: tuple[Labelled, ...]
    #: None where nothing came back, or types differ.
    elements: Elements | None = None
    #: The runtime's own words; of an inconsistent answer both ways.
    message: str = ""


@dataclass(frozen=True)
class Evidence:
    """What shows a failure of a case, in codes."""

    #: A hash of the inputs and answers that fail.
    digest: str
    #: Pairs of inputs between which all that was asked fails.
    ranges: tuple[tuple[Word, Word], ...]
    #: How many ranges are left out in the middle.
    more_ranges: int
    #: The first and, where it is another, the extreme.
    examples: tuple[Example | CallExample, ...]


@dataclass(frozen=True)
class CaseFailure:
    """A failure of one case, which alone or with those of other cases is a finding."""

    case: Case
    verdict: Verdict
    #: Whether it fails the run.
    gated: bool
    #: Why it does not fail the run, where a list says so.
    excuse: Excuse | None
    #: What it has in common with failures of other cases, and of other backends, that look like the
    #: same cause.
    cause: FailureKey
    #: The runtime's own words for the case as a whole, '' for none.
    message: str
    #: The row that decided; None for a case that failed as a whole, and for it nothing follows.
    decision: Decision | None = None
    #: In which ways the values are wrong.
    kinds: tuple[str, ...] = ()
    #: Of a wrong type or refusal: in what way; else ''.
    sort: str = ""
    #: The reading that was taken as the backend's, '' where there is only one.
    reading: str = ""
    #: Where it shows, '' for everywhere.
    placement: str = ""
    #: Whether another placement was asked, and every other was right.
    only_there: bool = False
    #: How many values fail.
    count: int = 0
    #: How many values the row decided.
    of: int = 0
    evidence: Evidence | None = None


@dataclass(frozen=True)
class Finding:
    """The same failure in one or more cases, in words."""

    #: The failures that are one; the first stands for all.
    members: tuple[CaseFailure, ...]
    #: The cases, those that differ in few places put together: onnx.Cast-{19,21}/….
    cases: tuple[str, ...]
    #: The rows that decided, each once.
    decisions: tuple[Decision, ...]
    #: Rule and row that decided, the first of several; '' for a case that failed as a whole.
    rule: str
    #: The same, with how many more rows there are.
    row: str
    #: Where the row stands, a place a spec file.
    places: str
    #: The sentence of the standard, or one for each reading, with source and level; and what the
    #: row says where the sentence is that of its table.
    cited: tuple[str, ...]
    #: In which way the values are wrong; of several ways, of what sort they are, or all of them.
    kind: str
    #: In which placement it shows, '' where in all; and whether every other was right.
    where: str
    #: What is wrong, under which reading, and in which placement if not in all.
    what: str
    #: What is wrong in a few words: the runtime's own where it did not answer.
    gist: str
    #: The runtime's own words, where no example says them.
    message: str
    #: The first and, where it is another, the extreme.
    examples: tuple[ElementInWords | CallInWords, ...]
    #: The inputs that fail, as ranges.
    ranges: tuple[str, ...]
    #: How many ranges are left out in the middle.
    more_ranges: int
    #: The command that explains the first example, in parts that are not to be broken.
    explain: tuple[str, ...]

    @property
    def id(self) -> str:
        """What names it in this run and in others, and in every format."""
        return finding_id(self.members[0].cause)

    @property
    def verdict(self) -> Verdict:
        """What became of the values."""
        return self.members[0].verdict

    @property
    def gated(self) -> bool:
        """Whether it fails the run."""
        return self.members[0].gated

    @property
    def excuse(self) -> Excuse | None:
        """Why it does not fail the run, where a list says so."""
        return self.members[0].excuse

    @property
    def label(self) -> str:
        """The verdict in capitals; in small letters, with the reason, if it fails no run."""
        word = _LABELS[self.verdict]
        if self.gated:
            return word
        return f"{word.lower()} ({self.excuse.kind if self.excuse else 'below the gate'})"

    @property
    def status(self) -> str:
        """The word of the status: of the verdict only if it fails the run."""
        if self.excuse:
            return self.excuse.kind
        return self.verdict if self.gated else BELOW.word

    @property
    def values(self) -> str:
        """How many values fail of those that the row decided, '' where there are none."""
        wrong, of = (sum(getattr(one, name) for one in self.members) for name in ("count", "of"))
        return f"{number(wrong)} of {number(of)}" if of else ""

    @property
    def share(self) -> str:
        """The same as a sentence, '' where there are none: 5 of 156 inputs under this rule fail."""
        wrong, of = (sum(getattr(one, name) for one in self.members) for name in ("count", "of"))
        asked = plural(of, "call" if self.members[0].case.whole_calls else "input")
        one, several = ("fails", "fail")
        if self.verdict == "inconsistent":
            one, several = ("has two answers", "have two answers")
        said = one if wrong == 1 else several
        return f"{number(wrong)} of {asked} under this rule {said}" if of else ""

    @property
    def count(self) -> str:
        """How many values fail, and cases if they are several: 12 of 90 in 3 cases."""
        cases = plural(len(self.members), "case") if len(self.members) > 1 else ""
        return " in ".join(filter(None, (self.values, cases)))

    @property
    def line(self) -> str:
        """What is wrong, and by which row where the runtime did answer."""
        return f"{self.gist}: {self.rule}" if self.rule and self.verdict != "refused" else self.gist

    @property
    def labelled_line(self) -> str:
        """The line, with the verdict where what is wrong does not say it."""
        told = self.verdict in ("fail", "inconsistent") or self.gist == self.verdict
        return self.line if told else f"{self.verdict}: {self.line}"

    @property
    def few_cases(self) -> list[str]:
        """The cases on a few lines; the last says how many are not named."""
        every = self.cases
        kept = every if len(every) <= _CASE_LINES else every[: _CASE_LINES - 1]
        left = len(self.members) - sum(_denoted(name) for name in kept)
        more = f"… and {plural(left, 'more case')} (-v lists all)"
        return [*map(_shortened, kept), *([more] if len(kept) < len(every) else [])]


def _shortened(name: str) -> str:
    """Return a name with most of a long list in braces left out."""

    def shorten(match: re.Match[str]) -> str:
        words = match[1].split(",")
        if len(words) <= _LISTED:
            return match[0]
        return "{" + ",".join(words[: _LISTED - 1]) + f",…{GLUE}{len(words) - _LISTED + 1} more}}"

    return re.sub(r"\{([^}]*)\}", shorten, name)


def _denoted(name: str) -> int:
    """Return how many cases a name with braces stands for."""
    count = 1
    for part in name.split("{")[1:]:
        count *= part.partition("}")[0].count(",") + 1
    return count


@dataclass(frozen=True)
class RowCount:
    """Values of a case under one row that did not fail."""

    verdict: Verdict
    decision: Decision
    #: The reading that was taken as the backend's, '' where there is only one.
    reading: str
    #: What is to be said of them, '' for nothing.
    kind: str
    #: How many values.
    count: int


@dataclass(frozen=True)
class CaseReport:
    """What was found in a case."""

    case: Case
    verdict: Verdict
    status: Status
    #: Values or calls asked.
    checked: int
    #: Those of them that were judged: what is due for the others is undefined.
    judged: int
    coverage: Coverage
    #: How long it took, None where not known.
    seconds: float | None
    #: The runtime's own words where it could not be asked.
    message: str
    #: What did not fail.
    row_counts: tuple[RowCount, ...]
    #: What failed.
    failures: tuple[CaseFailure, ...]

    @property
    def fails(self) -> bool:
        """Whether it has a failure that no list excuses, at the gate or below it."""
        return self.verdict in FAILURES and self.status not in (KNOWN, WAIVED)


@dataclass(frozen=True)
class Listed:
    """An entry of a list of known failures with the findings that it excuses."""

    excuse: Excuse
    #: How many cases have any of them.
    cases: int
    #: The specs, their versions left open.
    families: str
    #: What is wrong: by which rule, and in how many ways if not in one.
    what: str


@dataclass(frozen=True)
class ProblemInWords:
    """What is wrong with a list of known failures."""

    #: In what way it is wrong: stale, changed ….
    kind: Fault
    place: Place
    #: One line.
    message: str
    #: The lines to have in the place of the entry, none where it has to go.
    repair: tuple[str, ...]


@dataclass(frozen=True)
class RuleRemark:
    """What is said of a rule that is tolerated or undefined: where, and which way it is read."""

    verdict: Verdict
    rule: str
    #: Each way with the specs, their versions left open, and the number of cases.
    ways: tuple[tuple[str, str, int], ...]


@dataclass(frozen=True)
class SpecCounts:
    """The counts of a spec."""

    spec: str
    #: How many cases of it there are.
    cases: int
    #: Values or calls asked.
    asked: int
    #: Those of them that were judged: what is due for the others is undefined.
    judged: int
    #: Cases by status.
    statuses: dict[Status, int]


@dataclass(frozen=True)
class CoveredCases:
    """Cases that were asked as completely as one another."""

    #: How completely: exhaustively, on every boundary ….
    words: str
    #: Their ids.
    cases: tuple[str, ...]


@dataclass(frozen=True)
class RunHead:
    """Who answered, what was asked, where, and how it ended."""

    #: The backend as it names itself.
    name: str
    #: The version, as the backend names it.
    version: str
    #: What --backend was given, '' where not known.
    address: str
    #: How many inputs were asked: edge, boundary or exhaustive.
    tier: str
    #: The gate: failures of rules at this level and stronger fail the run.
    level: Level
    outcome: Outcome
    #: Whether it was stopped, and has what was finished.
    interrupted: bool
    #: Which shard of how many; None for a whole run.
    shard: tuple[int, int] | None
    #: The list of known failures that the run was held against, '' for none.
    known: str
    #: A hash of the vectors of each spec.
    corpora: tuple[tuple[str, str], ...]
    #: The machine and the libraries; None for those of this process.
    environment: Mapping[str, Any] | None
    #: When asking began, in UTC: 2026-01-31T12:00:00Z; '' where not known.
    began: str
    #: The file that has the report as JSON, '' for none.
    report: str = ""


@dataclass(frozen=True)
class ToldCause:
    """A cause of what fails, or several together, in words."""

    #: A, B and so on; of several together A+C.
    letter: str
    #: The names of the causes in the catalogue.
    names: tuple[str, ...]
    #: What it does otherwise than the rules: a sentence without its subject. Of several together,
    #: what those do that were not told before.
    says: str
    #: What they all do.
    whole: str
    #: The cases that it explains, in the order of the plan.
    cases: tuple[Case, ...]
    #: How many answers it gives: all that a rule decides.
    answers: int
    #: How many of these answers are wrong.
    wrong: int
    #: The cases in words.
    where: Where
    #: A wrong answer in a line: input → what came, due what is due; '' for a whole call.
    instance: str
    #: The same answer as a finding of its own case.
    finding: Finding
    #: What gives every answer of all of these cases, too.
    others: Mapping[str, str]
    #: Whether one of the cases fails the run.
    gated: bool

    @property
    def label(self) -> str:
        """The letter in words: A; of several together A with C."""
        return self.letter.replace("+", " with ")

    @property
    def line(self) -> str:
        """The letter, and all that the causes do."""
        return f"{self.label}: {self.whole}"

    @property
    def count(self) -> str:
        """How many cases it explains, and answers of these: 4 cases, 680 of 680 answers."""
        answers = number(self.answers)
        return f"{plural(len(self.cases), 'case')}, {answers} of {plural(self.answers, 'answer')}"

    @property
    def scope(self) -> str:
        """The cases in short: of more than two products the largest, and how many others."""
        first, *more = self.where.short
        return "; ".join([first, *more] if len(more) < 2 else [first, f"and {len(more)} more (-v)"])

    @property
    def wrong_answer(self) -> str:
        """A wrong answer in a line; of a whole call, in which way it is wrong."""
        return self.instance or self.finding.gist


@dataclass(frozen=True)
class Document:
    """The report of a run."""

    #: Who answered, what was asked, and where.
    head: RunHead
    #: PASS, FAIL, INTERRUPTED or NOTHING JUDGED.
    verdict: str
    #: What the verdict rests on, why first, and what else there was.
    reasons: tuple[str, ...]
    #: The backend's name and version.
    backend: str
    #: What was asked: the tier and the gate, which shard, how many of the cases apply, and how
    #: completely these were asked.
    setting: tuple[str, ...]
    #: How completely cases were asked, the most complete first.
    coverage: tuple[CoveredCases, ...]
    #: What there is to say of the run as a whole.
    remarks: tuple[str, ...]
    #: What is counted as asked: values, calls, or both.
    counted: str
    #: The counts of each spec.
    specs: tuple[SpecCounts, ...]
    #: The matrix of each spec.
    matrices: dict[str, StatusMatrix]
    #: Of the matrices of specs with failures that no list excuses, the rows and columns of these.
    failing: dict[str, StatusMatrix]
    findings: tuple[Finding, ...]
    #: The causes of what fails and is not excused, that of most cases first.
    causes: tuple[ToldCause, ...]
    #: The findings, not excused, of cases that no cause explains.
    unexplained: tuple[Finding, ...]
    #: The matrices of operators with failures, with the letters of causes; those that go side by
    #: side together. Empty where there are no causes.
    letters: tuple[Mapping[str, StatusMatrix], ...]
    #: What is wrong with the list of known failures.
    problems: tuple[ProblemInWords, ...]
    #: Known failures, then waived ones, those of most cases first.
    listed: tuple[Listed, ...]
    #: Rules that are tolerated, then those that are undefined.
    rules: tuple[RuleRemark, ...]
    #: Operators, their versions left open, with a disputed rule and the reading of the backend.
    readings: tuple[tuple[str, str, str], ...]
    #: The cases that are unsupported, with the runtime's own words.
    unsupported: tuple[tuple[str, str], ...]
    #: Of specs whose question is a type, the wrong ones.
    wrong_types: tuple[WrongTypes, ...]
    #: The same without those that a list excuses.
    wrong_types_that_count: tuple[WrongTypes, ...]
    #: The cases with their findings, by spec, in plan order.
    cases: dict[str, tuple[CaseReport, ...]]

    @cached_property
    def explained_by(self) -> Mapping[str, ToldCause]:
        """The cause of each case that is explained, by the id of the case."""
        return {case.id: one for one in self.causes for case in one.cases}

    @cached_property
    def statuses(self) -> tuple[Status, ...]:
        """The statuses that some case has, the worst first."""
        found = {status for spec in self.specs for status in spec.statuses}
        return tuple(status for status in STATUSES if status in found)
