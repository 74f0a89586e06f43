"""Check that a formula is total, its rules and conditions are reached, and its examples hold.

Combinations of ordinary values, and each special value among them, meet a condition of `undefined`
or have an integer length under every reading.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import cast

import numpy as np

from convcheck.errors import SpecError
from convcheck.numerics.format import Numeric
from convcheck.numerics.order import special_codes
from convcheck.numerics.words import OutsideFormatError, code_of
from convcheck.rules.body.formula import OUTPUT, Formula, FormulaExample, FormulaWay
from convcheck.rules.cases import cases
from convcheck.rules.model import Case, DType, Spec
from convcheck.semantics.body.formula import FormulaCalls, rule_of
from convcheck.semantics.body.table_lint import Diagnostic, Proof
from convcheck.semantics.expected import Call

_ORDINARY = ("0", "1", "-2", "2.5", "7")
_SHORT = 50  # elements of a sequence that is computed


def check(spec: Spec, proof: Proof) -> Iterator[Diagnostic]:
    """Check that rules are reached, and listed calls asked."""
    formula, asked = spec.body_as(Formula), list(cases(spec))
    reached = {id(rule_of(formula, case)) for case in asked}
    for rule in formula.rules:
        if id(rule) not in reached:
            hint = "an earlier rule is for all of its cases, or it is for none"
            yield Diagnostic(rule.place, f"rule {rule.name} is unreachable", hint)
    for entry in formula.asked.lists:
        here = [c for c in asked if entry.when.holds(c.inputs, c.outputs[0])]
        for row in (*entry.listed, *entry.around):
            if not any(_codes(case.inputs, row) for case in here):
                hint = "no case has types that hold these arguments"
                yield Diagnostic(formula.place, f"the call {', '.join(row)} is never asked", hint)


def prove(spec: Spec, proof: Proof) -> list[Diagnostic]:
    """Check that calls are decided, and readings differ."""
    formula = spec.body_as(Formula)
    return [*_not_total(spec, formula, proof), *_alike(proof.compiled)]


def _codes(types: Sequence[DType], words: Sequence[str]) -> Call | None:
    try:
        return tuple(
            np.array(code_of(cast(Numeric, t.format), word)[0], t.format.storage)
            for t, word in zip(types, words, strict=True)
        )
    except OutsideFormatError:
        return None


def _not_total(spec: Spec, formula: Formula, proof: Proof) -> Iterator[Diagnostic]:
    chosen = {(id(one.rule), case.outputs[0].name): case for case, one in proof.compiled.items()}
    reached: set[int] = set()
    for case in chosen.values():
        compiled = proof.compiled[case]
        for call in _representatives(formula, case):
            try:
                if compiled.size(call) <= _SHORT:
                    reached.add(compiled.expect(call).row)
            except SpecError as error:
                yield Diagnostic.of_error(error, spec)
                break
    for row, undefined in enumerate(formula.undefined):
        if row not in reached:
            message = f"the condition {undefined.name!r} is unreachable"
            hint = "a condition above it holds wherever it does"
            yield Diagnostic(undefined.place, message, hint)


def _representatives(formula: Formula, case: Case) -> Iterator[Call]:
    ordinary = [
        [call[0] for word in _ORDINARY if (call := _codes([dtype], [word]))]
        for dtype in case.inputs
    ]
    yield from product(*ordinary)
    for at, dtype in enumerate(case.inputs):
        fmt = cast(Numeric, dtype.format)
        around = [codes[1] for codes in ordinary]
        for code in special_codes(fmt):
            yield (*around[:at], np.array(code, fmt.storage), *around[at + 1 :])
    for shape in {entry.shape for entry in formula.asked.lists}:
        yield tuple(np.ones(shape, dtype.format.storage) for dtype in case.inputs)


def _alike(asked: Mapping[Case, FormulaCalls]) -> Iterator[Diagnostic]:
    for case in asked:
        rule = asked[case].rule
        for length, element in rule.readings:
            pair = _resolved(case, length), _resolved(case, element)
            others = [p for p in rule.readings if p != (length, element)]
            if pair in [(_resolved(case, a), _resolved(case, b)) for a, b in others]:
                message = f"{case.name}: the reading `{length}; {element}` stands twice"
                yield Diagnostic(rule.place, message, "drop one of them")
                break


def _resolved(case: Case, way: FormulaWay) -> tuple[object, ...]:
    name = case.outputs[0].name if way.arithmetic == OUTPUT else str(way.arithmetic)
    return way.expression, name, way.running, way.converted


def replay(spec: Spec, example: FormulaExample, proof: Proof) -> Iterator[Diagnostic]:
    """Yield what an example contradicts."""
    call = _codes(example.inputs, example.x)
    if call is None:
        raise SpecError("an argument is outside its type", place=example.place)
    ends = example.inputs, (example.output,)
    found = (one for case, one in proof.compiled.items() if (case.inputs, case.outputs) == ends)
    if (compiled := next(found, None)) is None:
        raise SpecError("no case is of these types", place=example.place, hint="add a combination")
    fmt = cast(Numeric, example.output.format)
    due = [code_of(fmt, word)[0] for word in example.gives]
    readings = compiled.expect(call).readings
    given = [r.outputs[0].codes.tolist() if r.outputs else None for r in readings]
    if any(codes != due for codes in given):
        message = f"example: {', '.join(example.x)} gives {given}, not {due}"
        yield Diagnostic(example.place, message, "the formula, or the example, is wrong")
