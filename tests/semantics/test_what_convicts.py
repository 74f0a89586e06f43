import numpy as np
import pytest
from catalogue import CATALOG

from convcheck.backends.protocol import Outputs
from convcheck.judge.answers import ANSWERED, Answers
from convcheck.judge.calls import judge
from convcheck.numerics.words import code_of
from convcheck.plan.select import cases_of_tier
from convcheck.rules.body.steps import Steps
from convcheck.rules.find import find_case
from convcheck.semantics.body.steps import AGREE
from convcheck.semantics.expected import ANY_NAN
from convcheck.vectors.generate import call_set, expecting, vector_set

TO_E4M3 = "onnx.QuantizeLinear-23/float32-float32-float8e4m3fn/tensor"
TO_FLOAT4 = "onnx.QuantizeLinear-23/float32-float32-float4e2m1/tensor"
TO_FLOAT6 = "onnx.QuantizeLinear-28/float32-float32-float6e2m3/tensor"
TO_INT8 = "onnx.QuantizeLinear-23/float32-float32-int8/tensor"
FAKE = "openvino.FakeConvert-13/float32-float32/per-tensor/destination_type=f8e4m3"
CAST, FORMULA = "ONNX operators, Cast - 19", "ONNX operators, QuantizeLinear - 23"
# the case, x, one wrong code each; the row, the level and the document shown
ONE_ELEMENT = (
    (f"{TO_E4M3}/saturate=0", "4500", 0x7E, "not-saturating / [x] > max", "normative", CAST),
    (f"{TO_E4M3}/saturate=0", "inf", 0x7E, "not-saturating / +inf", "normative", CAST),
    (f"{TO_E4M3}/saturate=1", "4500", 0x7F, "saturating / [x] > max", "normative", CAST),
    (f"{TO_E4M3}/saturate=1", "1.03", 0x39, "saturating / else", "normative", CAST),
    (f"{TO_E4M3}/saturate=1", "2", 0x41, "steps / nothing rounded", "normative", FORMULA),
    (TO_FLOAT4, "45", 0x0, "to-float4 / x > max", "implied",
     "ONNX technical details, Float stored in 4 bits"),
    (TO_FLOAT4, "-inf", 0x0, "to-float4 / -inf", "implied",
     "ONNX technical details, Float stored in 4 bits"),
    (TO_FLOAT6, "1.01", 0x0, "to-float6 / else", "implied",
     "ONNX technical details, Float stored in 6 bits"),
    (TO_INT8, "500", 0x80, "saturate / [x] > max", "normative", FORMULA),
    (TO_INT8, "2.5", 0x03, "steps / nothing rounded", "normative", FORMULA),
    (FAKE, "1.03", 0x3F900000, "to-float8 / else", "implied", "IEEE 754-2019, 4.3.1"),
    (FAKE, "2", 0x3F800000, "steps / nothing rounded", "normative",
     "OpenVINO operation sets, FakeConvert-13"),
)  # fmt: skip


def wrong(name, x, wrongly):
    """Return the group of a tensor of scale 1 with some codes replaced."""
    case = find_case(CATALOG, name, None, None, ())
    fmt, scale, *zero = (dtype.format for dtype in case.inputs)
    data = np.array([code_of(fmt, word)[0] for word in x], fmt.storage)
    one = np.array(code_of(scale, "1")[0], scale.storage).reshape((1,) * case.ranks[1])
    call = (data, one, *(np.array(0, each.storage) for each in zero))
    calls = expecting(CATALOG.specs[case.spec], case, [call], "sampled")
    got = calls.expected[0].readings[0].outputs[0].answer.copy()
    for at, code in wrongly.items():
        got[at] = code
    answered = Outputs((got,), (case.outputs[0].name,))
    found = judge(calls, Answers(np.array([answered]), np.array([ANSWERED], np.uint8), {}))
    [group] = found.groups
    return group


@pytest.mark.parametrize(("case", "x", "code", "row", "level", "document"), ONE_ELEMENT)
def test_an_element_is_judged_by_the_row_that_decided_it(case, x, code, row, level, document):
    for group in (wrong(case, [x], {0: code}), wrong(case, ["0.5", x, "0.01"], {1: code})):
        assert (group.verdict, group.decision.name) == ("fail", row)
        assert (group.decision.level, group.decision.source) == (level, document)
        assert (group.count, group.of) == (1, 1)


def test_of_several_wrong_elements_the_firmest_row_convicts():
    group = wrong(TO_FLOAT4, ["0.5", "45", "1"], {1: 0, 2: 0})
    assert (group.decision.name, group.decision.level) == ("steps / nothing rounded", "normative")
    [example] = group.examples
    assert (example.difference, example.wrong) == ((0, 2), 2)


CONVERTING = [
    spec for spec in CATALOG.specs.values()
    if isinstance(spec.body, Steps) and any(line.be is None for line in spec.body.lines)
]  # fmt: skip


@pytest.mark.parametrize("spec", CONVERTING, ids=lambda spec: spec.id)
def test_no_element_of_a_conversion_rests_on_the_formula_alone(spec):
    assert isinstance(spec.body, Steps)
    outputs = [spec.body.lines[-1].name, *spec.body.others]
    first = next(line.name for line in spec.body.lines if line.be is None)
    order = [line.name for line in spec.body.lines]
    after = [i for i, name in enumerate(outputs) if order.index(name) >= order.index(first)]
    for case in list(cases_of_tier(spec))[::11]:
        if case.fixed:
            assert AGREE not in vector_set(spec, case, "edge").expected.rows
            continue
        for due in call_set(spec, case, "edge").expected:
            for i in after if due.readings[0].outputs else []:
                assert AGREE not in (due.rows[i] if due.rows else [due.row])


def test_elements_asked_one_by_one_are_judged_likewise():
    spec = CATALOG.specs["onnx.QuantizeLinear-19"]
    case = next(one for one in cases_of_tier(spec) if one.fixed
                and one.outputs[0].name == "float8e4m3fn" and "saturate=0" in one.id)  # fmt: skip
    vectors = vector_set(spec, case, "edge")
    [due, *_] = vectors.expected.readings
    got = np.where(due.patterns == ANY_NAN, 0x7E, due.codes).astype(np.uint8)
    result = judge(vectors, Answers(got, np.full(len(got), ANSWERED, np.uint8), {}))
    failing = {g.decision.name: g.decision.source for g in result.groups if g.verdict == "fail"}
    rows = ("nan", "+inf", "-inf", "[x] > max", "[x] < -max")
    assert failing == {f"not-saturating / {row}": CAST for row in rows}
