"""Kernels with publicly reported faults: each is explained by its cause."""

from functools import partial

import numpy as np
import pytest
from catalogue import CATALOG, CORPUS
from ml_dtypes import bfloat16, float8_e4m3fn, float8_e5m2
from planted.causes import answered_calls, answering
from planted.float19 import UE5M3, WIDEN, in_folder
from planted_calls import answers_of, asked, told

from convcheck.backends.protocol import Outputs
from convcheck.causes.catalogue import causes_of
from convcheck.causes.search import Search, diagnose
from convcheck.numerics.words import DECIMAL, SPECIAL
from convcheck.rules.find import find_case
from convcheck.rules.load import load
from convcheck.vectors.corpus import Corpus
from convcheck.vectors.generate import expecting

F32 = np.float32


def halved(codes):
    """golang/go#48807: x >> 1 without the lost bit, as a signed integer, doubled."""
    large = codes >= 2**63
    low = np.where(large, codes >> np.uint64(1), codes).view(np.int64).astype(F32)
    return np.where(large, low * F32(2), low).astype(F32).view(np.uint32)


def below_the_bound(codes):
    """Clamp to 2147483520, the largest float32 below 2^31."""
    with np.errstate(invalid="ignore"):
        x = codes.view(F32).astype(np.float64)
    limited = np.clip(np.where(np.isnan(x), 0, x), -(2.0**31), 2147483520)
    return np.rint(limited).astype(np.int32).view(np.uint32)


def of_ieee(codes):
    """Read float8e4m3fn as if 0x78 to 0x7f were infinity and NaNs."""
    exponent, mantissa = (codes >> 3) & 15, codes & 7
    x = np.where(exponent, (8 + mantissa) * 2.0 ** (exponent - 10.0), mantissa * 2.0**-9)
    x = np.where(exponent == 15, np.where(mantissa, np.nan, np.inf), x)
    return np.where(codes & 0x80, -x, x).astype(F32).view(np.uint32)


def in_two_factors(texts):
    """Multiply an integer by a power of ten, both float64."""

    def read(text):
        found = DECIMAL.fullmatch(text)
        if not found or not (found[2] or found[3]):
            return float(text) if SPECIAL.fullmatch(text) else 0.0
        digits, power = found[2] + (found[3] or ""), int(found[4] or 0) - len(found[3] or "")
        x = float(int(digits)) * float(f"1e{power}")
        return -x if found[1] == "-" else x

    return np.array([read(str(text)) for text in texts]).view(np.uint64)


def compares_codes(codes):
    """onnxruntime: a float8 is true unless its code is 0."""
    return (codes != 0).astype(np.uint8)


ELEMENTS = [
    ("onnx.Cast-21/uint64-to-float32", halved, "halves-without-the-lost-bit"),
    ("onnx.Cast-21/bool-to-int32",
     lambda codes: np.where(codes != 0, 0x3F800000, 0).astype(np.uint32),
     "true-is-the-bits-of-1.0"),
    ("pypto.cast-0.2/float32-to-int32/mode=CAST_RINT/satmode=ON", below_the_bound,
     "clamps-to-float32-within-int32-nearest-even"),
    ("onnx.Cast-21/float8e4m3fn-to-float32", of_ieee,
     "reads-the-largest-exponent-as-infinity-and-nan"),
    ("onnx.Cast-21/string-to-float64", in_two_factors, "integer-times-power-of-ten"),
    ("onnx.Cast-24/float8e8m0-to-bool", compares_codes, "compares-the-code-as-uint8"),
    ("onnx.Cast-19/float8e4m3fn-to-bool", compares_codes, "compares-the-code-as-uint8"),
]  # fmt: skip


def fits(catalog, corpus, name, convert):
    vectors = corpus.vectors(find_case(catalog, name, None, None, ()))
    answers = answering(vectors, convert(vectors.inputs[0]))
    found = diagnose(Search(causes_of(catalog), catalog), vectors, answers, convert)
    assert found is not None
    return found.fits


@pytest.mark.parametrize(("name", "convert", "cause"), ELEMENTS)
def test_a_kernel_of_values(name, convert, cause):
    assert (cause,) in fits(CATALOG, CORPUS, name, convert)


def test_a_type_of_ones_own_whose_largest_exponent_is_read_as_special(tmp_path):
    """NVIDIA/cutlass#3602: 0xf8 is 65536, not infinity."""
    catalog = load([in_folder(tmp_path, UE5M3, WIDEN)])

    def special(codes):
        exponent, mantissa = codes >> 3, codes & 7
        x = np.where(exponent, (8 + mantissa) * 2.0 ** (exponent - 18.0), mantissa * 2.0**-17)
        x = np.where(exponent == 31, np.where(mantissa, np.nan, np.inf), x)
        return x.astype(F32).view(np.uint32)

    corpus = Corpus(catalog, "edge", 0, ())
    found = fits(catalog, corpus, "acme.Convert-1/ue5m3-to-float32", special)
    assert ("reads-the-largest-exponent-as-infinity-and-nan",) in found


def of_calls(calls, kernel):
    def answers(some):
        with np.errstate(all="ignore"):
            given = (np.asarray(kernel(*call)) for call in some.calls)
            return answered_calls([Outputs((g,), (calls.case.outputs[0].name,)) for g in given])

    found = told(calls, answers)
    assert found.beside
    return list(found.fits)


def step_unsigned(start, stop, step):
    first, last, by = (each.reshape(1).view(np.int64).item() for each in (start, stop, step))
    count = max(-(-(last - first) // (by % 2**64)), 0) if by else 0
    return np.array([(first + i * by) % 2**64 for i in range(count)], np.uint64)


def scale_is_a_power_of_two(x, scale, zero):
    power = 2.0 ** np.floor(np.log2(scale.view(F32).astype(np.float64)))
    quotient = np.rint(x.view(F32).astype(np.float64) / power) + zero.view(np.int8)
    clipped = np.clip(np.where(np.isnan(quotient), 0, quotient), -128, 127)
    return clipped.astype(np.int8).view(np.uint8)


def infinity_is_the_least(x, *limits):
    data = x.view(F32).astype(np.float64)
    low, high, least, most = (each.view(F32).astype(np.float64) for each in limits)
    place = np.rint((data - low) / (high - low) * 255)
    fits = np.abs(place) < 2.0**63
    level = np.clip(np.where(fits, place, -(2.0**63)), 0, 255) / 255 * (most - least) + least
    plain = np.where(data > np.maximum(low, high), most, place / 255 * (most - least) + least)
    plain = np.where(data <= np.minimum(low, high), least, plain)
    return np.where(low < high, level, plain).astype(F32).view(np.uint32)


@pytest.mark.parametrize(("name", "kernel", "cause"), [
    ("onnx.Range-11/int64-int64-int64", step_unsigned, "step-as-uint64"),
    ("onnx.QuantizeLinear-23/float32-float32-int8/tensor", scale_is_a_power_of_two,
     "quantises-by-a-power-of-two"),
    ("openvino.FakeQuantize-1/float32-float32-float32-float32-float32/tensor/levels=256",
     infinity_is_the_least, "level-through-int64-least"),
])  # fmt: skip
def test_a_kernel_of_calls(name, kernel, cause):
    assert (cause,) in of_calls(asked(name), kernel)


def test_runs_of_16_from_a_rounded_base_are_told():
    """torch's arange in bfloat16: 258 is 256 + 1, rounded to 256."""
    calls = asked("onnx.Range-27/bfloat16-bfloat16-bfloat16/stash_type=1")
    lists = [(241, 274, 1), (1, 30, 1), (274, 241, -1), (100, 140, 1.5), (250, 290, 1)]
    made = [
        tuple(np.array(n, bfloat16).reshape(1).view(np.uint16).reshape(()) for n in one)
        for one in lists
    ]
    calls = expecting(CATALOG.specs["onnx.Range-27"], calls.case, made, "edge")

    def runs(*call):
        start, stop, step = (float(each.reshape(1).view(bfloat16)[0]) for each in call)
        count = max(int(np.ceil((stop - start) / step)), 0)
        bases = [float(np.array(start + i // 16 * 16 * step, bfloat16)) for i in range(count)]
        some = [base + i % 16 * step for i, base in enumerate(bases)]
        return np.array(some, bfloat16).view(np.uint16)

    assert ("base-of-16-rounded-to-bfloat16",) in of_calls(calls, runs)


# Kernels written after the source of OpenVINO's CPU plugin.


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
