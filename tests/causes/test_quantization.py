from functools import partial

import numpy as np
import pytest
from catalogue import CATALOG
from ml_dtypes import bfloat16
from planted.calls import by_way, given, wrong_in
from planted.causes import EVERY, answered_calls
from planted.quantize_bugs import BUGS
from planted_calls import answers_of, asked
from planted_calls import told as told_of

from convcheck.causes.search import Search, diagnose
from convcheck.judge.result import CaseDiagnosis

CASES = (
    *(
        f"onnx.QuantizeLinear-23/{name}"
        for name in (
            "float32-float32-int8/tensor", "float32-float32-uint8/tensor",
            "float32-float32-to-uint8/tensor-default",
            "float32-float32-float8e4m3fn/tensor/saturate=0",
            "float32-float32-float8e4m3fn/tensor/saturate=1",
            "float16-float16-int8/in-float32/precision=1", "float32-float32-int8/axis",
            "float32-float32-int8/axis-0/axis=0", "float32-float32-uint8/axis-last/axis=-1",
            "float32-float32-int8/blocks/block_size=3",
        )
    ),
    *(
        f"onnx.DequantizeLinear-23/{name}"
        for name in (
            "int8-float32-int8-to-float32/tensor", "uint8-float32-uint8-to-float32/tensor",
            "float8e4m3fn-float32-float8e4m3fn-to-float32/tensor",
            "int8-float32-int8-to-float32/blocks-1d/axis=0/block_size=3",
        )
    ),
)  # fmt: skip
OF_BLOCKS = [name for name in CASES if "blocks" in name]
_EVERY = 5
UNKNOWN = {
    "subnormal x taken for 0", "subnormal scale taken for 0", "infinity is 0",
    "the least number never reached", "FN for FNUZ, and the other way round",
    "e4m3 for e5m2, and the other way round", "the tail not written",
}  # fmt: skip


def told(bug, names=CASES):
    for name in names:
        calls = asked(name)
        if calls.case.op in bug.ops and wrong_in(calls, given(by_way(bug.way), calls)):
            answers = [by_way(bug.way)(calls.case, call) for call in calls.calls]
            found = diagnose(Search(EVERY, CATALOG), calls, answered_calls(answers))
            return found or CaseDiagnosis(0, 0)
    raise AssertionError(f"nothing asked here shows {bug.name}")


def test_some_planted_bugs_are_explained():
    for bug in BUGS[::_EVERY]:
        assert bool(told(bug).fits) == (bug.name not in UNKNOWN), bug.name


def test_blocks_of_a_vector_that_are_taken_for_elements_are_told():
    """Behind the last scale there are zeros. Quantising x is undefined there."""
    [bug] = [bug for bug in BUGS if bug.name == "blocks of a vector taken for an axis"]
    [name] = [name for name in CASES if "blocks-1d" in name]
    assert told(bug, [name]).fits == (("blocks-not-seen",),)


@pytest.mark.parametrize("op", ["Quantize", "Dequantize"])
def test_a_zero_point_met_by_mistake_is_told_from_a_scale_that_is(op):
    """The scale is right, so meeting both wrongly does not explain it."""
    names = {"first": "the first zero point for all", "next": "zero points one off"}
    kernel = f"onnx.{op}Linear-23/"
    for word, name in names.items():
        [bug] = [bug for bug in BUGS if bug.name == name]
        found = told(bug, [case for case in OF_BLOCKS if case.startswith(kernel)])
        back = "-back" if op == "Dequantize" else ""
        assert found.fits == ((f"zero-points{back}-meet-the-{word}",),)


FAKE = "openvino.FakeQuantize-1/{0}-{0}-{0}-{0}-{0}/{1}/levels={2}"
F32 = np.float32


def by_a_factor(levels, *limited):
    x, low, high, output_low, output_high = limited
    factor, width = F32(levels - 1) / (high - low), (output_high - output_low) / F32(levels - 1)
    place = np.maximum(np.minimum(x, high), low) * factor - low * factor
    return np.rint(place) * width + output_low


def of_any_range(levels, *limited):
    """The same with fused products and sums, subnormal x flushed to 0."""
    x, low, high, output_low, output_high = limited
    factor, shift = F32(levels - 1) / (high - low), -low * F32(levels - 1) / (high - low)
    place = fused(np.maximum(np.minimum(flushed(x), high), low), factor, shift)
    width = (output_high - output_low) / F32(levels - 1)
    return fused(np.rint(place), width, output_low)


def fused(x, factor, summand):
    return (x.astype(np.float64) * factor + summand).astype(F32)


def flushed(x):
    return np.where(np.abs(x) < F32(2.0**-126), F32(0), x)


def flushing_x_and_output(levels, x, *limits):
    low, high, *_ = limits
    kernel = by_a_factor if low < high else as_the_text_says
    return flushed(kernel(levels, flushed(x), *limits))


def with_an_offset(levels, *limited):
    """Express the output limits as an offset in levels. Empty ranges follow the text."""
    x, low, high, output_low, output_high = limited
    if low >= high:
        return as_the_text_says(levels, *limited)
    of_levels = F32(levels - 1) * output_low / (output_high - output_low)
    width = (output_high - output_low) / F32(levels - 1)
    limits = of_levels * width, (F32(levels - 1) + of_levels) * width
    return by_a_factor(levels, x, low, high, *limits)


def as_the_text_says(levels, *limited):
    x, low, high, output_low, output_high = limited
    most, least = np.maximum(low, high), np.minimum(low, high)
    level = np.rint((x - low) / (high - low) * F32(levels - 1)) / F32(levels - 1)
    inside = level * (output_high - output_low) + output_low
    found = np.where(x <= least, output_low, np.where(x > most, output_high, inside))
    return found.astype(F32)


def in_bfloat16(levels, *limited):
    """Use bfloat16 factors. Empty ranges follow the text."""
    x, low, high, output_low, output_high = limited
    if low >= high:
        return half_of_last(as_the_text_says(levels, *limited))
    exact = F32(levels - 1) / (high - low)
    width = half_of_last((output_high - output_low) / F32(levels - 1))
    place = np.maximum(np.minimum(x, high), low) * half_of_last(exact) + half_of_last(-low * exact)
    return (np.rint(place) * width + output_low).astype(bfloat16).astype(F32)


def half_of_last(x):
    """Round to bfloat16: up above the middle if the last kept bit is odd."""
    codes = np.asarray(x, F32).view(np.uint32)
    return (codes + (codes >> 16 & 1) * 0x8000 & 0xFFFF0000).astype(np.uint32).view(F32)


@pytest.mark.parametrize(("name", "kernel", "said"), [
    (FAKE.format("float32", "per-channel", 2), of_any_range,
     ("level-by-a-factor-of-any-range", "subnormal-x-is-zero")),
    (FAKE.format("float32", "tensor", 256), with_an_offset, ("level-by-a-factor-and-offset",)),
    (FAKE.format("bfloat16", "tensor", 102), in_bfloat16, ("level-by-factors-in-bfloat16",)),
    (FAKE.format("float32", "low-rank", 256) + "/auto_broadcast=numpy",
     lambda levels, *limited: flushed(as_the_text_says(levels, *limited)),
     ("subnormal-output-is-zero",)),
    (FAKE.format("float32", "tensor", 2), flushing_x_and_output,
     ("level-by-a-factor", "subnormal-x-and-output-are-zero")),
    (FAKE.format("float32", "low-rank", 2) + "/auto_broadcast=numpy",
     lambda levels, *limited: flushed(as_the_text_says(levels, *map(flushed, limited))),
     ("subnormals-are-zero",)),
])  # fmt: skip
def test_kernels_are_told(name, kernel, said):
    """An empty range makes the level NaN: the text leaves it open, and the cause says so."""
    calls = asked(name)
    levels = int(str(dict(calls.case.attributes)["levels"]))
    assert told_of(calls, partial(answers_of, partial(kernel, levels))).fits == (said,)


@pytest.mark.slow
def test_most_planted_bugs_are_explained(record_property):
    found = {bug.name: told(bug) for bug in BUGS}
    explained = {name for name, one in found.items() if one.fits}
    print(f"\n{len(explained)} of {len(found)} planted bugs of quantisation explained", end="")
    record_property("planted bugs of quantisation explained", (len(found), len(explained)))
    assert set(found) - explained == UNKNOWN
    assert len(explained) >= 0.8 * len(found)
