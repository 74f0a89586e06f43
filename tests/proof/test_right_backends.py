"""Right backends are never accused. With a flipped bit per element they are."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from catalogue import CATALOG, CORPUS
from planted.right_backends import KINDS, Right

from convcheck.backends.protocol import Outputs
from convcheck.judge.answers import ANSWERED, Answers
from convcheck.judge.case import judge
from convcheck.judge.result import FAILURES, CaseResult
from convcheck.records import replace
from convcheck.rules.cases import cases
from convcheck.rules.model import Case
from convcheck.vectors.model import CallSet, Vectors

SPECS = (
    *(f"onnx.Cast-{n}" for n in (9, 19, 28)), "onnx.CastLike-25", "onnx.BitCast-26",
    *(f"onnx.{op}Linear-{n}" for op in ("Quantize", "Dequantize") for n in (10, 19, 21, 23, 28)),
    "onnx.DynamicQuantizeLinear-11", "onnx.Range-11", "onnx.Range-27",
    "openvino.Convert-1", "openvino.ConvertLike-1", "openvino.FakeConvert-13",
    "openvino.FakeQuantize-1", "openvino.Range-4",
)  # fmt: skip
EVERY = {"onnx.Cast": 3, "onnx.CastLike": 9, "openvino.Convert": 3, "openvino.ConvertLike": 9,
         "openvino.FakeConvert": 3, "onnx.QuantizeLinear": 2, "onnx.BitCast": 3}  # fmt: skip
FLIPPED = 8  # every eighth case


def asked(spec: str) -> Iterator[Case]:
    """Return some cases of a spec; `which` selects another third or ninth."""
    every = EVERY.get(CATALOG.specs[spec].op, 1)
    yield from list(cases(CATALOG.specs[spec]))[len(spec) % every :: every]


def answers(right: Right, vectors: Vectors) -> list[Outputs]:
    calls = vectors.calls if isinstance(vectors, CallSet) else [vectors.inputs[:1]]
    found = [right.answer(vectors.case, call) for call in calls]
    got = [one for one in found if isinstance(one, Outputs)]
    return got if len(got) == len(found) else []


def judged(vectors: Vectors, got: list[Outputs]) -> CaseResult:
    if isinstance(vectors, CallSet):
        state = np.full(len(got), ANSWERED, np.uint8)
        return judge(vectors, Answers(np.array(got, object), state, {}))
    state = np.full(len(vectors), ANSWERED, np.uint8)
    return judge(vectors, Answers(got[0].arrays[0], state, {}))


def flipped(one: Outputs) -> Outputs:
    return replace(one, arrays=(one.arrays[0] ^ 1, *one.arrays[1:]))


@pytest.mark.parametrize("name", SPECS)
def test_what_is_right_is_never_accused_and_a_flipped_bit_is(name: str) -> None:
    backends, flips, caught = [Right(kind) for kind in KINDS], set[str](), set[str]()
    for number, case in enumerate(asked(name)):
        vectors = CORPUS.vectors(case)
        for backend in backends:
            if got := answers(backend, vectors):
                found = judged(vectors, got)
                wrong = [group.kind for group in found.groups if group.verdict in FAILURES]
                assert not wrong, (backend.name, case.id, wrong)
                if number % FLIPPED == 0 and got[0].arrays[0].dtype != object:
                    verdict = judged(vectors, list(map(flipped, got))).verdict
                    flips.add(backend.name)
                    caught |= {backend.name} if verdict in FAILURES else set()
    assert {"fractions", "float64", "other NaNs and zeros"} <= caught
    assert "ties away" in caught or "ties away" not in flips
