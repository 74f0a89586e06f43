"""Six right backends, each with its own arithmetic.

These are Fractions with ties to even or away, float32, float64, and the tensors' type; the sixth
has other NaNs and other zeros. Unrepresentable numbers are declined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from math import ceil
from typing import Any

import ml_dtypes
import numpy as np
from oracle import Want, cast, convert
from oracle.formats import FLOATS, INTEGERS, SIGNED, WIDTHS, decode, nearest_even, span
from oracle.quantize import PRECISIONS
from planted.quantize_bugs import met

from convcheck.backends.protocol import Answer, Declined, Outputs
from convcheck.numerics.codes import Bits
from convcheck.rules.model import Case

Array = Any
SPECIAL = {"nan": float("nan"), "-nan": -float("nan"), "inf": float("inf"), "-inf": -float("inf"),
           "-0": -0.0}  # fmt: skip
DTYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32,
          "float64": np.float64}  # fmt: skip
FLOAT8 = [name for name in FLOATS if name.startswith("float8")]
SATURATED, TO_INFINITY, TO_NAN = "saturated", "to infinity", "to NaN"


class UnheldError(Exception):
    """The arithmetic cannot represent an operand."""


class Exact:
    """Fractions. Other values are Python floats, including -0."""

    #: Truncate to narrow integers, and round ties away from zero.
    truncates = away = False
    #: Choose other signs and payloads of NaNs, and other signs of zeros if allowed.
    other = False

    def of(self, name: str, codes: Bits, *, signed: bool = False) -> Array:
        """Decode codes, keeping the sign of -0 if it may count."""
        values = [_value(name, code) for code in codes.reshape(-1).tolist()]
        return self.numbers(values if signed else [v or Fraction(0) for v in values])

    def numbers(self, values: Sequence[Any]) -> Array:
        found = np.empty(len(values), object)
        found[:] = [Fraction(v) if isinstance(v, int) else v for v in values]
        return found

    def value(self, x: Any) -> Any:
        return x

    def magnitudes(self, name: str, x: Array) -> Array:
        infinite = FLOATS[name].largest + 1
        found = (
            nearest_even(name, v) if isinstance(v, Fraction) else infinite * (abs(v) == abs(v) > 0)
            for v in map(self.value, x)
        )
        return np.array([int(code) for code in found], np.uint64)

    def negative(self, x: Array) -> Array:
        return np.array([np.signbit(float(v > 0) - float(v < 0) or float(v)) for v in x], bool)

    def nan(self, x: Array) -> Array:
        return np.array([v != v for v in x], bool)

    def whole(self, x: Array, *, toward_zero: bool = False, away: bool = False) -> Array:
        """Round to integers, ties to even. Infinities and NaNs stay."""

        def one(v: Any) -> Any:
            v = self.value(v)
            if isinstance(v, float):
                return v
            if away:
                return (int(abs(v) + Fraction(1, 2))) * (-1 if v < 0 else 1)
            return int(v) if toward_zero else round(v)

        return self.numbers([one(v) for v in x])

    def integers(self, name: str, x: Array) -> Bits:
        low, high = span(name)
        found = (0 if v != v else int(min(max(v, low), high)) for v in map(self.value, x))
        return np.array([v % 2 ** INTEGERS[name] for v in found], np.uint64)

    def ceiling(self, x: Any) -> int:
        return ceil(self.value(x))

    def safe(self, x: Array) -> Array:
        return self.numbers([self.value(v) if v != 0 else SPECIAL["nan"] for v in x])


class Away(Exact):
    """Ties go away from zero if the text leaves them open. Casts are the same."""

    away = True


class Binary(Exact):
    """A numpy type. Narrow integers truncate, as wide ones do."""

    def __init__(self, name: str, *, other: bool = False) -> None:
        self.name, self.dtype, self.other = name, np.dtype(DTYPES[name]), other
        self.truncates = not other

    def of(self, name: str, codes: Bits, *, signed: bool = False) -> Array:
        return self._narrowed(floats(name, codes.reshape(-1)))

    def holds(self, name: str) -> bool:
        mine = FLOATS[self.name]
        if name in FLOATS:
            its = FLOATS[name]
            return its.mantissa <= mine.mantissa and its.bias <= mine.bias
        return name == "bool" or WIDTHS[name] - (name in SIGNED) <= mine.mantissa + 1

    def numbers(self, values: Sequence[Any]) -> Array:
        return self._narrowed(np.array([float(v) for v in values]))

    def _narrowed(self, x: Array) -> Array:
        if self.name != "bfloat16":
            return x.astype(self.dtype)
        codes = stored(Binary("float64"), self.name, x)  # ml_dtypes rounds to float32 first
        return codes.view(self.dtype)

    def magnitudes(self, name: str, x: Array) -> Array:
        float_ = FLOATS[name]
        wide = x.astype(np.float64 if self.dtype.itemsize < 4 or name == "float64" else x.dtype)
        size = np.abs(np.where(np.isfinite(wide), wide, 0))
        exponent = np.where(size == 0, 1 - float_.bias, np.frexp(size)[1] - 1)
        step = np.maximum(exponent, 1 - float_.bias) - float_.mantissa
        steps = np.rint(np.ldexp(size, -step)).astype(np.int64)
        found = steps + (step + float_.mantissa + float_.bias - 1).astype(np.int64) * float_.binade
        return np.where(np.isinf(wide), float_.largest + 1, found).astype(np.uint64)

    def negative(self, x: Array) -> Array:
        return np.signbit(x)

    def nan(self, x: Array) -> Array:
        return np.isnan(x)

    def whole(self, x: Array, *, toward_zero: bool = False, away: bool = False) -> Array:
        return np.trunc(x) if toward_zero else np.rint(x)

    def integers(self, name: str, x: Array) -> Bits:
        low, high = span(name)
        found = np.nan_to_num(np.clip(x.astype(np.float64), low, high))
        codes = np.where(
            found < 0, found.astype(np.int64).astype(np.uint64), found.astype(np.uint64)
        )
        return codes & np.uint64(2 ** INTEGERS[name] - 1)

    def safe(self, x: Array) -> Array:
        return x


@cache
def _value(name: str, code: int) -> Any:
    value = Fraction(code) if name == "bool" else decode(name, code)
    return SPECIAL[value] if isinstance(value, str) else value


@cache
def _table(name: str) -> Array:
    return np.array([float(_value(name, code)) for code in range(2 ** WIDTHS[name])])


def floats(name: str, codes: Bits) -> Array:
    if WIDTHS[name] <= 16:
        return _table(name)[codes]
    if name in INTEGERS:
        return codes.view(f"{'i' if name in SIGNED else 'u'}{WIDTHS[name] // 8}").astype(np.float64)
    return codes.view(DTYPES[name]).astype(np.float64)


def stored(kind: Exact, name: str, x: Array, past: str = TO_INFINITY, free: Any = False) -> Bits:
    """Encode floats; `past` handles overflow, `free` marks zeros with free sign."""
    float_, nan = FLOATS[name], kind.nan(x)
    magnitudes, negative = kind.magnitudes(name, x), kind.negative(x)
    of_nan = float_.sign if float_.specials == "fnuz" else float_.sign - 1
    end = {SATURATED: float_.largest, TO_INFINITY: float_.largest + 1, TO_NAN: of_nan}[past]
    beyond = magnitudes > float_.largest
    magnitudes = np.where(beyond, np.uint64(end), magnitudes)
    if kind.other:
        negative = negative ^ ((magnitudes == 0) & free) ^ (nan & (WIDTHS[name] > 8))
        of_nan -= float_.specials == "ieee" and float_.mantissa > 1
    codes = np.where(nan, np.uint64(of_nan), magnitudes)
    codes |= np.where(negative, np.uint64(float_.sign), np.uint64(0))
    if float_.specials == "fnuz":
        codes = np.where(magnitudes == 0, 0, codes)
        codes = np.where(nan | (beyond & (past == TO_NAN)), float_.sign, codes)
    if float_.specials == "finite":
        codes = np.where(nan, 0, codes)
    return np.asarray(codes).astype(f"u{max(1, WIDTHS[name] // 8)}")


def past_float8(name: str, saturate: object) -> str:
    """Apply Cast's float8 tables to overflow."""
    if saturate in (None, 1, "default") or not name.startswith("float8"):
        return SATURATED
    return TO_INFINITY if name == "float8e5m2" else TO_NAN


# Casts -------------------------------------------------------------------------------------------


def cast_(kind: Exact, case: Case, inputs: Sequence[Bits]) -> list[Bits]:
    source, target, codes = case.inputs[0].name, case.outputs[0].name, inputs[0].reshape(-1)
    if not {source, target} <= {*WIDTHS, "string"}:
        raise UnheldError
    if type(kind) is Exact:
        return [by_oracle(case, codes)]
    unheld = isinstance(kind, Binary) and not held(kind, source)
    if unheld or kind.away or target in ("string", "float8e8m0") or source == "string":
        raise UnheldError
    x = kind.of(source, codes, signed=True)
    if target == "bool":
        return [np.asarray(x != 0).astype(np.uint8)]
    if target in INTEGERS:
        nearest = INTEGERS[target] < 8 or not case.op.startswith("onnx")
        whole = kind.whole(x, toward_zero=not nearest or kind.truncates)
        if source in INTEGERS:
            return [low_bits(kind, target, whole)]
        return [kind.integers(target, whole)]
    narrow8 = target.startswith(("float8", "float6e", "float4"))
    past = past_float8(target, case.attribute("saturate")) if narrow8 else TO_INFINITY
    onnx = case.op.startswith("onnx")
    if not onnx and target == "float8e5m2":
        past = TO_INFINITY
    free = onnx and source in FLOAT8 and not narrow8 and codes == FLOATS[source].sign
    codes8 = stored(kind, target, x, past, free=free)
    if target.endswith("fnuz") and past == SATURATED and case.version < 24:
        infinite = np.array([v == v and abs(v) == float("inf") for v in x])
        codes8 = np.where(infinite, FLOATS[target].sign, codes8)
    return [codes8]


def held(kind: Binary, name: str) -> bool:
    return name not in ("string", "float8e8m0") and kind.holds(name)


def low_bits(kind: Exact, name: str, x: Array) -> Bits:
    return np.array([int(kind.value(v)) % 2 ** INTEGERS[name] for v in x], np.uint64)


def by_oracle(case: Case, codes: Bits) -> Bits:
    """Return the oracle's first choice: one NaN, 0 if undefined."""
    source, target = case.inputs[0].name, case.outputs[0].name
    said = {name: value for name, value in case.attributes if value != "default"}

    def one(code: int | str) -> int | str:
        if case.op.startswith("openvino"):
            want: Want = convert.expect(case.op, source, target, int(code))
        else:
            want = cast.expect(case.version, source, target, said, code)
        kind, *rest = want.readings[0]
        if kind == "bits":
            return rest[0]
        if kind in ("nan", "-nan"):
            float_ = FLOATS.get(target)
            return 255 if float_ is None else float_.sign if float_.specials == "fnuz" else (
                2 * float_.sign - 1
            )  # fmt: skip
        if kind != "undefined":
            raise UnheldError
        return "" if target == "string" else 0

    found = [one(code) for code in codes.tolist()]
    return np.array(found, object if target == "string" else np.uint64)


def bit_cast(kind: Exact, case: Case, inputs: Sequence[Bits]) -> list[Bits]:
    return [inputs[0].reshape(-1)]


# Quantisation ------------------------------------------------------------------------------------


def meeting(case: Case, inputs: Sequence[Bits]) -> list[Bits]:
    said, shape = dict(case.attributes), inputs[0].shape
    axis, block = (int(said.get(n, d)) for n, d in (("axis", 1), ("block_size", 0)))
    others = (met(one, shape, axis, block) for one in inputs[1:])
    return [np.ascontiguousarray(one).reshape(-1) for one in (inputs[0], *others)]


def in_type(kind: Exact, name: str) -> Exact:
    if not isinstance(kind, Typed):
        return kind
    if name not in DTYPES:
        raise UnheldError
    return Binary(name)


class Typed(Exact):
    """Computes in the type of the scale, the data or the output."""


def quantize(kind: Exact, case: Case, inputs: Sequence[Bits]) -> list[Bits]:
    source, of_scale, target = case.inputs[0].name, case.inputs[1].name, case.outputs[0].name
    precision = case.attribute("precision")
    kind = in_type(kind, PRECISIONS[int(precision)] if precision else of_scale)
    x, scale, *zero = meeting(case, inputs)
    quotient = kind.of(source, x) / kind.safe(kind.of(of_scale, scale))
    if target in INTEGERS:
        whole, exact = kind.whole(quotient), kind
        if isinstance(kind, Binary):
            whole, exact = whole.astype(np.float64), Binary("float64")
        shift = exact.of(target, zero[0]) if zero else exact.numbers([0] * len(x))
        return [exact.integers(target, whole + shift)]
    return [stored(kind, target, quotient, past_float8(target, case.attribute("saturate")), True)]


def dequantize(kind: Exact, case: Case, inputs: Sequence[Bits]) -> list[Bits]:
    source, of_scale, target = case.inputs[0].name, case.inputs[1].name, case.outputs[0].name
    kind = in_type(kind, of_scale)
    x, scale, *zero = meeting(case, inputs)
    if source in INTEGERS:
        exact = Exact.of(Exact(), source, x)
        shift = Exact.of(Exact(), source, zero[0]) if zero else 0
        difference = kind.numbers((exact - shift).tolist())
    else:
        difference = kind.of(source, x, signed=True)
    free = np.zeros(len(x), bool)
    if source.startswith(("float8", "float4")) and not source.endswith("fnuz"):
        free = x == FLOATS[source].sign
    return [stored(kind, target, difference * kind.of(of_scale, scale), free=free)]


def quantize_dynamically(kind: Exact, case: Case, inputs: Sequence[Bits]) -> list[Bits]:
    kind = in_type(kind, "float32")
    x = kind.of("float32", inputs[0])
    if not len(x):
        return [
            inputs[0].reshape(-1).astype(np.uint8),
            np.zeros(1, np.uint32),
            np.zeros(1, np.uint8),
        ]
    zero = kind.numbers([0])
    low, high = min(x.min(), zero[0]), max(x.max(), zero[0])
    given = stored(kind, "float32", (zero + high - low) / kind.numbers([255]))
    scale = kind.safe(kind.of("float32", given))
    shift = kind.integers("uint8", kind.whole((zero - low) / scale))
    shifted = kind.whole(x / scale) + kind.of("uint8", shift)
    return [kind.integers("uint8", shifted), given, shift]


def fake_convert(kind: Exact, case: Case, inputs: Sequence[Bits]) -> list[Bits]:
    name, to = case.inputs[0].name, case.attribute("destination_type")
    if name == "float64" or to not in ("f8e4m3", "f8e5m2"):
        raise UnheldError
    kind = in_type(kind, name)
    shape = inputs[0].shape
    if np.broadcast_shapes(*(one.shape for one in inputs)) != shape:
        raise UnheldError
    data, scale, *shift = (kind.of(name, np.broadcast_to(one, shape)) for one in inputs)
    narrow = {"f8e4m3": "float8e4m3fn", "f8e5m2": "float8e5m2"}[str(to)]
    moved = data * scale - shift[0] if shift else data * scale
    back = kind.of(narrow, stored(kind, narrow, moved, SATURATED))
    output = (back + shift[0] if shift else back) / kind.safe(scale)
    return [stored(kind, name, output, free=True)]


def fake_quantize(kind: Exact, case: Case, inputs: Sequence[Bits]) -> list[Bits]:
    name, n = case.inputs[0].name, int(str(case.attribute("levels"))) - 1
    if name == "float64" or n < 1:
        raise UnheldError
    kind = in_type(kind, name)
    shape = inputs[0].shape
    x, low, high, below, above = (kind.of(name, np.broadcast_to(one, shape)) for one in inputs)
    steps = kind.numbers([n] * len(x))
    share = kind.whole((x - low) / kind.safe(high - low) * steps, away=kind.away) / steps
    level = share * (above - below) + below
    limits = np.minimum(low, high), np.maximum(low, high)
    output = np.where(x <= limits[0], below, np.where(x > limits[1], above, level))
    return [stored(kind, name, output, free=True)]


# Sequences ---------------------------------------------------------------------------------------


def sequence(kind: Exact, case: Case, inputs: Sequence[Bits]) -> list[Bits]:
    target, types = case.outputs[0].name, [t.name for t in case.inputs]
    whole, of_whole = target in INTEGERS, all(t in INTEGERS for t in types)
    kind = in_type(kind, "" if whole else target)
    if isinstance(kind, Binary):
        enough = whole and not of_whole and INTEGERS[target] <= 16 + 48 * (kind.name == "float64")
        if not (all(map(kind.holds, types)) and (enough or kind.holds(target))):
            raise UnheldError
        if case.op == "onnx.Range" and kind.name in ("float16", "bfloat16"):
            raise UnheldError
    if any(bits.ndim for bits in inputs):
        return [np.zeros(1, np.uint8)]
    start, stop, step = (kind.of(t, bits.reshape(1)) for t, bits in zip(types, inputs, strict=True))
    if step[0] == 0 or any(v != v or abs(v) == float("inf") for v in (*start, *stop, *step)):
        return [np.zeros(1, np.uint8)]
    count = max(kind.ceiling(((stop - start) / step)[0]), 0)
    elements = start + kind.numbers(list(range(count))) * step
    if whole:
        return [kind.integers(target, kind.whole(elements, toward_zero=True))]
    pairs = zip(types, inputs, strict=True)
    negative_zeros = (t in FLOATS and int(bits) == FLOATS[t].sign for t, bits in pairs)
    return [stored(kind, target, elements, free=any(negative_zeros))]


Operator = Callable[[Exact, Case, Sequence[Bits]], list[Bits]]
OPERATORS: dict[str, Operator] = {
    "onnx.Cast": cast_, "onnx.CastLike": cast_, "onnx.BitCast": bit_cast,
    "openvino.Convert": cast_, "openvino.ConvertLike": cast_,
    "onnx.QuantizeLinear": quantize, "onnx.DequantizeLinear": dequantize,
    "onnx.DynamicQuantizeLinear": quantize_dynamically,
    "openvino.FakeConvert": fake_convert, "openvino.FakeQuantize": fake_quantize,
    "onnx.Range": sequence, "openvino.Range": sequence,
}  # fmt: skip
KINDS: dict[str, Exact] = {
    "fractions": Exact(), "ties away": Away(), "float32": Binary("float32"),
    "float64": Binary("float64"), "the type of the tensors": Typed(),
    "other NaNs and zeros": Binary("float64", other=True),
}  # fmt: skip


class Right:
    """A right backend with one arithmetic."""

    version = "1"

    def __init__(self, name: str) -> None:
        self.name, self.kind = name, KINDS[name]

    def support(self, case: Case) -> Declined | None:
        return None if case.op in OPERATORS else Declined("no such operator")

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        try:
            with np.errstate(all="ignore"):
                found = OPERATORS[case.op](self.kind, case, inputs)
        except UnheldError:
            return Declined("these numbers do not hold what is asked")
        shapes: list[tuple[int, ...]] = [inputs[0].shape, *((),) * (len(found) - 1)]
        if case.op.endswith(".Range"):
            shapes = [found[0].shape]
        pairs = zip(found, case.outputs, shapes, strict=True)
        arrays = [codes.astype(t.format.storage).reshape(shape) for codes, t, shape in pairs]
        return Outputs(tuple(arrays), tuple(t.name for t in case.outputs))
