"""Planted bugs of quantisation: x / scale and (x - zero point) * scale by numpy, but for one thing.

What is right is one reading of the texts: a quotient is rounded to `precision`, or to float32, and
a difference to the type of y. All that is computed is exact in float64, or rounded once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray
from oracle import formats
from oracle.formats import FLOATS, INTEGERS, WIDTHS, span
from oracle.quantize import PRECISIONS

from convcheck.numerics.codes import Bits
from convcheck.rules.model import DEFAULT, Case, Value

Floats = NDArray[np.float64]
Meeting = Callable[[Bits, tuple[int, ...], int, int], Bits]


# Types -------------------------------------------------------------------------------------------


@cache
def _table(name: str) -> Floats:
    """The values of all codes of a format of up to 16 bits."""
    words = (formats.decode(name, code) for code in range(2 ** WIDTHS[name]))
    return np.array([float(word) for word in words])


def values(name: str, codes: Bits) -> Floats:
    """What codes stand for; an int32 and a float32 are values of float64."""
    if name == "float32":
        with np.errstate(invalid="ignore"):  # signalling NaNs
            return codes.view(np.float32).astype(np.float64)
    if name == "int32":
        return codes.view(np.int32).astype(np.float64)
    found: Floats = _table(name)[codes]
    return found


@cache
def _edges(name: str) -> Floats:
    """The midpoints of the magnitudes of a format, past the largest as if they went on."""
    float_ = FLOATS[name]
    all_ = np.array([float(float_.magnitude(code)) for code in range(float_.largest + 2)])
    found: Floats = (all_[1:] + all_[:-1]) / 2
    return found


def magnitudes(name: str, x: Floats) -> NDArray[np.int64]:
    """The codes of the nearest magnitudes, of two the even one; beyond them one more."""
    size = np.abs(np.where(np.isnan(x), 0, x))
    low = np.searchsorted(_edges(name), size, "left")
    high = np.searchsorted(_edges(name), size, "right")
    return np.where(low % 2 == 0, low, high).astype(np.int64)


def coded(name: str, x: Floats) -> Bits:
    """The nearest code of an IEEE format."""
    if name == "float32":
        with np.errstate(over="ignore"):
            return x.astype(np.float32).view(np.uint32)
    codes = magnitudes(name, x) + np.where(np.signbit(x), FLOATS[name].sign, 0)
    return np.where(np.isnan(x), FLOATS[name].largest + 2, codes).astype(np.uint16)


def rounded(name: str, x: Floats) -> Floats:
    """The nearest value of an IEEE format."""
    return values(name, coded(name, x))


# The question ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """The elements of a call that meet, of shape (n,)."""

    case: Case
    x: Floats
    scale: Floats
    zero: Floats
    #: The name of the type of x, and of y.
    source: str
    target: str

    @property
    def work(self) -> str:
        """The type in which is divided."""
        precision = self.case.attribute("precision")
        return PRECISIONS[int(precision)] if precision else "float32"

    @property
    def whole(self) -> bool:
        """Whether y is an integer."""
        return self.target in INTEGERS


# Where elements meet -----------------------------------------------------------------------------


def met(tensor: Bits, shape: tuple[int, ...], axis: int, block: int) -> Bits:
    """The element of a scale that each element of x meets."""
    if not tensor.ndim or not shape:
        return np.broadcast_to(tensor, shape)
    axis %= len(shape)
    if block:
        widened = np.repeat(tensor, block, axis)
        return widened.take(range(shape[axis]), axis)
    return np.broadcast_to(
        tensor.reshape([-1 if i == axis else 1 for i in range(len(shape))]), shape
    )


def first_only(tensor: Bits, shape: tuple[int, ...], axis: int, block: int) -> Bits:
    return np.broadcast_to(tensor.reshape(-1)[:1].reshape(()), shape)


def one_off(tensor: Bits, shape: tuple[int, ...], axis: int, block: int) -> Bits:
    return met(
        np.roll(tensor, 1, axis if block else 0) if tensor.ndim else tensor, shape, axis, block
    )


def last_axis(tensor: Bits, shape: tuple[int, ...], axis: int, block: int) -> Bits:
    """Scales by the position in memory, as if the axis were the last."""
    return (
        np.resize(tensor.reshape(-1), shape)
        if tensor.ndim == 1
        else met(tensor, shape, axis, block)
    )


def axis_is_1(tensor: Bits, shape: tuple[int, ...], axis: int, block: int) -> Bits:
    if tensor.ndim == 1 and len(shape) > 1:
        return np.resize(tensor, shape[1])[(np.s_[:], *[None] * (len(shape) - 2))] + np.zeros(
            shape, tensor.dtype
        )
    return met(tensor, shape, axis, block)


def axis_before(tensor: Bits, shape: tuple[int, ...], axis: int, block: int) -> Bits:
    """A negative axis is taken for the one before it."""
    if axis >= 0 or tensor.ndim != 1:
        return met(tensor, shape, axis, block)
    places = np.arange(shape[axis - 1]) % len(tensor)
    return met(tensor[places], shape, axis - 1, block)


def interleaved(tensor: Bits, shape: tuple[int, ...], axis: int, block: int) -> Bits:
    """Blocks whose elements are not next to each other."""
    if not block:
        return met(tensor, shape, axis, block)
    blocks = tensor.shape[axis]
    return tensor.take(np.arange(shape[axis]) % blocks, axis)


def last_block(tensor: Bits, shape: tuple[int, ...], axis: int, block: int) -> Bits:
    """What is left over behind whole blocks has the scale of the last whole one."""
    if not block:
        return met(tensor, shape, axis, block)
    places = np.minimum(np.arange(shape[axis]) // block, shape[axis] // block - 1)
    return tensor.take(np.maximum(places, 0), axis)


def shrunk_block(tensor: Bits, shape: tuple[int, ...], axis: int, block: int) -> Bits:
    """The size of a block from those of the tensors."""
    if not block:
        return met(tensor, shape, axis, block)
    size = max(shape[axis] // tensor.shape[axis], 1)
    places = np.minimum(np.arange(shape[axis]) // size, tensor.shape[axis] - 1)
    return tensor.take(places, axis)


def per_axis(tensor: Bits, shape: tuple[int, ...], axis: int, block: int) -> Bits:
    """Blocks of a vector are taken for a scale an element; behind the last one there are zeros."""
    if not block or len(shape) != 1:
        return met(tensor, shape, axis, block)
    return np.concatenate([tensor, np.zeros(shape[0], tensor.dtype)])[: shape[0]]


# The steps of quantising -------------------------------------------------------------------------


def within(name: str) -> Callable[[Asked], Floats]:
    """The quotient in a type; an int32 is taken for a float32 first."""

    def divide(p: Asked) -> Floats:
        x = rounded("float32", p.x) if p.source == "int32" else p.x
        return rounded(name, x / p.scale)

    return divide


def in_the_type_of_scale(p: Asked) -> Floats:
    name = p.case.inputs[1].name
    return within(name if name in FLOATS else "float32")(p)


def quotient(p: Asked) -> Floats:
    return within(p.work)(p)


def added(whole: Floats, p: Asked) -> Floats:
    return whole + p.zero


def saturated(shifted: Floats, p: Asked) -> Floats:
    return np.clip(shifted, *span(p.target))


def wrapped(shifted: Floats, p: Asked) -> Floats:
    """The low bits, of what fits in int64."""
    low, high = span(p.target)
    kept = np.clip(np.nan_to_num(shifted), -(2.0**62), 2.0**62).astype(np.int64)
    return ((kept - low) % (high - low + 1) + low).astype(np.float64)


def narrowed(quotients: Floats, p: Asked, target: str = "") -> Bits:
    """The nearest code of a narrow float, of float8 as `saturate` says."""
    name = target or p.target
    float_, found = FLOATS[name], magnitudes(name, quotients)
    sign = np.where(np.signbit(quotients), float_.sign, 0)
    beyond = found > float_.largest
    if p.case.attribute("saturate") == 0 and name.startswith("float8"):
        nan = float_.sign if float_.specials == "fnuz" else float_.sign - 1
        past = float_.largest + 1 if name == "float8e5m2" else nan
        codes = np.where(beyond, np.where(name.endswith("fnuz"), nan, past + sign), found + sign)
    else:
        codes = np.minimum(found, float_.largest) + sign
    if float_.specials == "fnuz":
        codes = np.where(found == 0, 0, codes)
    nan = float_.sign if float_.specials == "fnuz" else float_.sign - 1
    return np.where(np.isnan(quotients), nan, codes).astype(np.uint8)


@dataclass(frozen=True)
class Way:
    """How it is done, step by step."""

    meet: Meeting = met
    meet_zero: Meeting | None = None
    divide: Callable[[Asked], Floats] = quotient
    rounds: Callable[[Floats], Floats] = np.rint
    add: Callable[[Floats, Asked], Floats] = added
    fit: Callable[[Floats, Asked], Floats] = saturated
    narrow: Callable[[Floats, Asked], Bits] = narrowed
    #: What becomes of x, the scale and the zero point first.
    before: Callable[[Asked], Asked] = lambda p: p
    #: What becomes of the codes of y, in the shape of x.
    after: Callable[[Bits, Asked], Bits] = lambda codes, p: codes
    # Dequantising
    subtract: Callable[[Asked], Floats] = lambda p: p.x - p.zero
    multiply: Callable[[Floats, Asked], Floats] = lambda d, p: rounded(p.target, d) * p.scale
    store: Callable[[Floats, Asked], Bits] = lambda y, p: coded(p.target, y)


def asked(way: Way, case: Case, inputs: Sequence[Bits]) -> Asked:
    """The elements of a call, as a way has them meet."""
    said = dict(case.attributes)
    axis, block = int(said.get("axis", 1)), int(said.get("block_size", 0))
    x, scale, *zero = inputs
    source, of_scale = (dtype.name for dtype in case.inputs[:2])
    of_zero = case.inputs[2].name if zero else source
    where = (x.shape, axis, block)
    nothing = np.zeros(x.size)
    return way.before(
        Asked(
            case,
            values(source, x.reshape(-1)),
            values(of_scale, way.meet(scale, *where).reshape(-1)),
            values(of_zero, (way.meet_zero or way.meet)(zero[0], *where).reshape(-1))
            if zero else nothing,
            source,
            case.outputs[0].name,
        )
    )  # fmt: skip


def answer(way: Way, case: Case, inputs: Sequence[Bits]) -> Bits:
    """The codes of y, in the shape of x."""
    with np.errstate(all="ignore"):
        p = asked(way, case, inputs)
        codes = _quantized(way, p) if case.op == "onnx.QuantizeLinear" else _dequantized(way, p)
    return way.after(codes.reshape(inputs[0].shape), p)


def _quantized(way: Way, p: Asked) -> Bits:
    if not p.whole:
        return way.narrow(way.divide(p), p)
    found = way.fit(way.add(way.rounds(way.divide(p)), p), p)
    whole = np.nan_to_num(found).astype(np.int64)
    bits = INTEGERS[p.target]
    return (whole % (1 << bits)).astype(np.uint16 if bits > 8 else np.uint8)


def _dequantized(way: Way, p: Asked) -> Bits:
    return way.store(way.multiply(way.subtract(p), p), p)


# What goes wrong ---------------------------------------------------------------------------------


def by_reciprocal(p: Asked) -> Floats:
    return rounded(p.work, p.x * rounded(p.work, 1 / p.scale))


def ties_away(q: Floats) -> Floats:
    return np.copysign(np.floor(np.abs(q) + 0.5), q)


def ties_up(q: Floats) -> Floats:
    return np.floor(q + 0.5)


def first(name: str, *inputs: str) -> Callable[[Asked], Asked]:
    """Inputs are rounded to a type before anything else."""
    return lambda p: replace(p, **{one: rounded(name, getattr(p, one)) for one in inputs})


def tiny_is_zero(*inputs: str) -> Callable[[Asked], Asked]:
    """Subnormal numbers of float32 are taken for zero."""

    def flushed(x: Floats) -> Floats:
        return np.where(np.abs(x) < 2.0**-126, np.copysign(0, x), x)

    return lambda p: replace(p, **{one: flushed(getattr(p, one)) for one in inputs})


def of_powers(value: float, taken: float) -> Callable[[Asked], Asked]:
    """A scale of float8e8m0 that is taken for another."""

    def change(p: Asked) -> Asked:
        scales = np.where(p.scale == value, taken, p.scale)
        return replace(p, scale=scales if p.case.inputs[1].name == "float8e8m0" else p.scale)

    return change


def swapped_zero(p: Asked) -> Asked:
    """The bytes of a zero point of 16 bits are in the other order."""
    name = p.case.inputs[2].name if len(p.case.inputs) > 2 else ""
    if INTEGERS.get(name) != 16:
        return p
    low = span(name)[0]
    swapped = (p.zero % 65536).astype(np.uint16).byteswap().astype(np.int64)
    return replace(p, zero=((swapped - low) % 65536 + low).astype(np.float64))


def cut_to_float32(p: Asked) -> Asked:
    """An int32 becomes a float32 by leaving bits out."""
    near = rounded("float32", p.x)
    down = coded("float32", near) - (np.abs(near) > np.abs(p.x))
    return replace(p, x=values("float32", down.astype(np.uint32))) if p.source == "int32" else p


def other_sign(of: str) -> Callable[[Asked], Asked]:
    """Integers as if their sign bit were one of the number, or the other way round."""

    def change(p: Asked) -> Asked:
        name = p.target if p.case.op == "onnx.QuantizeLinear" else p.source
        if name not in INTEGERS:
            return p
        half = 2.0 ** (INTEGERS[name] - 1)
        was: Floats = getattr(p, of)
        signed = np.where(was < 0, was + 2 * half, was)
        plain = np.where(was >= half, was - 2 * half, was)
        return replace(p, **{of: signed if span(name)[0] else plain})

    return change


def rounded_sum(quotients: Floats, p: Asked) -> Floats:
    return np.rint(quotients + p.zero)


def clamped_first(shifted: Callable[[Floats, Asked], Floats]) -> Way:
    """Saturated before the zero point is added."""
    return Way(add=lambda w, p: saturated(w, p) + p.zero, fit=shifted)


def by_int32(whole: Floats) -> Floats:
    """As x86 converts: what int32 does not hold is its least number."""
    inside = (whole >= -(2.0**31)) & (whole < 2.0**31)
    return np.where(inside, whole, -(2.0**31))


def wraps_in(bits: int) -> Callable[[Floats, Asked], Floats]:
    def add(whole: Floats, p: Asked) -> Floats:
        total = np.clip(np.nan_to_num(whole + p.zero), -(2.0**62), 2.0**62).astype(np.int64)
        half = 1 << (bits - 1)
        return ((total + half) % (2 * half) - half).astype(np.float64)

    return add


def symmetric(shifted: Floats, p: Asked) -> Floats:
    return np.clip(shifted, -span(p.target)[1], span(p.target)[1])


def other_range(shifted: Floats, p: Asked) -> Floats:
    """The range of the type of the other signedness, in the bits of this one."""
    low, high = span(p.target)
    half = (high - low + 1) // 2
    return np.clip(shifted, *((0, 2 * half - 1) if low else (-half, half - 1)))


def as_int8(shifted: Floats, p: Asked) -> Floats:
    """Without a zero point and an `output_dtype` the range of int8."""
    said = {name for name, _ in p.case.carried}
    if len(p.case.inputs) > 2 or "output_dtype" in said:
        return saturated(shifted, p)
    return np.clip(shifted, -128, 127)


def magnitude(whole: Floats, p: Asked) -> Floats:
    total = whole + p.zero
    return total if span(p.target)[0] else np.abs(total)


SWAPPED = {"float8e4m3fn": "float8e4m3fnuz", "float8e4m3fnuz": "float8e4m3fn",
           "float8e5m2": "float8e5m2fnuz", "float8e5m2fnuz": "float8e5m2"}  # fmt: skip
OTHER = {"float8e4m3fn": "float8e5m2", "float8e5m2": "float8e4m3fn",
         "float8e4m3fnuz": "float8e5m2fnuz", "float8e5m2fnuz": "float8e4m3fnuz",
         "float6e2m3": "float6e3m2", "float6e3m2": "float6e2m3"}  # fmt: skip


def as_type(names: dict[str, str]) -> Callable[[Floats, Asked], Bits]:
    return lambda q, p: narrowed(q, p, names.get(p.target, p.target))


def read_as(names: dict[str, str]) -> Callable[[Asked], Asked]:
    """Narrow floats that are read as another type."""

    def change(p: Asked) -> Asked:
        if p.case.op == "onnx.QuantizeLinear" or p.source not in names:
            return p
        found = narrow_codes(p.source, p.x)
        return replace(p, x=values(names[p.source], found))

    return change


def narrow_codes(name: str, x: Floats) -> Bits:
    """The codes of values of a narrow float."""
    float_ = FLOATS[name]
    codes = magnitudes(name, x) + np.where(np.signbit(x), float_.sign, 0)
    nan = float_.sign if float_.specials == "fnuz" else float_.sign - 1
    return np.where(np.isnan(x), nan, codes).astype(np.uint8)


def saturating(value: int, *where: Value) -> Callable[[Floats, Asked], Bits]:
    """`saturate` taken for one value, always or where it has one of some."""

    def narrow(q: Floats, p: Asked) -> Bits:
        said = dict(p.case.attributes)
        if "saturate" in said and (not where or said["saturate"] in where):
            said["saturate"] = value
        return narrowed(q, replace(p, case=replace(p.case, attributes=tuple(said.items()))))

    return narrow


def cut(q: Floats, p: Asked) -> Bits:
    """Rounded toward zero."""
    name = p.target
    codes = narrowed(q, p)
    back = np.abs(values(name, codes))
    finite = np.isfinite(q) & np.isfinite(back) & (back > np.abs(q))
    return np.where(finite, codes - 1, codes).astype(np.uint8)


def flushed(q: Floats, p: Asked) -> Bits:
    """Subnormal results are zeros."""
    float_, codes = FLOATS[p.target], narrowed(q, p)
    small = (codes & (float_.sign - 1)) < float_.binade
    kept = float_.negative_zero and np.signbit(q)
    nan = np.isnan(q)
    return np.where(small & ~nan, np.where(kept, float_.sign, 0), codes).astype(np.uint8)


def tail(codes: Bits, p: Asked) -> Bits:
    """What is left over behind blocks of eight is not written."""
    flat = codes.reshape(-1).copy()
    flat[flat.size - flat.size % 8 :] = 0
    return flat.reshape(codes.shape)


def without_ones(codes: Bits, p: Asked) -> Bits:
    return codes.squeeze() if codes.size > 1 else codes


def difference_wraps(bits: int | None) -> Callable[[Asked], Floats]:
    """In so many bits without a sign, or in the type of x."""

    def subtract(p: Asked) -> Floats:
        if p.source not in INTEGERS:
            return p.x - p.zero
        low, high = span(p.source)
        if bits:
            return np.asarray((p.x - p.zero) % 2.0**bits if not low else p.x - p.zero)
        return (p.x - p.zero - low) % (high - low + 1) + low

    return subtract


def product_in(name: str) -> Callable[[Floats, Asked], Floats]:
    return lambda d, p: rounded(name, rounded(name, d) * p.scale)


def stored_down(y: Floats, p: Asked) -> Bits:
    """The last result is rounded toward zero."""
    codes = coded(p.target, y)
    back = np.abs(values(p.target, codes))
    over = np.isfinite(y) & (back > np.abs(y))
    return np.where(over, codes - 1, codes).astype(codes.dtype)


# The list ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bug:
    """A bug: what it does, and which of the two operators has it."""

    name: str
    way: Way
    ops: tuple[str, ...] = ("onnx.QuantizeLinear",)
    #: Whether it looks at where elements meet, so that layouts of few values show it, too.
    placed: bool = False


BOTH = ("onnx.QuantizeLinear", "onnx.DequantizeLinear")
BACK = ("onnx.DequantizeLinear",)
_placed = partial(Bug, ops=BOTH, placed=True)

BUGS = (
    # the quotient
    Bug("truncation", Way(rounds=np.trunc, narrow=cut)),
    Bug("ties away", Way(rounds=ties_away)),
    Bug("ties up", Way(rounds=ties_up)),
    Bug("floor", Way(rounds=np.floor)),
    Bug("ceil", Way(rounds=np.ceil)),
    Bug("product with the reciprocal", Way(divide=by_reciprocal)),
    Bug("product with the scale", Way(divide=lambda p: rounded(p.work, p.x * p.scale))),
    Bug("quotient in float16", Way(divide=within("float16"))),
    Bug("quotient in bfloat16", Way(divide=within("bfloat16"))),
    Bug("scale rounded to float16 first", Way(before=first("float16", "scale")), BOTH),
    Bug("scale rounded to bfloat16 first", Way(before=first("bfloat16", "scale")), BOTH),
    Bug("x rounded to float16 first", Way(before=first("float16", "x"))),
    Bug("x rounded to bfloat16 first", Way(before=first("bfloat16", "x"))),
    Bug("subnormal x taken for 0", Way(before=tiny_is_zero("x"))),
    Bug("subnormal scale taken for 0", Way(before=tiny_is_zero("scale")), BOTH),
    Bug("precision ignored", Way(divide=in_the_type_of_scale)),
    Bug("int32 cut to float32 first", Way(before=cut_to_float32), BOTH),
    Bug("a scale of 2^-127 taken for 0", Way(before=of_powers(2.0**-127, 0)), BOTH),
    Bug("a scale of 2^-126 taken for 2^-127", Way(before=of_powers(2.0**-126, 2.0**-127)), BOTH),
    Bug("a scale of 2^127 taken for infinity", Way(before=of_powers(2.0**127, np.inf)), BOTH),
    # the zero point
    Bug("zero point before rounding", Way(rounds=lambda q: q, add=rounded_sum)),
    Bug("zero point ignored", Way(add=lambda w, p: w)),
    Bug("zero point taken away", Way(add=lambda w, p: w - p.zero)),
    Bug("zero point of the other signedness", Way(before=other_sign("zero")), BOTH),
    Bug("zero point in the other byte order", Way(before=swapped_zero), BOTH),
    Bug("saturation before the zero point, which wraps", clamped_first(wrapped)),
    Bug("saturation before the zero point, and after it", clamped_first(saturated)),
    # the end of the range
    Bug("wraps in place of saturating", Way(fit=wrapped)),
    Bug("the least number never reached", Way(fit=symmetric)),
    Bug("the range of the other signedness", Way(fit=other_range)),
    Bug("int8 without a zero point", Way(fit=as_int8)),
    Bug("negative numbers lose their sign", Way(add=magnitude)),
    Bug("through int32, as x86 converts", Way(rounds=lambda q: by_int32(np.rint(q)))),
    Bug("the sum wraps in int32", Way(add=wraps_in(32))),
    Bug("the sum wraps in int16", Way(add=wraps_in(16))),
    Bug("infinity is 0", Way(rounds=lambda q: np.where(np.isinf(q), 0, np.rint(q)))),
    # narrow floats
    Bug("FN for FNUZ, and the other way round", Way(narrow=as_type(SWAPPED))),
    Bug("FN read as FNUZ, and the other way round", Way(before=read_as(SWAPPED)), BACK),
    Bug("e4m3 for e5m2, and the other way round", Way(narrow=as_type(OTHER))),
    Bug("e4m3 read as e5m2, and the other way round", Way(before=read_as(OTHER)), BACK),
    Bug("saturate ignored, always 1", Way(narrow=saturating(1))),
    Bug("saturate ignored, always 0", Way(narrow=saturating(0))),
    Bug("saturate 0 where it is left out", Way(narrow=saturating(0, DEFAULT))),
    Bug("rounded to a whole number first", Way(narrow=lambda q, p: narrowed(np.rint(q), p))),
    Bug("subnormal results flushed", Way(narrow=flushed)),
    # dequantising
    Bug("zero point not taken away", Way(subtract=lambda p: p.x), BACK),
    Bug("zero point added", Way(subtract=lambda p: p.x + p.zero), BACK),
    Bug("the difference wraps in the type of x", Way(subtract=difference_wraps(None)), BACK),
    Bug("the difference wraps without a sign", Way(subtract=difference_wraps(32)), BACK),
    Bug("x of the other signedness", Way(before=other_sign("x")), BACK),
    Bug("divides by the scale", Way(multiply=lambda d, p: d / p.scale), BACK),
    Bug("product in float16", Way(multiply=product_in("float16")), BACK),
    Bug("product in bfloat16", Way(multiply=product_in("bfloat16")), BACK),
    Bug("product cut", Way(store=stored_down), BACK),
    # where elements meet
    _placed("the first scale for all", Way(meet=first_only)),
    _placed("the first zero point for all", Way(meet_zero=first_only)),
    _placed("scales one off", Way(meet=one_off)),
    _placed("zero points one off", Way(meet_zero=one_off)),
    _placed("the last axis for any", Way(meet=last_axis)),
    _placed("axis 1 for any", Way(meet=axis_is_1)),
    _placed("a negative axis off by one", Way(meet=axis_before)),
    _placed("blocks interleaved", Way(meet=interleaved)),
    _placed("a last block with the scale of the one before", Way(meet=last_block)),
    _placed("the size of blocks from the shapes", Way(meet=shrunk_block)),
    _placed("blocks of a vector taken for an axis", Way(meet=per_axis, meet_zero=per_axis)),
    _placed("the tail not written", Way(after=tail)),
    _placed("dimensions of 1 dropped", Way(after=without_ones)),
)  # fmt: skip
