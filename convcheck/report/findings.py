"""Failures that are the same across cases, put together and in words."""

from __future__ import annotations

import re
import shlex
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from convcheck.judge.failure import (
    FailureKey,
    fails_whole,
    failure_key_of_case,
    failure_key_of_cause,
    finding_id,
    sort_of,
)
from convcheck.judge.result import (
    FAILURES,
    CallExample,
    CaseResult,
    Example,
    Excuse,
    Group,
    Verdict,
    gates,
)
from convcheck.judge.words import (
    cited,
    clean,
    explain_arguments,
    pair,
    row_names,
    shell_word,
    translated,
)
from convcheck.report.blocks import CodeInWords
from convcheck.report.examples import (
    CallInWords,
    call_in_words,
    element_in_words,
    with_deciding_words,
)
from convcheck.report.status import BELOW, KNOWN, WAIVED, Status
from convcheck.rules.case_names import compact_names
from convcheck.rules.model import Case, Level
from convcheck.semantics.expected import Decision, Quotation
from convcheck.wording import GLUE, number, plural

SEVERAL = "wrong elements of several kinds"
_URGENT: tuple[Verdict, ...] = ("error", "crashed")
_CASE_LINES = 6
_LISTED = 16  # words of a list in braces
_LABELS = {
    "fail": "FAIL",
    "refused": "REFUSED",
    "crashed": "CRASHED",
    "error": "ERROR",
    "inconsistent": "INCONSISTENT",
}


# The failures of a case ----------------------------------------------------------------------


@dataclass(frozen=True)
class CaseFailure:
    """A failure of one case, which alone or with those of other cases is a finding."""

    case: Case
    verdict: Verdict
    gated: bool
    #: Why it does not fail the run, where a list says so.
    excuse: Excuse | None
    #: What it has in common with failures of other cases, and of other backends, that look like the
    #: same cause.
    cause: FailureKey
    #: The runtime's own words for the case as a whole, '' for none.
    message: str
    #: Its groups, of which the first stands for all; none of a case that failed as a whole.
    groups: tuple[Group, ...] = ()
    #: Whether another placement was asked, and every other was right.
    only_there: bool = False

    @property
    def group(self) -> Group | None:
        """The group that stands for all."""
        return self.groups[0] if self.groups else None

    @property
    def decision(self) -> Decision | None:
        """The row that decided; None for a case that failed as a whole."""
        return self.groups[0].decision if self.groups else None

    @property
    def examples(self) -> tuple[Example | CallExample, ...]:
        """The first and, where it is another, the extreme."""
        return self.groups[0].examples if self.groups else ()

    @property
    def count(self) -> int:
        """How many values fail."""
        return sum(group.count for group in self.groups)

    @property
    def of(self) -> int:
        """How many values the row decided."""
        return sum({group.decision.name: group.of for group in self.groups}.values())


@dataclass(frozen=True)
class CaseReport:
    """What was found in a case."""

    found: CaseResult
    status: Status
    failures: tuple[CaseFailure, ...]
    #: How long it took, None where not known.
    seconds: float | None

    @property
    def case(self) -> Case:
        """The case."""
        return self.found.case

    @property
    def fails(self) -> bool:
        """Whether it has a failure that no list excuses, at the gate or below it."""
        return self.found.verdict in FAILURES and self.status not in (KNOWN, WAIVED)


def failures_of(case: CaseResult, level: Level) -> Iterator[CaseFailure]:
    """Yield the failures of a case of a run gated at `level`, groups of one cause as one."""
    found: dict[tuple[FailureKey, Excuse | None], list[Group]] = {}
    for group in case.groups:
        if group.verdict in FAILURES:
            cause = failure_key_of_cause(group, case.case)
            found.setdefault((cause, group.excuse), []).append(group)
    message = "" if case.verdict == "error" else clean(case.message)  # it has its own finding
    for (cause, excuse), groups in found.items():
        first = groups[0]
        yield CaseFailure(
            case.case, first.verdict, gates(first, level), excuse, cause, message, tuple(groups),
            _only_there(case, first),
        )  # fmt: skip
    if fails_whole(case):
        key, gated = failure_key_of_case(case), case.excuse is None
        yield CaseFailure(case.case, case.verdict, gated, case.excuse, key, clean(case.message))


def _only_there(case: CaseResult, group: Group) -> bool:
    """Return whether a group's inputs were asked in another placement, and are right in each."""
    others = [
        other
        for other in case.groups
        if other.decision.name == group.decision.name and other.placement != group.placement
    ]
    right = any(other.verdict in ("pass", "tolerated") for other in others)
    return right and not any(other.verdict in FAILURES for other in others)


# Findings ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Finding:
    """The same failure in one or more cases, in words."""

    #: The failures that are one; the first stands for all.
    members: tuple[CaseFailure, ...]
    #: The address of the backend, '' where not known.
    address: str

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

    @cached_property
    def _counts(self) -> tuple[int, int]:
        return sum(one.count for one in self.members), sum(one.of for one in self.members)

    @property
    def values(self) -> str:
        """How many values fail of those that the row decided, '' where there are none."""
        wrong, of = self._counts
        return f"{number(wrong)} of {number(of)}" if of else ""

    @property
    def share(self) -> str:
        """The same as a sentence, '' where there are none: 5 of 156 inputs under this rule fail."""
        wrong, of = self._counts
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

    @cached_property
    def _shown(self) -> CaseFailure:
        return next((one for one in self.members if one.examples), self.members[0])

    @cached_property
    def cases(self) -> tuple[str, ...]:
        """The cases, those that differ in few places put together: onnx.Cast-{19,21}/…."""
        return tuple(compact_names(one.case.id for one in self.members))

    @cached_property
    def decisions(self) -> tuple[Decision, ...]:
        """The rows that decided the failing values, of each name the first case's."""
        found: dict[str, Decision] = {}
        for one in self.members:
            if one.decision:
                found.setdefault(one.decision.name, one.decision)
        return tuple(found.values())

    @property
    def rule(self) -> str:
        """Rule and row that decided, the first of several; '' for a case that failed as a whole."""
        by = self.members[0].decision
        return by.name if by else ""

    @property
    def row(self) -> str:
        """The same, with how many more rows there are."""
        return row_names([by.name for by in self.decisions])

    @property
    def places(self) -> str:
        """Where the row stands, one place a spec file that changed it."""
        every = [one.decision for one in self.members if one.decision]
        each = list(dict.fromkeys(str(by.place) for by in every if by.name == every[0].name))
        return ", ".join([*each[:1], *(_beside(*both) for both in pairwise(each))])

    @property
    def cited(self) -> tuple[str, ...]:
        """The sentence of the standard, or one for each reading, with source and level; and what
        the row says where the sentence is that of its table.
        """
        by = self.members[0].decision
        return cited_lines(by) if by else ()

    @cached_property
    def kind(self) -> str:
        """In which way the values are wrong; of several ways, of what sort they are, or all."""
        groups = [group for one in self.members for group in one.groups]
        kinds = list(dict.fromkeys(group.kind for group in groups))
        if len(kinds) < 2:
            return clean("".join(kinds))
        said = ", ".join(kind for kind in kinds if kind != SEVERAL)
        return clean(sort_of(groups[0]) or said)

    @cached_property
    def where(self) -> str:
        """In which placement it shows, '' where in all; and whether every other was right."""
        group = self.members[0].group
        if not group or not group.placement:
            return ""
        if group.verdict == "inconsistent":
            return f"seen with: {group.placement}"
        only = "only " if all(one.only_there for one in self.members) else ""
        return f'{only}in placement "{group.placement}"'

    @cached_property
    def what(self) -> str:
        """What is wrong, under which reading, and in which placement if not in all."""
        group, shown = self.members[0].group, self._shown
        if group is None:
            return ""
        if group.verdict == "inconsistent" and shown.groups:
            return clean(
                f"{self.kind}: {shown.examples[0].message}"
            )  # both ways, and their answers
        said = self.kind
        if group.reading:
            said += f"; closest reading: {group.reading}"
        if self.where:
            said += f", {self.where}"
        return clean(said.lstrip(",; "))  # a type in it is named by the backend

    @cached_property
    def message(self) -> str:
        """The runtime's own words, where no example says them."""
        said = self.members[0].message
        return "" if any(clean(one.message) == said for one in self._shown.examples) else said

    @cached_property
    def gist(self) -> str:
        """What is wrong in a few words: the runtime's own where it did not answer."""
        first = self.members[0]
        said = first.examples[0].message if first.examples else ""
        if first.decision is None:
            words = self.message
        elif first.verdict == "refused":
            words = said or first.decision.name
        else:
            words = said if said and first.verdict == "crashed" else self.what
        return clean(words) or first.verdict

    @cached_property
    def examples(self) -> tuple[tuple[CodeInWords, ...] | CallInWords, ...]:
        """The first and, where it is another, the extreme."""
        shown = self._shown
        disputed = shown.decision is not None and shown.decision.level == "disputed"
        return tuple(
            call_in_words(example, shown.verdict, named=disputed)
            if isinstance(example, CallExample)
            else element_in_words(shown.case, example, shown.verdict)
            for example in shown.examples
        )

    @cached_property
    def ranges(self) -> tuple[str, ...]:
        """The inputs that fail, as ranges."""
        group = self._shown.group
        fmt, spans = self._shown.case.inputs[0].format, group.ranges if group else ()
        return tuple(pair(fmt, span) for span in spans) if self._shown.examples else ()

    @property
    def more_ranges(self) -> int:
        """How many ranges are left out in the middle."""
        group = self._shown.group
        return group.more_ranges if group and group.examples else 0

    @cached_property
    def explain(self) -> tuple[str, ...]:
        """The command that explains the first example, in parts that are not to be broken."""
        shown = self._shown
        if not shown.examples:
            return ()
        return explain_command(shown.case, with_deciding_words(shown.examples[0]), self.address)


def findings_of(failures: Iterable[CaseFailure], address: str) -> list[Finding]:
    """Return the failures of some cases, those of one cause together, the gravest first. `address`
    is that of the backend, '' where not known.
    """
    found: dict[Hashable, list[CaseFailure]] = {}
    for failure in failures:
        found.setdefault((failure.cause, failure.excuse), []).append(failure)
    ordered = sorted(found.values(), key=_gravity)
    return [Finding(tuple(same), address) for same in ordered]


def _gravity(members: Sequence[CaseFailure]) -> tuple[bool, bool, int, int, int]:
    one = members[0]
    rank = _URGENT.index(one.verdict) if one.verdict in _URGENT else len(_URGENT)
    count = sum(member.count for member in members)
    return (not one.gated, one.excuse is not None, rank, -len(members), -count)


def _beside(before: str, place: str) -> str:
    """Return a place that stands beside another: no folders, of the same file its line only."""
    file, _, line = place.rpartition(":")
    return line if before.rpartition(":")[0] == file else place.rpartition("/")[2]


def _shortened(name: str) -> str:
    """Return a name with most of a long list in braces left out."""

    def shorten(match: re.Match[str]) -> str:
        words = match[1].split(",")
        if len(words) <= _LISTED:
            return match[0]
        return "{" + ",".join(words[: _LISTED - 1]) + f",…{GLUE}{len(words) - _LISTED + 1} more}}"

    return re.sub(r"\{([^}]*)\}", shorten, name)


def _denoted(name: str) -> int:
    count = 1
    for part in name.split("{")[1:]:
        count *= part.partition("}")[0].count(",") + 1
    return count


@lru_cache(256)
def cited_lines(by: Decision) -> tuple[str, ...]:
    """Return what a row rests on: a line a sentence, its translation, what the row says."""
    lines: list[str] = []
    for one in by.sentences:
        level = f" (level:{GLUE}{by.level})" if one == by.sentences[-1] else ""
        lines.append(f"{_sentence(one)}{level}".lstrip())
        lines += [translated(one.gloss)] if one.gloss else []
    return (*lines, *([f"in its row: {by.row_in_words}"] if by.row_in_words else []))


def _sentence(one: Quotation) -> str:
    """Return a sentence with where it stands, after what of the row rests on it."""
    part = f"{one.of}: " if one.of else ""
    document = f" — {one.document}" if one.document else ""
    return part + (cited(one.text) if one.text else "") + document


def explain_command(
    case: Case, example: Example | CallExample, address: str
) -> tuple[str, str, str]:
    """Return the command that explains an example and asks the backend again: its beginning, the
    case, and the values.
    """
    asked = ["--backend", shell_word(address)] if address else []
    if case.is_pair:
        start = " ".join(("convcheck run --chains", *asked, case.spec, "--case"))
        return start, shlex.quote(case.id), ""
    if case.hops:
        types = (case.inputs[0], *(hop.outputs[0] for hop in case.hops))
        where = (f"--where {name}={value}" for name, value in case.attributes)
        start = " ".join(("convcheck chain", *asked, "--spec", case.spec, *where))
        return start, " ".join(dtype.name for dtype in types), ""
    arguments = explain_arguments(case, example)
    at = 2 if arguments[0] == "--" else 1
    start = " ".join(["convcheck explain", *asked, *arguments[: at - 1]])
    return start, arguments[at - 1], " ".join(arguments[at:])
