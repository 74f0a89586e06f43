from collections import defaultdict
from functools import cache
from itertools import groupby

import numpy as np
import pytest
from catalogue import CATALOG, calls_asked
from comparing import numeric, type_names

from convcheck.numerics.format import Float, Int
from convcheck.rules.body.steps import Steps
from convcheck.rules.cases import cases
from convcheck.semantics.body.steps import layout_of, outside_of
from convcheck.semantics.expected import EXACT
from convcheck.vectors.inputs import numeric_inputs

WIDE = type_names(28, 9)  # sources; narrower ones are asked whole
ALL = type_names(28)


@cache
def values(source, target):
    """Return the edge tier's finite values: sign, integer magnitude, and the exponent of the last
    bit.
    """
    fmt = numeric(source)
    codes = numeric_inputs(fmt, numeric(target), "edge", 0)[0].tolist()
    if isinstance(fmt, Float):
        codes = [code for code in codes if code & fmt.magnitude_mask < fmt.infinity_code]
        return [_value(fmt, code) for code in codes]
    least = 1 << (fmt.bits - 1) if fmt.signed else 1 << fmt.bits
    return [(c >= least, (1 << fmt.bits) - c if c >= least else c, 0) for c in codes]


def _value(fmt, code):
    field, fraction = divmod(code & fmt.magnitude_mask, 1 << fmt.mantissa)
    whole = fraction + ((field > 0) << fmt.mantissa)
    return code > fmt.magnitude_mask, whole, max(field, 1) - fmt.bias - fmt.mantissa


SIGNS, FAREST = (False, True), 2000
NEAR, FAR = 64, 65  # exponents within the range of all sources plus one; float64's windows beyond


def unasked(source, target, signs):
    """Return lengths of runs of exponents, on either side of the destination's range, that have no
    value, other than powers of two, in one of these signs. The second value tells whether they are
    far out, in a source with more exponents than vectors.
    """
    mine, its = numeric(source), numeric(target)
    asked = {
        whole.bit_length() - 1 + last for sign, whole, last in values(source, target)
        if sign in signs and whole & (whole - 1)
    }  # fmt: skip
    least, most = (mine.lowest_exponent, mine.highest_exponent) if isinstance(mine, Float) else (
        0, mine.bits - 1 - mine.signed)  # fmt: skip
    low, high = (its.lowest_exponent, its.highest_exponent) if isinstance(its, Float) else (
        0, its.bits if isinstance(its, Int) else 0)  # fmt: skip
    for side in (range(least + 1, min(low, most + 1)), range(max(high, least) + 1, most + 1)):
        far = {e for e in side if source == "float64" and min(abs(e - low), abs(e - high)) >= NEAR}
        for (there, is_far), run in groupby(side, key=lambda e: (e in asked, e in far)):
            if not there:
                yield len(list(run)), is_far


@pytest.mark.parametrize("source", WIDE)
def test_no_window_of_exponents_is_left_unasked(source):
    """No two consecutive exponents lack a value, and no four lack one in a sign."""
    one_sign = ((False,), (True,)) if numeric(source).signed else ()
    for signs, widest in ((SIGNS, 1), *((one, 3) for one in one_sign)):
        for target in ALL:
            for length, far in unasked(source, target, signs):
                assert length <= (FAR if far else widest), (target, signs)


FLOAT_SOURCES = [n for n in WIDE if isinstance(numeric(n), Float)]
CROWDED = {("float64", t): 16 for t in ("float32", "float64", "bfloat16")}  # more than 900 vectors


def exponents_within(source, target):
    mine, its = numeric(source), numeric(target)
    if isinstance(its, Float) and isinstance(mine, Float):
        low = max(mine.lowest_exponent, its.lowest_exponent)
        return range(low, min(mine.highest_exponent, its.highest_exponent) + 1)
    return range(min(int(numeric(n).max).bit_length() for n in (source, target)))


@pytest.mark.parametrize("source", FLOAT_SOURCES)
@pytest.mark.parametrize("target", [n for n in ALL if isinstance(numeric(n), Float | Int)])
def test_every_power_of_two_is_asked_in_both_signs(source, target):
    asked = {
        (negative, whole.bit_length() - 1 + last)
        for negative, whole, last in values(source, target)
        if whole and not whole & (whole - 1)
    }
    most = CROWDED.get((source, target), FAREST)
    wanted = {e for e in exponents_within(source, target) if abs(e) <= most}
    for negative in SIGNS[: 1 + numeric(target).signed]:
        assert wanted <= {e for sign, e in asked if sign == negative}, negative


KINDS = ("above a tie", "below a tie", "above a value")


def unit(target, exponent):
    """Return the exponent of the destination's last bit in a binade, and whether that is normal."""
    fmt = numeric(target)
    if isinstance(fmt, Float):
        last = max(exponent - fmt.mantissa, fmt.lowest_exponent)
        return last, last == exponent - fmt.mantissa
    return 0, exponent > 0


def last_bit(source, exponent):
    fmt = numeric(source)
    return max(exponent - fmt.mantissa, fmt.lowest_exponent) if isinstance(fmt, Float) else 0


def single_bits(whole, dropped, parity):
    """Return where a value has one dropped bit more or less than a boundary that it decides about,
    and which bit. Without `parity`, ties are not rounded to even.
    """
    half = 1 << (dropped - 1)
    kept, rest = divmod(whole, 2 * half)
    for kind, bit, odd in zip(KINDS, (rest - half, half - rest, rest), (0, 1, None), strict=True):
        if 0 < bit < half and not bit & (bit - 1) and (odd in (None, kept % 2) or not parity):
            yield kind, bit.bit_length() - 1


def missing(source, target, normal):
    """Return the dropped bits that are never alone, in the binade with the fewest; empty if no
    binade drops two. Normal binades have neighbours above a value. Ties of integers, which are
    equally spaced, are next to 1.
    """
    asked = defaultdict(set)
    for _, whole, last in values(source, target):
        exponent = whole.bit_length() - 1 + last
        if whole and unit(target, exponent)[0] - last > 1:
            dropped = unit(target, exponent)[0] - last
            for kind, bit in single_bits(whole, dropped, target != "float8e8m0"):
                asked[kind, exponent].add(bit)
    return {
        kind: min(
            (set(range(unit(target, e)[0] - last_bit(source, e) - 1)) - asked[kind, e]
             for e in binades(source, target, normal)), key=len, default=set()
        )
        for kind in KINDS[2 * (normal and isinstance(numeric(target), Int)) : 2 + normal]
    }  # fmt: skip


def binades(source, target, normal):
    mine, its = numeric(source), numeric(target)
    low = mine.lowest_exponent if isinstance(mine, Float) else 0
    high = min(int(fmt.max).bit_length() - 1 for fmt in (mine, its))
    if isinstance(its, Float) and not its.zero:
        low = max(low, its.lowest_exponent)
    found = [
        e for e in range(low, high + 1)
        if e - unit(target, e)[0] >= -1 and unit(target, e)[0] - last_bit(source, e) > 1
        and unit(target, e)[1] == normal
    ]  # fmt: skip
    if isinstance(mine, Float):
        return found
    # the longest integers drop the most bits; three consecutive ties of powers of two are three
    # long
    return found[-1 if unit(target, high)[0] < high else -3 :]


@pytest.mark.parametrize("source", WIDE)
def test_every_dropped_bit_is_the_only_one_once(source):
    found = {
        (target, normal, kind): bits
        for target in type_names(28, 2) for normal in (True, False)
        for kind, bits in missing(source, target, normal).items()
    }  # fmt: skip
    assert {place: bits for place, bits in found.items() if bits} == {}


def test_dropped_bits_are_counted():
    assert [set(missing("float64", "float16", n)) for n in (True, False)] == [
        set(KINDS),
        set(KINDS[:2]),
    ]
    assert len(binades("float64", "float8e4m3fn", True)) == 15
    assert binades("float16", "float32", True) == []
    assert list(single_bits(0b10_1001, 4, True)) == [("above a tie", 0)]
    assert list(single_bits(0b11_0110, 4, True)) == [("below a tie", 1)]
    assert list(single_bits(0b11_0010, 4, True)) == [("above a value", 1)]
    assert list(single_bits(0b11_1001, 4, True)) == []
    assert list(single_bits(0b11_1001, 4, False)) == [("above a tie", 0)]


@pytest.mark.parametrize("source", WIDE)
@pytest.mark.parametrize("target", [n for n in ALL if isinstance(numeric(n), Int)])
def test_integers_of_every_length_are_asked(source, target):
    fmt = numeric(source)
    precise = fmt.mantissa + 1 if isinstance(fmt, Float) else fmt.bits - fmt.signed
    asked, broken = set(), set()
    for _, whole, last in values(source, target):
        integer, rest = divmod(whole << max(last, 0), 1 << max(-last, 0))
        (broken if rest else asked).add(integer)
    for k in range(precise):
        forms = {1 << k, 1 << k | 1, 1 << k | 1 << k >> 1 | 1, (2 << k) - 1}
        assert forms <= asked, k
        assert k == precise - 1 or not isinstance(fmt, Float) or forms <= broken, k


SCALED = [s for s in CATALOG.specs.values() if isinstance(s.body, Steps)]
QUANTIZING = [s for s in SCALED if s.op in ("onnx.QuantizeLinear", "onnx.DequantizeLinear")]
# The ends of the codes, and one with distinct bytes; for floats the positive ones.
ENDS = {
    "float32": {1, 0x7F7FFFFF, 0x01234567},
    "float16": {1, 0x7BFF, 0x0123},
    "bfloat16": {1, 0x7F7F, 0x0123},
    "float8e8m0": {0, 1, 0xFE},
    "int16": {0x8000, 0x7FFF, 0x8123},
    "uint16": {0, 0xFFFF, 0x8123},
    "int8": {0x80, 0x7F},
    "uint8": {0, 0xFF},
    "int4": {8, 7},
    "uint4": {0, 15},
    "int2": {2, 1},
    "uint2": {0, 3},
}


def inside(spec):
    steps = spec.body_as(Steps)
    return [c for c in cases(spec) if not outside_of(steps, layout_of(spec, c), c)]


@pytest.mark.parametrize("spec", QUANTIZING, ids=lambda spec: spec.id)
def test_the_ends_of_the_codes_of_scales_and_zero_points_are_asked(spec):
    found = defaultdict(set)
    for case in inside(spec):
        for call in calls_asked(case).calls:
            for place, codes in enumerate(call[1:]):
                found[place, case.inputs[place + 1].name].update(codes.reshape(-1).tolist())
    asked = {key for key in found if key[1] in ENDS}
    assert {name for _, name in found.keys() - asked} <= {
        "int32", "float4e2m1", "float6e2m3", "float6e3m2",
        "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz",
    }  # fmt: skip
    assert not {key: missing for key in asked if (missing := ENDS[key[1]] - found[key])}


@pytest.mark.parametrize("name", ["openvino.FakeConvert-13", "openvino.FakeQuantize-1"])
def test_the_ends_of_the_codes_of_every_other_input_are_asked(name):
    found = defaultdict(set)
    for case in inside(CATALOG.specs[name]):
        calls = calls_asked(case)
        for call, due in zip(calls.calls, calls.expected, strict=True):
            if due.readings[0].pattern == EXACT:
                for place, codes in enumerate(call[1:]):
                    found[place, case.inputs[0].name].update(codes.reshape(-1).tolist())
    assert len(found) == {"openvino.FakeConvert-13": 2, "openvino.FakeQuantize-1": 4}[name] * 3
    assert not {key: missing for key in found if (missing := ENDS[key[1]] - found[key])}


@pytest.mark.parametrize("spec", QUANTIZING, ids=lambda spec: spec.id)
def test_an_int32_that_float32_does_not_hold_is_asked_beside_a_tie(spec):
    taking = [c for c in inside(spec) if c.inputs[0].name == "int32"]
    assert taking or spec.version in (19, 21)  # no scale for an int32 in quantising
    for case in taking if spec.op == "onnx.QuantizeLinear" else ():
        beside = 0
        for x, scale, *_ in calls_asked(case).calls:
            if x.ndim != 1 or scale.size != 1:
                continue
            by = float(scale.reshape(-1).view(np.float32)[0])
            if not 0 < by < np.inf:
                continue
            values = x.view(np.int32).astype(np.int64)
            large = values[np.abs(values) > 1 << 24]
            cut = large & ~((1 << np.frexp(np.abs(large))[1] - 24) - 1)
            beside += int((np.rint(large / by) != np.rint(cut / by)).sum())
        assert beside >= 2, case.id


def test_shapes_of_every_rank_have_dimensions_of_1():
    found = defaultdict(set)
    for spec in SCALED:
        for case in inside(spec):
            shapes = {call[0].shape for call in calls_asked(case).calls if call[0].size > 1}
            found[spec.op] |= {len(shape) for shape in shapes if 1 in shape}
    assert set(found) == {spec.op for spec in SCALED}
    assert all(ranks >= {2, 3, 4} for ranks in found.values()), found
