"""Wrong conversions from and to integers, and of booleans."""

import numpy as np
from planted.field.bits import FLOAT32, by_hardware, fields, nearest_away, split
from planted.field.bug import FieldBug


def whole(codes):
    """Return (sign, integer part's magnitude) of float32 numbers, clamped at 2^62."""
    sign, magnitude = split(codes, FLOAT32)
    field, mantissa = fields(magnitude, FLOAT32)
    exponent = np.minimum(field - 127, 61)
    significand = mantissa | 1 << 23
    large = significand << np.maximum(exponent - 23, 0)
    small = significand >> np.clip(23 - exponent, 0, 62)
    return sign, np.where(exponent >= 23, large, small)


def half_away(codes):
    sign, magnitude = split(codes, FLOAT32)
    field, mantissa = fields(magnitude, FLOAT32)
    significand = np.where(field > 0, mantissa | 1 << 23, mantissa)
    exponent = np.minimum(field - 150, 37)
    right = nearest_away(significand, np.maximum(-exponent, 0))
    number = np.where(exponent > 0, significand << np.maximum(exponent, 0), right)
    return (np.where(sign == 1, -number, number) & 15).astype(np.uint8)


def lowest_above(codes):
    """Map overflow on either side, and NaN, to the lowest number."""
    sign, number = whole(codes)
    signed = np.where(sign == 1, -number, number)
    _, magnitude = split(codes, FLOAT32)
    far = (number > (1 << 31) - 1) | (magnitude > FLOAT32.top)
    return (np.where(far, -(1 << 31), signed) & 0xFFFFFFFF).astype(np.uint32)


BUGS = (
    FieldBug("bool of a whole part", "float32-to-bool", "triton-lang/triton/pull/545",
             lambda codes: (whole(codes)[1] > 0).astype(np.uint8), (0x3F000000, 0),
             causes=("whole-toward-zero",)),
    FieldBug("True as -1", "bool-to-float16", "iree-org/wave/pull/133",
             lambda codes: np.where(codes == 1, np.uint16(0xBC00), np.uint16(0)), (1, 0xBC00),
             causes=("negates",)),
    FieldBug("int4 less 7", "int4-to-int8", "tile-ai/tilelang/issues/2477",
             lambda codes: codes.astype(np.uint8) - np.uint8(7), (0x8, 0x01)),
    FieldBug("ties away from zero to int4", "float32-to-int4",
             "openvinotoolkit/openvino/issues/38158", half_away, (0x40200000, 0x3),
             causes=("ties-away",)),
    FieldBug("uint8 clamped", "int32-to-uint8", "openvinotoolkit/openvino/pull/32389",
             lambda codes: np.clip(codes.view(np.int32), 0, 255).astype(np.uint8),
             (0xFFFFFFFF, 0x00), causes=("clamps",)),
    FieldBug("lowest on either side", "float32-to-int32/mode=CAST_TRUNC/satmode=ON",
             "tenstorrent/tt-metal/issues/55933", lowest_above, (0x4F000000, 0x80000000),
             op="pypto.cast", causes=("beyond-is-min",)),
    FieldBug("uint64 to float32 through float64", "uint64-to-float32",
             "WebAssembly/spec/issues/421",
             lambda codes: by_hardware(codes.astype(np.float64), np.float32),
             (0x7FFFFF4000000001, 0x5EFFFFFE), causes=("through-float64",)),
)  # fmt: skip
