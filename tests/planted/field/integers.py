"""Wrong conversions from and to integers, and of booleans."""

import numpy as np
from planted.field.bits import FLOAT32, Ints, by_hardware, fields, nearest_away, split
from planted.field.bug import FieldBug

from convcheck.numerics.number import Bits


def whole(codes: Bits) -> tuple[Ints, Ints]:
    """Return (sign, integer part's magnitude) of float32 numbers, clamped at 2^62."""
    sign, magnitude = split(codes, FLOAT32)
    field, mantissa = fields(magnitude, FLOAT32)
    exponent = np.minimum(field - 127, 61)
    significand = mantissa | 1 << 23
    large = significand << np.maximum(exponent - 23, 0)
    small = significand >> np.clip(23 - exponent, 0, 62)
    return sign, np.where(exponent >= 23, large, small)


def truncated_to_bool(codes: Bits) -> Bits:
    _, magnitude = whole(codes)
    return (magnitude > 0).astype(np.uint8)


def minus_one_for_true(codes: Bits) -> Bits:
    return np.where(codes == 1, np.uint16(0xBC00), np.uint16(0))


def less_seven(codes: Bits) -> Bits:
    return codes.astype(np.uint8) - np.uint8(7)


def half_away(codes: Bits) -> Bits:
    sign, magnitude = split(codes, FLOAT32)
    field, mantissa = fields(magnitude, FLOAT32)
    significand = np.where(field > 0, mantissa | 1 << 23, mantissa)
    exponent = np.minimum(field - 150, 37)
    right = nearest_away(significand, np.maximum(-exponent, 0))
    number = np.where(exponent > 0, significand << np.maximum(exponent, 0), right)
    return (np.where(sign == 1, -number, number) & 15).astype(np.uint8)


def clamped(codes: Bits) -> Bits:
    return np.clip(codes.view(np.int32), 0, 255).astype(np.uint8)


def lowest_above(codes: Bits) -> Bits:
    """Map overflow on either side, and NaN, to the lowest number."""
    sign, number = whole(codes)
    signed = np.where(sign == 1, -number, number)
    _, magnitude = split(codes, FLOAT32)
    far = (number > (1 << 31) - 1) | (magnitude > FLOAT32.top)
    return (np.where(far, -(1 << 31), signed) & 0xFFFFFFFF).astype(np.uint32)


def through_float64(codes: Bits) -> Bits:
    numbers = codes.astype(np.float64)
    return by_hardware(numbers, np.float32)


BUGS = {
    "bool of a whole part": FieldBug(
        "float32-to-bool", "triton-lang/triton/pull/545", truncated_to_bool, (0x3F000000, 0)
    ),
    "True as -1": FieldBug(
        "bool-to-float16", "iree-org/wave/pull/133", minus_one_for_true, (1, 0xBC00)
    ),
    "int4 less 7": FieldBug(
        "int4-to-int8", "tile-ai/tilelang/issues/2477", less_seven, (0x8, 0x01)
    ),
    "ties away from zero to int4": FieldBug(
        "float32-to-int4", "openvinotoolkit/openvino/issues/38158", half_away, (0x40200000, 0x3)
    ),
    "uint8 clamped": FieldBug(
        "int32-to-uint8", "openvinotoolkit/openvino/pull/32389", clamped, (0xFFFFFFFF, 0x00)
    ),
    "lowest on either side": FieldBug(
        "float32-to-int32/mode=CAST_TRUNC/satmode=ON",
        "tenstorrent/tt-metal/issues/55933",
        lowest_above,
        (0x4F000000, 0x80000000),
        op="pypto.cast",
    ),
    "uint64 to float32 through float64": FieldBug(
        "uint64-to-float32",
        "WebAssembly/spec/issues/421",
        through_float64,
        (0x7FFFFF4000000001, 0x5EFFFFFE),
    ),
}
