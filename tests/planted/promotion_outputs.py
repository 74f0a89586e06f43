"""What goes wrong in the outputs of a promotion whose type is right: values and shapes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from planted.promotion_asked import CATALOG, TYPES, Asked, Bugged, convert

from convcheck.backends.protocol import Answer, Outputs, Refused
from convcheck.numerics.codec import decode, encode
from convcheck.numerics.codes import Bits
from convcheck.numerics.format import Bool, Float, Int
from convcheck.numerics.modes import toward_zero
from convcheck.numerics.rounding import round_to
from convcheck.rules.model import DType


def on_outputs(change: Callable[[DType, DType, Bits, Bits], Bits]) -> Bugged:
    """Change what each output holds: by source, target, input codes and right codes."""

    def bug(asked: Asked) -> Answer:
        right = asked.answer()
        if isinstance(right, Refused):
            return right
        target = CATALOG.types.types[right.types[0]]
        each = zip(asked.case.inputs, asked.inputs, right.arrays, strict=True)
        return replace(right, arrays=tuple(change(t, target, b, r) for t, b, r in each))

    return bug


def reinterpreted(source: DType, target: DType, bits: Bits, right: Bits) -> Bits:
    """The bits of the source as they are, cut or with zeros above."""
    if source == target:
        return right
    wide = bits.astype(np.uint64) & np.uint64((1 << target.format.bits) - 1)
    return wide.astype(target.format.storage)


def zero_extended(source: DType, target: DType, bits: Bits, right: Bits) -> Bits:
    """A signed integer taken for an unsigned one."""
    unsigned = TYPES.get(f"u{source.name}")
    return convert(unsigned, target, bits) if unsigned else right


def truncated(source: DType, target: DType, bits: Bits, right: Bits) -> Bits:
    """Toward zero where nearest even is due."""
    if not isinstance(target.format, Float) or source == target:
        return right
    x = decode(source.format, bits.reshape(-1))
    rounded = encode(target.format, round_to(x, target.format, toward_zero).magnitude, x.sign)
    return np.where(special(source, bits), right, rounded.reshape(bits.shape))


def special(source: DType, bits: Bits) -> Bits:
    """Tell infinities and NaN."""
    return (decode(source.format, bits.reshape(-1)).kind != 0).reshape(bits.shape)


def through(between: str) -> Callable[[DType, DType, Bits, Bits], Bits]:
    """Rounded twice, on the way through a wide float; what that cannot hold is left right."""

    def change(source: DType, target: DType, bits: Bits, right: Bits) -> Bits:
        middle = TYPES[between]
        wide = isinstance(source.format, Int) or source.format.bits > middle.format.bits
        if not wide or not isinstance(target.format, Float) or target == middle:
            return right
        return convert(middle, target, convert(source, middle, bits))

    return change


def integers_through_float32(source: DType, target: DType, bits: Bits, right: Bits) -> Bits:
    """Integers of more than 24 bits that lose their low ones."""
    both = isinstance(source.format, Int) and isinstance(target.format, Int)
    if not both or source.format.bits <= 24:
        return right
    x = decode(source.format, bits.reshape(-1))
    shift = np.uint64(40)
    cut = replace(x, significand=(x.significand >> shift) << shift)
    low = round_to(cut, target.format, toward_zero).magnitude
    return encode(target.format, low, x.sign).reshape(bits.shape)


def negative_zero_lost(source: DType, target: DType, bits: Bits, right: Bits) -> Bits:
    if not isinstance(target.format, Float):
        return right
    return np.where(right == target.format.sign_bit, 0, right).astype(right.dtype)


def nan_to_zero(source: DType, target: DType, bits: Bits, right: Bits) -> Bits:
    if not isinstance(source.format, Float) or not isinstance(target.format, Float):
        return right
    nan = (decode(source.format, bits.reshape(-1)).kind == 2).reshape(bits.shape)
    return np.where(nan, 0, right).astype(right.dtype)


def one_as_all_ones(source: DType, target: DType, bits: Bits, right: Bits) -> Bits:
    """True as all bits set, of an integer."""
    if not isinstance(source.format, Bool) or not isinstance(target.format, Int):
        return right
    return np.where(bits == 1, target.format.mask, 0).astype(right.dtype)


def one_output(kept: int) -> Bugged:
    """One output converted, the other as it came in."""

    def bug(asked: Asked) -> Answer:
        right = asked.answer()
        if isinstance(right, Refused):
            return right
        arrays, types = list(right.arrays), list(right.types)
        arrays[kept], types[kept] = asked.inputs[kept], asked.case.inputs[kept].name
        return Outputs(tuple(arrays), tuple(types))

    return bug


def reshaped(change: Callable[[tuple[Bits, ...]], tuple[Bits, ...]]) -> Bugged:
    def bug(asked: Asked) -> Answer:
        right = asked.answer()
        return right if isinstance(right, Refused) else replace(right, arrays=change(right.arrays))

    return bug


def broadcast(arrays: tuple[Bits, ...]) -> tuple[Bits, ...]:
    try:
        return tuple(np.broadcast_arrays(*arrays))
    except ValueError:
        return arrays
