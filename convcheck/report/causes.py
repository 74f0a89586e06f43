"""The causes of a run in words."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from convcheck.causes.gather import Diagnosis, Explanation, with_letters
from convcheck.judge.result import (
    FAILURES,
    CallExample,
    CaseResult,
    CauseInWords,
    Example,
    Group,
    WholeRun,
    Word,
)
from convcheck.judge.words import code_text, pattern, shown, value
from convcheck.numerics.format import Format
from convcheck.records import replace
from convcheck.report.examples import deciding_words, forms, spelled
from convcheck.report.findings import Finding, failures_of, findings_of
from convcheck.report.where import JudgedCases, Where
from convcheck.rules.model import Case, Level
from convcheck.rules.types import Types
from convcheck.streams import number, plural

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
