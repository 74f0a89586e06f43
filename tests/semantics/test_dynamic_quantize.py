import numpy as np
import pytest
from catalogue import CATALOG, calls_asked
from oracle.quantize import quantize_dynamically
from planted.calls import wrong_in
from planted.dynamic_bugs import BUGS, Dynamic, adjusted

from convcheck.backends.protocol import Outputs
from convcheck.causes.catalogue import causes_of
from convcheck.causes.search import Search, diagnose
from convcheck.judge.answers import ANSWERED, Answers
from convcheck.rules.cases import cases
from convcheck.rules.load import load
from convcheck.semantics.body.steps import compile_steps
from convcheck.semantics.expected import UNDEFINED
from specs import slip, write_spec

SPEC = CATALOG.specs["onnx.DynamicQuantizeLinear-11"]
CASES = list(cases(SPEC))


def told(expected):
    if expected.readings[0].pattern == UNDEFINED:
        return None
    found = set()
    for reading in expected.readings:
        y, scale, zero = (each.codes.tolist() for each in reading.outputs)
        found.add((tuple(y), scale[0], zero[0]))
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.layout)
def test_the_edge_calls_against_the_oracle(case):
    calls = calls_asked(case)
    for call, expected in zip(calls.calls, calls.expected, strict=True):
        assert told(expected) == quantize_dynamically(call[0].reshape(-1).tolist())
    assert sum(told(one) is not None for one in calls.expected) > len(calls.expected) // 2


def test_any_tensors_against_the_oracle():
    rng = np.random.default_rng(0)
    made = []
    for _ in range(100):
        size, power = rng.integers(1, 9), float(rng.integers(-40, 40))
        x = rng.uniform(-1, 1, size) * 2.0 ** (power + rng.integers(-6, 6, size))
        made.append((x.astype(np.float32).view(np.uint32),))
    compiled = compile_steps(SPEC, CASES[0])
    found = compiled.expect_all(made)
    differing = 0
    for (x,), expected in zip(made, found, strict=True):
        due = told(expected)
        assert due == quantize_dynamically(x.tolist())
        assert due == told(compiled.expect([x]))
        differing += due is not None and len(due) > 1
    assert differing > 10


@pytest.mark.parametrize("words", [["0", "-0"], ["nan", "1"], ["inf"], [], ["0", "1e-45"]])
def test_what_is_left_open(words):
    x = np.array([float(word) for word in words], np.float32).view(np.uint32)
    expected = compile_steps(SPEC, CASES[0]).expect([x])
    assert (told(expected), quantize_dynamically(x.tolist())) == (None, None)


def caught(bug, case):
    calls, names = calls_asked(case), tuple(t.name for t in case.outputs)
    return wrong_in(
        calls, [Outputs(bug.answer(x), names) if x.size else None for (x,) in calls.calls]
    )


def test_what_is_right_passes():
    assert not any(caught(Dynamic("right"), case) for case in CASES)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_each_bug_is_caught_by_two_calls(bug):
    assert caught(bug, CASES[0]) >= 2


def by_reciprocals(x):
    values = x.view(np.float32)
    low, high = adjusted(values.reshape(-1))
    with np.errstate(all="ignore"):
        across = np.float32(high - low)
        scale = across * (np.float32(1) / np.float32(255))
        zero = np.rint(np.clip(np.float32(0) - low / scale, 0, 255))
        y = np.rint(values * np.float32(255) * (np.float32(1) / across)) + zero
        codes = (np.nan_to_num(np.clip(one, 0, 255)).astype(np.uint8) for one in (y, zero))
    y_codes, zero_code = codes
    return y_codes, np.array(scale).view(np.uint32), np.asarray(zero_code)


def test_what_gives_every_output_is_the_cause_and_one_other_code_refutes_it():
    calls, causes = calls_asked(CASES[0]), tuple(causes_of(CATALOG))
    [cause] = [cause for cause in causes if cause.name == "range-by-reciprocals"]
    names = tuple(t.name for t in CASES[0].outputs)
    given = [by_reciprocals(x) if x.size else (x.astype(np.uint8),) * 3 for (x,) in calls.calls]
    state = np.full(len(given), ANSWERED, np.uint8)
    got = tuple(Outputs(one, names) for one in given)
    found = diagnose(Search(causes, CATALOG), calls, Answers(np.array(got), state, {}))
    assert found is not None
    assert found.fits == ((cause.name,),)
    y, scale, zero = given[0]
    for changed in ((y ^ np.uint8(1), scale, zero), (y, scale ^ np.uint32(1), zero)):
        answers = Answers(np.array([Outputs(changed, names), *got[1:]]), state, {})
        found = diagnose(Search((cause,), CATALOG), calls, answers)
        assert found is not None
        assert found.fits == ()


LINES = """
op: mine.Scaled
version: 1
sources: {text: {title: T, section: S, url: "https://example.org"}}
inputs: {x: T}
outputs: {y: T, other: T}
shape: {cite: "the shape"}
types: {T: [float32]}
layouts: {only: {x: [n]}}
steps:
  level: normative
  agreed: normative
  cite: "a sentence"
  lines:
    - {let: other, be: "OTHER"}
    - {let: y, be: x / other}
  readings: [{name: one, cite: "a sentence"}]
  zero: signed
  not-finite: exact
  ends: [["-1", "2"]]
"""


def test_an_output_of_one_element_is_the_same_for_all(tmp_path):
    write_spec(tmp_path, LINES.replace("OTHER", "largest(x) - smallest(x)"))
    spec = load([tmp_path]).specs["mine.Scaled-1"]
    x = np.array([-1, 0.5, 3], np.float32).view(np.uint32)
    [reading] = compile_steps(spec, next(cases(spec))).expect([x]).readings
    y, other = (each.codes.view(np.float32).tolist() for each in reading.outputs)
    assert (y, other) == ([-0.25, 0.125, 0.75], [4])
    assert [each.shape for each in reading.outputs] == [(3,), ()]
    write_spec(tmp_path, LINES.replace("OTHER", "x + largest(x)"))
    assert "no line that is the same for all elements" in slip(tmp_path).message
