"""Wrong conversions to bfloat16."""

import numpy as np
from planted.field.bits import BFLOAT16, FLOAT32, by_hardware, ints, joined, split, to_ieee
from planted.field.bug import FieldBug


def upper_half(codes):
    return (codes >> np.uint32(16)).astype(np.uint16)


def added_bias(codes):
    low = (codes >> np.uint32(16)) & np.uint32(1)
    return upper_half(codes + np.uint32(0x7FFF) + low)


def nan_cut(codes):
    _, magnitude = split(codes, FLOAT32)
    return np.where(magnitude > FLOAT32.top, upper_half(codes), added_bias(codes))


def subnormals_flushed(codes):
    sign, magnitude = split(codes, FLOAT32)
    flushed = joined(sign, 0, BFLOAT16)
    return np.where(magnitude >> 23 == 0, flushed, to_ieee(codes, FLOAT32, BFLOAT16))


def packed(codes):
    sign, magnitude = split(codes, BFLOAT16)
    kept = np.where(magnitude >> 7 == 0, 0, np.minimum(magnitude, BFLOAT16.top))
    return joined(sign, kept, BFLOAT16)


def to_float32(codes):
    return by_hardware(codes.view(np.float64), np.float32)


def from_integers_through_float32(codes):
    signed = ints(codes) if codes.dtype == np.uint64 else codes.view(np.int32)
    return to_ieee(by_hardware(signed, np.float32), FLOAT32, BFLOAT16)


BUGS = (
    FieldBug("bfloat16 is the upper half of float32", "float32-to-bfloat16",
             "stillwater-sc/universal/issues/1133", upper_half, (0x3E89CCD5, 0x3E89),
             causes=("the-high-code",)),
    FieldBug("NaN cut to its upper half", "float32-to-bfloat16", "dotnet/runtime/pull/130583",
             nan_cut, (0x7F800001, 0x7F80), causes=("cuts-nan",)),
    FieldBug("NaN rounded as a number", "float32-to-bfloat16", "ooples/AiDotNet.Tensors/pull/355",
             added_bias, (0x7F800001, 0x7F80), causes=("rounds-nan",)),
    FieldBug("subnormals flushed on the way to bfloat16", "float32-to-bfloat16",
             "ggml-org/llama.cpp/pull/7843", subnormals_flushed, (0x00400000, 0x0000),
             causes=("flushes-inputs-with-sign",)),
    FieldBug("bfloat16 copied by a packer that rounds", "bfloat16-to-bfloat16",
             "tenstorrent/tt-llk/issues/675", packed, (0x7FC0, 0x7F80),
             causes=("flushes-inputs-with-sign", "nan-is-infinity-of-its-sign")),
    FieldBug("float64 to bfloat16 through float32", "float64-to-bfloat16",
             "groonga/groonga/pull/2965",
             lambda codes: to_ieee(to_float32(codes), FLOAT32, BFLOAT16),
             (0x3FF01000010C6F7A, 0x3F80), causes=("through-float32",)),
    FieldBug("float64 to bfloat16 with float32 subnormals flushed", "float64-to-bfloat16",
             "jax-ml/jax/issues/38995", lambda codes: subnormals_flushed(to_float32(codes)),
             (0x37A0000000000000, 0x0000), causes=("through-float32-flushed",)),
    FieldBug("int64 to bfloat16 through float32", "int64-to-bfloat16", "jax-ml/ml_dtypes/pull/401",
             from_integers_through_float32, (16973823, 0x4B82), causes=("through-float32",)),
    FieldBug("int32 to bfloat16 through float32", "int32-to-bfloat16",
             "arch-hdl-lang/arch-com/issues/629", from_integers_through_float32, (16842753, 0x4B80),
             causes=("through-float32",)),
)  # fmt: skip
