"""Planted bugs of operators computed in steps: a right answer of some reading, but for one thing.

A bug changes the lines, the conversion, the inputs or the codes that come out. It answers None
where it is no bug: the case has no shift, or no axis to mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from catalogue import CATALOG

from convcheck.numerics.codec import decode
from convcheck.numerics.codes import Bits, Codes
from convcheck.numerics.format import Float
from convcheck.numerics.rational import Rational, of_numbers, rounded
from convcheck.numerics.rounding import rounded_codes
from convcheck.rules.body.steps import Steps, StepsLine, StepsReading
from convcheck.rules.expression import parse_expression
from convcheck.rules.model import Case, Rounding, Spec
from convcheck.semantics.answers_at import run_conversion
from convcheck.semantics.body.steps import CompiledSteps, Run, compile_steps, target_of
from convcheck.semantics.expected import UNDEFINED

Before = Callable[[Rational], Rational]
After = Callable[[Codes, Float], Codes]
NAMES = ("data", "scale", "shift", "moved", "emulated")
IN_TYPE, WIDE = 0, 2  # the readings that bugs are planted in


def spec() -> Spec:
    return CATALOG.specs["openvino.FakeConvert-13"]


def steps() -> Steps:
    return spec().body_as(Steps)


def fmt_of(name: str) -> Float:
    fmt = CATALOG.types.types[name].format
    assert isinstance(fmt, Float)
    return fmt


@dataclass(frozen=True)
class Bugged(CompiledSteps):
    """Steps whose conversion gets something else, or gives something else."""

    before: Before = lambda x: x
    after: After = lambda codes, fmt: codes

    def _convert(self, line: StepsLine, reading: StepsReading, run: Run) -> None:
        source, target = self.taken_as(line, reading), target_of(line, self.case)
        assert isinstance(source.format, Float)
        assert isinstance(target.format, Float)
        bits = rounded_codes(self.before(run.values[line.source]).numbers, source.format)
        program = self.programs[source.name, line.name]
        answer = run_conversion(program, source.format, target.format, bits).readings[0]
        codes = self.after(answer.codes, target.format)
        run.values[line.name] = of_numbers(decode(target.format, codes))
        run.undefined = run.undefined | (answer.patterns == UNDEFINED)


@cache
def right(case: Case) -> CompiledSteps:
    return compile_steps(spec(), case)


def codes_of(made: CompiledSteps, base: int, inputs: Sequence[Bits]) -> Bits:
    """The answer of a reading, in the shape of the data."""
    codes, _ = made.finished(made.run(inputs, made.steps.readings[base]))
    return codes.reshape(inputs[0].shape)


Answering = Callable[[Case, int, Sequence[Bits]], Bits | None]


@dataclass(frozen=True)
class Bug:
    """A bug: what it answers to a call, under the reading that it is planted in.

    `alone` is what one answers to elements that are each a tensor of its own, where it looks at the
    shape of a tensor or at places in it.
    """

    name: str
    answers: Answering
    alone: Answering | None = None
    observable: bool = True

    def to_scalars(self, case: Case, base: int, inputs: Sequence[Bits]) -> Bits | None:
        """What it answers to many scalars, put as tensors of shape (n,)."""
        return (self.alone or self.answers)(case, base, inputs)


# In the lines --------------------------------------------------------------------------------


def lines(first: str, last: str, *, without: bool = False) -> Answering:
    """Other expressions before and after the conversion; `without` a shift, or else with one."""

    @cache
    def made(case: Case) -> CompiledSteps:
        old = steps().lines
        both = [parse_expression(text, NAMES) for text in (first, last)]
        key = "otherwise" if without else "be"
        changed = [
            replace(line, **{key: e}) for line, e in zip((old[0], old[2]), both, strict=True)
        ]
        new = replace(steps(), lines=(changed[0], old[1], changed[1]))
        return compile_steps(replace(spec(), body=new), case)

    def answers(case: Case, base: int, inputs: Sequence[Bits]) -> Bits | None:
        if (len(inputs) == 2) != without:
            return None
        return codes_of(made(case), base, inputs)

    return answers


# In the conversion ---------------------------------------------------------------------------


def conversion(before: Before = lambda x: x, after: After = lambda c, f: c) -> Answering:
    @cache
    def made(case: Case) -> Bugged:
        good = right(case)
        return Bugged(
            good.case, good.steps, good.names, None, good.decisions, good.programs, before, after
        )

    return lambda case, base, inputs: codes_of(made(case), base, inputs)


def through(name: str) -> Answering:
    return conversion(before=lambda x: rounded(x, fmt_of(name)))


def mode(name: str) -> Answering:
    """Another rounding mode of the conversion."""

    @cache
    def made(case: Case) -> CompiledSteps:
        rule = replace(spec().rules[0], rounding=Rounding(name))
        return compile_steps(replace(spec(), rules=(rule,)), case)

    return lambda case, base, inputs: codes_of(made(case), base, inputs)


def to_types(**types: str) -> Answering:
    """Other destination types."""

    @cache
    def made(case: Case) -> CompiledSteps:
        targets = tuple((v, CATALOG.types.types[name]) for v, name in types.items())
        old = steps().lines
        new = replace(steps(), lines=(old[0], replace(old[1], targets=targets), old[2]))
        rule = replace(spec().rules[0], when=())
        return compile_steps(replace(spec(), body=new, rules=(rule,)), case)

    return lambda case, base, inputs: codes_of(made(case), base, inputs)


def flush_results(codes: Codes, fmt: Float) -> Codes:
    magnitude = codes & codes.dtype.type(fmt.magnitude_mask)
    small = magnitude < codes.dtype.type(1 << fmt.mantissa)
    return np.where(small, codes ^ magnitude, codes)


def no_last_binade(codes: Codes, fmt: Float) -> Codes:
    """Max as in a format whose highest exponent is kept for infinity and NaN."""
    kept = codes.dtype.type(fmt.infinity_code - 1)
    magnitude = codes & codes.dtype.type(fmt.magnitude_mask)
    return np.where(magnitude > kept, (codes ^ magnitude) | kept, codes)


def up(one_in: int) -> After:
    """One code in so many is one step too high."""

    def after(codes: Codes, fmt: Float) -> Codes:
        magnitude = codes & codes.dtype.type(fmt.magnitude_mask)
        hit = (magnitude % one_in == 1) & (magnitude < fmt.max_magnitude)
        return np.where(hit, codes + codes.dtype.type(1), codes)

    return after


def of_tensors(answering: Answering) -> Answering:
    """A bug of vectorised code: a single element is right."""
    return lambda case, base, inputs: answering(case, base, inputs) if inputs[0].ndim else None


def as_is(case: Case, base: int, inputs: Sequence[Bits]) -> None:
    """No bug: of code that has vectors or axes, where there is but one element."""


# In the tensors ------------------------------------------------------------------------------


def of_inputs(change: Callable[[Sequence[Bits]], list[Bits] | None]) -> Answering:
    def answers(case: Case, base: int, inputs: Sequence[Bits]) -> Bits | None:
        changed = change(inputs)
        return None if changed is None else codes_of(right(case), base, changed)

    return answers


def wrong_axis(inputs: Sequence[Bits]) -> list[Bits] | None:
    """Broadcast along the last axis, where that has as many elements as there are scales."""
    data, scale = inputs[0], inputs[1]
    if data.ndim < 2 or scale.size != data.shape[-1] or scale.size == 1:
        return list(inputs)
    return [data, *(tensor.reshape(-1) for tensor in inputs[1:])]


def first_scale_only(inputs: Sequence[Bits]) -> list[Bits] | None:
    return [inputs[0], *(t.reshape(-1)[:1] if t.size > 1 else t for t in inputs[1:])]


def next_channel(inputs: Sequence[Bits]) -> list[Bits] | None:
    """Scales that are off by one channel."""
    return [inputs[0], *(np.roll(t.reshape(-1), 1).reshape(t.shape) for t in inputs[1:])]


def flush_data(case: Case, base: int, inputs: Sequence[Bits]) -> Bits | None:
    fmt = fmt_of(case.inputs[0].name)
    return codes_of(right(case), base, [flush_results(inputs[0], fmt), *inputs[1:]])


def tail(case: Case, base: int, inputs: Sequence[Bits]) -> Bits | None:
    """What is left over after blocks of eight comes back as it was."""
    codes = codes_of(right(case), base, inputs).reshape(-1).copy()
    start = codes.size - codes.size % 8
    codes[start:] = inputs[0].reshape(-1)[start:]
    return codes.reshape(inputs[0].shape)


def first_reading(case: Case, base: int, inputs: Sequence[Bits]) -> Bits | None:
    return codes_of(right(case), IN_TYPE, inputs)


def two_readings(case: Case, base: int, inputs: Sequence[Bits]) -> Bits | None:
    """One half by one reading, the other half by another."""
    one, other = (codes_of(right(case), b, inputs) for b in (IN_TYPE, WIDE))
    half = (np.arange(one.size) % 2 == 0).reshape(one.shape)
    return np.where(half, one, other)


def narrowed(name: str) -> Answering:
    """The last result is rounded to a narrower type first."""

    def answers(case: Case, base: int, inputs: Sequence[Bits]) -> Bits | None:
        fmt = case.inputs[0].format
        assert isinstance(fmt, Float)
        codes = codes_of(right(case), base, inputs)
        narrow = rounded_codes(decode(fmt, codes.reshape(-1)), fmt_of(name))
        return rounded_codes(decode(fmt_of(name), narrow), fmt).reshape(codes.shape)

    return answers


def untouched(case: Case, base: int, inputs: Sequence[Bits]) -> Bits | None:
    return inputs[0]


def zero_negated(case: Case, base: int, inputs: Sequence[Bits]) -> Bits | None:
    codes = codes_of(right(case), base, inputs)
    return np.where(codes == 0, codes.dtype.type(1 << (8 * codes.itemsize - 1)), codes)


BUGS = (
    Bug("shift added first", lines("data * scale + shift", "(emulated - shift) / scale")),
    Bug("shift before scale", lines("(data - shift) * scale", "emulated / scale + shift")),
    Bug("shift not taken away", lines("data * scale", "(emulated + shift) / scale")),
    Bug("shift not given back", lines("data * scale - shift", "emulated / scale")),
    Bug("shift ignored", lines("data * scale", "emulated / scale")),
    Bug("shift scaled", lines("(data - shift) * scale", "(emulated + shift * scale) / scale")),
    Bug("scale not undone", lines("data * scale - shift", "emulated + shift")),
    Bug("scale not undone, no shift", lines("data * scale", "emulated", without=True)),
    Bug("divided first", lines("data / scale - shift", "(emulated + shift) * scale")),
    Bug("divided first, no shift", lines("data / scale", "emulated * scale", without=True)),
    Bug(
        "reciprocal for a division",
        lines("data * scale - shift", "(emulated + shift) * (scale / scale / scale)"),
    ),
    Bug(
        "reciprocal for a division, no shift",
        lines("data * scale", "emulated * (scale / scale / scale)", without=True),
    ),
    Bug("rounded twice, through float16", through("float16")),
    Bug("rounded twice, through bfloat16", through("bfloat16")),
    Bug("truncated", mode("toward-zero")),
    Bug("rounded up", mode("ceil")),
    Bug("ties away", mode("nearest-away")),
    Bug("ties up", mode("nearest-up")),
    Bug("to odd", mode("odd")),
    Bug("subnormal results flushed", conversion(after=flush_results)),
    Bug("subnormal data flushed", flush_data),
    Bug("no last binade", conversion(after=no_last_binade)),
    Bug("one code in four one step up", conversion(after=up(4))),
    Bug("one code in sixteen one step up", of_tensors(conversion(after=up(16))), as_is),
    Bug("the other type", to_types(f8e4m3="float8e5m2", f8e5m2="float8e4m3fn")),
    Bug("FNUZ types", to_types(f8e4m3="float8e4m3fnuz", f8e5m2="float8e5m2fnuz")),
    Bug("scale along the last axis", of_inputs(wrong_axis), as_is),
    Bug("the first scale for all", of_inputs(first_scale_only), as_is),
    Bug("scales one channel off", of_inputs(next_channel), as_is),
    Bug("the tail as it was", tail, untouched),
    Bug("two readings in one tensor", two_readings, first_reading),
    Bug("output rounded to bfloat16", narrowed("bfloat16")),
    Bug("output rounded to float16", narrowed("float16")),
    Bug("nothing done", untouched),
    Bug("zeros of the other sign", zero_negated, observable=False),
)
