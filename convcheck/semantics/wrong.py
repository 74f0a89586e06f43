"""(Spec, Case, causes) -> what a wrong conversion answers: the rules with the edits of causes.

The edits are made on data, and the evaluator executes what they make: a wrong conversion is
computed by the very words that define the right one.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple, cast

import numpy as np

from convcheck.errors import SpecError
from convcheck.numerics.format import Text
from convcheck.numerics.number import NAN
from convcheck.rules.causes import Cause
from convcheck.rules.hop import Hop
from convcheck.rules.model import Case, Cell, DType, Rounding, Rule, Spec
from convcheck.rules.outside import is_listed, uncovered_by
from convcheck.semantics.alike import alike, alike_of
from convcheck.semantics.answers_at import answers_at, deciding, of_word
from convcheck.semantics.expected import Reading
from convcheck.semantics.hops import gone_through
from convcheck.semantics.program import (
    CompiledOutcome,
    CompiledRow,
    Program,
    compile_through,
    compile_untold,
)
from convcheck.semantics.towards import Words, said_under
from convcheck.semantics.vocabulary import (
    ROUNDING_WORDS,
    CaseWord,
    Mask,
    Points,
    case_word,
    possible,
)

_KEPT = 4096  # edited specs


class Needs(NamedTuple):
    """What the rules are asked for by causes."""

    #: The types that x goes through.
    between: tuple[DType, ...]
    #: The values of attributes that are set, () for those given.
    values: tuple[Words, ...]
    #: The earlier versions whose rules are in force.
    versions: tuple[str, ...]


def compile_wrong(spec: Spec, case: Case, causes: Sequence[Cause]) -> Program | None:
    """Return what a case becomes with the edits of causes, None where they change nothing, or have
    no meaning for it: the destination cannot hold what they give.
    """
    versions = {cause.version for cause in causes if cause.version}
    ruling = _in_force(spec, case, *versions)
    if ruling is None:
        return None
    (above, below) = _edited(_asked(ruling, case), tuple(causes))
    attributes = _given(ruling, case, *(cause.under for cause in causes))
    source, target = case.inputs[0], case.outputs[0]
    try:
        program = compile_untold(above, source, target, attributes, below)
    except SpecError:
        return None
    return None if alike(program, right_program(spec, case)) else program


def compile_edited(
    spec: Spec, source: DType, target: DType, causes: Sequence[Cause], attributes: Words = ()
) -> Program:
    """Return the conversion of one type to another by rules that causes have edited, under
    attribute values. Raises SpecError where the destination cannot hold what they give.
    """
    above, below = _edited(spec, tuple(causes))
    return compile_untold(above, source, target, attributes, below)


@lru_cache(_KEPT)
def right_program(spec: Spec, case: Case) -> Program:
    """Return the program of a case without edits, which is made once. Raises SpecError."""
    return compile_untold(_asked(spec, case), case.inputs[0], case.outputs[0], _given(spec, case))


@lru_cache(_KEPT)
def _in_force(spec: Spec, case: Case, *versions: str) -> Spec | None:
    """Return the spec whose rules decide a case, where those of earlier versions are in force; None
    where it extends no such version, or that has not the types of the case.
    """
    if not versions:
        return spec
    earlier = spec.earlier(versions[0])
    if earlier is None or len(versions) > 1 or uncovered_by(spec, case):
        return None
    return earlier if is_listed(earlier, *_ends(case)) else None


def _ends(case: Case) -> tuple[DType, DType]:
    return case.inputs[0], case.outputs[0]


def _given(spec: Spec, case: Case, *under: Words) -> Words:
    """Return the attributes of a case that a spec knows, with the values that causes set of those
    that there are.
    """
    names = {a.name for a in spec.attributes}
    given = {name: str(value) for name, value in case.attributes if name in names}
    given |= {name: value for words in under for name, value in words if name in names}
    return tuple(given.items())


def may_differ(program: Program, right: Program, ends: Points) -> bool:
    """Return whether an edited program may give another answer than the right one, to some number.

    `ends` are the ends of each sign's range of the source and its special values: what its words
    do not hold of there they hold of nowhere, unless they look at single codes.
    """
    return any(_acts(entry, ends) for entry in program.entries if not _leaves(entry, right))


def touched(program: Program, right: Program, points: Points) -> Mask:
    """Return which points an edited program does not leave to the right one."""
    left = [not _leaves(entry, right) for entry in program.entries]
    return np.array(left)[deciding(program, points)]


def _leaves(entry: CompiledRow, right: Program) -> bool:
    return all(step.program is right and not step.hop for step in entry.steps)


def _acts(entry: CompiledRow, ends: Points) -> bool:
    """Return whether a row may decide some number."""
    if entry.test is None or entry.test.nature not in ("special", "threshold"):
        return True
    return bool(of_word(ends, entry.test, entry.mode).any())


def acted_on(
    cause: Cause, spec: Spec, ends: tuple[DType, DType], given: Words, points: Points
) -> Mask | None:
    """Return which points of a conversion, between two types under attribute values, a cause may
    act on: the others it leaves to the rules. None of one that is more than a table of rows, or a
    type that x goes through.
    """
    rows, hop = _rows_of(cause, spec), _hop_of(cause)
    if hop:
        retyped = isinstance(hop.type, DType) and not hop.normal_only
        retyped = retyped and not isinstance(points.source, Text)
        if retyped and not _said_alike(spec, cast(DType, hop.type), *ends, given):
            return None
        return points.kept((_moved, hop, retyped), lambda: _moved(points, hop, retyped))
    if rows is None:
        return None
    held = np.zeros(len(points.bits), bool)
    for label, test, mode in rows:
        if possible(label, points.source, points.target):
            held |= of_word(points, test, mode)
    return held


def acted_on_in(cause: Cause, spec: Spec, case: Case, points: Points) -> Mask | None:
    """Return the same of the points of a case."""
    if cause.version:
        idle = _in_force(spec, case, cause.version) is None
        return np.zeros(len(points.bits), bool) if idle else None
    if cause.under and not (cause.rules or cause.rounds):
        known = {attribute.name for attribute in spec.attributes}
        idle = known.isdisjoint(name for name, _ in cause.under)
        return np.zeros(len(points.bits), bool) if idle else None
    return acted_on(cause, _asked(spec, case), _ends(case), _given(spec, case), points)


def way_through(cause: Cause, spec: Spec, case: Case) -> CompiledOutcome | None:
    """Return what becomes of the numbers of a case by a cause that has them go through something,
    and does nothing else; None for other causes, and where that has no meaning.
    """
    if (hop := _hop_of(cause)) is None:
        return None
    with suppress(SpecError):
        return compile_through(_asked(spec, case), *_ends(case), _given(spec, case), hop)
    return None


@lru_cache(_KEPT)
def _hop_of(cause: Cause) -> Hop | None:
    """Return what x goes through by a cause, None where it is not this alone."""
    hops = cause.hops
    alone = len(hops) == len(cause.rules) == 1 and not cause.rounds and not cause.under
    return hops[0] if alone else None


def _moved(points: Points, hop: Hop, retyped: bool) -> Mask:
    """Return which points are, or may be, other ones once they have gone through something."""
    x, there = points.x, gone_through(points, hop, retyped).x
    same = (x.kind == there.kind) & (x.sign == there.sign) & (x.kind != NAN)
    same &= (x.significand == there.significand) & (x.sticky is None)
    same &= (x.significand == 0) | (x.exponent == there.exponent)
    return np.asarray(~same)


@lru_cache(_KEPT)
def _said_alike(spec: Spec, between: DType, source: DType, target: DType, given: Words) -> bool:
    """Return whether rules say of a source's numbers what they say of those of another type."""
    with suppress(SpecError):
        there = compile_untold(spec, between, target, given)
        here = compile_untold(spec, source, target, given)
        return alike_of(there, here, source.format, target.format)
    return False


@lru_cache(_KEPT)
def _rows_of(cause: Cause, spec: Spec) -> tuple[tuple[str, CaseWord, str], ...] | None:
    """Return the case words of a cause with their modes, None where it is not these alone."""
    if cause.rounds or cause.under or cause.hops:
        return None
    labels = [(row.label, rule.rounding) for rule in cause.rules for row in rule.rows]
    tests = [case_word(label, spec.literals) for label, _ in labels]
    plain = all(mode.mode or label not in ROUNDING_WORDS for label, mode in labels)
    if not plain or not all(tests):
        return None
    pairs = zip(labels, tests, strict=True)
    return tuple((label, test, mode.mode) for (label, mode), test in pairs if test)


def readings_at(program: Program, points: Points) -> list[Reading]:
    """Return what a program says of some points, under each reading."""
    storage = points.target.storage
    _, answers = points.kept(program.kept_by, lambda: answers_at(program, points, storage))
    return [Reading(*each) for each in answers]


@lru_cache(_KEPT)
def needs_of(causes: tuple[Cause, ...]) -> Needs:
    """Return what the rules are asked for by causes."""
    hops = (hop.type for cause in causes for hop in cause.hops)
    between = tuple(dict.fromkeys(each for each in hops if isinstance(each, DType)))
    versions = dict.fromkeys(cause.version for cause in causes if cause.version)
    return Needs(between, tuple(dict.fromkeys(((), *(c.under for c in causes)))), (*versions,))


def what_decides(spec: Spec, case: Case, needs: Needs) -> Hashable:
    """Return what is equal for cases of the same types of which each cause that needs no more makes
    the same: what the rules say of every type that a number may come from, under every value of an
    attribute, and in every version.
    """
    sources, target = (case.inputs[0], *needs.between), case.outputs[0]
    earlier = [_in_force(spec, case, version) or spec for version in needs.versions]
    here = said_under(_asked(spec, case), sources, target)
    values = tuple(here(_given(spec, case, words)) for words in needs.values)
    versions = tuple(
        said_under(_asked(each, case), sources, target)(_given(each, case)) for each in earlier
    )
    return values, versions


@lru_cache(_KEPT)
def _asked(spec: Spec, case: Case) -> Spec:
    """Return a spec with the rules that decide a case: of what a text leaves out, its own."""
    entry = uncovered_by(spec, case)
    return replace(spec, rules=(entry.rule,)) if entry else spec


@lru_cache(_KEPT)
def _edited(spec: Spec, causes: tuple[Cause, ...]) -> tuple[Spec, Spec]:
    """Return a spec of the rules that causes add, and the spec below it, as they have edited it.
    A cause that is there twice counts once.
    """
    above: tuple[Rule, ...] = ()
    below = spec
    for cause in reversed(dict.fromkeys(causes)):
        if cause.rounds:
            above = tuple(_rounding(rule, cause.rounds) for rule in above)
            below = _rounding_all(below, cause.rounds)
        above = (*cause.rules, *above)
    return replace(spec, rules=above), below


@lru_cache(_KEPT)
def _rounding_all(spec: Spec, mode: str) -> Spec:
    """Return a spec each rule of which rounds by a mode."""
    return replace(spec, rules=tuple(_rounding(rule, mode) for rule in spec.rules))


def _rounding(rule: Rule, mode: str) -> Rule:
    """Return a rule that rounds by a mode wherever it rounds."""
    rows = tuple(replace(row, cells=tuple(_cell(c, mode) for c in row.cells)) for row in rule.rows)
    rounding = Rounding(mode) if rule.rounding != Rounding() else rule.rounding
    return replace(rule, rounding=rounding, rows=rows)


def _cell(cell: Cell, mode: str) -> Cell:
    outcomes = tuple(replace(o, round=mode if o.round else "") for o in cell.outcomes)
    return replace(cell, outcomes=outcomes)
