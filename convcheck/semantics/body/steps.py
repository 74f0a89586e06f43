"""(Spec, Case) -> what is expected of calls of an operator that is computed in steps.

The arithmetic is exact on integers, rounded where a reading says so, and done for all elements at
once; conversions are run by the rule that the spec names for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from convcheck.errors import Place, SpecError
from convcheck.numerics import arithmetic
from convcheck.numerics.arithmetic import rounded, rounded_codes, take
from convcheck.numerics.codec import decode
from convcheck.numerics.format import Bits, Codes, Float, Format, Int
from convcheck.numerics.number import Numbers
from convcheck.rules.body.steps import Outside, Steps, StepsLine, StepsReading
from convcheck.rules.expression import Expression, compute
from convcheck.rules.model import Case, Cite, DType, Layout, Level, Spec
from convcheck.semantics.evaluate import run_conversion
from convcheck.semantics.expected import (
    ANY_ZERO,
    EXACT,
    UNDEFINED,
    Decision,
    Reading,
    decision_of,
)
from convcheck.semantics.expected_calls import CallReading, ExpectedCall, ExpectedOutput
from convcheck.semantics.program import Program, compile_conversion
from convcheck.semantics.typed_arithmetic import NEAREST
from convcheck.wording import meant

Mask = NDArray[np.bool_]
Operation = Callable[..., Numbers]
OPERATIONS: Mapping[str, Operation] = {
    "add": arithmetic.add,
    "subtract": arithmetic.subtract,
    "multiply": arithmetic.multiply,
    "divide": arithmetic.divide,
    "negate": arithmetic.negate,
}
# Rows: all readings agree, or they differ; nothing is defined; all agree, and nothing is rounded.
AGREE, DIFFER, OPEN, PLAIN = range(4)


@dataclass(frozen=True)
class CompiledSteps:
    """A case of a steps spec: the programs of its conversions, by type and line."""

    case: Case
    steps: Steps
    #: The names of the inputs in the question.
    names: tuple[str, ...]
    #: Whether the case is outside the contract: then nothing is expected.
    outside: bool
    decisions: tuple[Decision, ...]
    programs: Mapping[tuple[str, str], Program]
    #: The mode by which results are rounded to the type of the first input.
    mode: str = field(default=NEAREST, kw_only=True)
    #: A type that the output goes through on its way to that of the first input.
    through: Float | None = field(default=None, kw_only=True)

    @property
    def data(self) -> DType:
        """The type of the first input, which is the output's."""
        return self.case.inputs[0]

    def size(self, inputs: Sequence[Bits]) -> int:
        """Return the number of elements of the output: those of the first input."""
        return inputs[0].size

    def expect(self, inputs: Sequence[Bits]) -> ExpectedCall:
        """Return what is expected of tensors of codes; others broadcast to the shape of the first.

        Raises SpecError where they do not broadcast to it, unless the case is outside.
        """
        return self.expect_all([inputs])[0]

    def expect_all(self, calls: Sequence[Sequence[Bits]]) -> list[ExpectedCall]:
        """Return what is expected of each call. All are computed at once, end to end.

        Raises SpecError as `expect` does.
        """
        if self.outside or not calls:
            return [ExpectedCall(0, (CallReading("", pattern=UNDEFINED),))] * len(calls)
        values, lines = self.decoded(calls), self.steps.lines
        runs = [self._run(reading, values, lines) for reading in self.steps.readings]
        due = [self.finished(run) for run in runs]
        plain, found, begin = self._plain(runs), [], 0
        for inputs in calls:
            part = slice(begin, begin := begin + inputs[0].size)
            outputs = [
                ExpectedOutput(self.data, inputs[0].shape, codes[part], patterns[part])
                for codes, patterns in due
            ]
            found.append(self._expected(outputs, plain[part]))
        return found

    def _expected(self, outputs: Sequence[ExpectedOutput], plain: Mask) -> ExpectedCall:
        """Return what is expected of a call, of which these are the output by each reading."""
        readings: list[CallReading] = []
        for reading, output in zip(self.steps.readings, outputs, strict=True):
            found = CallReading(reading.name, (output,))
            if not any(_same(found, other) for other in readings):
                readings.append(found)
        patterns = [reading.outputs[0].patterns for reading in readings]
        if patterns[0].size and all((p == UNDEFINED).all() for p in patterns):
            return ExpectedCall(OPEN, (CallReading("", pattern=UNDEFINED),))
        if len(readings) > 1:
            return ExpectedCall(DIFFER, tuple(readings))
        return ExpectedCall(PLAIN if plain.size and plain.all() else AGREE, tuple(readings))

    def exact(self, inputs: Sequence[Bits]) -> Mask:
        """Return of which elements, shape (n,), no reading rounds anything and the expression alone
        decides; what is converted is no -0 then, which not every type has.
        """
        values, lines = self.decoded([inputs]), self.steps.lines
        return self._plain([self._run(r, values, lines) for r in self.steps.readings])

    def _plain(self, runs: Sequence[Run]) -> Mask:
        """Return of which elements no run rounds or leaves open anything, not at its end either."""
        plain, fmt = np.ones(len(runs[0].undefined), bool), cast(Float, self.data.format)
        for run in runs:
            wide = run.values[self.steps.lines[-1].name]
            plain &= ~(run.inexact | run.undefined | _differ(wide, rounded(wide, fmt)))
        return plain

    def answer(self, reading: StepsReading, inputs: Sequence[Bits]) -> ExpectedOutput:
        """Return what one reading expects of a call."""
        run = self._run(reading, self.decoded([inputs]), self.steps.lines)
        return ExpectedOutput(self.data, inputs[0].shape, *self.finished(run))

    def reaching(self, reading: StepsReading, inputs: Sequence[Bits]) -> Numbers:
        """Return the values, of shape (n,), that the last conversion gets of a call."""
        last = self._last_conversion()
        found = self._run(reading, self.decoded([inputs]), self.steps.lines[:last])
        return found.values[self.steps.lines[last].source]

    def undone(self, converted: Codes, others: Mapping[str, Numbers]) -> Codes:
        """Return what the lines after the last conversion make of codes of the first input's type.

        `others` are the values of the other inputs, of the same shape (n,). Where those lines undo
        the ones before, this is the data that the conversion gets these values of.
        """
        lines, last = self.steps.lines, self._last_conversion()
        fmt = cast(Float, self.data.format)
        start = {**others, lines[last].name: decode(fmt, converted)}
        found = self._run(self.steps.readings[0], start, lines[last + 1 :])
        return rounded_codes(found.values[lines[-1].name], fmt)

    def _last_conversion(self) -> int:
        return max(i for i, line in enumerate(self.steps.lines) if line.rule)

    def decoded(self, calls: Sequence[Sequence[Bits]]) -> dict[str, Numbers]:
        """Return the exact values of the inputs by name, of shape (n,), broadcast to the first:
        those of one call after those of another.
        """
        shapes = [call[0].shape for call in calls]
        types = zip(self.names, self.case.inputs, zip(*calls, strict=True), strict=True)
        return {name: self._of_input(name, dtype, t, shapes) for name, dtype, t in types}

    def _of_input(
        self, name: str, dtype: DType, tensors: Sequence[Bits], shapes: Sequence[tuple[int, ...]]
    ) -> Numbers:
        """Return the exact values of tensors, each broadcast to a shape."""
        places, begin = [], 0
        for bits, shape in zip(tensors, shapes, strict=True):
            index = np.arange(begin, begin := begin + bits.size).reshape(bits.shape)
            try:
                places.append(np.broadcast_to(index, shape).ravel())
            except ValueError:
                problem = f"{name} of shape {bits.shape} does not broadcast to {shape}"
                raise SpecError(problem, place=self.steps.place) from None
        codes = np.concatenate([bits.reshape(-1) for bits in tensors])
        return take(decode(dtype.format, codes), np.concatenate(places))

    def _run(
        self, reading: StepsReading, inputs: Mapping[str, Numbers], lines: Sequence[StepsLine]
    ) -> Run:
        """Compute lines."""
        run = Run.of(inputs)
        for line in lines:
            if line.be is None:
                self._convert(line, reading, run)
            else:
                self.compute(line, reading, run)
        return run

    def finished(self, run: Run) -> tuple[Codes, NDArray[np.uint8]]:
        """Return codes and patterns of the output, with what it leaves open put in; codes that do
        not count are 0.
        """
        fmt = cast(Float, self.data.format)
        x = run.values[self.steps.lines[-1].name]
        x = rounded(x, self.through) if self.through else x
        codes = rounded_codes(x, fmt, self.mode)
        magnitude = codes & codes.dtype.type(fmt.magnitude_mask)
        undefined, patterns = run.undefined, np.full(len(codes), EXACT, np.uint8)
        if self.steps.free_zero:
            patterns[magnitude == 0] = ANY_ZERO
        if self.steps.free_rest:
            undefined = undefined | (magnitude > codes.dtype.type(fmt.max_magnitude))
        patterns[undefined] = UNDEFINED
        return np.where(patterns == EXACT, codes, 0).astype(codes.dtype), patterns

    def compute(self, line: StepsLine, reading: StepsReading, run: Run) -> None:
        """Compute a line, rounding every operation of it, or only the whole."""
        there = not line.needs or line.needs in run.values
        expression = cast(Expression, line.be if there else line.otherwise)
        fmt = cast(Float, reading.type_for(self.data).format)
        mode = self.mode if fmt == self.data.format else NEAREST
        if line.name in reading.once:
            operations: dict[str, Operation] = {**OPERATIONS, "number": run.number}
            result = run.rounded(compute(expression, run.values, operations), fmt, mode)
        else:
            rounding = {name: run.rounding(f, fmt, mode) for name, f in OPERATIONS.items()}
            result = compute(expression, run.values, {**rounding, "number": run.number})
        if line.name in reading.narrow:
            result = run.rounded(result, cast(Float, self.data.format), self.mode)
        run.values[line.name] = result

    def _convert(self, line: StepsLine, reading: StepsReading, run: Run) -> None:
        """Convert by the line's rule."""
        source, target = reading.type_for(self.data).format, target_of(line, self.case).format
        program, bits = self.program(line, reading), self.reached(line, reading, run)
        run.convert(line, target, run_conversion(program, source, target, bits).readings[0])

    def program(self, line: StepsLine, reading: StepsReading) -> Program:
        """Return the program of a conversion."""
        return self.programs[reading.type_for(self.data).name, line.name]

    def reached(self, line: StepsLine, reading: StepsReading, run: Run) -> Codes:
        """Return the codes that a conversion gets."""
        return rounded_codes(
            run.values[line.source], cast(Float, reading.type_for(self.data).format)
        )


@dataclass
class Run:
    """What lines were computed to for n elements."""

    #: The values of inputs and lines, by name.
    values: dict[str, Numbers]
    #: Where a rule left a value open.
    undefined: Mask
    #: Where something was rounded.
    inexact: Mask

    @staticmethod
    def of(inputs: Mapping[str, Numbers]) -> Run:
        """Return what there is before the first line."""
        none = np.zeros(len(next(iter(inputs.values()))), bool)
        return Run(dict(inputs), none, none)

    def copy(self) -> Run:
        """Return the same, to which more lines may be added."""
        return replace(self, values=dict(self.values))

    def convert(self, line: StepsLine, target: Format, answer: Reading) -> None:
        """Take what a conversion gives."""
        x = self.values[line.source]
        result = self.values[line.name] = decode(target, cast(Codes, answer.codes))
        self.undefined = self.undefined | (answer.patterns == UNDEFINED)
        self.inexact = self.inexact | _differ(x, result) | ((x.significand == 0) & x.sign)

    def rounded(self, x: Numbers, fmt: Float, mode: str) -> Numbers:
        """Round numbers to a format, and note where that changes them."""
        result = rounded(x, fmt, mode)
        self.inexact = self.inexact | _differ(x, result)
        return result

    def rounding(self, operation: Operation, fmt: Float, mode: str) -> Operation:
        """Round what an operation gives."""
        return lambda *operands: self.rounded(operation(*operands), fmt, mode)

    def number(self, n: int) -> Numbers:
        """Return a whole number below 2^64, as many times as there are elements."""
        return decode(Int(64, signed=False), np.full(len(self.undefined), n, np.uint64))


def _differ(a: Numbers, b: Numbers) -> Mask:
    """Return where two numbers are not the same, zeros of either sign being one number."""
    same = (a.kind == b.kind) & (a.significand == b.significand)
    same &= (a.significand == 0) | ((a.exponent == b.exponent) & (a.sign == b.sign))
    return np.asarray(~same if a.sticky is None else ~same | a.sticky)


def compile_steps(spec: Spec, case: Case) -> CompiledSteps:
    """Compile a case of a steps spec.

    Raises SpecError with its place for a rule that is not there or does not decide a conversion,
    and for an attribute's value that names no type.
    """
    steps = spec.body_as(Steps)
    layout = layout_of(spec, case)
    outside = outside_of(steps, layout, case)
    programs = {} if outside else _programs(spec, case)
    names = tuple(name for name, _ in layout.shapes)
    decisions = _decisions(spec, outside)
    return CompiledSteps(case, steps, names, outside is not None, decisions, programs)


def layout_of(spec: Spec, case: Case) -> Layout:
    """Return the layout of a case; a spec's only one is not named in its cases."""
    return next(x for x in spec.layouts if x.name == case.layout or not case.layout)


def outside_of(steps: Steps, layout: Layout, case: Case) -> Outside | None:
    """Return what makes a case one outside the contract, None where an answer is due."""
    return next((entry for entry in steps.outside if entry.has(layout, case)), None)


def target_of(line: StepsLine, case: Case) -> DType:
    """Return the type to which a line of a case converts: an attribute's value names it."""
    value = str(case.attribute(line.to))
    targets = dict(line.targets)
    if value not in targets:
        hint = meant(value, targets)
        raise SpecError(f"{line.to}={value} names no type", place=line.place, hint=hint)
    return targets[value]


def _programs(spec: Spec, case: Case) -> dict[tuple[str, str], Program]:
    steps = spec.body_as(Steps)
    programs = {}
    for line in (line for line in steps.lines if line.rule):
        if line.rule not in [rule.name for rule in spec.rules]:
            message = f"no rule is named {line.rule!r}"
            hint = meant(line.rule, (rule.name for rule in spec.rules))
            raise SpecError(message, place=line.place, hint=hint)
        for source in {r.type_for(case.inputs[0]).name: r.type_for(case.inputs[0]) for r in
                       steps.readings}.values():  # fmt: skip
            program = compile_conversion(spec, source, target_of(line, case), (), line.rule)
            programs[source.name, line.name] = program
    return programs


def _decisions(spec: Spec, outside: Outside | None) -> tuple[Decision, ...]:
    """Rows AGREE, DIFFER, OPEN and PLAIN; of a case outside the contract, what makes it one."""
    steps = spec.body_as(Steps)
    if outside is not None:
        row = f"outside: {outside.name}"
        return (_decision(spec, row, "undefined", outside.cite, outside.place),)
    cites = [(reading.name, reading.cite) for reading in steps.readings]
    return (
        _decision(spec, "readings agree", steps.agreed, steps.cite, steps.place),
        _decision(spec, "readings differ", "disputed", steps.cite, steps.place, cites),
        _decision(spec, "nothing defined", "undefined", steps.cite, steps.place),
        _decision(spec, "nothing rounded", steps.level, steps.cite, steps.place),
    )


def _decision(
    spec: Spec,
    row: str,
    level: Level,
    cite: Cite,
    place: Place,
    cites: Sequence[tuple[str, Cite]] = (),
) -> Decision:
    readings = tuple(name for name, _ in cites) or ("",)
    return decision_of(spec, ("steps", row), level, cite, place, readings, cites)


def _same(a: CallReading, b: CallReading) -> bool:
    """Return whether two readings expect the same of the one output."""
    one, other = a.outputs[0], b.outputs[0]
    return np.array_equal(one.codes, other.codes) and np.array_equal(one.patterns, other.patterns)
