"""Compute the expectations of an operator defined in steps, exactly unless a reading rounds."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from typing import cast

import numpy as np
from numpy.typing import NDArray

from convcheck.errors import Place, SpecError
from convcheck.numerics import rational
from convcheck.numerics.codec import decode, encode
from convcheck.numerics.format import Float, Format, Int, Numeric
from convcheck.numerics.modes import MODES, NEAREST
from convcheck.numerics.number import FINITE, INFINITY, NAN, Bits, Codes, Numbers
from convcheck.numerics.rational import Rational, end_to_end, of_numbers, rounded, take
from convcheck.numerics.rounding import round_to, rounded_codes
from convcheck.numerics.words import code_of
from convcheck.records import replace
from convcheck.rules.body.steps import OpenElements, Outside, Steps, StepsLine, StepsReading
from convcheck.rules.expression import (
    CONVERT,
    NAME,
    Condition,
    Expression,
    compute,
    names_in,
    operations_in,
)
from convcheck.rules.hop import Hop
from convcheck.rules.model import LEVELS, Case, Cite, DType, Layout, Level, Spec
from convcheck.semantics.answers_at import run_conversion
from convcheck.semantics.body.meetings import NONE, met, met_wrongly
from convcheck.semantics.compile import compile_conversion, weaker
from convcheck.semantics.expected import (
    ANY_NAN,
    ANY_ZERO,
    EXACT,
    UNDEFINED,
    Among,
    CallReading,
    CompiledCalls,
    Decision,
    ExpectedCall,
    ExpectedOutput,
    Reading,
    decision_of,
    same,
)
from convcheck.semantics.hops import gone_through
from convcheck.semantics.program import Meaning, Program
from convcheck.semantics.vocabulary import Points
from convcheck.streams import meant

Mask = NDArray[np.bool_]
Rows = NDArray[np.int16]
Operation = Callable[..., Rational]
_ROUNDED: Mapping[str, Operation] = {
    "add": rational.add,
    "subtract": rational.subtract,
    "multiply": rational.multiply,
    "divide": rational.divide,
    "negate": rational.negate,
}
# includes operations that return an operand, which need no rounding
OPERATIONS: Mapping[str, Operation] = {**_ROUNDED, "max": rational.larger, "min": rational.smaller}
# Rows: readings agree, readings differ, nothing defined, nothing rounded, output is not a listed
# value. The undefined rows of the spec follow, then the rows of conversions.
AGREE, DIFFER, OPEN, PLAIN, VALUES = range(5)
ODD = "odd"
STEPS = "steps"  # the rule of these rows


@dataclass(frozen=True)
class CompiledSteps(CompiledCalls):
    """A compiled case of steps, with programs by source type and line."""

    case: Case
    steps: Steps
    names: tuple[str, ...]
    #: nothing is expected
    outside: bool
    decisions: tuple[Decision, ...]
    programs: Mapping[tuple[str, str], Program]
    #: rounds results to the type of the first input
    mode: str = field(default=NEAREST, kw_only=True)
    #: hops before the first line, by input
    first: Mapping[str, Sequence[Hop]] = field(default_factory=dict, kw_only=True)
    #: a wrong broadcast, and of which input, '' for all others
    meets: tuple[str, str] | None = field(default=None, kw_only=True)

    @property
    def data(self) -> DType:
        """The type of the first input."""
        return self.case.inputs[0]

    @property
    def output(self) -> DType:
        """The type of the output."""
        return self.case.outputs[0]

    @cached_property
    def types(self) -> Mapping[str, DType]:
        """The types of inputs and outputs, by name."""
        return dict(zip(self.names, self.case.inputs, strict=True)) | {
            self.steps.lines[-1].name: self.output,
            **dict(zip(self.steps.others, self.case.outputs[1:], strict=True)),
        }

    @cached_property
    def reduces(self) -> bool:
        """Whether a line reduces over all elements."""
        both = {"largest", "smallest"}
        expressions = (one for line in self.steps.lines for one in line.expressions)
        return any(operations_in(one) & both for one in expressions)

    @property
    def among(self) -> Among | None:
        """The values that the spec lists, as codes of the output."""
        values = self.steps.values
        if values is None or self.outside:
            return None
        [line] = (line for line in self.lines if line.name == values.line)
        kind, where = target_of(line, self.case), dict(values.where)
        every = np.arange(1 << cast(Numeric, kind.format).bits).astype(kind.format.storage)
        given = {
            i: code_of(cast(Numeric, dtype.format), where[name])[0]
            for i, (name, dtype) in enumerate(zip(self.names, self.case.inputs, strict=True))
            if name in where
        }
        codes = rounded_codes(decode(kind.format, every), cast(Float, self.output.format))
        return Among(VALUES, f"no value of {kind}", given, codes)

    @property
    def along(self) -> tuple[int, int] | None:
        """Axis and block size of broadcasting to the first input."""
        return self.steps.along.of(self.case.attributes) if self.steps.along else None

    @cached_property
    def lines(self) -> tuple[StepsLine, ...]:
        """The lines for this case."""
        given = {line.name: not line.needs or line.needs in self.names for line in self.steps.lines}
        return tuple(x.for_output(self.output, given=given[x.name]) for x in self.steps.lines)

    @cached_property
    def meaning(self) -> Meaning:
        """A key of the expectations, without layouts, places and citations."""
        steps = self.steps
        types = self.names, self.case.inputs, self.output, self.outside
        ends = steps.back, steps.back_of, steps.free_zero, steps.free_rest
        runs = ((self._begins(one), self._facts(one)) for one in steps.readings)
        return Meaning((types, ends, *runs))

    def size(self, inputs: Sequence[Bits]) -> int:
        """Return the number of elements of the output."""
        return inputs[0].size

    def expect(self, inputs: Sequence[Bits]) -> ExpectedCall:
        """Return the expectation of a call. Raises SpecError."""
        return self.expect_all([inputs])[0]

    def expect_all(self, calls: Sequence[Sequence[Bits]]) -> list[ExpectedCall]:
        """Return the expectation of each call, computed at once."""
        if self.outside or not calls:
            return [ExpectedCall(0, (CallReading("", pattern=UNDEFINED),))] * len(calls)
        due, runs = self.due(calls)
        plain, found, begin = self._plain(runs), [], 0
        rows = [np.where(plain, np.int16(PLAIN), each) for each in self.rows(due, runs)]
        for inputs in calls:
            part = slice(begin, begin := begin + inputs[0].size)
            one = slice(part.start, min(part.start + 1, part.stop))
            of_each = tuple(each[one if i else part] for i, each in enumerate(rows))
            outputs = [self.outputs(each, inputs[0].shape, part) for each in due]
            found.append(self._expected(outputs, of_each))
        return found

    def rows(self, due: Sequence[Sequence[Reading]], runs: "Sequence[Run]") -> list[Rows]:
        """Return the decision of each element of each output."""
        names = self.lines[-1].name, *self.steps.others
        pairs = zip(names, zip(*due, strict=True), strict=True)
        return [self._rows_of(name, each, runs) for name, each in pairs]

    def _rows_of(self, name: str, due: Sequence[Reading], runs: "Sequence[Run]") -> Rows:
        rows = np.full(len(due[0].codes), AGREE, np.int16)
        before = [line.name for line in self.lines].index(name) + 1
        lines = [line for line in self.lines[:before] if line.be is None]
        levels = np.array([LEVELS.index(one.level) for one in self.decisions])
        readings = self.distinct(self.steps.readings).values()
        for reading, run in reversed([*zip(readings, runs, strict=True)] if lines else []):
            key = self.taken_as(lines[-1], reading).name, lines[-1].name
            inner = self._inner[key][run.decided[lines[-1].name]]
            rows = np.where(levels[inner] >= levels[rows], inner, rows)
        codes = np.stack([one.codes for one in due])
        patterns = np.stack([one.patterns for one in due])
        rows[(codes != codes[0]).any(axis=0) | (patterns != patterns[0]).any(axis=0)] = DIFFER
        opened = (patterns == UNDEFINED).all(axis=0)
        rows[opened & (levels[rows] < LEVELS.index("undefined"))] = OPEN
        for one in reversed([*self._open()]):
            if not one.sign_only:
                met = _MET[one.condition](runs[0].values[one.input])
                rows[opened & met] = self._numbers_of[STEPS, one.name]
        return rows

    def _open(self) -> Iterator[OpenElements]:
        names = {line.name for line in self.lines}
        for one in self.steps.undefined:
            if one.is_said_of(self.types) or one.input in names:
                yield one

    @cached_property
    def _numbers_of(self) -> Mapping[tuple[str, str], int]:
        return {(one.rule, one.row): i for i, one in enumerate(self.decisions)}

    @cached_property
    def _inner(self) -> Mapping[tuple[str, str], Rows]:
        numbers = self._numbers_of
        return {
            key: np.array([numbers[one.rule, one.row] for one in program.decisions], np.int16)
            for key, program in self.programs.items()
        }

    def outputs(
        self, found: Sequence[Reading], shape: tuple[int, ...], part: slice
    ) -> tuple[ExpectedOutput, ...]:
        """Return the outputs of a part; those after the first have one element."""
        one = slice(part.start, min(part.start + 1, part.stop))
        wanted = [(shape, part), *(((), one) for _ in self.case.outputs[1:])]
        return tuple(
            ExpectedOutput(dtype, dims, one.codes[where], one.patterns[where])
            for dtype, (dims, where), one in zip(self.case.outputs, wanted, found, strict=True)
        )

    def _expected(
        self, outputs: Sequence[tuple[ExpectedOutput, ...]], rows: tuple[Rows, ...]
    ) -> ExpectedCall:
        readings: list[CallReading] = []
        for reading, output in zip(self.steps.readings, outputs, strict=True):
            if not any(same(output, other.outputs) for other in readings):
                readings.append(CallReading(reading.name, output))
        empty = not outputs[0][0].patterns.size
        if empty and self.reduces:
            return ExpectedCall(OPEN, (CallReading("", pattern=UNDEFINED),))
        patterns = [each.patterns for reading in readings for each in reading.outputs]
        of_all = set(np.concatenate(rows).tolist())
        if not empty and all((p == UNDEFINED).all() for p in patterns):
            row = of_all.pop() if len(of_all) == 1 else OPEN
            return ExpectedCall(row, (CallReading("", pattern=UNDEFINED),))
        if len(of_all) == 1:
            return ExpectedCall(of_all.pop(), tuple(readings))
        return ExpectedCall(DIFFER if len(readings) > 1 else AGREE, tuple(readings), rows=rows)

    def exact(self, inputs: Sequence[Bits]) -> Mask:
        """Return a mask of elements that all readings compute exactly, except -0."""
        return self._plain([self.run(inputs, reading) for reading in self.steps.readings])

    def _plain(self, runs: "Sequence[Run]") -> Mask:
        plain, last = np.ones(len(runs[0].undefined), bool), self.lines[-1]
        for run in runs:
            wide = run.values[last.name]
            plain &= ~(run.inexact | run.undefined)
            if last.be is not None:
                plain &= ~_differ(wide, rounded(wide, cast(Float, self.output.format)))
        return plain

    def due(
        self, calls: Sequence[Sequence[Bits]], kept: "dict[Hashable, Run] | None" = None
    ) -> "tuple[list[list[Reading]], list[Run]]":
        """Return the outputs of each reading, calls end to end, and the runs; `kept` has more."""
        apart, kept = self.distinct(self.steps.readings), {} if kept is None else kept
        computed = {key: self._run_all(one, calls, kept) for key, one in apart.items()}
        finished = {
            key: [self.finished(run, name) for name in ("", *self.steps.others)]
            for key, run in computed.items()
        }
        due = [finished[self.rounds_as(reading)] for reading in self.steps.readings]
        return due, [*computed.values()]

    def _run_all(
        self, reading: StepsReading, calls: Sequence[Sequence[Bits]], kept: "dict[Hashable, Run]"
    ) -> "Run":
        facts, inputs = self._facts(reading), (self.along, self.meets)
        begins = inputs, self._begins(reading)
        keys = [(begins, facts[:n]) for n in range(len(facts) + 1)]
        known = [n for n, key in enumerate(keys) if key in kept]
        if known:
            run = kept[keys[known[-1]]].copy()
        else:
            if inputs not in kept:
                kept[inputs] = Run.of(self.decoded(calls))
            run = self.begun(reading, kept[inputs].values)
            run.sizes = tuple(call[0].size for call in calls)
        for line, key in [*zip(self.lines, keys[1:], strict=True)][max(known, default=0) :]:
            self._take(line, reading, run)
            kept[key] = run.copy()
        return run

    def _begins(self, reading: StepsReading) -> Hashable:
        first = tuple((name, tuple(hops)) for name, hops in self.first.items())
        numbers = tuple((name, self.case.attribute(name)) for name in self.steps.numbers)
        opened = tuple((one.input, one.condition, one.sign_only) for one in self._open())
        return self.rounds_as(reading), reading.taken_as, numbers, opened, self.mode, first

    def _facts(self, reading: StepsReading) -> tuple[Hashable, ...]:
        """Lines of equal keys make the same of equal values."""
        facts = []
        for x in self.lines:
            said = x.name, x.be, x.branches, x.exact, x.through, x.conversions
            made = None
            if x.be is None and not self.outside:
                made = self.program(x, reading).meaning, target_of(x, self.case)
            facts.append((said, x.source, x.taken_as, made))
        return tuple(facts)

    def run(self, inputs: Sequence[Bits], reading: StepsReading | None = None) -> "Run":
        """Compute the lines of a call, by default under the first reading."""
        return self._run_all(reading or self.steps.readings[0], [inputs], {})

    @property
    def plainest(self) -> StepsReading:
        """The first reading without rounding, else the first."""
        return min(self.steps.readings, key=lambda one: self.arithmetic(one) is not None)

    @property
    def conversion(self) -> StepsLine:
        """The last conversion."""
        return [line for line in self.lines if line.be is None][-1]

    def undone(self, converted: Codes, others: Mapping[str, Rational]) -> Codes:
        """Apply the lines after the last conversion to codes of the first input's type."""
        fmt, last = cast(Float, self.data.format), self.conversion
        start = {**others, last.name: of_numbers(decode(fmt, converted))}
        run = self.begun(self.steps.readings[0], start)
        for line in self.lines[self.lines.index(last) + 1 :]:
            self._take(line, self.steps.readings[0], run)
        return rounded_codes(run.values[self.lines[-1].name].numbers, fmt)

    def brought(self, wanted: Rational, others: Mapping[str, Rational]) -> tuple[Codes, Rational]:
        """Return the data for which the last line has `wanted` values, rounded and exact."""
        back, brought = cast(Expression, self.steps.back), self.steps.back_of or self.lines[-1].name
        run = Run.of({"": wanted})
        left_out = dict.fromkeys(names_in(back), run.number(0))
        names = left_out | self._numbers(run) | {**others, brought: wanted}
        x = compute(back, names, run.operations)
        fmt = self.data.format
        if isinstance(fmt, Float):
            return rounded_codes(x.numbers, fmt), x
        whole = cast(Int, fmt)
        magnitude = round_to(x.numbers, whole, MODES[NEAREST]).magnitude
        return encode(whole, np.minimum(magnitude, np.uint64(whole.max)), x.sign), x

    def thresholds(self, others: Mapping[str, Rational]) -> Codes:
        """Return the thresholds of branches on the first input."""
        run, first = Run.of(others), self.names[0]
        values, found = {**others, **self._numbers(run)}, []
        for branch in (branch for line in self.lines for branch in line.branches):
            left, right = branch.condition.left, branch.condition.right
            known = names_in(right) <= values.keys()
            if left == Expression(NAME, name=first) and known:
                x = compute(right, values, run.operations)
                found.append(rounded_codes(x.numbers, cast(Float, self.data.format)))
        return np.concatenate([np.zeros(0, self.data.format.storage), *found])

    def decoded(self, calls: Sequence[Sequence[Bits]]) -> dict[str, Rational]:
        """Return the exact values of each input, broadcast to the first, calls concatenated."""
        shapes = [call[0].shape for call in calls]
        types = zip(self.names, self.case.inputs, zip(*calls, strict=True), strict=True)
        return {name: self._of_input(name, dtype, t, shapes) for name, dtype, t in types}

    def _of_input(
        self, name: str, dtype: DType, tensors: Sequence[Bits], shapes: Sequence[tuple[int, ...]]
    ) -> Rational:
        places, begin = [], 0
        for bits, shape in zip(tensors, shapes, strict=True):
            index = np.arange(begin, begin := begin + bits.size).reshape(bits.shape)
            try:
                places.append(self.met(index, shape, name).ravel())
            except ValueError:
                problem = f"{name} of shape {bits.shape} does not broadcast to {shape}"
                raise SpecError(problem, place=self.steps.place) from None
        codes, at = np.concatenate([bits.reshape(-1) for bits in tensors]), np.concatenate(places)
        found = take(of_numbers(decode(dtype.format, codes)), np.maximum(at, 0))
        zeros = rational.of_integer(0, len(at))
        return rational.chosen(at == NONE, zeros, found) if self.meets else found

    def met(
        self, index: NDArray[np.intp], shape: tuple[int, ...], name: str = ""
    ) -> NDArray[np.intp]:
        """Return the place in another tensor that each element meets."""
        along, (wrongly, of) = self.along, self.meets or ("", "")
        if along and wrongly and of in ("", name) and index.ndim and index.shape != shape:
            return met_wrongly(wrongly, index, shape, *along)
        return met(index, shape, along)

    def begun(self, reading: StepsReading, inputs: Mapping[str, Rational]) -> "Run":
        """Return the run before the first line."""
        run = Run.of(inputs)
        run.values |= self._numbers(run)
        for one in self.steps.undefined:
            if one.input in inputs and one.is_said_of(self.types):
                run.leave_open(one)
        for name, hops in self.first.items():
            fmt = self.types[name].format
            for hop in hops:
                x = run.values[name]
                run.values[name] = self._beyond(x, hop, fmt, _encoded(fmt, x.numbers))
        kind = self.arithmetic(reading)
        if reading.operands and kind:
            work = cast(Float, kind.format)
            for name in reading.operands:
                run.values[name] = run.rounded(run.values[name], work, NEAREST)
        return run

    def _numbers(self, run: "Run") -> dict[str, Rational]:
        given = dict(self.case.attributes)
        return {name: run.number(int(given[name])) for name in self.steps.numbers}

    def rounds_as(self, reading: StepsReading) -> Hashable:
        """Return a key of how a reading rounds in this case."""
        kind, types = self.arithmetic(reading), self.types
        operands = {name for name in reading.operands if name in types and types[name] != kind}
        ties = reading.whole, self.opens_near_ties(reading)
        return kind, frozenset(operands), reading.once, reading.narrow, ties

    def opens_near_ties(self, reading: StepsReading) -> bool:
        """Whether a reading leaves values near a tie undefined."""
        return reading.open_near_ties and self.arithmetic(reading) not in (None, self.data)

    def distinct(self, readings: Sequence[StepsReading]) -> dict[Hashable, StepsReading]:
        """Return the readings without those that round alike."""
        found: dict[Hashable, StepsReading] = {}
        for reading in readings:
            found.setdefault(self.rounds_as(reading), reading)
        return found

    def arithmetic(self, reading: StepsReading) -> DType | None:
        """Return the type that a reading computes in, None for exact."""
        return reading.type_for(self.case, self.types)

    def _take(self, line: StepsLine, reading: StepsReading, run: "Run") -> None:
        if line.be is None:
            source = self.taken_as(line, reading).format
            target = target_of(line, self.case).format
            program, bits = self.program(line, reading), self.reached(line, reading, run)
            found = run_conversion(program, source, target, bits)
            run.decided[line.name] = found.rows
            run.convert(line, target, found.readings[0])
        else:
            self.compute(line, reading, run)
        for one in self.steps.undefined:
            if one.input == line.name:
                run.leave_open(one)

    def finished(self, run: "Run", name: str = "") -> Reading:
        """Return an output, by default the first. Codes without meaning are 0."""
        name = name or self.lines[-1].name
        fmt, undefined = self.types[name].format, run.undefined
        if name in run.converted:
            found = run.converted[name]
            codes, patterns = cast(Codes, found.codes), found.patterns.copy()
        else:
            x = run.values[name]
            codes = rounded_codes(x.numbers, cast(Float, fmt), self.mode)
            patterns = np.where(x.kind == NAN, ANY_NAN, EXACT).astype(np.uint8)
        if isinstance(fmt, Float):
            magnitude = codes & codes.dtype.type(fmt.magnitude_mask)
            zero = (patterns == EXACT) & (magnitude == 0) & fmt.negative_zero
            patterns[zero & (self.steps.free_zero | run.either_sign)] = ANY_ZERO
            if self.steps.free_rest and name not in run.converted:
                undefined = undefined | (magnitude > codes.dtype.type(fmt.max_magnitude))
        patterns[undefined] = UNDEFINED
        return Reading(np.where(patterns == EXACT, codes, 0).astype(codes.dtype), patterns)

    def compute(self, line: StepsLine, reading: StepsReading, run: "Run") -> None:
        """Compute a line. A reading rounds each operation, or only the result."""
        kind = self.arithmetic(reading)
        if kind is None or line.exact:
            result = run.branched(line, self._operations(line, reading, run))
        else:
            fmt = cast(Float, kind.format)
            mode = self.mode if fmt == self.output.format else NEAREST
            once = line.name in reading.once
            operations = self._operations(line, reading, run)
            if not once:
                operations |= {name: run.rounding(f, fmt, mode) for name, f in _ROUNDED.items()}
            result = run.branched(line, operations)
            result = run.rounded(result, fmt, mode) if once else result
        data = self.data.format
        for hop in line.through:
            result = self._beyond(result, hop, data, np.zeros(len(result), data.storage))
        if line.name in reading.narrow:
            result = run.rounded(result, cast(Float, data), self.mode)
        run.values[line.name] = result

    def _operations(
        self, line: StepsLine, reading: StepsReading, run: "Run"
    ) -> dict[str, Operation]:
        types = {dtype.name: cast(Float, dtype.format) for dtype in line.conversions}
        kind = self.arithmetic(reading)
        unsure = cast(Float, kind.format) if kind and self.opens_near_ties(reading) else None
        return {
            **run.operations,
            "round": partial(run.whole, reading.whole, unsure),
            CONVERT: lambda name, x: rounded(x, types[name]),
        }

    def _beyond(self, x: Rational, hop: Hop, fmt: Format, codes: Codes) -> Rational:
        points = Points(fmt, self.output.format, codes, x.numbers)
        return of_numbers(gone_through(points, hop, retyped=False).x)

    def taken_as(self, line: StepsLine, reading: StepsReading) -> DType:
        """Return the source type of a conversion."""
        return cast(DType, line.taken_as or reading.taken_as or self.arithmetic(reading))

    def program(self, line: StepsLine, reading: StepsReading) -> Program:
        """Return the program of a conversion."""
        return self.programs[self.taken_as(line, reading).name, line.name]

    def reached(self, line: StepsLine, reading: StepsReading, run: "Run") -> Codes:
        """Return the codes that enter a conversion; those to reinterpret are rounded to odd."""
        fmt = cast(Float, self.taken_as(line, reading).format)
        odd = line.taken_as or reading.taken_as
        return rounded_codes(run.values[line.source].numbers, fmt, ODD if odd else NEAREST)


@dataclass
class Run:
    """A computation of n elements."""

    values: dict[str, Rational]
    undefined: Mask
    inexact: Mask
    either_sign: Mask
    #: results of conversions, by line
    converted: dict[str, Reading] = field(default_factory=dict)
    decided: dict[str, Rows] = field(default_factory=dict)
    #: of each call
    sizes: tuple[int, ...] = ()

    @staticmethod
    def of(inputs: Mapping[str, Rational]) -> "Run":
        """Return the state before the first line."""
        none = np.zeros(len(next(iter(inputs.values()))), bool)
        return Run(dict(inputs), none, none, none, sizes=(len(none),))

    def copy(self) -> "Run":
        """Return a copy. Arrays are never changed in place."""
        values, converted = self.values.copy(), self.converted.copy()
        return replace(self, values=values, converted=converted, decided=self.decided.copy())

    def leave_open(self, one: OpenElements) -> None:
        """Mark the elements that a spec leaves undefined."""
        met = _MET[one.condition](self.values[one.input])
        if one.sign_only:
            self.either_sign = self.either_sign | met
        else:
            self.undefined = self.undefined | met

    def convert(self, line: StepsLine, target: Format, answer: Reading) -> None:
        """Store the result of a conversion."""
        x = self.values[line.source]
        self.converted[line.name] = answer
        result = of_numbers(decode(target, cast(Codes, answer.codes)))
        self.values[line.name] = result
        self.undefined = self.undefined | (answer.patterns == UNDEFINED)
        inexact = _differ(x, result) | (x.kind != FINITE) | (x.is_zero & x.sign)
        self.inexact = self.inexact | inexact

    def rounded(self, x: Rational, fmt: Float, mode: str) -> Rational:
        """Round numbers and mark those that change."""
        result = rounded(x, fmt, mode)
        self.inexact = self.inexact | _differ(x, result)
        return result

    def rounding(self, operation: Operation, fmt: Float, mode: str) -> Operation:
        """Return an operation with a rounded result."""
        return lambda *operands: self.rounded(operation(*operands), fmt, mode)

    def whole(self, mode: str, unsure: Float | None, x: Rational) -> Rational:
        """Round to integers. Near a tie with an uncertain last bit, give NaN."""
        result = rational.rounded_whole(x, mode)
        if unsure is None:
            return result
        unknown = self.inexact & _near_tie(x.numbers, unsure)
        return replace(result, kind=np.where(unknown, NAN, result.kind).astype(np.uint8))

    def branched(self, line: StepsLine, operations: Mapping[str, Operation]) -> Rational:
        """Return a line's result by the first branch that holds."""
        before = self.inexact
        result = compute(cast(Expression, line.be), self.values, operations)
        inexact = self.inexact
        for branch in reversed(line.branches):
            self.inexact = before
            holds = self.holds(branch.condition, operations)
            result = rational.chosen(holds, compute(branch.be, self.values, operations), result)
            inexact = np.where(holds, self.inexact, inexact)
        self.inexact = inexact
        return result

    def holds(self, condition: Condition, operations: Mapping[str, Operation]) -> Mask:
        """Return a mask of a condition."""
        ends = (compute(e, self.values, operations) for e in (condition.left, condition.right))
        return rational.compared(next(ends), condition.relation, next(ends))

    def reduced(self, choose: Operation, x: Rational) -> Rational:
        """Reduce over the elements of each call; undefined if one is."""
        sizes = [size for size in self.sizes if size]
        if not sizes:
            return x
        which, ends = np.repeat(np.arange(len(sizes)), sizes), [0, *np.cumsum(sizes).tolist()]
        self.undefined = np.bincount(which, self.undefined)[which] > 0
        found = [_reduced(choose, take(x, np.arange(a, b))) for a, b in pairwise(ends)]
        return take(end_to_end(found), which)

    @property
    def operations(self) -> dict[str, Operation]:
        """The exact operations."""
        return {
            **OPERATIONS,
            "number": self.number,
            "largest": partial(self.reduced, rational.larger),
            "smallest": partial(self.reduced, rational.smaller),
        }

    def number(self, n: int) -> Rational:
        """Return an integer broadcast to all elements."""
        return rational.of_integer(n, len(self.undefined))


_MET: Mapping[str, Callable[[Rational], Mask]] = {
    "<= 0": lambda x: (x.sign & (x.kind != NAN)) | x.is_zero,
    "not finite": lambda x: x.kind != FINITE,
    "= -0": lambda x: x.sign & x.is_zero,
    "is nan": lambda x: x.kind == NAN,
    "not 0": lambda x: ~x.is_zero,
}


def _encoded(fmt: Format, x: Numbers) -> Codes:
    numeric = cast(Numeric, fmt)
    codes = encode(numeric, round_to(x, numeric, MODES[NEAREST]).magnitude, x.sign)
    if isinstance(numeric, Float):
        if numeric.infinity:
            codes[x.kind == INFINITY] = numeric.infinity_code
            codes[(x.kind == INFINITY) & x.sign] |= codes.dtype.type(numeric.sign_bit)
        if numeric.nan != "none":
            codes[x.kind == NAN] = numeric.nan_code
    return codes


def _reduced(choose: Operation, x: Rational) -> Rational:
    while len(x) > 1:
        half = (len(x) + 1) // 2
        rest = np.minimum(np.arange(half) + half, len(x) - 1)
        x = choose(take(x, np.arange(half)), take(x, rest))
    return x


def _near_tie(x: Numbers, fmt: Float) -> Mask:
    """Within one ulp of a tie between integers."""
    below_point = fmt.mantissa - x.exponent
    has = (x.kind == FINITE) & (below_point > 0) & (below_point <= fmt.mantissa + 2)
    half = np.uint64(1) << np.where(has, below_point - 1, 0).astype(np.uint64)
    ulps = (x.significand >> np.uint64(63 - fmt.mantissa)) & (2 * half - np.uint64(1))
    return np.asarray(has & (np.abs(ulps.astype(np.int64) - half.astype(np.int64)) <= 1))


def _differ(x: Rational, there: Rational) -> Mask:
    """Zeros are equal, NaNs are not."""
    a, b = x.numbers, there.numbers
    same = (a.kind == b.kind) & (a.kind != NAN) & (a.significand == b.significand)
    same &= (a.significand == 0) | ((a.exponent == b.exponent) & (a.sign == b.sign))
    return np.asarray(~same if a.sticky is None else ~same | a.sticky)


def compile_steps(spec: Spec, case: Case) -> CompiledSteps:
    """Compile a case of steps. Raises SpecError."""
    steps = spec.body_as(Steps)
    layout = layout_of(spec, case)
    outside = outside_of(steps, layout, case)
    names = tuple(name for name, _ in layout.shapes)
    decisions = _decisions(spec, outside)
    compiled = CompiledSteps(case, steps, names, outside is not None, decisions, {})
    if outside:
        return compiled
    programs = _programs(compiled, spec)
    inner = (one for program in programs.values() for one in program.decisions)
    by_rows = (replace(one, level=weaker(steps.agreed, one.level)) for one in inner)
    return replace(compiled, programs=programs, decisions=(*decisions, *dict.fromkeys(by_rows)))


def layout_of(spec: Spec, case: Case) -> Layout:
    """Return the layout of a case."""
    return next(x for x in spec.layouts if x.name == case.layout or not case.layout)


def outside_of(steps: Steps, layout: Layout, case: Case) -> Outside | None:
    """Return what excludes a case, None if an answer is expected."""
    return next((entry for entry in steps.outside if entry.has(layout, case)), None)


def target_of(line: StepsLine, case: Case) -> DType:
    """Return the target type of a conversion. Raises SpecError."""
    if not line.to:
        return case.outputs[0]
    value = str(case.attribute(line.to))
    targets = dict(line.targets)
    if value not in targets:
        hint = meant(value, targets)
        raise SpecError(f"{line.to}={value} names no type", place=line.place, hint=hint)
    return targets[value]


def asked_by_rules(spec: Spec, case: Case) -> tuple[tuple[str, str], ...]:
    """Return the attributes of a case that rules depend on, as written."""
    known = _asked_of(spec)
    return tuple((name, str(value)) for name, value in case.attributes if name in known)


@lru_cache
def _asked_of(spec: Spec) -> frozenset[str]:
    return frozenset(key for rule in spec.rules for key, _ in rule.when)


def _programs(compiled: CompiledSteps, spec: Spec) -> dict[tuple[str, str], Program]:
    case, programs = compiled.case, {}
    for line in (line for line in compiled.lines if line.be is None):
        if line.rule and line.rule not in [rule.name for rule in spec.rules]:
            message = f"no rule is named {line.rule!r}"
            hint = meant(line.rule, (rule.name for rule in spec.rules))
            raise SpecError(message, place=line.place, hint=hint)
        target = target_of(line, case)
        if not (isinstance(target.format, Float) or compiled.steps.back or compiled.steps.ends):
            message = f"{line.name} becomes an integer, and nothing says which data bring it to one"
            raise SpecError(message, place=line.place, hint="add `back` to the steps")
        for reading in compiled.steps.readings:
            source: DType | None = compiled.taken_as(line, reading)
            if source is None:
                message = f"{line.source} is exact, and from which type it is converted is not said"
                raise SpecError(message, place=line.place, hint="as: float64")
            if (source.name, line.name) not in programs:
                given = asked_by_rules(spec, case)
                program = compile_conversion(spec, source, target, given, line.rule)
                programs[source.name, line.name] = program
    return programs


def _decisions(spec: Spec, outside: Outside | None) -> tuple[Decision, ...]:
    steps = spec.body_as(Steps)

    def decision(
        row: str, level: Level, cite: Cite, place: Place, cites: Sequence[tuple[str, Cite]] = ()
    ) -> Decision:
        readings = tuple(name for name, _ in cites) or ("",)
        return decision_of(spec, (STEPS, row), level, cite, place, readings, cites)

    if outside is not None:
        row = f"outside: {outside.name}"
        return (decision(row, "undefined", outside.cite, outside.place),)
    cites = [(reading.name, reading.cite) for reading in steps.readings]
    rows = [
        decision("readings agree", steps.agreed, steps.cite, steps.place),
        decision("readings differ", "disputed", steps.cite, steps.place, cites),
        decision("nothing defined", "undefined", steps.cite, steps.place),
        decision("nothing rounded", steps.level, steps.cite, steps.place),
    ]
    if (values := steps.values) is not None:
        rows.append(decision(f"values of {values.line}", steps.level, values.cite, values.place))
    opened = (one for one in steps.undefined if not one.sign_only)
    rows += [decision(one.name, "undefined", one.cite, one.place) for one in opened]
    return tuple(rows)
