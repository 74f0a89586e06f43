"""Causes as mutants: each is planted in the cases that it applies to, and asked their vectors.

A mutant can be observed if an input that a rule decides gets an answer that is judged wrong; it is
caught if a vector does. Inputs beyond the vectors are looked at only where no vector catches it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import lru_cache
from typing import cast

import numpy as np
from numpy.typing import NDArray

from convcheck.causes.apart import spread
from convcheck.causes.call_mutants import call_mutants, is_of
from convcheck.causes.score import Mutant
from convcheck.causes.value_mutants import ValueMutants
from convcheck.judge.matching import Mask, matching
from convcheck.judge.refusals import may_refuse
from convcheck.judge.result import entry_word
from convcheck.judge.words import shown
from convcheck.numerics.codes import Bits, Codes
from convcheck.numerics.format import Format, Numeric, Text
from convcheck.numerics.neighbours import special_codes
from convcheck.records import replace
from convcheck.rules.body.matrix import Matrix
from convcheck.rules.causes import Cause
from convcheck.rules.model import REAL, Case, Rule, Spec, Value
from convcheck.rules.outside import is_listed
from convcheck.semantics.answers_at import CHUNK, answers_at, points_of
from convcheck.semantics.evaluate import compile_case
from convcheck.semantics.expected import EXACT, REFUSED, UNDEFINED, Expected, Reading
from convcheck.semantics.program import Meaning, Program
from convcheck.semantics.vocabulary import Points
from convcheck.semantics.wrong import (
    compile_wrong,
    may_differ,
    readings_at,
    right_program,
    touched,
)
from convcheck.vectors.corpus import Corpus
from convcheck.vectors.generate import inputs_of
from convcheck.vectors.inputs import numeric_inputs
from convcheck.vectors.model import CallSet, VectorSet

Counts = NDArray[np.intp]  # of wrong answers, shape (rules, readings)
_WHOLE = 16  # bits of a source of which every code is looked at
_SPELLED = 1 << 10  # inputs beyond the vectors, where each has to be spelled


@dataclass(frozen=True)
class Asked:
    """Inputs of a case, and what is due of them."""

    #: The spec of the case.
    spec: Spec
    #: The case.
    case: Case
    #: The inputs.
    points: Points
    #: What the rules expect of them.
    due: Expected

    @staticmethod
    def of(spec: Spec, case: Case, points: Points) -> Asked:
        """Return inputs with what the rules expect of them."""
        program = compile_case(spec, case)
        rows, answers = points.kept(
            program, lambda: answers_at(program, points, points.target.storage)
        )
        readings = tuple(Reading(*each) for each in answers)
        return Asked(spec, case, points, Expected(rows, program.decisions, readings))

    def shows(self, cause: Cause) -> bool:
        """Return whether some answer under a cause is wrong."""
        program = compile_wrong(self.spec, self.case, (cause,))
        return program is not None and fewest(self.counts(self.wrong(program))) > 0

    def opened_by(self, cause: Cause) -> bool:
        """Return whether a cause answers some input of which the rules expect nothing."""
        program = compile_wrong(self.spec, self.case, (cause,))
        if program is None:
            return False
        free = np.logical_and.reduce([r.patterns == UNDEFINED for r in self.due.readings])
        return bool((free & (readings_at(program, self.points)[0].patterns != UNDEFINED)).any())

    def touched_by(self, program: Program) -> Asked:
        """Return the inputs to which a wrong conversion may give another answer."""
        here = touched(program, right_program(self.spec, self.case), self.points)
        if np.count_nonzero(here) * 2 > len(here):
            return self
        points = points_of(self.case, self.points.bits[here])
        return replace(self, points=points, due=self.due.take(np.flatnonzero(here)))

    def wrong(self, program: Program) -> list[Mask]:
        """Return which answers of a wrong conversion are wrong, under each reading."""
        given = readings_at(program, self.points)[0]
        return [self._wrong(given, due) for due in self.due.readings]

    def _wrong(self, given: Reading, due: Reading) -> Mask:
        index = np.flatnonzero(self._others(given, due) & (given.patterns != UNDEFINED))
        wrong = np.zeros(len(due.codes), bool)
        if len(index):
            source, target = self.points.source, self.points.target
            part = Reading(due.codes[index], due.patterns[index])
            right = matching(part, given.codes[index], target, source, self.points.bits[index])
            refused = given.patterns[index] == REFUSED
            wrong[index] = ~np.where(refused, may_refuse(self.case, part), right)
        return wrong

    def _others(self, given: Reading, due: Reading) -> Mask:
        """Return which answers are not those that are due: of texts, not as they are spelled."""
        other = np.asarray(given.codes != due.codes, bool)
        if isinstance(self.points.target, Text):
            other |= (given.patterns == REFUSED) != (due.patterns == REFUSED)
            return other
        other &= due.patterns == EXACT
        other |= given.patterns != due.patterns
        return other

    def counts(self, wrong: Sequence[Mask]) -> Counts:
        """Count wrong answers by rule and reading: a reading holds for a rule as a whole."""
        if len(wrong) == 1:
            return np.array([[np.count_nonzero(wrong[0])]])
        rules = [(decision.rule, decision.readings) for decision in self.due.decisions]
        numbers = {rule: number for number, rule in enumerate(dict.fromkeys(rules))}
        of = np.array([numbers[rule] for rule in rules])[self.due.rows]
        return np.array([np.bincount(of[mask], minlength=len(numbers)) for mask in wrong]).T


def fewest(counts: Counts) -> int:
    """Return how many answers are wrong under the readings of which most are right."""
    return int(counts.min(axis=1).sum())


def mutants(
    corpus: Corpus, cases: Iterable[Case], causes: Sequence[Cause]
) -> Iterator[tuple[Case, list[Mutant]]]:
    """Yield each case with its mutants that can be observed, pair of types by pair of types: what
    is worked out of the numbers of a pair is shared by the cases of all versions and operators.
    """
    pairs: dict[tuple[str, str], list[Case]] = {}
    calls: dict[str, list[Case]] = {}
    for case in cases:
        if case.whole_calls:
            calls.setdefault(case.spec, []).append(case)
        else:
            pairs.setdefault((case.inputs[0].name, case.outputs[0].name), []).append(case)
    for spec, mine in calls.items():
        yield from _of_calls(corpus, corpus.catalog.specs[spec], mine, causes)
    for alike in pairs.values():
        yield from _of_pair(corpus, alike, causes)


def _of_calls(
    corpus: Corpus, spec: Spec, cases: Sequence[Case], causes: Sequence[Cause]
) -> Iterator[tuple[Case, list[Mutant]]]:
    """Yield the cases of a spec of whole calls; what is wrong with the values of promotions comes
    with the last of them.
    """
    further = corpus.tier == "edge"
    promotes = isinstance(spec.body, Matrix)
    of_values = [c for c in causes if promotes and not (c.call or c.under or c.chain)]
    rest = [c for c in causes if c not in of_values and not c.chain and is_of(c, spec)]
    values = ValueMutants(spec, of_values)
    for case in cases:
        calls = corpus.vectors(case)
        assert isinstance(calls, CallSet)  # noqa: S101
        found = call_mutants(spec, calls, rest, corpus.seed, further=further)
        if promotes:
            values.count(calls)
            if case is cases[-1]:
                found += values.found(corpus.seed, further=further)
        yield case, found


def _of_pair(
    corpus: Corpus, cases: Sequence[Case], causes: Sequence[Cause]
) -> Iterator[tuple[Case, list[Mutant]]]:
    points: dict[Hashable, Points] = {}
    planted: dict[Hashable, _Planted] = {}
    keys, whole = [], False
    applying = [cause for cause in causes if cause.applies_to(cases[0])]
    for case in cases:
        spec, vectors = corpus.catalog.specs[case.spec], corpus.vectors(case)
        assert isinstance(vectors, VectorSet)  # noqa: S101
        bits = vectors.inputs[0]
        content = tuple(bits) if bits.dtype.hasobject else bits.tobytes()
        keys.append((content, _depends_on(spec, case)))
        if keys[-1] not in planted:
            there = points.setdefault(content, points_of(case, bits))
            planted[keys[-1]] = _plant(Asked.of(spec, case, there), applying)
            whole = whole or vectors.coverage == "exhaustive"
    if corpus.tier == "edge" and not whole:
        types = corpus.catalog.types.types.values()
        formats = tuple(dict.fromkeys(each.format for each in types))
        _look_further(list(planted.values()), formats, corpus.seed)
    for case, key in zip(cases, keys, strict=True):
        yield case, [replace(mutant, case=case) for mutant in planted[key].found]


@dataclass
class _Planted:
    """Causes that are planted in a case."""

    spec: Spec
    case: Case
    #: Those that are observed.
    found: list[Mutant] = field(default_factory=list)
    #: Those that no vector catches, and that may give another answer elsewhere.
    left: dict[Cause, Program] = field(default_factory=dict)
    #: What was wrong of these, in all inputs that were looked at.
    counts: dict[Cause, Counts] = field(default_factory=dict)


def _plant(asked: Asked, causes: Sequence[Cause]) -> _Planted:
    """Plant causes that apply to a case, and ask each the vectors: those once that make the same
    of it.
    """
    planted = _Planted(asked.spec, asked.case)
    if all((reading.patterns == UNDEFINED).all() for reading in asked.due.readings):
        return planted
    right, ends = right_program(asked.spec, asked.case), _ends(asked.case)
    caught: dict[Meaning, int] = {}
    for cause in causes:
        program = compile_wrong(asked.spec, asked.case, (cause,))
        if program is None:
            continue
        if program.meaning not in caught:
            caught[program.meaning] = fewest(asked.counts(asked.wrong(program)))
        if count := caught[program.meaning]:
            planted.found.append(Mutant(asked.case, cause, count))
        elif ends is None or may_differ(program, right, ends):
            planted.left[cause] = program
    return planted


def _ends(case: Case) -> Points | None:
    """Return the ends of the range of a source and its special values; None of texts."""
    source = case.inputs[0].format
    return None if isinstance(source, Text) else points_of(case, special_codes(source))


def _look_further(planted: Sequence[_Planted], formats: tuple[Format, ...], seed: int) -> None:
    """Ask what no vector catches inputs beyond the vectors, part by part."""
    planted = [one for one in planted if one.left]
    if not planted:
        return
    case = planted[0].case
    bits = _further(case, formats, seed)
    for start in range(0, len(bits), CHUNK):
        points = points_of(case, bits[start : start + CHUNK])
        for one in planted:
            if one.left:
                _observe(one, Asked.of(one.spec, one.case, points))


def _further(case: Case, formats: tuple[Format, ...], seed: int) -> Bits:
    """Return inputs beyond the vectors: every code of a source of up to 16 bits, else what the edge
    vectors ask of the source on the way to any type, so that each type's ends and steps are there.
    """
    source, target = case.inputs[0].format, case.outputs[0].format
    if isinstance(source, Text) or source.bits <= _WHOLE:
        bits = inputs_of(case, "boundary", seed)[0]
    else:
        bits = _of_all_types(source, formats, seed)
    return spread(bits, _SPELLED) if isinstance(target, Text) else bits


@lru_cache
def _of_all_types(source: Numeric, formats: tuple[Format, ...], seed: int) -> Codes:
    parts = [numeric_inputs(source, target, "edge", seed)[0] for target in formats]
    return np.unique(np.concatenate(parts))


def _observe(planted: _Planted, asked: Asked) -> None:
    """Move what other inputs show from what is left to what is found."""
    looked: dict[Meaning, tuple[Asked, list[Mask]]] = {}
    for cause, program in list(planted.left.items()):
        if program.meaning not in looked:
            part = asked.touched_by(program)
            looked[program.meaning] = part, part.wrong(program)
        part, wrong = looked[program.meaning]
        counts = planted.counts[cause] = planted.counts.get(cause, 0) + part.counts(wrong)
        if fewest(counts):
            witness = next(part.points.bits[mask.argmax()] for mask in wrong if mask.any())
            word = shown(asked.points.source, entry_word(witness))
            planted.found.append(Mutant(asked.case, cause, 0, word))
            del planted.left[cause]


def _depends_on(spec: Spec, case: Case) -> Hashable:
    """Return all that the answers of a case and of its mutants depend on, but for its types."""
    facts = {"from": {case.inputs[0].name, REAL}, "to": {case.outputs[0].name}}
    versions, at = list[Hashable](), cast(Spec | None, spec)
    while at:
        versions.append((is_listed(at, case.inputs[0], case.outputs[0]), _rules_of(at, facts)))
        at = at.parent
    decided = tuple(dict.fromkeys(versions)), id(spec.pairs)
    return decided, case.attributes, spec.attributes, case.refusal


def _rules_of(spec: Spec, facts: Mapping[str, Set[Value]]) -> tuple[Rule, ...]:
    """Return the rules that may decide of some types."""
    return tuple(
        rule
        for rule in spec.rules
        if all(facts[key] & allowed for key, allowed in rule.when if key in facts)
    )
