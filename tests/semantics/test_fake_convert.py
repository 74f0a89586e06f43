from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from catalogue import CATALOG, calls_asked, element
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle.fake_convert import DESTINATIONS, UNDEFINED, WAYS, expect
from oracle.formats import FLOATS, boundaries, decode, nearest_even

from convcheck.numerics.words import code_of
from convcheck.rules.cases import cases
from convcheck.semantics import expected as pattern
from convcheck.semantics.body.steps import compile_steps
from convcheck.vectors.body.steps import steps_calls

STABLE = settings(deadline=None, derandomize=True, max_examples=150)
TYPES = ("float16", "bfloat16", "float32")
SETS = ("1 0", "3 0.3", "1.7 -1.1", "-0.75 0.01", "900 -100", "1", "0.007", "-3")
SPEC = CATALOG.specs["openvino.FakeConvert-13"]
CASES = list(cases(SPEC))


@cache
def compiled(name, layout, destination):
    return compile_steps(SPEC, case_of(name, layout, destination))


def case_of(name, layout, destination="f8e4m3"):
    return next(
        case
        for case in CASES
        if case.inputs[0].name == name
        and case.layout == layout
        and case.attribute("destination_type") == destination
    )


def with_parameters(name, words):
    """Return the layout and the tensors of one scale and perhaps one shift."""
    fmt = case_of(name, "per-tensor").inputs[0].format
    codes = [np.array([code_of(fmt, word)[0]], fmt.storage) for word in words.split()]
    return ("per-tensor", "per-tensor-shift")[len(codes) - 1], codes


def held(name, destination, way, words, data, said=None):
    """Compare every element under one reading; return how many are defined."""
    layout, parameters = with_parameters(name, words)
    case = compiled(name, layout, destination)
    run = case.run([data, *parameters], case.steps.readings[way - 1])
    due = case.finished(run)
    rest = tuple(int(tensor[0]) for tensor in parameters)
    defined = 0
    for index, code in enumerate(data.tolist()):
        right = said[code] if said else expect(name, destination, way, (code, *rest))
        assert element(due, index) == right, f"{code:#x} {words}"
        defined += right != UNDEFINED
    return defined


def expected(name, destination, words, *data):
    """Return what is expected of one scale and perhaps shift, and what decided it."""
    layout, parameters = with_parameters(name, words)
    case = compiled(name, layout, destination)
    codes = np.array(data, f"u{FLOATS[name].bits // 8}")
    found = case.expect([codes, *parameters])
    return found, case.decisions[found.row]


def said_of_all(name, destination, way, words):
    """Return the oracle's result for every code.

    Each step is monotone, so numbers between two with equal results have the same result. Defined
    numbers are adjacent, and include zero.
    """
    rest = tuple(int(tensor[0]) for tensor in with_parameters(name, words)[1])
    every = {code: decode(name, code) for code in range(1 << FLOATS[name].bits)}
    order = sorted((x, code) for code, x in every.items() if isinstance(x, Fraction))
    said = {c: UNDEFINED for c, x in every.items() if x in ("inf", "-inf", "nan", "-nan")}
    ends = [0, order.index((Fraction(0), 0)), len(order) - 1]
    said |= {c: expect(name, destination, way, (c, *rest))
             for c in (FLOATS[name].sign, *(order[end][1] for end in ends))}  # fmt: skip
    assert said[0] != UNDEFINED
    todo = list(pairwise(ends))
    while todo:
        low, high = todo.pop()
        middle, code = (low + high) // 2, order[(low + high) // 2][1]
        if said[order[low][1]] == said[order[high][1]]:
            said |= dict.fromkeys((c for _, c in order[low:high]), said[order[low][1]])
        elif middle > low:
            said[code] = expect(name, destination, way, (code, *rest))
            todo += [(low, middle), (middle, high)]
    return said


EXHAUSTIVE = [
    ("float16", "f8e4m3", 1, "1.7 -1.1"), ("float16", "f8e5m2", 2, "3 0.3"),
    ("float16", "f8e4m3", 3, "-0.75 0.01"), ("float16", "f8e5m2", 4, "900 -100"),
    ("bfloat16", "f8e5m2", 1, "3 0.3"), ("bfloat16", "f8e4m3", 2, "900 -100"),
    ("bfloat16", "f8e5m2", 3, "1.7 -1.1"), ("bfloat16", "f8e4m3", 4, "-0.75 0.01"),
    ("bfloat16", "f8e4m3", 1, "1"), ("float16", "f8e4m3", 3, "3"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "destination", "way", "words"), EXHAUSTIVE)
def test_every_pattern_of_16_bits_against_the_oracle(name, destination, way, words):
    said = said_of_all(name, destination, way, words)
    every = np.arange(1 << 16, dtype=np.uint16)
    assert held(name, destination, way, words, every, said) > 10_000
    for code in every[::97].tolist():  # check interpolated results
        _, parameters = with_parameters(name, words)
        rest = tuple(int(tensor[0]) for tensor in parameters)
        assert said[code] == expect(name, destination, way, (code, *rest))


@pytest.mark.parametrize("words", SETS)
@pytest.mark.parametrize("name", TYPES)
def test_the_edge_data_against_the_oracle(name, words):
    for destination in ("f8e4m3", "f8e5m2"):
        calls = steps_calls(SPEC, case_of(name, "per-tensor-shift", destination), "edge", 0)[0]
        data = np.unique(np.concatenate([call[0] for call in calls]))[::5]
        for way in WAYS:
            assert held(name, destination, way, words, data) > 50


@given(data=st.data())
@STABLE
def test_any_data_scale_and_shift(data):
    name = data.draw(st.sampled_from(TYPES))
    destination = data.draw(st.sampled_from(["f8e4m3", "f8e5m2"]))
    bits, one = FLOATS[name].bits, FLOATS[name].bias << FLOATS[name].mantissa
    near_one = st.integers(one - (9 << FLOATS[name].mantissa), one + (9 << FLOATS[name].mantissa))
    codes = data.draw(
        st.lists(st.one_of(st.integers(0, (1 << bits) - 1), near_one), min_size=2, max_size=3)
    )
    layout = ("per-tensor", "per-tensor-shift")[len(codes) - 2]
    case = compiled(name, layout, destination)
    tensors = [np.array([code], f"u{bits // 8}") for code in codes]
    for way, reading in zip(WAYS, case.steps.readings, strict=True):
        right = expect(name, destination, way, tuple(codes))
        assert element(case.finished(case.run(tensors, reading)), 0) == right


def test_readings_are_distinct_and_the_first_is_the_data_type_s():
    layout, parameters = with_parameters("float16", "1.7 -1.1")
    case = compiled("float16", layout, "f8e4m3")
    found = case.expect([np.arange(1 << 15, dtype=np.uint16), *parameters])
    [first, *others], every = ([r.name for r in x] for x in (found.readings, case.steps.readings))
    assert first == every[0]
    assert len(others) > 2
    assert others == [name for name in every if name in others]
    assert case.decisions[found.row].level == "disputed"
    assert case.decisions[found.row].readings == tuple(r.name for r in case.steps.readings)


def test_where_all_readings_agree_the_level_is_implied():
    found, decision = expected("float32", "f8e4m3", "1 0", 0x3F880000, 0x3F881000)
    assert len(found.readings) == 1
    assert decision.level == "implied"
    assert found.readings[0].outputs[0].codes.tolist() == [0x3F800000, 0x3F900000]


def test_where_nothing_is_rounded_the_expression_alone_decides():
    for words, data, due in (
        ("1 0", [0x3C00, 0x3C80, 0xBC00], [0x3C00, 0x3C80, 0xBC00]),  # 1, 1.125, -1
        ("2 0.5", [0x3E00, 0x4100], [0x3E00, 0x4100]),  # 1.5 * 2 - 0.5 = 2.5; 4.5
    ):
        found, decision = expected("float16", "f8e4m3", words, *data)
        assert decision.level == "normative", words
        assert found.readings[0].outputs[0].codes.tolist() == due
        _, beside = expected("float16", "f8e4m3", words, *data, 0x3C01)  # a rounded value
        assert beside.level == "implied"


def test_minus_zero_gives_a_zero_of_either_sign():
    found, decision = expected("float16", "f8e5m2", "1 0", 0x8000)
    assert found.readings[0].outputs[0].patterns.tolist() == [pattern.ANY_ZERO]
    assert decision.level == "implied"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_some_edge_call_of_one_scale_is_normative(case):
    if case.layout not in ("per-tensor", "per-tensor-shift", "scalar-to-vector"):
        return
    vectors = calls_asked(case)
    levels = {vectors.decisions[expected.row].level for expected in vectors.expected}
    within = case.inputs[0].name in TYPES and case.attribute("destination_type") in DESTINATIONS
    assert ("normative" in levels) == within


@pytest.mark.parametrize("words", ["0 1", "inf 0", "nan 0", "1 -inf", "1 nan", "0"])
def test_of_such_scales_and_shifts_nothing_is_expected(words):
    found, decision = expected("float16", "f8e5m2", words, 0x3C00, 0xBC00, 0, 0x7C00)
    assert [r.pattern for r in found.readings] == [pattern.UNDEFINED]
    assert decision.level == "undefined"


def test_scales_belong_to_channels():
    case = compiled("float16", "per-channel", "f8e4m3")
    data = np.full((2, 3, 2), 0x3C40, np.uint16)  # 1.0625
    scale = np.array([[0x3C00], [0x3E00], [0x4000]], np.uint16)  # 1, 1.5, 2
    [due] = case.expect([data, scale]).readings[0].outputs
    assert due.shape == (2, 3, 2)
    one = [0x3C00, 0x3C00, 0x3C55, 0x3C55, 0x3C00, 0x3C00]  # 1, 1.625 / 1.5, 2 / 2
    assert due.codes.tolist() == one * 2


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_nothing_is_expected_outside_the_contract(case):
    outside = (
        case.inputs[0].name == "float64"
        or "unlike" in case.layout
        or "widens" in case.layout
        or case.attribute("destination_type") not in DESTINATIONS
    )
    vectors = calls_asked(case)
    patterns = {r.pattern for expected in vectors.expected for r in expected.readings}
    assert (patterns == {pattern.UNDEFINED}) == outside
    for expected in vectors.expected:
        decision = vectors.decisions[expected.row]
        assert decision.cite
        assert outside == decision.row.startswith("outside")
        assert decision.level == "undefined" or not outside


@pytest.mark.parametrize("case", [
    c
    for c in CASES
    if c.layout == "per-tensor" and c.attribute("destination_type") in DESTINATIONS
], ids=lambda c: c.name)  # fmt: skip
def test_every_boundary_of_the_destination_is_asked(case):
    if case.inputs[0].name == "float64":
        return
    calls = steps_calls(SPEC, case, "boundary", 0)[0]
    plain = next(
        data for data, scale in calls if scale[0] == code_of(case.inputs[0].format, "1")[0]
    )
    if case.inputs[0].format.bits == 16:
        assert len(np.unique(plain)) == 1 << 16
        return
    destination = DESTINATIONS[str(case.attribute("destination_type"))]
    largest = FLOATS[destination].magnitude(FLOATS[destination].largest)
    values = [v for v in boundaries(destination) if 0 < v <= largest]
    assert len(values) > 2 * FLOATS[destination].largest - 2
    codes = {nearest_even("float32", v) for v in values}
    both = codes | {code | 1 << 31 for code in codes}
    assert {code + ulp for code in both for ulp in (-1, 0, 1)} <= set(plain.tolist())
