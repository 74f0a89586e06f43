"""Check the steps of a spec: cases, types, rows, readings, test values and examples."""

from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import cast

import numpy as np

from convcheck.errors import SpecError
from convcheck.numerics.codec import decode
from convcheck.numerics.format import Float, Numeric
from convcheck.numerics.number import Bits, Codes
from convcheck.numerics.order import positions
from convcheck.numerics.rational import of_fractions, of_numbers
from convcheck.numerics.words import OutsideFormatError, code_of
from convcheck.rules.body.steps import Steps, StepsExample
from convcheck.rules.cases import cases
from convcheck.rules.model import Case, DType, Spec
from convcheck.semantics.body.steps import CompiledSteps, layout_of, target_of
from convcheck.semantics.body.table_lint import (
    Diagnostic,
    Proof,
    representatives,
    rows_reached,
    rows_unreached,
)
from convcheck.semantics.expected import UNDEFINED, CallReading, same
from convcheck.semantics.program import Program
from convcheck.streams import meant

_BINADES, _EACH = 8, 64  # binades on each side of one, and codes in each


def check(spec: Spec, proof: Proof) -> list[Diagnostic]:
    """Check names, types and test values."""
    steps = spec.body_as(Steps)
    return [*_names(spec, steps), *_typed(steps, proof), *_values(spec, steps)]


def prove(spec: Spec, proof: Proof) -> list[Diagnostic]:
    """Check that rows and branches are reached, and readings differ."""
    steps, answered = spec.body_as(Steps), [c for c in proof.compiled.values() if not c.outside]
    return [*_reached(spec, answered), *_taken(steps, answered), *_told_apart(steps, answered)]


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


def _typed(steps: Steps, proof: Proof) -> Iterator[Diagnostic]:
    answered = [compiled for compiled in proof.compiled.values() if not compiled.outside]
    pairs = {(one, c.arithmetic(one), c.data): 0 for c in answered for one in steps.readings}
    for reading, work, data in pairs:
        if work is None:
            continue
        if not isinstance(work.format, Float) or not work.format.infinity:
            yield Diagnostic(reading.place, f"{work} does not calculate", "ieee types")
        elif not (reading.fixed or reading.of or reading.by) and not (
            isinstance(data.format, Float) and work.format.has_all(data.format)
        ):
            message = f"{work} does not hold every {data}"
            yield Diagnostic(reading.place, message, "a type at least as wide")


def _values(spec: Spec, steps: Steps) -> Iterator[Diagnostic]:
    types = {name: spec.types[variable] for name, variable in spec.inputs}
    for asked in (*steps.ask, *steps.ask_little):
        for name, word in asked:
            errors = [error for t in types[name] if (error := _outside_of(t, word))]
            if len(errors) == len(types[name]):
                yield Diagnostic(steps.place, f"{name}: {errors[0]}")


def _outside_of(dtype: DType, word: str) -> OutsideFormatError | None:
    try:
        code_of(cast(Numeric, dtype.format), word)
    except OutsideFormatError as error:
        return error
    return None


def _reached(spec: Spec, answered: Sequence[CompiledSteps]) -> Iterator[Diagnostic]:
    reached: set[tuple[str, str]] = set()
    seen: set[Program] = set()
    for compiled in answered:
        for line in (line for line in compiled.lines if line.be is None):
            target = target_of(line, compiled.case)
            for source in {compiled.taken_as(line, one): one for one in compiled.steps.readings}:
                one = replace(compiled.case, inputs=(source,), outputs=(target,))
                program = compiled.programs[source.name, line.name]
                if program in seen:
                    continue
                seen.add(program)
                reached |= rows_reached(program, one, representatives(spec, one, program))
    yield from rows_unreached(spec, reached, "rows above it match, or no line converts by it")


def _taken(steps: Steps, answered: Sequence[CompiledSteps]) -> Iterator[Diagnostic]:
    for number, line in enumerate(steps.lines):
        left = set(range(len(line.branches) + 1)) if line.branches else set()
        for compiled in answered:
            if not left:
                break
            for inputs in _tried(compiled, steps):
                run, branches = compiled.run(inputs), compiled.lines[number].branches
                which = np.full(len(run.undefined), len(branches))
                for i, branch in reversed([*enumerate(branches)]):
                    which[run.holds(branch.condition, run.operations)] = i
                left -= set(which.tolist())
        for i in sorted(left):
            what = f"branch {i + 1}" if i < len(line.branches) else "what is after its branches"
            said = f"nothing that was tried takes {what} of {line.name}"
            yield Diagnostic(line.place, said, "the branches before it match, or ask other values")


def _told_apart(steps: Steps, answered: Sequence[CompiledSteps]) -> Iterator[Diagnostic]:
    alike = set(combinations(range(len(steps.readings)), 2))
    computed: set[tuple[DType, ...]] = set()
    for compiled in answered:
        if not alike and compiled.case.inputs in computed:
            continue
        computed.add(compiled.case.inputs)
        for inputs in _tried(compiled, steps):
            dues, _ = compiled.due([inputs])
            alike = {(i, k) for i, k in alike if same(dues[i], dues[k])}
    for i, k in sorted(alike):
        one, other = steps.readings[i], steps.readings[k]
        message = f"readings {one.name!r} and {other.name!r} never differ in what was tried"
        yield Diagnostic(other.place, message, "drop one of them, or ask other values")


def _tried(compiled: CompiledSteps, steps: Steps) -> Iterator[list[Bits]]:
    sets = (_spread(compiled, dict(words)) for words in steps.ask)
    yield from (inputs for inputs in sets if inputs is not None)
    for words in steps.ends:
        fmt = cast(Numeric, compiled.data.format)
        ends = np.array([code_of(fmt, word)[0] for word in words], fmt.storage)
        halves = np.concatenate([*_at_halves(compiled, [], ends)])
        low, high = positions(fmt, ends).tolist()
        at = positions(fmt, halves)
        yield [np.concatenate([ends, halves[(at >= low) & (at <= high)]])]


def _spread(compiled: CompiledSteps, words: dict[str, str]) -> list[Bits] | None:
    """Data around one and at halves; None if a type lacks a value."""
    others: list[Bits] = []
    for name, dtype in zip(compiled.names[1:], compiled.case.inputs[1:], strict=True):
        if _outside_of(dtype, words[name]):
            return None
        fmt = cast(Numeric, dtype.format)
        others.append(np.array(code_of(fmt, words[name])[0], fmt.storage))
    data = _about_one(cast(Numeric, compiled.data.format))
    return [np.concatenate([data, *_at_halves(compiled, others)]), *others]


def _about_one(fmt: Numeric) -> Codes:
    if not isinstance(fmt, Float):
        spread = np.arange(2 * _BINADES * _EACH) * 0x1F3D5B7 & ((1 << fmt.bits) - 1)
        return cast(Codes, spread.astype(fmt.storage))
    one, binade = fmt.bias << fmt.mantissa, 1 << fmt.mantissa
    steps = np.arange(-_BINADES * _EACH, _BINADES * _EACH) * max(binade // _EACH, 1)
    # a few extra units a step, so that the low bits vary
    codes = (one + steps + np.arange(len(steps)) % _EACH) & ((1 << fmt.bits) - 1)
    return cast(Codes, np.append(codes, [1, 2]).astype(fmt.storage))  # and the smallest values


def _at_halves(
    compiled: CompiledSteps, others: Sequence[Bits], ends: Codes | None = None
) -> Iterator[Codes]:
    """Data that bring the last line next to a half, if the spec has an inverse."""
    if compiled.steps.back is None:
        return
    known = dict(zip(compiled.names[1:], others, strict=True))
    if ends is not None:
        found = compiled.due([[ends]])[0][0][1:]
        known = {n: one.codes[:1] for n, one in zip(compiled.steps.others, found, strict=True)}
    n = 2 * _EACH
    fractions = [Fraction(2 * k + 1, 2) for k in range(-_EACH, _EACH)]
    values = {
        name: of_numbers(
            decode(compiled.types[name].format, cast(Codes, np.repeat(one.reshape(1), n)))
        )
        for name, one in known.items()
    }
    data, _ = compiled.brought(of_fractions(fractions), values)
    mask = data.dtype.type((1 << cast(Numeric, compiled.data.format).bits) - 1)
    yield from (data, (data + 1) & mask, (data - 1) & mask)


def replay(spec: Spec, example: StepsExample, proof: Proof) -> Iterator[Diagnostic]:
    """Yield the readings that an example contradicts."""
    compiled = proof.compiled[case := _case_of(spec, example)]
    scalars = {name for name, dims in layout_of(spec, case).shapes if not dims}
    inputs = [_tensor(compiled, example, name, scalars) for name in compiled.names]
    for reading in compiled.expect(inputs).readings:
        yield from _compared(compiled, example, reading)


def _case_of(spec: Spec, example: StepsExample) -> Case:
    for case in cases(spec):
        layout = layout_of(spec, case)
        types = tuple(t.name for t in case.inputs)
        own = tuple((k, str(v)) for k, v in case.attributes if (k, v) not in layout.attributes)
        if (
            (layout.name, own) == (example.layout, example.attributes)
            and example.types in (types, types[:1])
            and example.to in ("", case.outputs[0].name)
        ):
            return case
    named = ", ".join(example.types)
    raise SpecError(f"no case of {named}, {example.layout}", place=example.place)


def _tensor(
    compiled: CompiledSteps, example: StepsExample, name: str, scalars: Container[str]
) -> Codes:
    fmt = cast(Numeric, compiled.types[name].format)
    shapes, values = dict(example.shapes), dict(example.values)
    if name not in values:
        return np.full(shapes[name], code_of(fmt, "1")[0], fmt.storage)
    codes = np.array([code_of(fmt, word)[0] for word in values[name]], fmt.storage)
    return codes.reshape(shapes.get(name, () if name in scalars else codes.shape))


def _compared(
    compiled: CompiledSteps, example: StepsExample, reading: CallReading
) -> Iterator[Diagnostic]:
    if not reading.outputs:
        yield Diagnostic(example.place, "example: nothing is expected of it")
        return
    due, fmt = reading.outputs[0], cast(Numeric, compiled.output.format)
    if not example.values:
        if [str(size) for size in due.shape] != list(example.gives):
            yield Diagnostic(example.place, f"example: the output has the shape {due.shape}")
        return
    wanted = [code_of(fmt, word)[0] for word in example.gives]
    if (due.patterns == UNDEFINED).any() or wanted != due.answer.reshape(-1).tolist():
        got = ", ".join(f"{code:#x}" for code in due.codes.tolist())
        yield Diagnostic(example.place, f"example: it gives {got}")
