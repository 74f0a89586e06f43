"""The causes of a run in words: what every report says of them, made once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from convcheck.causes.gather import Diagnosis, Explanation, with_letters
from convcheck.judge.result import (
    FAILURES,
    CallExample,
    CaseResult,
    CauseInWords,
    Example,
    Group,
    Word,
)
from convcheck.judge.words import code_text, pattern, shown, value
from convcheck.numerics.format import Format
from convcheck.report.case_names import naming
from convcheck.report.document import ToldCause
from convcheck.report.findings import failures_of, findings_of
from convcheck.report.short_names import family
from convcheck.rules.model import Case, Level
from convcheck.rules.types import Types

Naming = Callable[[Sequence[Case]], list[str]]  # cases -> what they are called
Shown = tuple[Case, Group, Example | CallExample]


def told_causes(
    found: Diagnosis,
    backend: str,
    level: Level,
    types: Types | None,
    letters: Mapping[str, str] = MappingProxyType({}),
) -> tuple[ToldCause, ...]:
    """Return the causes of a run gated at `level` in words. `backend` is its address, '' where not
    known; without `types`, every type is named, and no family of them. `letters` are those that
    causes have already, by their names.
    """
    explained = [result for one in found.explanations for result in one.cases]
    where = _naming([result.case for result in (*explained, *found.unexplained)], types)
    told: set[str] = set()
    causes: list[ToldCause] = []
    for letter, one in with_letters(found.explanations, letters):
        each = zip(letter.split("+"), one.causes, strict=True)
        new = [(mark, cause) for mark, cause in each if cause.name not in told]
        told |= {cause.name for _, cause in new}
        several = len(one.causes) > 1
        says = "; ".join(f"{mark} {c.says}" if several else c.says for mark, c in new)
        if says and one.in_whole_vectors:
            says = f"in whole vectors only: {says}"
        if says and one.is_on_few_answers:
            says += " (fits, on few answers)"
        causes.append(_told((letter, says), one, where, backend, level))
    return tuple(causes)


def _told(
    title: tuple[str, str],
    one: Explanation,
    where: Naming,
    backend: str,
    level: Level,
) -> ToldCause:
    case, group, example = wrong_answer(one.cases)
    result = next(each for each in one.cases if each.case is case)
    cases = tuple(each.case for each in one.cases)
    failures = failures_of(replace(result, groups=(group,)), level)
    return ToldCause(
        letter=title[0],
        names=tuple(cause.name for cause in one.causes),
        says=title[1],
        whole=said_of(one.causes),
        cases=cases,
        answers=one.answers,
        wrong=one.wrong,
        families=_families(cases),
        where=tuple(where(cases)),
        instance=_instance(case, group, example),
        finding=findings_of(failures, backend)[0],
        others=tuple(map(said_of, one.others)),
        gated=any(each.gates(level) for each in one.cases),
    )


def letters_of(causes: Iterable[ToldCause]) -> Mapping[str, str]:
    """Return the first letter of what explains each case, by the id of the case."""
    return {case.id: one.letter.partition("+")[0] for one in causes for case in one.cases}


def said_of(causes: Sequence[CauseInWords]) -> str:
    """Say what causes do together."""
    return "; and ".join(cause.says for cause in causes)


def wrong_answer(cases: Sequence[CaseResult]) -> Shown:
    """Return a wrong answer: of those that are no rare ones in their case, that told in the fewest
    words; one to a whole call where there is no other.
    """
    found = ((case.case, group, group.examples[0]) for case in cases for group in _large(case))
    return min(found, key=lambda shown: (shown[0].whole_calls, len(_instance(*shown))))


def _large(case: CaseResult) -> Iterator[Group]:
    """Yield the groups that have half of the most wrong answers, or more."""
    failing = [group for group in case.groups if group.verdict in FAILURES and group.examples]
    most = max((group.count for group in failing), default=0)
    return (group for group in failing if 2 * group.count >= most)


def _families(cases: Sequence[Case]) -> str:
    """Name a single case; else operators, versions left open where there are several, and of
    several the standard once: onnx.Cast-*, CastLike-*.
    """
    if len(cases) == 1:
        return cases[0].id
    specs = dict.fromkeys(case.spec for case in cases)
    if len(specs) == 1:
        return next(iter(specs))
    found: dict[str, list[str]] = {}
    for case in cases:
        standard, _, op = family(case.spec).partition(".")
        found.setdefault(standard, []).append(op)
    return ", ".join(f"{name}.{', '.join(dict.fromkeys(ops))}" for name, ops in found.items())


def _naming(row: Sequence[Case], types: Types | None) -> Naming:
    """Return what names cases of a row whatever their versions."""
    bare = {case.id: _versionless(case) for case in row}
    named = naming(list(dict.fromkeys(bare.values())), types)
    return lambda cases: named(list(dict.fromkeys(bare[case.id] for case in cases)))


def _instance(case: Case, group: Group, example: Example | CallExample) -> str:
    """Say what came in the place of what; '' of a whole call."""
    if isinstance(example, CallExample):
        return ""
    fmt, target = case.inputs[0].format, case.outputs[0].format
    due = _in_words(target, example.expected)
    came = group.verdict if example.got is None else _in_words(target, example.got)
    return f"{shown(fmt, example.inputs[0])} → {came}, due {due}"


def _in_words(fmt: Format, word: Word) -> str:
    """Return a code with its value, or a pattern in words."""
    said = value(fmt, word)
    return f"{code_text(fmt, word)} ({said})" if said is not None else pattern(word)


def _versionless(case: Case) -> Case:
    """Return a case with its version left open, and without inputs that only have a type."""
    inputs = case.inputs if case.whole_calls else case.inputs[:1]
    return replace(case, spec=family(case.spec), inputs=inputs)
