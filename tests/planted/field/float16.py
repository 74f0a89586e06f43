"""Wrong conversions to float16."""

import numpy as np
from planted.field.bits import (
    FLOAT16,
    FLOAT32,
    FLOAT64,
    by_hardware,
    fields,
    joined,
    nearest_away,
    nearest_even,
    split,
    to_ieee,
    truncated,
)
from planted.field.bug import FieldBug


def shifted_twice(codes):
    """Subnormal results lose all bits. NaN keeps the remaining payload, if any."""
    sign, magnitude = split(codes, FLOAT32)
    right = to_ieee(codes, FLOAT32, FLOAT16)
    right = np.where(magnitude < 0x38800000, joined(sign, 0, FLOAT16), right)
    cut = joined(sign, FLOAT16.top | ((magnitude & 0x7FFFFF) >> 13), FLOAT16)
    return np.where(magnitude > FLOAT32.top, cut, right)


def rounded_13(significand):
    return nearest_even(significand, np.full(len(significand), 13))


def sticky_lost(codes):
    """Shift a subnormal result's significand first, then round."""
    sign, magnitude = split(codes, FLOAT32)
    field, mantissa = fields(magnitude, FLOAT32)
    aligned = (0x800000 + mantissa) >> np.clip(113 - field, 0, 31)
    small = np.where(magnitude < 0x33000000, 0, rounded_13(aligned))
    right = to_ieee(codes, FLOAT32, FLOAT16)
    return np.where(magnitude < 0x38800000, joined(sign, small, FLOAT16), right)


def shift_modulo_32(codes):
    sign, magnitude = split(codes, FLOAT32)
    field, mantissa = fields(magnitude, FLOAT32)
    small = rounded_13((0x800000 | mantissa) >> ((113 - field) & 31))
    right = to_ieee(codes, FLOAT32, FLOAT16)
    return np.where(magnitude < 0x38800000, joined(sign, small, FLOAT16), right)


def zero_below(least, codes):
    sign, magnitude = split(codes, FLOAT32)
    right = to_ieee(codes, FLOAT32, FLOAT16)
    return np.where(magnitude < least, joined(sign, 0, FLOAT16), right)


def carry_lost(codes):
    """A mantissa that rounds up to all zeros does not increment the exponent."""
    _, magnitude = split(codes, FLOAT64)
    right = to_ieee(codes, FLOAT64, FLOAT16)
    field, mantissa = fields(magnitude, FLOAT64)
    carried = nearest_even(mantissa, np.full(len(mantissa), 42)) == 1 << 10
    carried &= (field > 1023 - 15) & (field < 1023 + 16)
    return right - (carried.astype(np.uint16) << np.uint16(10))


def low_word_dropped(codes):
    """Use only the upper 32 bits of a float64, except to detect NaN."""
    upper = codes & np.uint64(0xFFFFFFFF00000000)
    _, magnitude = split(codes, FLOAT64)
    seen = np.where(magnitude > FLOAT64.top, codes, upper)
    return to_ieee(seen, FLOAT64, FLOAT16)


def through_float32(codes):
    return to_ieee(by_hardware(codes.view(np.float64), np.float32), FLOAT32, FLOAT16)


BUGS = (
    FieldBug("float16 subnormals shifted twice", "float32-to-float16",
             "ROCm/rocm-libraries/pull/11325", shifted_twice, (0x38000000, 0x0000),
             causes=("cuts-nan", "flushes-tiny-with-sign")),
    FieldBug("bits lost before float16 subnormals are rounded", "float32-to-float16",
             "numpy/numpy/issues/12721", sticky_lost, (0x33000001, 0x0000),
             causes=("aligns-without-sticky",)),
    FieldBug("count of a shift modulo 32", "float32-to-float16", "microsoft/DirectXMath/pull/104",
             shift_modulo_32, (0x28800000, 0x0400), causes=("shift-modulo-32-without-sticky",)),
    FieldBug("ties away from zero to float16", "float32-to-float16", "VoidStarKat/half-rs/pull/25",
             lambda codes: to_ieee(codes, FLOAT32, FLOAT16, nearest_away), (0x3F801000, 0x3C01),
             causes=("ties-away",)),
    FieldBug("float16 cut off", "float32-to-float16", "dmlc/mshadow/pull/368",
             lambda codes: to_ieee(codes, FLOAT32, FLOAT16, truncated), (0x3F801FFF, 0x3C00),
             causes=("truncates",)),
    FieldBug("zero above half the smallest subnormal", "float32-to-float16",
             "ahrefs/ocannl/issues/981", lambda codes: zero_below(0x33800000, codes),
             (0x33400000, 0x0000), causes=("zero-below-2^-24",)),
    FieldBug("zero for the smallest subnormal", "float32-to-float16", "intel/llvm/pull/7401",
             lambda codes: zero_below(0x34000000, codes), (0x33800000, 0x0000),
             causes=("zero-below-2^-23",)),
    FieldBug("carry into the exponent lost", "float64-to-float16", "h5py/h5py/issues/819",
             carry_lost, (0x3FEFFFFFFAC1D29E, 0x3800), causes=("loses-the-carry",)),
    FieldBug("lower word of float64 dropped", "float64-to-float16",
             "VoidStarKat/half-rs/issues/151", low_word_dropped, (0x3FF0020040000000, 0x3C00),
             causes=("drops-the-low-word",)),
    FieldBug("float64 to float16 in two steps", "float64-to-float16",
             "riscvarchive/riscv-v-spec/issues/278", through_float32, (0x3FFFFDFFF0000000, 0x4000),
             causes=("through-float32",)),
)  # fmt: skip
