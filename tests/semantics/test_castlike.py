from functools import cache

import numpy as np
import pytest
from catalogue import CATALOG

from convcheck.ask.elements import ask, inputs_at
from convcheck.backends.onnx.runtime import OnnxRuntime
from convcheck.backends.protocol import Outputs
from convcheck.backends.reference import Reference
from convcheck.judge.calls import judge
from convcheck.judge.result import FAILURES
from convcheck.numerics.format import Bool
from convcheck.rules.cases import cases
from convcheck.semantics.evaluate import evaluate
from convcheck.semantics.expected import EXACT, PATTERNS, REFUSED
from convcheck.vectors.generate import vector_set

VERSIONS = (15, 19, 21, 23, 24, 25)
CAST = {15: 13, 19: 19, 21: 21, 23: 23, 24: 24, 25: 25}
SPEC = CATALOG.specs["onnx.CastLike-19"]
ASKED = ("float32-int8", "float32-float8e4m3fn/saturate=0", "int8-float32", "string-float16",
         "float16-string", "uint8-bool", "float16-float16")  # fmt: skip


@cache
def vectors(name):
    [case] = [c for c in cases(SPEC) if c.name == name]
    return vector_set(SPEC, case, "edge")


class Recording(Reference):
    def __init__(self):
        super().__init__(CATALOG)
        self.calls = []

    def answer(self, case, inputs):
        self.calls.append(list(inputs))
        return super().answer(case, inputs)


def asked(backend, name):
    one = vectors(name)
    return judge(one, ask(backend, one, lambda placement, index: None, {}))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_case_for_each_of_cast(version):
    spec = CATALOG.specs[f"onnx.CastLike-{version}"]
    of_cast = CATALOG.specs[f"onnx.Cast-{CAST[version]}"]
    assert spec.extends == of_cast.id
    told = (case for case in cases(of_cast) if case.attribute("to") is None)
    pairs = list(zip(cases(spec), told, strict=True))
    assert len(pairs) > 100
    for like, plain in pairs:
        assert like.inputs == (*plain.inputs, *plain.outputs)
        assert (like.outputs, like.attributes, like.refusal) == (
            plain.outputs, plain.attributes, plain.refusal,
        )  # fmt: skip
        assert like.sources == plain.inputs
        assert like.carried == (), "the type comes by the second input, by no attribute"
        assert like.name == plain.name.replace("-to-", "-", 1)


@pytest.mark.parametrize("name", ASKED)
def test_what_is_expected_is_what_is_expected_of_cast(name):
    of_cast = CATALOG.specs["onnx.Cast-19"]
    [plain] = [c for c in cases(of_cast) if c.name.replace("-to-", "-", 1) == name]
    like, other = vectors(name), vector_set(of_cast, plain, "edge")
    assert np.array_equal(like.inputs[0], other.inputs[0])
    assert len(like.inputs) == 1
    for one, two in zip(like.expected.readings, other.expected.readings, strict=True):
        assert np.array_equal(one.codes, two.codes)
        assert np.array_equal(one.patterns, two.patterns)


@pytest.mark.parametrize("version", [24, 25])
@pytest.mark.parametrize(("values", "x", "due"), [
    ("saturate=1/round_mode=down", 1.25, {0x7F, 0x80}),
    ("saturate=1/round_mode=nearest", 1.25, {0x7F, 0x80}),
    ("saturate=1/round_mode=nearest", 1.5, {0x80}),
    ("saturate=1/round_mode=up", 1.25, {0x80}),
    ("saturate=0/round_mode=down", 1.25, {0x7F, 0x80}),
    ("saturate=0/round_mode=nearest", np.inf, {"nan", "undefined"}),
    ("saturate=1/round_mode=nearest", np.inf, {"undefined", 0xFE}),
])  # fmt: skip
def test_the_function_body_drops_round_mode(version, values, x, due):
    spec = CATALOG.specs[f"onnx.CastLike-{version}"]
    [case] = [c for c in cases(spec) if c.name == f"float32-float8e8m0/{values}"]
    found = evaluate(spec, case, np.array([x], np.float32).view(np.uint32)).readings
    assert due == {
        int(r.codes[0]) if r.patterns[0] == EXACT else PATTERNS[r.patterns[0]] for r in found
    }


@pytest.mark.parametrize("name", ASKED)
def test_the_second_input_varies_and_is_of_the_type(name):
    backend = Recording()
    result = asked(backend, name)
    assert result.verdict not in FAILURES
    [source, target] = vectors(name).case.inputs
    shapes, values = set(), set()
    for first, second in backend.calls:
        assert first.dtype == source.format.storage
        assert second.dtype == target.format.storage
        shapes.add(second.shape)
        values |= set(second.reshape(-1).tolist())
    assert len(shapes) >= 5
    assert len(values) > (1 if isinstance(target.format, Bool) else 3)
    assert any(a.shape != b.shape for a, b in backend.calls)


def test_a_replay_after_a_crash_asks_the_same():
    one = vectors("float32-float8e4m3fn/saturate=0")
    notes = []
    backend = Recording()
    ask(backend, one, lambda placement, index: notes.append(index.copy()), {})
    for index, inputs in zip(notes, backend.calls, strict=True):
        again = inputs_at(one, index)
        assert all(np.array_equal(a, b) for a, b in zip(inputs, again, strict=True))


def broadcasts(case, right, inputs):
    try:
        shape = np.broadcast_shapes(*(bits.shape for bits in inputs))
    except ValueError:
        return right
    wide = np.broadcast_to(right.arrays[0], shape)
    return Outputs((wide,), right.types)


def takes_its_shape(case, right, inputs):
    if inputs[0].size != inputs[1].size:
        return right
    return Outputs((right.arrays[0].reshape(inputs[1].shape),), right.types)


def copies_its_value(case, right, inputs):
    if not (inputs[0].size and inputs[1].size):
        return right
    codes = right.arrays[0].copy()
    codes.reshape(-1)[0] = inputs[1].reshape(-1)[0]
    return Outputs((codes,), right.types)


def empty_like_empty(case, right, inputs):
    return right if inputs[1].size else Outputs((right.arrays[0].reshape(-1)[:0],), right.types)


def type_of_the_first(case, right, inputs):
    return Outputs((inputs[0],), (case.inputs[0].name,))


def always_float32(case, right, inputs):
    return Outputs((np.zeros(inputs[0].shape, np.uint32),), ("float32",))


BUGS = (
    broadcasts, takes_its_shape, copies_its_value, empty_like_empty, type_of_the_first,
    always_float32,
)  # fmt: skip
HARMLESS = {("type_of_the_first", "float16-float16")}


class Planted(Recording):
    def __init__(self, bug):
        super().__init__()
        self.bug = bug

    def answer(self, case, inputs):
        right = super().answer(case, inputs)
        return self.bug(case, right, inputs) if isinstance(right, Outputs) else right


def test_a_planted_bug_is_caught(record_property):
    pairs = [(b, n) for b in BUGS for n in ASKED if (b.__name__, n) not in HARMLESS]
    missed = [(b.__name__, n) for b, n in pairs if asked(Planted(b), n).verdict not in FAILURES]
    record_property("planted (onnx.CastLike)", (len(pairs), len(pairs) - len(missed)))
    assert not missed


@pytest.mark.parametrize("name", ASKED)
def test_onnxruntime_does_as_with_cast(name):
    of_cast = CATALOG.specs["onnx.Cast-19"]
    [plain] = [c for c in cases(of_cast) if c.name.replace("-to-", "-", 1) == name]
    other = vector_set(of_cast, plain, "edge")
    like = asked(OnnxRuntime(), name)
    result = judge(other, ask(OnnxRuntime(), other, lambda placement, index: None, {}))
    assert (like.verdict, like.checked) == (result.verdict, result.checked)
    assert [(g.decision.name, g.verdict, g.kind, g.count) for g in like.groups] == [
        (g.decision.name, g.verdict, g.kind, g.count) for g in result.groups
    ]
    assert all((r.patterns != REFUSED).any() for r in other.expected.readings)
