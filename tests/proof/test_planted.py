"""The edge vectors catch every cause that can be observed.

The judge and the independent oracle count its errors. test_field has independent bugs.
"""

from functools import cache

import numpy as np
import pytest
from catalogue import CATALOG, compiled
from planted.causes import OF_VALUES, case_of, caused, decides, may_show, vectors_of
from planted.field.caught import demanded, refuted
from planted.proof import all_cases, edge, most_cases, rich_inputs

from convcheck.causes.score import AskedInputs
from convcheck.judge.answers import ANSWERED
from convcheck.judge.calls import judge
from convcheck.judge.matching import matching
from convcheck.judge.result import FAILURES
from convcheck.numerics.format import Float, Text
from convcheck.rules.cases import cases
from convcheck.semantics.answers_at import run_program
from convcheck.semantics.expected import EXACT

HAVE_ORACLE = ("onnx.Cast-", "openvino.Convert-", "pypto.cast-")
# An operator's cases, and n to test every n-th pair of types.
OPERATORS = {
    "onnx.Cast": (most_cases(), 10),
    "onnx.Cast before 24": ([*all_cases(21)], 10),
    "pypto.cast": ([*cases(CATALOG.specs["pypto.cast-0.2"])], 20),
    "openvino.Convert": ([*cases(CATALOG.specs["openvino.Convert-1"])], 90),
}


def of_some_pairs(every, step):
    pairs = list(dict.fromkeys((case.inputs[0], case.outputs[0]) for case in every))
    return [case for case in every if (case.inputs[0], case.outputs[0]) in pairs[1::step]]


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("operator", OPERATORS)
def test_a_cause_that_many_inputs_show_is_caught(operator, whole, record_property):
    every, step = OPERATORS[operator]
    shown, missed = 0, []
    for case in of_some_pairs(every, 1 if whole else step):
        spec, bits = CATALOG.specs[case.spec], rich_inputs(case.inputs[0].format,
                                                           case.outputs[0].format)  # fmt: skip
        asked, rich = (AskedInputs.of(spec, case, some) for some in (edge(case).inputs[0], bits))
        for cause in OF_VALUES.values():
            caught = asked.caught(cause).wrong > 0
            if caught or rich.caught(cause).wrong:
                shown += 1
                missed += [] if caught else [(case.id, cause.name)]
    record_property(f"planted ({operator})", (shown, shown - len(missed)))
    assert shown > 100
    assert missed == []


@cache
def demanded_of(name):
    return demanded(case_of(name), vectors_of(name).inputs[0])


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_the_judge_counts_what_two_lists_of_codes_say(step):
    compared = 0
    for name, cause in list(OF_VALUES.items())[::step]:
        for case in may_show(name):
            if not case.startswith(HAVE_ORACLE) or case.endswith("-to-string"):
                continue
            if not decides(case, cause):
                continue
            vectors, target = vectors_of(case), case_of(case).outputs[0].name
            answers = caused(vectors, cause)
            if wrong := wrong_in(vectors, answers):
                pairs = zip(answers.got.tolist(), answers.state.tolist(), strict=True)
                got = [code if state == ANSWERED else None for code, state in pairs]
                assert wrong == refuted(target, demanded_of(case), got), (name, case)
                compared += 1
                break
    assert compared * step > 250


def test_vectors_that_ask_nothing_special_catch_nothing():
    """The proof can fail: zeros catch few of the causes that the vectors catch."""
    case = case_of("onnx.Cast-25/float32-to-float8e4m3fn/saturate=1")
    spec = CATALOG.specs[case.spec]
    asked = (edge(case).inputs[0], np.zeros(9, np.uint32))
    caught, by_zeros = (
        {n for n, c in OF_VALUES.items() if AskedInputs.of(spec, case, bits).caught(c).wrong}
        for bits in asked
    )
    assert len(caught) > 10 * len(by_zeros)


def wrong_in(vectors, answers):
    groups = judge(vectors, answers).groups
    return sum(group.count for group in groups if group.verdict in FAILURES)


def exposed(case, bits, expected):
    fmt = case.outputs[0].format
    codes = expected.readings[0].codes
    magnitude = codes & codes.dtype.type(fmt.magnitude_mask)
    here = (expected.readings[0].patterns == EXACT) & (magnitude < fmt.max_magnitude)
    if fmt.zero:
        here &= magnitude > 0
    higher = np.where(here, codes + codes.dtype.type(1), codes)
    for reading in expected.readings:
        here &= ~matching(reading, higher, fmt, case.inputs[0].format, bits)
    return set(binade_of(fmt, magnitude[here]).tolist())


def binade_of(fmt, magnitude):
    """Number the binades: by the exponent field, subnormals from 0 downwards."""
    field = (magnitude >> magnitude.dtype.type(fmt.mantissa)).astype(np.int64)
    low = np.frexp(magnitude.astype(np.float64))[1] - fmt.mantissa
    return np.where((magnitude > 0) & (field == 0), low, field) if fmt.zero else field


def is_of_wide_binades(case):
    """Return whether binades are sampled: of float64's 2098, every eighth is asked."""
    source, target = (types[0].format for types in (case.inputs, case.outputs))
    wide = isinstance(source, Text) or (isinstance(source, Float) and source.exponent == 11)
    return wide and isinstance(target, Float) and target.exponent == 11


def test_one_ulp_high_on_one_binade_is_caught_whichever_it_is(record_property):
    reached = 0
    for case in most_cases():
        fmt, vectors = case.outputs[0].format, edge(case)
        if not isinstance(fmt, Float):
            continue
        asked = exposed(case, vectors.inputs[0], vectors.expected)
        if is_of_wide_binades(case):
            assert len(asked) * 9 > (fmt.max_magnitude >> fmt.mantissa) + fmt.mantissa
            continue
        bits = rich_inputs(case.inputs[0].format, fmt)
        there = exposed(case, bits, run_program(compiled(case), case, bits))
        assert there <= asked, case.id
        reached += bool(there)
    record_property("planted (one binade)", (reached, reached))
    assert reached > 250
