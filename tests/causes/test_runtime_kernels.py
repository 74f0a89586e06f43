"""Kernels written after the source of OpenVINO's CPU plugin: each gets its own cause."""

from functools import partial

import numpy as np
import pytest
from ml_dtypes import bfloat16, float8_e4m3fn, float8_e5m2
from planted_calls import answers_of, asked, told

F32 = np.float32


def either_way(start, stop, step):
    count = int(np.ceil(np.abs(stop - start) / np.abs(step)))
    return np.cumsum([start, *[step] * (count - 1)], dtype=F32)[:count]


def within(least, most, mask=255):
    """Round to even, clamp, and keep some low bits."""
    return lambda x: np.clip(np.rint(x), least, most).astype(np.int64).astype(np.uint8) & mask


def through_float16(kind):
    return lambda x: x.astype(np.float16).astype(kind).view(np.uint8)


@pytest.mark.parametrize(("output", "convert", "said"), [
    ("int8", within(-128, 127), "float32-either-way-to-int8"),
    ("int4", within(-128, 127, 15), "float32-either-way-to-int8"),
    ("uint8", within(0, 255), "float32-either-way-to-uint8"),
    ("uint4", within(0, 255, 15), "float32-either-way-to-uint8"),
    ("float8e4m3fn", through_float16(float8_e4m3fn), "float32-either-way-through-float16"),
    ("float8e5m2", through_float16(float8_e5m2), "float32-either-way-through-float16"),
])  # fmt: skip
def test_a_range_in_float32(output, convert, said):
    name = f"openvino.Range-4/float32-float32-float32-to-{output}"
    kernel = partial(answers_of, lambda *limits: convert(either_way(*limits)))
    assert told(asked(name), kernel).fits == ((said,),)


def in_bfloat16(x):
    """Round as VCVTNEPS2BF16 does: subnormal numbers become zero."""
    normal = np.where(np.abs(x) < F32(2.0**-126), np.copysign(F32(0), x), x)
    return normal.astype(bfloat16).astype(F32)


def emulated(moved):
    return in_bfloat16(moved).astype(np.float16).astype(float8_e4m3fn).astype(F32)


def of_bfloat16(x):
    return in_bfloat16(x).astype(bfloat16).view(np.uint16)


def with_shift(data, scale, shift):
    back = emulated(data * scale - shift) + in_bfloat16(shift)
    return of_bfloat16(back * in_bfloat16(F32(1) / scale))


@pytest.mark.parametrize(("layout", "kernel", "said"), [
    ("bfloat16-bfloat16-bfloat16/per-tensor-shift", with_shift,
     "reciprocal-as-bfloat16-through-float16"),
    ("bfloat16-bfloat16/scalar-to-vector",
     lambda x, scale: of_bfloat16(emulated(x * scale) * in_bfloat16(F32(1) / scale)),
     "reciprocal-as-bfloat16-through-float16"),
    ("bfloat16-bfloat16/per-tensor",
     lambda x, scale: of_bfloat16(emulated(x * scale) * (F32(1) / scale)),
     "reciprocal-through-float16-flushed"),
])  # fmt: skip
def test_a_reciprocal_in_bfloat16(layout, kernel, said):
    name = f"openvino.FakeConvert-13/{layout}/destination_type=f8e4m3"
    assert told(asked(name), partial(answers_of, kernel)).fits == ((said,),)
