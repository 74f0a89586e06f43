"""Group equal failures of several cases, and put them and the causes of a run in words."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from convcheck.causes.gather import Diagnosis, Explanation, with_letters
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
    CauseInWords,
    Example,
    Excuse,
    Group,
    Verdict,
    WholeRun,
    Word,
    gates,
)
from convcheck.judge.words import (
    cited,
    clean,
    code_text,
    explain_arguments,
    pair,
    pattern,
    row_names,
    shell_word,
    shown,
    translated,
    value,
)
from convcheck.numerics.format import Format
from convcheck.records import grouped, replace
from convcheck.report.blocks import CodeInWords
from convcheck.report.counts import BELOW, KNOWN, WAIVED, Status
from convcheck.report.examples import (
    CallInWords,
    call_in_words,
    deciding_words,
    element_in_words,
    forms,
    spelled,
    with_deciding_words,
)
from convcheck.report.where import JudgedCases, Where
from convcheck.rules.find import compact_names
from convcheck.rules.model import Case, Level
from convcheck.rules.types import Types
from convcheck.semantics.expected import Decision
from convcheck.streams import GLUE, number, plural

SEVERAL = "wrong elements of several kinds"
_URGENT: tuple[Verdict, ...] = ("error", "crashed")
_CASE_LINES = 6
_LISTED = 16  # names in braces
_LABELS = {
    "fail": "FAIL",
    "refused": "REFUSED",
    "crashed": "CRASHED",
    "error": "ERROR",
    "inconsistent": "INCONSISTENT",
}


@dataclass(frozen=True)
class CaseFailure:
    """A failure of one case: a finding, or part of one."""

    case: Case
    verdict: Verdict
    gated: bool
    excuse: Excuse | None  # why it does not fail the run, if a list says so
    #: The key shared with failures of other cases and backends that have the same cause.
    cause: FailureKey
    message: str  # the runtime's message for the whole case, '' for none
    #: The first group represents all. Empty if the case failed as a whole.
    groups: tuple[Group, ...] = ()
    only_there: bool = False  # whether every other tested placement was right

    @property
    def group(self) -> Group | None:
        """The representative group."""
        return self.groups[0] if self.groups else None

    @property
    def decision(self) -> Decision | None:
        """The deciding row; None if the case failed as a whole."""
        return self.groups[0].decision if self.groups else None

    @property
    def examples(self) -> tuple[Example | CallExample, ...]:
        """The first example and, if it differs, the extreme one."""
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
    """The findings in a case."""

    found: CaseResult
    status: Status
    failures: tuple[CaseFailure, ...]
    seconds: float | None  # run time in seconds; None if unknown

    @property
    def case(self) -> Case:
        """The case."""
        return self.found.case

    @property
    def fails(self) -> bool:
        """Whether it has an unexcused failure, at the gate or below."""
        return self.found.verdict in FAILURES and self.status not in (KNOWN, WAIVED)


def failures_of(case: CaseResult, level: Level) -> Iterator[CaseFailure]:
    """Yield the failures of a case in a run gated at `level`, one per cause."""
    failing = (group for group in case.groups if group.verdict in FAILURES)
    found = grouped(((failure_key_of_cause(g, case.case), g.excuse), g) for g in failing)
    message = "" if case.verdict == "error" else clean(case.message)  # an error has its own finding
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
    """Whether the inputs are right in all other tested placements."""
    others = [
        other
        for other in case.groups
        if other.decision.name == group.decision.name and other.placement != group.placement
    ]
    right = any(other.verdict in ("pass", "tolerated") for other in others)
    return right and not any(other.verdict in FAILURES for other in others)


@dataclass(frozen=True)
class Finding:
    """The same failure in one or more cases, in words."""

    #: Equal failures. The first represents all.
    members: tuple[CaseFailure, ...]
    address: str  # the backend's address, '' if unknown

    @property
    def id(self) -> str:
        """The id, equal in all runs and formats."""
        return finding_id(self.members[0].cause)

    @property
    def verdict(self) -> Verdict:
        """The verdict on the values."""
        return self.members[0].verdict

    @property
    def gated(self) -> bool:
        """Whether it fails the run."""
        return self.members[0].gated

    @property
    def excuse(self) -> Excuse | None:
        """Why it does not fail the run, if a list says so."""
        return self.members[0].excuse

    @property
    def label(self) -> str:
        """The verdict in capitals; if it fails no run, in small letters with a reason."""
        word = _LABELS[self.verdict]
        if self.gated:
            return word
        return f"{word.lower()} ({self.excuse.kind if self.excuse else 'below the gate'})"

    @property
    def status(self) -> str:
        """The verdict if it fails the run, else the excuse or "below gate"."""
        if self.excuse:
            return self.excuse.kind
        return self.verdict if self.gated else BELOW.word

    @cached_property
    def _counts(self) -> tuple[int, int]:
        return sum(one.count for one in self.members), sum(one.of for one in self.members)

    @property
    def values(self) -> str:
        """How many of the row's values fail; '' if it decided none."""
        wrong, of = self._counts
        return f"{number(wrong)} of {number(of)}" if of else ""

    @property
    def share(self) -> str:
        """The same as a sentence."""
        wrong, of = self._counts
        asked = plural(of, "call" if self.members[0].case.whole_calls else "input")
        one, several = ("fails", "fail")
        if self.verdict == "inconsistent":
            one, several = ("has two answers", "have two answers")
        said = one if wrong == 1 else several
        return f"{number(wrong)} of {asked} under this rule {said}" if of else ""

    @property
    def count(self) -> str:
        """Counts of values and, if several, cases: 12 of 90 in 3 cases."""
        cases = plural(len(self.members), "case") if len(self.members) > 1 else ""
        return " in ".join(filter(None, (self.values, cases)))

    @property
    def line(self) -> str:
        """The error, and the rule if the runtime answered."""
        return f"{self.gist}: {self.rule}" if self.rule and self.verdict != "refused" else self.gist

    @property
    def labelled_line(self) -> str:
        """The line, with the verdict unless the line implies it."""
        told = self.verdict in ("fail", "inconsistent") or self.gist == self.verdict
        return self.line if told else f"{self.verdict}: {self.line}"

    @property
    def few_cases(self) -> list[str]:
        """The cases on a few lines; the last counts the rest."""
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
        """Compact names of the cases: onnx.Cast-{19,21}/…."""
        return tuple(compact_names(one.case.id for one in self.members))

    @cached_property
    def decisions(self) -> tuple[Decision, ...]:
        """The rows that decided the failing values, one per name."""
        found: dict[str, Decision] = {}
        for one in self.members:
            if one.decision:
                found.setdefault(one.decision.name, one.decision)
        return tuple(found.values())

    @property
    def rule(self) -> str:
        """The first deciding rule and row; '' if the case failed as a whole."""
        by = self.members[0].decision
        return by.name if by else ""

    @property
    def row(self) -> str:
        """The first rule and row, and the number of others."""
        return row_names([by.name for by in self.decisions])

    @property
    def places(self) -> str:
        """The row's place in each spec file that changed it."""
        every = [one.decision for one in self.members if one.decision]
        each = list(dict.fromkeys(str(by.place) for by in every if by.name == every[0].name))
        return ", ".join([*each[:1], *(_beside(*both) for both in pairwise(each))])

    @property
    def cited(self) -> tuple[str, ...]:
        """The standard's sentences, one per reading, with source and level."""
        by = self.members[0].decision
        return cited_lines(by) if by else ()

    @property
    def sentence(self) -> str:
        """The first sentence with id and level; '' if the case failed as a whole."""
        by = self.members[0].decision
        if by is None:
            return ""
        one = by.sentences[0]
        quoted = cited(one.text) if one.text else ""
        named = f"{self.members[0].case.spec}{one.id}" if one.id else one.document
        return f"{quoted} ({named},{GLUE}{by.level})".lstrip()

    @cached_property
    def kind(self) -> str:
        """The kind of error; of several, their common kind or all."""
        groups = [group for one in self.members for group in one.groups]
        kinds = list(dict.fromkeys(group.kind for group in groups))
        if len(kinds) < 2:
            return clean("".join(kinds))
        said = ", ".join(kind for kind in kinds if kind != SEVERAL)
        return clean(sort_of(groups[0]) or said)

    @cached_property
    def where(self) -> str:
        """The placement with the failure; '' if it is in all."""
        group = self.members[0].group
        if not group or not group.placement:
            return ""
        if group.verdict == "inconsistent":
            return f"seen with: {group.placement}"
        only = "only " if all(one.only_there for one in self.members) else ""
        return f'{only}in placement "{group.placement}"'

    @cached_property
    def what(self) -> str:
        """The error, its reading, and its placement unless it is in all."""
        group, shown = self.members[0].group, self._shown
        if group is None:
            return ""
        if group.verdict == "inconsistent" and shown.groups:
            return clean(f"{self.kind}: {shown.examples[0].message}")  # both answers
        said = self.kind
        if group.reading:
            said += f"; closest reading: {group.reading}"
        if self.where:
            said += f", {self.where}"
        return clean(said.lstrip(",; "))  # it can have a type named by the backend

    @cached_property
    def message(self) -> str:
        """The runtime's message, unless an example has it."""
        said = self.members[0].message
        return "" if any(clean(one.message) == said for one in self._shown.examples) else said

    @cached_property
    def gist(self) -> str:
        """The error in few words: the runtime's message if it did not answer."""
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
        """The first example and, if it differs, the extreme one, in words."""
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
        """The failing inputs as ranges."""
        group = self._shown.group
        fmt, spans = self._shown.case.inputs[0].format, group.ranges if group else ()
        return tuple(pair(fmt, span) for span in spans) if self._shown.examples else ()

    @property
    def more_ranges(self) -> int:
        """How many ranges in the middle are omitted."""
        group = self._shown.group
        return group.more_ranges if group and group.examples else 0

    @cached_property
    def explain(self) -> tuple[str, ...]:
        """The command that explains the first example."""
        shown = self._shown
        if not shown.examples:
            return ()
        return _explain_command(shown.case, with_deciding_words(shown.examples[0]), self.address)


def findings_of(failures: Iterable[CaseFailure], address: str) -> list[Finding]:
    """Group failures by cause, the most serious first. `address` is the backend's, or ''."""
    found = grouped(((failure.cause, failure.excuse), failure) for failure in failures)
    ordered = sorted(found.values(), key=_gravity)
    return [Finding(tuple(same), address) for same in ordered]


def _gravity(members: Sequence[CaseFailure]) -> tuple[bool, bool, int, int, int]:
    one = members[0]
    rank = _URGENT.index(one.verdict) if one.verdict in _URGENT else len(_URGENT)
    count = sum(member.count for member in members)
    return (not one.gated, one.excuse is not None, rank, -len(members), -count)


def _beside(before: str, place: str) -> str:
    file, _, line = place.rpartition(":")
    return line if before.rpartition(":")[0] == file else place.rpartition("/")[2]


def _shortened(name: str) -> str:
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
    """Return the basis of a row: sentences, translations and the row's text."""
    lines: list[str] = []
    for one in by.sentences:
        part = f"{one.of}: " if one.of else ""
        quoted = cited(one.text) if one.text else ""
        document = f" — {one.document}{GLUE}{one.id}".rstrip(GLUE) if one.document else ""
        level = f" (level:{GLUE}{by.level})" if one == by.sentences[-1] else ""
        lines.append(f"{part}{quoted}{document}{level}".lstrip())
        lines += [translated(one.gloss)] if one.gloss else []
    return (*lines, *([f"in its row: {by.row_in_words}"] if by.row_in_words else []))


def _explain_command(
    case: Case, example: Example | CallExample, address: str
) -> tuple[str, str, str]:
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


FEW_ANSWERS = "fits, on few answers"
Shown = tuple[Case, Group, Example | CallExample]


@dataclass(frozen=True)
class ToldCause:
    """A cause of failures, or several together, in words."""

    letter: str  # A, B and so on; A+C for several together
    #: The effect, a sentence without subject. With several causes, only effects not listed before.
    says: str
    found: Explanation
    where: Where
    shown: Shown
    run: tuple[str, Level]  # the backend's address, '' if unknown, and the gate

    @property
    def names(self) -> tuple[str, ...]:
        """The causes' names in the catalogue."""
        return tuple(cause.name for cause in self.found.causes)

    @property
    def whole(self) -> str:
        """The effects of all causes."""
        return said_of(self.found.causes)

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """The explained cases in plan order."""
        return tuple(one.case for one in self.found.cases)

    @property
    def others(self) -> Mapping[str, str]:
        """Other causes that give every answer of these cases."""
        return {"+".join(c.name for c in each): said_of(each) for each in self.found.others}

    @cached_property
    def gated(self) -> bool:
        """Whether a case fails the run."""
        return any(one.gates(self.run[1]) for one in self.found.cases)

    @property
    def instance(self) -> str:
        """A wrong answer in a line; '' for a whole call."""
        return _instance(*self.shown)

    @cached_property
    def finding(self) -> Finding:
        """The same answer as a finding of its case."""
        (case, group, _), (address, level) = self.shown, self.run
        result = next(one for one in self.found.cases if one.case is case)
        failures = failures_of(replace(result, groups=(group,)), level)
        return findings_of(failures, address)[0]

    @property
    def label(self) -> str:
        """The letter, or "A with C" for several together."""
        return self.letter.replace("+", " with ")

    @property
    def line(self) -> str:
        """The letter and all effects."""
        return f"{self.label}: {self.whole}"

    @property
    def count(self) -> str:
        """The explained cases and answers: 4 cases, 680 of 680 answers."""
        answers = self.found.answers
        cases = plural(len(self.cases), "case")
        return f"{cases}, {number(answers)} of {plural(answers, 'answer')}"

    @property
    def scope(self) -> str:
        """The first product of the cases, and the number of others."""
        first, *more = self.where.short
        return f"{first}; and {len(more)} more (-v)" if more else first

    @property
    def wrong_answer(self) -> str:
        """A wrong answer in a line; for a whole call, the kind of error."""
        return self.instance or self.finding.gist


def told_causes(
    found: Diagnosis, backend: str, level: Level, types: Types | None, whole: WholeRun | None = None
) -> tuple[ToldCause, ...]:
    """Return the causes of a run in words, with the letters of the `whole`.

    `backend` is the address, '' if unknown. Without `types`, types are not folded into families.
    """
    judged = JudgedCases(whole.judged if whole else found.judged, types)
    told: set[str] = set()
    causes: list[ToldCause] = []
    lettered = with_letters(found.explanations, whole.letters if whole else {})
    for (letter, one), answer in zip(lettered, wrong_answers(found.explanations), strict=True):
        each = zip(letter.split("+"), one.causes, strict=True)
        new = [(mark, cause) for mark, cause in each if cause.name not in told]
        told |= {cause.name for _, cause in new}
        several = len(one.causes) > 1
        says = "; ".join(f"{mark} {said_of([c])}" if several else said_of([c]) for mark, c in new)
        if says and one.in_whole_vectors:
            says = f"in whole vectors only: {says}"
        if says and one.is_on_few_answers:
            says += f" ({FEW_ANSWERS})"
        where = judged.where([each.case for each in one.cases])
        causes.append(ToldCause(letter, says, one, where, answer, (backend, level)))
    return tuple(causes)


def letters_of(causes: Iterable[ToldCause]) -> Mapping[str, str]:
    """Return the first letter of the cause of each explained case."""
    return {case.id: one.letter.partition("+")[0] for one in causes for case in one.cases}


def said_of(causes: Sequence[CauseInWords]) -> str:
    """Return the effects of causes together, with their names."""
    return "; and ".join(f"{cause.says} ({cause.name})" for cause in causes)


def wrong_answers(explanations: Sequence[Explanation]) -> Iterator[Shown]:
    """Yield a wrong answer of each explanation's strongest rule, new if possible."""
    told: set[str] = set()
    for one in explanations:
        names = {cause.name for cause in one.causes}
        new = [each for case in one.cases for each in _given_without(names & told, case)]
        told |= names
        found = new or [(case, group) for case in one.cases for group in _large(case)]
        found = [each for each in found if each[1].decision.level == one.level] or found
        shown = ((case.case, group, group.examples[0]) for case, group in found)
        yield min(shown, key=_length)


def _length(shown: Shown) -> tuple[bool, int]:
    case, group, _ = shown
    return case.whole_calls, len(case.id) + len(group.decision.cite) + len(_instance(*shown))


def _given_without(causes: set[str], case: CaseResult) -> Iterator[tuple[CaseResult, Group]]:
    alone = dict(case.diagnosis.alone) if case.diagnosis and causes else {}
    for group in _failing(case):
        names = set(alone.get(group.digest, ()))
        if names and not names & causes:
            yield case, group


def _failing(case: CaseResult) -> list[Group]:
    return [group for group in case.groups if group.verdict in FAILURES and group.examples]


def _large(case: CaseResult) -> list[Group]:
    failing = _failing(case)
    most = max((group.count for group in failing), default=0)
    return [group for group in failing if 2 * group.count >= most]


def _instance(case: Case, group: Group, example: Example | CallExample) -> str:
    if isinstance(example, CallExample):
        return _call(group, example)
    fmt, target = case.inputs[0].format, case.outputs[0].format
    due = _in_words(target, example.expected)
    came = group.verdict if example.got is None else _in_words(target, example.got)
    asked = example.inputs[0]
    given = shown(fmt, asked) if isinstance(asked, str) else _in_words(fmt, asked)
    return f"{given} → {came}, expected {due}"


def _call(group: Group, example: CallExample) -> str:
    words = deciding_words(example)
    if not words or len(words) != len(example.inputs):
        return ""
    both = zip(example.inputs, words, strict=True)
    given = ", ".join(spelled(strip, word, codes=False) for strip, word in both)
    due, got = example.expected, example.got
    output, element = example.difference or (0, -1)
    if got is None or isinstance(due, str):
        came = group.verdict if got is None else forms(got)
        return f"{given} → {came}, expected {pattern(due) if isinstance(due, str) else forms(due)}"
    if element < 0:
        return f"{given} → {forms(got)}, expected {forms(due)}"
    wanted, came = (spelled(s, s.words[element - s.first]) for s in (due[output], got[output]))
    return f"{given} → {came}, expected {wanted}"


def _in_words(fmt: Format, word: Word) -> str:
    said = value(fmt, word)
    return f"{said} ({code_text(fmt, word)})" if said is not None else pattern(word)
