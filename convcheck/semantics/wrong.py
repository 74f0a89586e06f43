"""(Spec, Case, causes) -> what a wrong conversion answers: the rules with the edits of causes.

The edits are made on data, and the evaluator executes what they make: a wrong conversion is
computed by the very words that define the right one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from convcheck.errors import SpecError
from convcheck.rules.cases import is_listed, uncovered_by
from convcheck.rules.causes import Cause
from convcheck.rules.model import Case, Cell, DType, Rounding, Rule, Spec
from convcheck.semantics.answers_at import answers_at
from convcheck.semantics.compile import compile_untold
from convcheck.semantics.expected import Reading
from convcheck.semantics.program import Program
from convcheck.semantics.vocabulary import (
    Points,
)

_KEPT = 4096  # edited specs
Words = tuple[tuple[str, str], ...]  # attributes with their values, as written


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
    return None if program.meaning == right_program(spec, case).meaning else program


@lru_cache(_KEPT)
def compile_edited(
    spec: Spec,
    source: DType,
    target: DType,
    causes: tuple[Cause, ...],
    attributes: Words = (),
    rule: str = "",
) -> Program:
    """Return the conversion of one type to another by rules, or one of them, that causes have
    edited, under attribute values. Raises SpecError where the destination cannot hold what they
    give.
    """
    above, below = _edited(_by_rule(spec, rule), causes)
    return compile_untold(above, source, target, attributes, below)


@lru_cache(_KEPT)
def _by_rule(spec: Spec, rule: str) -> Spec:
    return replace(spec, rules=tuple(one for one in spec.rules if rule in ("", one.name)))


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
    return earlier if is_listed(earlier, case.inputs[0], case.outputs[0]) else None


def _given(spec: Spec, case: Case, *under: Words) -> Words:
    """Return the attributes of a case that a spec knows, with the values that causes set of those
    that there are.
    """
    names = {a.name for a in spec.attributes}
    given = {name: str(value) for name, value in case.attributes if name in names}
    given |= {name: value for words in under for name, value in words if name in names}
    return tuple(given.items())


def readings_at(program: Program, points: Points) -> list[Reading]:
    """Return what a program says of some points, under each reading."""
    return points.kept(program.kept_by, lambda: answers_at(program, points))[1]


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
