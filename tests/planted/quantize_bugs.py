"""Planted bugs of x / scale and (x - zero point) * scale in numpy, exact or rounded once."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from oracle import formats
from oracle.formats import FLOATS, INTEGERS, WIDTHS, span
from oracle.quantize import PRECISIONS

from convcheck.numerics.number import Bits
from convcheck.rules.model import Case

Floats = NDArray[np.float64]


# Types -------------------------------------------------------------------------------------------


@cache
def _table(name):
    words = (formats.decode(name, code) for code in range(2 ** WIDTHS[name]))
    return np.array([float(word) for word in words])


def values(name, codes):
    """Decode codes. int32 and float32 fit float64."""
    if name == "float32":
        with np.errstate(invalid="ignore"):
            return codes.view(np.float32).astype(np.float64)
    if name == "int32":
        return codes.view(np.int32).astype(np.float64)
    return _table(name)[codes]


@cache
def _edges(name):
    float_ = FLOATS[name]
    all_ = np.array([float(float_.magnitude(code)) for code in range(float_.largest + 2)])
    return (all_[1:] + all_[:-1]) / 2


def magnitudes(name, x):
    """Return the codes of the nearest magnitudes, ties to even; beyond them one more."""
    size = np.abs(np.where(np.isnan(x), 0, x))
    low = np.searchsorted(_edges(name), size, "left")
    high = np.searchsorted(_edges(name), size, "right")
    return np.where(low % 2 == 0, low, high).astype(np.int64)


def coded(name, x):
    if name == "float32":
        with np.errstate(over="ignore"):
            return x.astype(np.float32).view(np.uint32)
    codes = magnitudes(name, x) + np.where(np.signbit(x), FLOATS[name].sign, 0)
    return np.where(np.isnan(x), FLOATS[name].largest + 2, codes).astype(np.uint16)


def rounded(name, x):
    return values(name, coded(name, x))


# The question ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """A call's elements that meet, of shape (n,)."""

    case: Case
    x: Floats
    scale: Floats
    zero: Floats
    source: str
    target: str

    @property
    def work(self):
        precision = self.case.attribute("precision")
        return PRECISIONS[int(precision)] if precision else "float32"

    @property
    def whole(self):
        return self.target in INTEGERS


# Where elements meet -----------------------------------------------------------------------------


class Where(NamedTuple):
    """The shape of x, and the attributes that say which scale meets an element."""

    shape: tuple[int, ...]
    axis: int
    block: int


def met(tensor, at):
    """Return the index of the scale for each element of x."""
    if not tensor.ndim or not at.shape:
        return np.broadcast_to(tensor, at.shape)
    axis = at.axis % len(at.shape)
    if at.block:
        return np.repeat(tensor, at.block, axis).take(range(at.shape[axis]), axis)
    lengths = [-1 if i == axis else 1 for i in range(len(at.shape))]
    return np.broadcast_to(tensor.reshape(lengths), at.shape)


def first_only(tensor, at):
    return np.broadcast_to(tensor.reshape(-1)[:1].reshape(()), at.shape)


def one_off(tensor, at):
    return met(np.roll(tensor, 1, at.axis if at.block else 0) if tensor.ndim else tensor, at)


def last_axis(tensor, at):
    return np.resize(tensor.reshape(-1), at.shape) if tensor.ndim == 1 else met(tensor, at)


def axis_before(tensor, at):
    if at.axis >= 0 or tensor.ndim != 1:
        return met(tensor, at)
    places = np.arange(at.shape[at.axis - 1]) % len(tensor)
    return met(tensor[places], at._replace(axis=at.axis - 1))


def interleaved(tensor, at):
    if not at.block:
        return met(tensor, at)
    return tensor.take(np.arange(at.shape[at.axis]) % tensor.shape[at.axis], at.axis)


def last_block(tensor, at):
    if not at.block:
        return met(tensor, at)
    length = at.shape[at.axis]
    places = np.minimum(np.arange(length) // at.block, length // at.block - 1)
    return tensor.take(np.maximum(places, 0), at.axis)


def per_axis(tensor, at):
    """Treat blocks of a vector as one scale per element. Behind the last there are zeros."""
    if not at.block or len(at.shape) != 1:
        return met(tensor, at)
    length = at.shape[0]
    return np.concatenate([tensor, np.zeros(length, tensor.dtype)])[:length]


# The steps of quantising -------------------------------------------------------------------------


def within(name):
    """Return the quotient in a type. int32 becomes float32 first."""

    def divide(p):
        x = rounded("float32", p.x) if p.source == "int32" else p.x
        return rounded(name, x / p.scale)

    return divide


def in_the_type_of_scale(p):
    name = p.case.inputs[1].name
    return within(name if name in FLOATS else "float32")(p)


def quotient(p):
    return within(p.work)(p)


def added(whole, p):
    return whole + p.zero


def saturated(shifted, p):
    return np.clip(shifted, *span(p.target))


def wrapped(shifted, p):
    low, high = span(p.target)
    kept = np.clip(np.nan_to_num(shifted), -(2.0**62), 2.0**62).astype(np.int64)
    return ((kept - low) % (high - low + 1) + low).astype(np.float64)


def _nan(name):
    return FLOATS[name].sign - (FLOATS[name].specials != "fnuz")


def narrowed(quotients, p, target=""):
    """Return the nearest code of a narrow float, with `saturate` for float8."""
    name = target or p.target
    float_, found = FLOATS[name], magnitudes(name, quotients)
    sign = np.where(np.signbit(quotients), float_.sign, 0)
    beyond, nan = found > float_.largest, _nan(name)
    if p.case.attribute("saturate") == 0 and name.startswith("float8"):
        past = float_.largest + 1 if name == "float8e5m2" else nan
        codes = np.where(beyond, np.where(name.endswith("fnuz"), nan, past + sign), found + sign)
    else:
        codes = np.minimum(found, float_.largest) + sign
    if float_.specials == "fnuz":
        codes = np.where(found == 0, 0, codes)
    return np.where(np.isnan(quotients), nan, codes).astype(np.uint8)


@dataclass(frozen=True)
class Way:
    meet: Callable[[Bits, Where], Bits] = met
    meet_zero: Callable[[Bits, Where], Bits] | None = None
    divide: Callable[[Asked], Floats] = quotient
    rounds: Callable[[Floats], Floats] = np.rint
    add: Callable[[Floats, Asked], Floats] = added
    fit: Callable[[Floats, Asked], Floats] = saturated
    narrow: Callable[[Floats, Asked], Bits] = narrowed
    #: Change x, the scale and the zero point first.
    before: Callable[[Asked], Asked] = lambda p: p
    #: Change the codes of y, in the shape of x.
    after: Callable[[Bits, Asked], Bits] = lambda codes, p: codes
    # Dequantising
    subtract: Callable[[Asked], Floats] = lambda p: p.x - p.zero
    multiply: Callable[[Floats, Asked], Floats] = lambda d, p: rounded(p.target, d) * p.scale
    store: Callable[[Floats, Asked], Bits] = lambda y, p: coded(p.target, y)


def asked(way, case, inputs):
    said = dict(case.attributes)
    x, scale, *zero = inputs
    at = Where(x.shape, int(said.get("axis", 1)), int(said.get("block_size", 0)))
    source, of_scale, *of_zero = (dtype.name for dtype in case.inputs)
    scales = values(of_scale, way.meet(scale, at).reshape(-1))
    zeros = np.zeros(x.size)
    if zero:
        zeros = values(of_zero[0], (way.meet_zero or way.meet)(zero[0], at).reshape(-1))
    codes = values(source, x.reshape(-1))
    return way.before(Asked(case, codes, scales, zeros, source, case.outputs[0].name))


def answer(way, case, inputs):
    with np.errstate(all="ignore"):
        p = asked(way, case, inputs)
        if case.op == "onnx.QuantizeLinear":
            codes = _quantized(way, p)
        else:
            codes = way.store(way.multiply(way.subtract(p), p), p)
    return way.after(codes.reshape(inputs[0].shape), p)


def _quantized(way, p):
    if not p.whole:
        return way.narrow(way.divide(p), p)
    found = way.fit(way.add(way.rounds(way.divide(p)), p), p)
    whole = np.nan_to_num(found).astype(np.int64)
    bits = INTEGERS[p.target]
    return (whole % (1 << bits)).astype(np.uint16 if bits > 8 else np.uint8)


# Faults -------------------------------------------------------------------------------------------


def by_reciprocal(p):
    return rounded(p.work, p.x * rounded(p.work, 1 / p.scale))


def ties_away(q):
    return np.copysign(np.floor(np.abs(q) + 0.5), q)


def ties_up(q):
    return np.floor(q + 0.5)


def first(name, *inputs):
    return lambda p: replace(p, **{one: rounded(name, getattr(p, one)) for one in inputs})


def tiny_is_zero(*inputs):
    def flushed(x):
        return np.where(np.abs(x) < 2.0**-126, np.copysign(0, x), x)

    return lambda p: replace(p, **{one: flushed(getattr(p, one)) for one in inputs})


def other_sign(of):
    def change(p):
        name = p.target if p.case.op == "onnx.QuantizeLinear" else p.source
        if name not in INTEGERS:
            return p
        half = 2.0 ** (INTEGERS[name] - 1)
        was = getattr(p, of)
        signed = np.where(was < 0, was + 2 * half, was)
        plain = np.where(was >= half, was - 2 * half, was)
        return replace(p, **{of: signed if span(name)[0] else plain})

    return change


def rounded_sum(quotients, p):
    return np.rint(quotients + p.zero)


def by_int32(whole):
    """Overflow of int32 gives its least number, as on x86."""
    inside = (whole >= -(2.0**31)) & (whole < 2.0**31)
    return np.where(inside, whole, -(2.0**31))


def wraps_in(bits):
    def add(whole, p):
        total = np.clip(np.nan_to_num(whole + p.zero), -(2.0**62), 2.0**62).astype(np.int64)
        half = 1 << (bits - 1)
        return ((total + half) % (2 * half) - half).astype(np.float64)

    return add


def symmetric(shifted, p):
    return np.clip(shifted, -span(p.target)[1], span(p.target)[1])


def other_range(shifted, p):
    low, high = span(p.target)
    half = (high - low + 1) // 2
    return np.clip(shifted, *((0, 2 * half - 1) if low else (-half, half - 1)))


def as_int8(shifted, p):
    """Default to the range of int8 without zero point and `output_dtype`."""
    said = {name for name, _ in p.case.carried}
    if len(p.case.inputs) > 2 or "output_dtype" in said:
        return saturated(shifted, p)
    return np.clip(shifted, -128, 127)


def magnitude(whole, p):
    total = whole + p.zero
    return total if span(p.target)[0] else np.abs(total)


SWAPPED = {"float8e4m3fn": "float8e4m3fnuz", "float8e4m3fnuz": "float8e4m3fn",
           "float8e5m2": "float8e5m2fnuz", "float8e5m2fnuz": "float8e5m2"}  # fmt: skip
OTHER = {"float8e4m3fn": "float8e5m2", "float8e5m2": "float8e4m3fn",
         "float8e4m3fnuz": "float8e5m2fnuz", "float8e5m2fnuz": "float8e4m3fnuz",
         "float6e2m3": "float6e3m2", "float6e3m2": "float6e2m3"}  # fmt: skip


def as_type(names):
    return lambda q, p: narrowed(q, p, names.get(p.target, p.target))


def read_as(names):
    def change(p):
        if p.case.op == "onnx.QuantizeLinear" or p.source not in names:
            return p
        found = narrow_codes(p.source, p.x)
        return replace(p, x=values(names[p.source], found))

    return change


def narrow_codes(name, x):
    codes = magnitudes(name, x) + np.where(np.signbit(x), FLOATS[name].sign, 0)
    return np.where(np.isnan(x), _nan(name), codes).astype(np.uint8)


def saturating(value, *where):
    def narrow(q, p):
        said = dict(p.case.attributes)
        if "saturate" in said and (not where or said["saturate"] in where):
            said["saturate"] = value
        return narrowed(q, replace(p, case=replace(p.case, attributes=tuple(said.items()))))

    return narrow


def cut(q, p):
    name = p.target
    codes = narrowed(q, p)
    back = np.abs(values(name, codes))
    finite = np.isfinite(q) & np.isfinite(back) & (back > np.abs(q))
    return np.where(finite, codes - 1, codes).astype(np.uint8)


def flushed(q, p):
    float_, codes = FLOATS[p.target], narrowed(q, p)
    small = (codes & (float_.sign - 1)) < float_.binade
    kept = float_.negative_zero and np.signbit(q)
    nan = np.isnan(q)
    return np.where(small & ~nan, np.where(kept, float_.sign, 0), codes).astype(np.uint8)


def tail(codes, p):
    flat = codes.reshape(-1).copy()
    flat[flat.size - flat.size % 8 :] = 0
    return flat.reshape(codes.shape)


def difference_wraps(bits):
    def subtract(p):
        if p.source not in INTEGERS:
            return p.x - p.zero
        low, high = span(p.source)
        if bits:
            return np.asarray((p.x - p.zero) % 2.0**bits if not low else p.x - p.zero)
        return (p.x - p.zero - low) % (high - low + 1) + low

    return subtract


def stored_down(y, p):
    codes = coded(p.target, y)
    back = np.abs(values(p.target, codes))
    over = np.isfinite(y) & (back > np.abs(y))
    return np.where(over, codes - 1, codes).astype(codes.dtype)


# The list ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bug:
    name: str
    way: Way
    ops: tuple[str, ...] = ("onnx.QuantizeLinear",)


BOTH = ("onnx.QuantizeLinear", "onnx.DequantizeLinear")
BACK = ("onnx.DequantizeLinear",)

BUGS = (
    # the quotient
    Bug("truncation", Way(rounds=np.trunc, narrow=cut)),
    Bug("ties away", Way(rounds=ties_away)),
    Bug("product with the reciprocal", Way(divide=by_reciprocal)),
    Bug("quotient in float16", Way(divide=within("float16"))),
    Bug("scale rounded to float16 first", Way(before=first("float16", "scale")), BOTH),
    Bug("x rounded to float16 first", Way(before=first("float16", "x"))),
    Bug("subnormal x taken for 0", Way(before=tiny_is_zero("x"))),
    Bug("subnormal scale taken for 0", Way(before=tiny_is_zero("scale")), BOTH),
    Bug("precision ignored", Way(divide=in_the_type_of_scale)),
    # the zero point
    Bug("zero point before rounding", Way(rounds=lambda q: q, add=rounded_sum)),
    Bug("zero point ignored", Way(add=lambda w, p: w)),
    Bug("zero point of the other signedness", Way(before=other_sign("zero")), BOTH),
    Bug("saturation before the zero point, which wraps",
        Way(add=lambda w, p: saturated(w, p) + p.zero, fit=wrapped)),
    # the end of the range
    Bug("wraps in place of saturating", Way(fit=wrapped)),
    Bug("the least number never reached", Way(fit=symmetric)),
    Bug("the range of the other signedness", Way(fit=other_range)),
    Bug("int8 without a zero point", Way(fit=as_int8)),
    Bug("through int32, as x86 converts", Way(rounds=lambda q: by_int32(np.rint(q)))),
    Bug("infinity is 0", Way(rounds=lambda q: np.where(np.isinf(q), 0, np.rint(q)))),
    # narrow floats
    Bug("FN for FNUZ, and the other way round", Way(narrow=as_type(SWAPPED))),
    Bug("FN read as FNUZ, and the other way round", Way(before=read_as(SWAPPED)), BACK),
    Bug("e4m3 for e5m2, and the other way round", Way(narrow=as_type(OTHER))),
    Bug("e4m3 read as e5m2, and the other way round", Way(before=read_as(OTHER)), BACK),
    Bug("saturate ignored, always 1", Way(narrow=saturating(1))),
    Bug("saturate ignored, always 0", Way(narrow=saturating(0))),
    Bug("rounded to a whole number first", Way(narrow=lambda q, p: narrowed(np.rint(q), p))),
    Bug("subnormal results flushed", Way(narrow=flushed)),
    # dequantising
    Bug("zero point not taken away", Way(subtract=lambda p: p.x), BACK),
    Bug("the difference wraps in the type of x", Way(subtract=difference_wraps(None)), BACK),
    Bug("x of the other signedness", Way(before=other_sign("x")), BACK),
    Bug("divides by the scale", Way(multiply=lambda d, p: d / p.scale), BACK),
    Bug("product in float16",
        Way(multiply=lambda d, p: rounded("float16", rounded("float16", d) * p.scale)), BACK),
    Bug("product cut", Way(store=stored_down), BACK),
    # where elements meet
    Bug("the first scale for all", Way(meet=first_only), BOTH),
    Bug("the first zero point for all", Way(meet_zero=first_only), BOTH),
    Bug("scales one off", Way(meet=one_off), BOTH),
    Bug("zero points one off", Way(meet_zero=one_off), BOTH),
    Bug("the last axis for any", Way(meet=last_axis), BOTH),
    Bug("a negative axis off by one", Way(meet=axis_before), BOTH),
    Bug("blocks interleaved", Way(meet=interleaved), BOTH),
    Bug("a last block with the scale of the one before", Way(meet=last_block), BOTH),
    Bug("blocks of a vector taken for an axis", Way(meet=per_axis, meet_zero=per_axis), BACK),
    Bug("the tail not written", Way(after=tail), BOTH),
    Bug("dimensions of 1 dropped",
        Way(after=lambda codes, p: codes.squeeze() if codes.size > 1 else codes), BOTH),
)  # fmt: skip
