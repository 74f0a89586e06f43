"""Wrong conversions to and from float8e8m0."""

import numpy as np
from planted.field.bits import FLOAT32, FLOAT64, fields, split
from planted.field.bug import FieldBug


def raised(magnitude, up):
    return np.minimum((magnitude >> 23) + up, 0xFE)


def nan_kept(codes, result):
    """Return results for numbers, negative ones included, and NaN for NaN."""
    sign, magnitude = split(codes, FLOAT32)
    positive = np.where(sign == 1, 0, result)
    return np.where(magnitude > FLOAT32.top, 0xFF, positive).astype(np.uint8)


def bit_missing_in_mask(codes):
    """0x4fffff for 0x7fffff: the test for powers of two ignores two bits."""
    _, magnitude = split(codes, FLOAT32)
    up = np.where(magnitude >> 23 == 0, magnitude > 0x400000, magnitude & 0x4FFFFF > 0)
    return nan_kept(codes, raised(magnitude, up))


def up_above_the_least(codes):
    """Round up all float32 subnormals above the least result."""
    _, magnitude = split(codes, FLOAT32)
    up = np.where(magnitude >> 23 == 0, magnitude > 0x400000, magnitude & 0x400000 > 0)
    return nan_kept(codes, raised(magnitude, up))


def exponent_and_one(codes):
    """Increment the exponent field if there is a mantissa, and ignore the rest."""
    _, magnitude = split(codes, FLOAT32)
    field, mantissa = fields(magnitude, FLOAT32)
    return (field + ((mantissa > 0) & (field < 0xFF))).astype(np.uint8)


def unsigned_exponent(codes):
    sign, magnitude = split(codes, FLOAT64)
    field, mantissa = fields(magnitude, FLOAT64)
    moved = field - 1023 + 127
    small = np.where((moved == 0) & (mantissa > 0), 1, np.maximum(moved, 0))
    rounded = np.where(moved > 0, np.minimum(moved + (mantissa > 0), 0xFE), small)
    rounded = np.where((moved < 0) & (field > 0), 0xFF, rounded)
    positive = np.where(sign == 1, 0, rounded)
    return np.where(magnitude > FLOAT64.top, 0xFF, positive).astype(np.uint8)


def numbers(codes):
    """Return float32 codes of all but NaN: the exponent field, or half the least."""
    return np.where(codes == 0, 0x400000, codes.astype(np.uint32) << 23).astype(np.uint32)


BUGS = (
    FieldBug("a mask with a bit missing", "float32-to-float8e8m0/saturate=1/round_mode=up",
             "onnx/onnx/pull/7784", bit_missing_in_mask, (0x3F900000, 0x7F)),
    FieldBug("nearest is up among subnormals",
             "float32-to-float8e8m0/saturate=1/round_mode=nearest",
             "microsoft/onnxruntime/pull/28435", up_above_the_least, (0x00500000, 0x01),
             causes=("up-between-2^-127-and-2^-126",)),
    FieldBug("NaN above the largest float8e8m0", "float32-to-float8e8m0/saturate=1/round_mode=up",
             "tile-ai/tilelang-metax/pull/101", exponent_and_one, (0x7F000001, 0xFF),
             causes=("compares-x-nan", "rounds-the-exponent-field")),
    FieldBug("NaN for small float64", "float64-to-float8e8m0/saturate=1/round_mode=up",
             "ROCm/rocm-systems/pull/2461", unsigned_exponent, (0x01A56E1FC2F8F359, 0xFF),
             causes=("exponent-wraps-to-nan",)),
    FieldBug("NaN of float8e8m0 to infinity", "float8e8m0-to-float32",
             "llvm/llvm-project/pull/214919", numbers, (0xFF, 0x7F800000), causes=("nan-is-+inf",)),
    FieldBug("NaN of float8e8m0 to its own code", "float8e8m0-to-float32",
             "ROCm/composable_kernel/pull/2640",
             lambda codes: np.where(codes == 0xFF, np.uint32(0x4EFF0000), numbers(codes)),
             (0xFF, 0x4EFF0000)),
)  # fmt: skip
