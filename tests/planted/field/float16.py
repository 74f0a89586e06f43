"""Wrong conversions to float16."""

from __future__ import annotations

import numpy as np
from planted.field.bits import (
    FLOAT16,
    FLOAT32,
    FLOAT64,
    Ints,
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

from convcheck.numerics.codes import Bits


def shifted_twice(codes: Bits) -> Bits:
    """Subnormal results lose all bits. NaN keeps the remaining payload, if any."""
    sign, magnitude = split(codes, FLOAT32)
    right = to_ieee(codes, FLOAT32, FLOAT16)
    right = np.where(magnitude < 0x38800000, joined(sign, 0, FLOAT16), right)
    cut = joined(sign, FLOAT16.top | ((magnitude & 0x7FFFFF) >> 13), FLOAT16)
    return np.where(magnitude > FLOAT32.top, cut, right)


def rounded_13(significand: Ints) -> Ints:
    """Round off the last 13 bits to nearest even."""
    return nearest_even(significand, np.full(len(significand), 13))


def sticky_lost(codes: Bits) -> Bits:
    """Shift a subnormal result's significand first, then round."""
    sign, magnitude = split(codes, FLOAT32)
    field, mantissa = fields(magnitude, FLOAT32)
    aligned = (0x800000 + mantissa) >> np.clip(113 - field, 0, 31)
    small = np.where(magnitude < 0x33000000, 0, rounded_13(aligned))
    right = to_ieee(codes, FLOAT32, FLOAT16)
    return np.where(magnitude < 0x38800000, joined(sign, small, FLOAT16), right)


def shift_modulo_32(codes: Bits) -> Bits:
    sign, magnitude = split(codes, FLOAT32)
    field, mantissa = fields(magnitude, FLOAT32)
    small = rounded_13((0x800000 | mantissa) >> ((113 - field) & 31))
    right = to_ieee(codes, FLOAT32, FLOAT16)
    return np.where(magnitude < 0x38800000, joined(sign, small, FLOAT16), right)


def zero_below(least: int, codes: Bits) -> Bits:
    sign, magnitude = split(codes, FLOAT32)
    right = to_ieee(codes, FLOAT32, FLOAT16)
    return np.where(magnitude < least, joined(sign, 0, FLOAT16), right)


def carry_lost(codes: Bits) -> Bits:
    """A mantissa that rounds up to all zeros does not increment the exponent."""
    _, magnitude = split(codes, FLOAT64)
    right = to_ieee(codes, FLOAT64, FLOAT16)
    field, mantissa = fields(magnitude, FLOAT64)
    carried = nearest_even(mantissa, np.full(len(mantissa), 42)) == 1 << 10
    carried &= (field > 1023 - 15) & (field < 1023 + 16)
    return right - (carried.astype(np.uint16) << np.uint16(10))


def low_word_dropped(codes: Bits) -> Bits:
    """Use only the upper 32 bits of a float64, except to detect NaN."""
    upper = codes & np.uint64(0xFFFFFFFF00000000)
    _, magnitude = split(codes, FLOAT64)
    seen = np.where(magnitude > FLOAT64.top, codes, upper)
    return to_ieee(seen, FLOAT64, FLOAT16)


def through_float32(codes: Bits) -> Bits:
    return to_ieee(by_hardware(codes.view(np.float64), np.float32), FLOAT32, FLOAT16)


BUGS = (
    FieldBug(
        "float16 subnormals shifted twice",
        "float32-to-float16",
        "https://github.com/ROCm/rocm-libraries/pull/11325",
        "Every subnormal float16 came out as a zero, and 16382 NaNs as infinity.",
        shifted_twice,
        (0x38000000, 0x0000),
    ),
    FieldBug(
        "bits lost before float16 subnormals are rounded",
        "float32-to-float16",
        "https://github.com/numpy/numpy/issues/12721",
        "Just above half the smallest subnormal came out as zero: the last bits were shifted out "
        "before they could decide.",
        sticky_lost,
        (0x33000001, 0x0000),
    ),
    FieldBug(
        "count of a shift modulo 32",
        "float32-to-float16",
        "https://github.com/microsoft/DirectXMath/pull/104",
        "Far below the smallest subnormal the shift is by more than 31, and numbers come back.",
        shift_modulo_32,
        (0x28800000, 0x0400),
    ),
    FieldBug(
        "ties away from zero to float16",
        "float32-to-float16",
        "https://github.com/VoidStarKat/half-rs/pull/25",
        "Ties were rounded away from zero instead of to even.",
        lambda codes: to_ieee(codes, FLOAT32, FLOAT16, nearest_away),
        (0x3F801000, 0x3C01),
    ),
    FieldBug(
        "float16 cut off",
        "float32-to-float16",
        "https://github.com/dmlc/mshadow/pull/368",
        "Without the instruction for it, the bits that do not fit were cut off.",
        lambda codes: to_ieee(codes, FLOAT32, FLOAT16, truncated),
        (0x3F801FFF, 0x3C00),
    ),
    FieldBug(
        "zero above half the smallest subnormal",
        "float32-to-float16",
        "https://github.com/ahrefs/ocannl/issues/981",
        "What is above half the smallest subnormal, and below it, came out as zero.",
        lambda codes: zero_below(0x33800000, codes),
        (0x33400000, 0x0000),
    ),
    FieldBug(
        "zero for the smallest subnormal",
        "float32-to-float16",
        "https://github.com/intel/llvm/pull/7401",
        "The check for the least exponent was one off: 2^-24 came out as zero.",
        lambda codes: zero_below(0x34000000, codes),
        (0x33800000, 0x0000),
    ),
    FieldBug(
        "carry into the exponent lost",
        "float64-to-float16",
        "https://github.com/h5py/h5py/issues/819",
        "In the HDF5 library, just below a power of two the result was half of it: 0.99999999 "
        "became 0.5.",
        carry_lost,
        (0x3FEFFFFFFAC1D29E, 0x3800),
    ),
    FieldBug(
        "lower word of float64 dropped",
        "float64-to-float16",
        "https://github.com/VoidStarKat/half-rs/issues/151",
        "The low 32 bits were dropped first: just above a tie was taken for the tie.",
        low_word_dropped,
        (0x3FF0020040000000, 0x3C00),
    ),
    FieldBug(
        "float64 to float16 in two steps",
        "float64-to-float16",
        "https://github.com/riscvarchive/riscv-v-spec/issues/278",
        "Narrowing by halving steps, each to nearest even, rounds twice.",
        through_float32,
        (0x3FFFFDFFF0000000, 0x4000),
    ),
)  # fmt: skip
