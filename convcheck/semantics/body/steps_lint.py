"""Are the steps of a spec typed, its conversions decided, its readings told apart, its examples so?

Every case compiles or is outside the contract; a reading's types hold what comes in; every row of a
rule that converts is reached; every two readings differ somewhere, or one of them says nothing;
whatever the spec asks is a value of the type; the examples come out the same under every reading.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import cast

import numpy as np

from convcheck.errors import SpecError
from convcheck.numerics.format import Bits, Codes, Float
from convcheck.numerics.words import OutsideFormatError, code_of
from convcheck.rules.body.steps import Steps, StepsExample, StepsReading
from convcheck.rules.cases import cases, count_cases
from convcheck.rules.model import Case, DType, Spec
from convcheck.semantics.body.steps import (
    CompiledSteps,
    compile_steps,
    layout_of,
    outside_of,
    target_of,
)
from convcheck.semantics.body.table_lint import Diagnostic, Proof, representatives
from convcheck.semantics.evaluate import run_conversion
from convcheck.semantics.expected import ANY_ZERO, EXACT
from convcheck.semantics.expected_calls import CallReading
from convcheck.wording import meant

_BINADES, _EACH = 8, 64  # about one, on either side: binades looked at, and codes in each


def lint_steps(spec: Spec) -> Proof:
    """Check the steps of a spec; what does not compile is not looked at any further."""
    steps = spec.body_as(Steps)
    found = [*_names(spec, steps), *_compiles(spec, steps)]
    if not found:
        found += [*_reached(spec), *_told_apart(spec, steps)]
    if not found:
        for example in steps.examples:
            found += _replay(spec, example)
    return Proof(spec.id, count_cases(spec), diagnostics=list(dict.fromkeys(found)))


def _answered(spec: Spec) -> Iterator[Case]:
    """Enumerate the cases where an answer is due."""
    steps = spec.body_as(Steps)
    return (c for c in cases(spec) if outside_of(steps, layout_of(spec, c), c) is None)


def _names(spec: Spec, steps: Steps) -> Iterator[Diagnostic]:
    known = {layout.name for layout in spec.layouts}
    for entry in steps.outside:
        for name in sorted(entry.layouts - known):
            said = f"no layout is named {name!r}"
            yield Diagnostic(entry.place, said, meant(name, sorted(known)))
        if not (entry.layouts or entry.types or entry.values):
            said = f"{entry.name!r} leaves nothing out"
            yield Diagnostic(entry.place, said, "layouts, types or values")
    names = [reading.name for reading in steps.readings]
    if len(set(names)) != len(names):
        yield Diagnostic(steps.place, "two readings have the same name")
    if not any(line.rule for line in steps.lines):
        yield Diagnostic(steps.place, "no line converts", "a formula needs no steps")


# Types ---------------------------------------------------------------------------------------


def _compiles(spec: Spec, steps: Steps) -> Iterator[Diagnostic]:
    for case in cases(spec):
        try:
            compile_steps(spec, case)
        except SpecError as error:
            yield Diagnostic(error.place or spec.place, error.message, error.hint)
    for data in {case.inputs[0].name: case.inputs[0] for case in _answered(spec)}.values():
        for reading in steps.readings:
            yield from _typed(reading, data)
        yield from _values(steps, data)


def _typed(reading: StepsReading, data: DType) -> Iterator[Diagnostic]:
    """Operations are done in an IEEE format that has every value of the data's."""
    work, fmt = reading.type_for(data).format, data.format
    if not isinstance(fmt, Float) or not isinstance(work, Float) or not work.infinity:
        yield Diagnostic(
            reading.place, f"{reading.type_for(data)} does not calculate", "ieee types"
        )
    elif not (
        work.mantissa >= fmt.mantissa
        and work.max >= fmt.max
        and work.lowest_exponent <= fmt.lowest_exponent
    ):
        message = f"{reading.type_for(data)} does not hold every {data}"
        yield Diagnostic(reading.place, message, "a type at least as wide")


def _values(steps: Steps, data: DType) -> Iterator[Diagnostic]:
    for asked in (*steps.ask, *steps.ask_little):
        for name, word in asked:
            try:
                code_of(cast(Float, data.format), word)
            except OutsideFormatError as error:
                yield Diagnostic(steps.place, f"{name}: {error}")


# Conversions and readings --------------------------------------------------------------------


def _reached(spec: Spec) -> Iterator[Diagnostic]:
    """Look for rows of the rules that no value to convert reaches."""
    reached: set[tuple[str, str]] = set()
    steps = spec.body_as(Steps)
    for case in _answered(spec):
        compiled = compile_steps(spec, case)
        for line in (line for line in steps.lines if line.rule):
            target = target_of(line, case)
            for source in {r.type_for(case.inputs[0]) for r in steps.readings}:
                one = replace(case, inputs=(source,), outputs=(target,))
                program = compiled.programs[source.name, line.name]
                bits = representatives(spec, one)
                rows = run_conversion(program, source.format, target.format, bits).rows
                for row in np.unique(rows):
                    reached.update(program.decisions[row].trail)
    for rule in spec.rules:
        for row in rule.rows:
            if (rule.name, row.label) not in reached:
                message = f"row {row.label!r} of {rule.name} is unreachable"
                yield Diagnostic(
                    row.place, message, "rows above it match, or no line converts by it"
                )


def _told_apart(spec: Spec, steps: Steps) -> Iterator[Diagnostic]:
    """Every two readings differ for some data under some values that are asked."""
    alike = set(combinations(range(len(steps.readings)), 2))
    for case in _answered(spec):
        compiled = compile_steps(spec, case)
        for words in steps.ask:
            if not alike:
                return
            inputs = _spread(compiled, dict(words))
            try:
                dues = [compiled.answer(reading, inputs) for reading in steps.readings]
            except ValueError as error:  # what is rounded only once did not fit before
                yield Diagnostic(steps.place, f"{case.name}: {error}", "drop `once`")
                return
            alike = {(i, k) for i, k in alike if np.array_equal(dues[i].codes, dues[k].codes)}
    for i, k in sorted(alike):
        one, other = steps.readings[i], steps.readings[k]
        message = f"readings {one.name!r} and {other.name!r} never differ in what was tried"
        yield Diagnostic(other.place, message, "drop one of them, or ask other values")


def _spread(compiled: CompiledSteps, words: dict[str, str]) -> list[Bits]:
    """Return data of some binades about one, under one value of each other input."""
    fmt = cast(Float, compiled.data.format)
    one, binade = fmt.bias << fmt.mantissa, 1 << fmt.mantissa
    steps = np.arange(-_BINADES * _EACH, _BINADES * _EACH) * max(binade // _EACH, 1)
    # A few units more at each step, so that the low bits are not all zero.
    data = (one + steps + np.arange(len(steps)) % _EACH).astype(fmt.storage)
    codes = (code_of(fmt, words[name])[0] for name in compiled.names[1:])
    return [data, *(np.array(code, fmt.storage) for code in codes)]


# Examples ------------------------------------------------------------------------------------


def _replay(spec: Spec, example: StepsExample) -> Iterator[Diagnostic]:
    """Evaluate an example, and hold what it gives against every reading."""
    try:
        compiled = compile_steps(spec, _case_of(spec, example))
        inputs = [_tensor(compiled, example, name) for name in compiled.names]
        for reading in compiled.expect(inputs).readings:
            yield from _compared(compiled, example, reading)
    except (OutsideFormatError, SpecError, ValueError) as error:
        yield Diagnostic(example.place, f"example: {error}")


def _case_of(spec: Spec, example: StepsExample) -> Case:
    for case in cases(spec):
        asked = (case.inputs[0].name, layout_of(spec, case).name, case.attributes)
        if asked == (example.type, example.layout, example.attributes):
            return case
    raise SpecError(f"no case of {example.type}, {example.layout}", place=example.place)


def _tensor(compiled: CompiledSteps, example: StepsExample, name: str) -> Codes:
    """Make an input: of the values given, or of ones in the shape given."""
    fmt = cast(Float, compiled.data.format)
    shapes, values = dict(example.shapes), dict(example.values)
    if name not in values:
        return np.full(shapes[name], code_of(fmt, "1")[0], fmt.storage)
    codes = np.array([code_of(fmt, word)[0] for word in values[name]], fmt.storage)
    return codes.reshape(shapes.get(name, codes.shape))


def _compared(
    compiled: CompiledSteps, example: StepsExample, reading: CallReading
) -> Iterator[Diagnostic]:
    if not reading.outputs:
        yield Diagnostic(example.place, "example: nothing is expected of it")
        return
    due, fmt = reading.outputs[0], cast(Float, compiled.data.format)
    if not example.values:
        if [str(size) for size in due.shape] != list(example.gives):
            yield Diagnostic(example.place, f"example: the output has the shape {due.shape}")
        return
    wanted = [code_of(fmt, word)[0] for word in example.gives]
    if wanted != _codes(due.codes, due.patterns.tolist()):
        got = ", ".join(f"{code:#x}" for code in due.codes.tolist())
        yield Diagnostic(example.place, f"example: it gives {got}")


def _codes(codes: Bits, patterns: Sequence[int]) -> list[int]:
    """Return codes; -1 where something other than a value is expected. A zero's is 0."""
    known = zip(codes.tolist(), patterns, strict=True)
    return [code if p in (EXACT, ANY_ZERO) else -1 for code, p in known]
