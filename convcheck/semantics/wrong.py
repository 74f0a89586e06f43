"""(Spec, Case, causes) -> what a wrong conversion answers: the rules with the edits of causes.

The edits are made on data, and the evaluator executes what they make: a wrong conversion is
computed by the very words that define the right one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from convcheck.errors import SpecError
from convcheck.rules.causes import Cause
from convcheck.rules.model import Case, Cell, Rounding, Rule, Spec
from convcheck.semantics.answers_at import answers_at
from convcheck.semantics.expected import Reading
from convcheck.semantics.program import Program, compile_untold
from convcheck.semantics.vocabulary import Points

_KEPT = 4096  # edited specs


def compile_wrong(spec: Spec, case: Case, causes: Sequence[Cause]) -> Program | None:
    """Return what a case becomes with the edits of causes, None where they have no meaning for it:
    the destination cannot hold what they give, or the operator has no such attribute.
    """
    given = {name: str(value) for name, value in case.attributes}
    for cause in causes:
        given |= dict(cause.under)
    if given.keys() - {a.name for a in spec.attributes}:
        return None
    edited, attributes = _edited(spec, tuple(causes)), tuple(given.items())
    try:
        return compile_untold(edited, case.inputs[0], case.outputs[0], attributes)
    except SpecError:
        return None


def readings_at(program: Program, points: Points) -> list[Reading]:
    """Return what a program says of some points, under each reading."""
    _, answers = answers_at(program, points, points.target.storage)
    return [Reading(*each) for each in answers]


@lru_cache(_KEPT)
def _edited(spec: Spec, causes: tuple[Cause, ...]) -> Spec:
    """Return a spec with the rules that are left when the causes have edited them."""
    rules = spec.rules
    for cause in reversed(causes):
        if cause.rounds:
            rules = tuple(_rounding(rule, cause.rounds) for rule in rules)
        rules = (*cause.rules, *rules)
    return replace(spec, rules=rules)


def _rounding(rule: Rule, mode: str) -> Rule:
    """Return a rule that rounds by a mode wherever it rounds."""
    rows = tuple(replace(row, cells=tuple(_cell(c, mode) for c in row.cells)) for row in rule.rows)
    rounding = Rounding(mode) if rule.rounding != Rounding() else rule.rounding
    return replace(rule, rounding=rounding, rows=rows)


def _cell(cell: Cell, mode: str) -> Cell:
    outcomes = tuple(replace(o, round=mode if o.round else "") for o in cell.outcomes)
    return replace(cell, outcomes=outcomes)
