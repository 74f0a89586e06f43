"""What some reading allows is never accused, however it uses its freedom. A flipped bit is.

That readings are right, is for the tests against the oracle.
"""

import numpy as np
import pytest
from catalogue import CATALOG, CORPUS
from planted.causes import answered_calls, answering

from convcheck.backends.protocol import Outputs
from convcheck.judge.calls import judge
from convcheck.judge.result import FAILURES
from convcheck.numerics.format import Float, Text
from convcheck.rules.cases import cases
from convcheck.semantics.expected import ANY_NAN, ANY_ZERO, EXACT, NEGATIVE_NAN, REFUSED, UNDEFINED
from convcheck.vectors.model import CallSet

SPECS = (
    *(f"onnx.Cast-{n}" for n in (9, 19, 28)), "onnx.CastLike-25", "onnx.BitCast-26",
    *(f"onnx.{op}Linear-{n}" for op in ("Quantize", "Dequantize") for n in (10, 19, 21, 23, 28)),
    "onnx.DynamicQuantizeLinear-11", "onnx.Range-11", "onnx.Range-27",
    "openvino.Convert-1", "openvino.ConvertLike-1", "openvino.FakeConvert-13",
    "openvino.FakeQuantize-1", "openvino.Range-4", "pypto.cast-0.2",
)  # fmt: skip
EVERY = {"onnx.Cast": 3, "onnx.CastLike": 9, "openvino.Convert": 3, "openvino.ConvertLike": 9,
         "openvino.FakeConvert": 3, "onnx.QuantizeLinear": 2, "onnx.BitCast": 3,
         "pypto.cast": 9, "openvino.Range": 3, "openvino.FakeQuantize": 2}  # fmt: skip


def free(fmt, codes, patterns, *, other):
    """Return codes that meet the patterns: the usual NaN and zero, or other ones."""
    sign = fmt.sign_bit if isinstance(fmt, Float) else 0
    found = np.where(patterns == UNDEFINED, other, codes)
    if isinstance(fmt, Float) and fmt.nan != "none":
        nan = fmt.nan_code
        if other and fmt.nan != "sign-only":
            nan = sign | (fmt.infinity_code + 1 if fmt.infinity else fmt.nan_code)
        found = np.where(patterns == ANY_NAN, nan, found)
        found = np.where(patterns == NEGATIVE_NAN, fmt.nan_code | sign, found)
    if isinstance(fmt, Float):
        found = np.where(patterns == ANY_ZERO, sign * (other and fmt.negative_zero), found)
    return found.astype(codes.dtype)


def answers(vectors, reading, flip, *, other):
    """Answer as a reading says, the last one if there are fewer."""

    def shaped(due):
        codes = free(due.dtype.format, due.codes, due.patterns, other=other)
        return codes.reshape(due.shape) ^ codes.dtype.type(flip)

    if not isinstance(vectors, CallSet):
        held = vectors.expected.readings
        one = held[min(reading, len(held) - 1)]
        fmt = vectors.case.outputs[0].format
        codes = free(fmt, one.codes, one.patterns, other=other)
        return answering(vectors, codes ^ codes.dtype.type(flip))
    given = []
    for call in vectors.expected:
        chosen = call.readings[min(reading, len(call.readings) - 1)]
        types = tuple(due.dtype.name for due in chosen.outputs)
        outputs = Outputs(tuple(map(shaped, chosen.outputs)), types)
        given.append(outputs if chosen.pattern == EXACT else None)
    return answered_calls(given)


def readings_of(vectors):
    if isinstance(vectors, CallSet):
        return max(len(call.readings) for call in vectors.expected)
    return len(vectors.expected.readings)


@pytest.mark.parametrize("name", SPECS)
def test_what_is_right_is_never_accused_and_a_flipped_bit_is(name):
    caught, turn = 0, 0
    every = EVERY.get(CATALOG.specs[name].op, 1)
    for case in list(cases(CATALOG.specs[name]))[len(name) % every :: every]:
        vectors = CORPUS.vectors(case)
        if any(isinstance(t.format, Text) for t in case.outputs):
            continue
        if (
            not isinstance(vectors, CallSet)
            and (vectors.expected.readings[0].patterns == REFUSED).any()
        ):
            continue
        for reading in range(readings_of(vectors)):
            turn += 1
            found = judge(vectors, answers(vectors, reading, 0, other=turn % 2 > 0))
            wrong = [group.kind for group in found.groups if group.verdict in FAILURES]
            assert not wrong, (case.id, reading, turn % 2, wrong)
        flipped = judge(vectors, answers(vectors, 0, 1, other=False))
        caught += flipped.verdict in FAILURES
    assert caught
