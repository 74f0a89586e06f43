"""Wrong conversions to float8 and float4."""

from functools import partial

import numpy as np
from planted.field.bits import (
    E2M1,
    E4M3,
    E4M3FNUZ,
    E5M2,
    FLOAT16,
    FLOAT32,
    Layout,
    fields,
    joined,
    narrowed,
    nearest_away,
    nearest_even,
    split,
    to_finite,
    to_ieee,
    truncated,
)
from planted.field.bug import FieldBug

# to float8e4m3fn with saturation, and without; to the others
saturated = partial(to_finite, source=FLOAT32, target=E4M3, most=0x7E, beyond=0x7E, nan=0x7F)
unsaturated = partial(saturated, beyond=0x7F)
to_e2m1 = partial(to_finite, source=FLOAT32, target=E2M1, most=7, beyond=7, nan=7)


def top_exponent_lost(bias, least, most, codes):
    fmt = Layout(4, 3, bias)
    sign, magnitude = split(codes, FLOAT32)
    rounded = narrowed(magnitude, FLOAT32, fmt, nearest_away)
    rounded = np.where(rounded >= 15 << 3, most, rounded)
    small = (magnitude >> 23) - 127 < least
    wrong = joined(sign, np.where(small, 0, rounded), fmt)
    if fmt == E4M3:
        return np.where(magnitude > FLOAT32.top, saturated(codes), wrong)
    wrong = np.where(wrong == 0x80, np.uint8(0), wrong)
    return np.where(magnitude > FLOAT32.top, np.uint8(0x80), wrong)


def early_nan(codes):
    """Compare the mantissa with the largest, not with half a place more."""
    sign, magnitude = split(codes, FLOAT32)
    nan = joined(sign, 0x7F, E4M3)
    return np.where(magnitude > (135 << 23) + 0x600000, nan, unsaturated(codes))


def early_infinity(codes):
    sign, magnitude = split(codes, FLOAT32)
    beyond = (magnitude > 0x47600000) & (magnitude <= FLOAT32.top)
    return np.where(beyond, joined(sign, 0x7C, E5M2), to_ieee(codes, FLOAT32, E5M2))


def quiet_nan_only(codes):
    """Treat a NaN whose first mantissa bit is 0 as a very large number."""
    sign, magnitude = split(codes, FLOAT32)
    signalling = (magnitude > FLOAT32.top) & (magnitude & 0x400000 == 0)
    return np.where(signalling, joined(sign, 0x7E, E4M3), saturated(codes))


def rounded_before_subnormals(codes):
    """Round to the normal width first. The carry stays in the exponent."""
    sign, magnitude = split(codes, FLOAT16)
    field, mantissa = fields(magnitude, FLOAT16)
    carried = nearest_even(mantissa, np.full(len(mantissa), 7)) >> 3
    exponent = field - 15 + 7 + carried
    shift = np.clip(1 - exponent, 0, 31)
    small = nearest_even(mantissa | 0x400, 7 + shift)
    normal = narrowed(magnitude, FLOAT16, E4M3)
    result = np.where(exponent > 0, np.minimum(normal, 0x7F), small)
    return joined(sign, np.where(field > 0, result, 0), E4M3)


def through_cut_float16(codes):
    sign, magnitude = split(codes, FLOAT32)
    cut = np.minimum(narrowed(magnitude, FLOAT32, FLOAT16, truncated), FLOAT16.top - 1)
    cut = np.where(magnitude > FLOAT32.top, FLOAT16.top + 1, cut)
    half = joined(sign, cut, FLOAT16)
    return to_finite(half, FLOAT16, E4M3, most=0x7E, beyond=0x7E, nan=0x7F)


def interpreted(codes):
    """Add half, or the carry into the exponent, and shift subnormals afterwards."""
    sign, magnitude = split(codes, FLOAT32)
    field, mantissa = fields(magnitude, FLOAT32)
    exponent = np.clip(field - 127 + 7, 0, 15)
    kept = (mantissa >> 20) + (mantissa >> 19 & 1)
    shift = np.clip(-6 - (field - 127), 0, 8)
    small = (kept >> shift) | (8 >> shift)
    kept = np.where((exponent == 0) & (field > 0), small, kept)
    kept = np.where(field == 0, 0, kept)
    return joined(sign, exponent << 3 | kept, E4M3)


def element_of_block(fmt, least, most, mask, codes):
    """Take subnormals from the wrong place, and mask the mantissa."""
    sign, magnitude = split(codes, FLOAT32)
    field, mantissa = fields(magnitude, FLOAT32)
    width, exponent = fmt.mantissa, field - 127
    rounded = nearest_even(mantissa, np.full(len(mantissa), 23 - width))
    kept, raised = rounded & ((1 << width) - 1), exponent + (rounded >> width)
    aligned = (mantissa | 1 << 23) >> np.clip(least - exponent, 0, 31)
    small = nearest_even(aligned, np.full(len(aligned), 24 - width))
    subnormal = raised < least
    kept = np.where(subnormal, small & ((1 << width) - 1), kept)
    raised = np.where(subnormal, (small >> width) - fmt.bias, raised)
    beyond = (raised > most) | (raised == most) & (kept > mask)
    kept, raised = np.where(beyond, mask, kept), np.where(beyond, most, raised)
    result = (raised + fmt.bias) << width | kept & mask
    return joined(sign, np.where(field > 0, result, 0), fmt)


def block_of_e4m3(codes):
    sign, magnitude = split(codes, FLOAT32)
    wrong = element_of_block(E4M3, -6, 8, 6, codes)
    return np.where(magnitude > FLOAT32.top, joined(sign, 0x7F, E4M3), wrong)


def shift_modulo_64(codes):
    sign, magnitude = split(codes, FLOAT32)
    field, mantissa = (part.astype(np.uint64) for part in fields(magnitude, FLOAT32))
    exponent = np.maximum(field.astype(np.int64), 1) - 127
    far = np.maximum(-14 - exponent, 0).astype(np.uint64)
    one, count = np.uint64(1), np.uint64(63)
    whole = mantissa + (np.minimum(field, one) << np.uint64(23))
    dropped = (np.uint64(21) + far) & count
    tie = (whole & ((one << dropped) - one)) == one << ((dropped - one) & count)
    whole >>= far & count
    odd = (whole >> np.uint64(21)) & one == one
    whole += np.where(tie & ~odd, whole - one, whole) & np.uint64((1 << 21) - 1)
    base = np.maximum(exponent + 14, 0)
    rounded = (base << 2) + (whole >> np.uint64(21)).astype(np.int64)
    result = joined(sign, np.minimum(np.where(magnitude == 0, 0, rounded), 0x7B), E5M2)
    return np.where(magnitude > FLOAT32.top, joined(sign, 0x7F, E5M2), result)


def signed_zero_of_fnuz(codes):
    result = to_finite(codes, FLOAT32, E4M3FNUZ, most=0x7F, beyond=0x7F, nan=0)
    _, magnitude = split(codes, FLOAT32)
    result = np.where(magnitude > FLOAT32.top, np.uint8(0x80), result)
    return np.where(magnitude == 0, np.uint8(0), result)


def top_of_float4_lost(codes):
    sign, magnitude = split(codes, FLOAT32)
    return np.where(magnitude >= 129 << 23, joined(sign, 7, E2M1), to_e2m1(codes))


BUGS = (
    FieldBug("ties away from zero to float8e4m3fn", "float32-to-float8e4m3fn/saturate=1",
             "onnx/onnx/pull/5456", lambda codes: saturated(codes, rounding=nearest_away),
             (0x3F880000, 0x39), causes=("ties-away",)),
    FieldBug("float8e4m3fn cut off", "float32-to-float8e4m3fn/mode=CAST_RINT/product=950",
             "hw-native-sys/pto-isa/issues/318", lambda codes: saturated(codes, rounding=truncated),
             (0x3F8FFFFF, 0x38), op="pypto.cast", causes=("truncates",)),
    FieldBug("top binade of float8e4m3fn lost", "float32-to-float8e4m3fn/saturate=1",
             "sgl-project/sglang/pull/37140", partial(top_exponent_lost, 7, -9, 0x7E),
             (0x43800000, 0x7E),
             causes=("ties-away-zero-below-the-least", "top-exponent-once-rounded-is-max")),
    FieldBug("top binade of float8e4m3fnuz lost", "float32-to-float8e4m3fnuz/saturate=1",
             "sgl-project/sglang/pull/40581", partial(top_exponent_lost, 8, -10, 0x7F),
             (0x43000000, 0x7F),
             causes=("ties-away-zero-below-the-least", "top-exponent-once-rounded-is-max")),
    FieldBug("NaN from 448 on", "float32-to-float8e4m3fn/saturate=0", "libxsmm/libxsmm/pull/814",
             early_nan, (0x43E40000, 0x7F), causes=("compares-x-nan",)),
    FieldBug("448 instead of NaN", "float32-to-float8e4m3fn/saturate=0",
             "ROCm/rocm-systems/pull/8800", saturated, (0x43FA0000, 0x7E), causes=("saturates",)),
    FieldBug("infinity above the largest float8e5m2", "float32-to-float8e5m2/saturate=0",
             "stillwater-sc/universal/issues/1302", early_infinity, (0x47629000, 0x7C),
             causes=("compares-x-infinity",)),
    FieldBug("signalling NaN taken for a number", "float32-to-float8e4m3fn/saturate=1",
             "microsoft/onnxruntime/pull/16940", quiet_nan_only, (0x7FA00000, 0x7E),
             causes=("signalling-nan-is-most",)),
    FieldBug("rounded before the subnormals of float8e4m3fn", "float16-to-float8e4m3fn/saturate=0",
             "openvinotoolkit/openvino/pull/30057", rounded_before_subnormals, (0x1FFF, 0x08)),
    FieldBug("ties away from zero to float8e5m2", "float16-to-float8e5m2/saturate=0",
             "triton-lang/triton/pull/6102",
             lambda codes: to_ieee(codes, FLOAT16, E5M2, nearest_away), (0x4880, 0x49),
             causes=("ties-away",)),
    FieldBug("float8e5m2 through float16", "float32-to-float8e5m2/saturate=0",
             "triton-lang/triton/pull/10846",
             lambda codes: to_ieee(to_ieee(codes, FLOAT32, FLOAT16), FLOAT16, E5M2),
             (0x3F900200, 0x3C), causes=("through-float16",)),
    FieldBug("float8e4m3fn through float16 cut off", "float32-to-float8e4m3fn/saturate=1",
             "FlashML-org/FreeToken/pull/85", through_cut_float16, (0x43C8198C, 0x7C),
             causes=("cut-to-float16",)),
    FieldBug("carry or-ed into the exponent", "float32-to-float8e4m3fn/saturate=1",
             "triton-lang/triton/pull/11897", interpreted, (0x42FC7AE1, 0x68)),
    FieldBug("subnormals of float4e2m1 from the wrong place", "float32-to-float4e2m1",
             "tenstorrent/tt-metal/issues/51971", partial(element_of_block, E2M1, 0, 2, 1),
             (0x3E800002, 0x0)),
    FieldBug("odd mantissas of float8e4m3fn lost", "float32-to-float8e4m3fn/saturate=1",
             "tenstorrent/tt-metal/pull/51975", block_of_e4m3, (0x3F900000, 0x38)),
    FieldBug("count of a shift modulo 64", "float32-to-float8e5m2/saturate=1",
             "ROCm/rocm-systems/issues/10591", shift_modulo_64, (0x187F4E6F, 0x04),
             causes=("shift-modulo-64",)),
    FieldBug("-0 of a format without", "float32-to-float8e4m3fnuz/saturate=1",
             "onnx/onnx/pull/5764", signed_zero_of_fnuz, (0xB727C5AC, 0x80),
             causes=("minus-zero-is-nan",)),
    FieldBug("ties away from zero to float4e2m1", "float32-to-float4e2m1", "ROCm/aiter/pull/3992",
             lambda codes: to_e2m1(codes, rounding=nearest_away), (0x3E800000, 0x1),
             causes=("ties-away",)),
    FieldBug("top binade of float4e2m1 lost", "float32-to-float4e2m1",
             "ROCm/rocm-systems/pull/6870", top_of_float4_lost, (0x40800000, 0x7),
             causes=("top-exponent-is-max",)),
)  # fmt: skip
