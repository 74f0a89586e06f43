"""Wrong conversions to a wider format."""

import numpy as np
from planted.field.bits import E4M3, E4M3FNUZ, E5M2, FLOAT16, FLOAT32, split, widened
from planted.field.bug import FieldBug


def rebiased(codes, fmt):
    sign, magnitude = split(codes, fmt)
    wide = (magnitude << (23 - fmt.mantissa)) + ((127 - fmt.bias) << 23)
    return (sign << 31 | wide).astype(np.uint32)


def half_right(codes):
    sign, magnitude = split(codes, FLOAT16)
    special = sign << 31 | FLOAT32.top | (magnitude & 0x3FF) << 13
    wide = widened(codes, FLOAT16, FLOAT32)
    return np.where(magnitude >= FLOAT16.top, special, wide).astype(np.uint32)


def infinity_rebiased(codes):
    """Flush subnormals to zero, as the source's comment says. Infinity is wrong."""
    sign, magnitude = split(codes, FLOAT16)
    zero = (sign << 31).astype(np.uint32)
    return np.where(magnitude >> 10 == 0, zero, rebiased(codes, FLOAT16))


def subnormals_rebiased(codes):
    _, magnitude = split(codes, FLOAT16)
    subnormal = (magnitude > 0) & (magnitude >> 10 == 0)
    return np.where(subnormal, rebiased(codes, FLOAT16), half_right(codes))


def leading_bit_ored(codes):
    """Or a subnormal's leading bit into an exponent that should be incremented."""
    right = half_right(codes)
    _, magnitude = split(codes, FLOAT16)
    subnormal = (magnitude > 0) & (magnitude >> 10 == 0)
    less = right - np.uint32(1 << 23)  # the exponent before the leading bit is added
    return np.where(subnormal, less | np.uint32(1 << 23), right)


def mantissa_one_off(codes):
    right = half_right(codes)
    _, magnitude = split(codes, FLOAT16)
    subnormal = (magnitude > 0) & (magnitude >> 10 == 0)
    low = right & np.uint32(0x7FFFFF)
    return np.where(subnormal, right - low + (low >> np.uint32(1)), right)


def fnuz_nan_as_zero(codes):
    """Give float16's -0 for the NaN code: the sign is put back at the end."""
    sign, magnitude = split(codes, E4M3FNUZ)
    zero = (sign << 15).astype(np.uint16)
    return np.where(magnitude == 0, zero, widened(codes, E4M3FNUZ, FLOAT16))


def no_leading_bit(codes):
    """Use one exponent for all subnormals. NaN has one code."""
    sign, magnitude = split(codes, E4M3)
    wrong = (sign << 31 | 120 << 23 | (magnitude & 7) << 20).astype(np.uint32)
    wide = np.where(magnitude >> 3 == 0, wrong, widened(codes, E4M3, FLOAT32))
    return np.where(codes == 0xFF, np.uint32(0x7FC00000), wide)


def wrapped_shift(codes):
    """The count of leading zeros minus 4 should stop at 0, but wraps to a large shift."""
    sign, magnitude = split(codes, E4M3)
    wide = magnitude << 24
    zeros = 32 - np.frexp(np.maximum(wide, 1).astype(np.float64))[1].astype(np.int64)
    moved = ((wide << ((zeros - 4) & 31)) & 0xFFFFFFFF) >> 4
    result = moved + ((0x78 - (zeros - 4)) << 23)
    result = np.where(magnitude == 0x7F, result | FLOAT32.top, result)
    return (sign << 31 | np.where(magnitude == 0, 0, result)).astype(np.uint32)


BUGS = (
    FieldBug("infinity of float16 to 65536", "float16-to-float32", "iree-org/iree/pull/10875",
             infinity_rebiased, (0x7C00, 0x47800000),
             causes=("reads-infinity-and-nan-of-float16-as-numbers", "flushes-inputs-with-sign")),
    FieldBug("subnormals of float16 as normal numbers", "float16-to-float32",
             "factor/factor/issues/2167", subnormals_rebiased, (0x0001, 0x38002000),
             causes=("reads-subnormals-of-float16-as-normal",)),
    FieldBug("or for plus", "float16-to-float32", "dotnet/runtime/issues/46515", leading_bit_ored,
             (0x03FF, 0x37FFC000)),
    FieldBug("mantissa of subnormals one place off", "float16-to-float32",
             "ClickHouse/ClickHouse/issues/104831", mantissa_one_off, (0x03FF, 0x383FE000)),
    FieldBug("NaN of float8e4m3fnuz to -0", "float8e4m3fnuz-to-float16",
             "triton-lang/triton/issues/10745", fnuz_nan_as_zero, (0x80, 0x8000),
             causes=("nan-is--0",)),
    FieldBug("NaN of float8e4m3fn to 480", "float8e4m3fn-to-float32", "ml-explore/mlx/issues/4135",
             lambda codes: widened(codes, E4M3, FLOAT32), (0x7F, 0x43F00000),
             causes=("reads-infinity-and-nan-of-float8e4m3fn-as-numbers",)),
    FieldBug("one exponent for all subnormals", "float8e4m3fn-to-float32",
             "1bit-MONSTER/1bit-MONSTER/issues/300", no_leading_bit, (0x01, 0x3C100000)),
    FieldBug("a difference that is to stay at 0", "float8e4m3fn-to-float32",
             "ROCm/rocm-systems/issues/10760", wrapped_shift, (0xC8, 0xBD800000)),
    FieldBug("zero of float8e5m2 to 2^-15", "float8e5m2-to-float32", "apache/tvm/issues/20315",
             lambda codes: rebiased(codes, E5M2), (0x00, 0x38000000),
             causes=("reads-all-of-float8e5m2-as-normal",)),
)  # fmt: skip
