"""pypto.cast: evaluator and oracle agree, in levels and in patterns, bit for bit.

Release 0.2: all codes of sources of up to 16 bits; for wider ones edge and boundary inputs, divided
among the modes, and random ones. Other versions: the edge vectors.
"""

from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
from catalogue import CATALOG
from comparing import held_against_the_oracle
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle.formats import FLOATS, INTEGERS, WIDTHS, decode, locate
from oracle.pypto_cast import MODES, SUPPORTED, TYPES, VERSIONS, answer, expect, question

from convcheck.rules.cases import cases
from convcheck.vectors.generate import inputs_of

CASES = {v: list(cases(CATALOG.specs[f"pypto.cast-{v}"])) for v in VERSIONS}
MAIN = CASES["0.2"]  # for runtimes
SATMODES = ("OFF", "ON")
LISTED = [(s, t) for s, targets in SUPPORTED.items() for t in targets]
NARROW = [pair for pair in LISTED if WIDTHS[pair[0]] <= 16]
WIDE = [pair for pair in LISTED if WIDTHS[pair[0]] > 16]


@cache
def case_of(source, target, mode, satmode="OFF"):
    name = f"{source}-to-{target}/mode={mode}"
    return next(c for c in MAIN if c.name in (name, f"{name}/satmode={satmode}"))


def held(case, bits, expected=None):
    pair = case.inputs[0].name, case.outputs[0].name
    way = question(case.spec.rpartition("-")[2], *pair, dict(case.attributes))
    wants = [answer(*pair, way, x) for x in bits.tolist()]
    return held_against_the_oracle(case, bits, expected, wants)


def codes(name, bits):
    return np.array(bits, CATALOG.types.types[name].format.storage)


@pytest.mark.parametrize("pair", NARROW, ids="-to-".join)
def test_every_code_of_up_to_16_bits(pair):
    every = codes(pair[0], range(1 << WIDTHS[pair[0]]))
    for turn, (mode, satmode) in enumerate(modes_of(pair[1])):
        some = every if mode == "CAST_NONE" else every[turn % 4 :: 4]
        assert held(case_of(*pair, mode, satmode), some) == len(some)


@pytest.mark.parametrize("pair", WIDE, ids="-to-".join)
def test_every_boundary_of_the_wide_sources(pair):
    asked = [inputs_of(case_of(*pair, "CAST_NONE"), tier)[0] for tier in ("edge", "boundary")]
    every = np.unique(np.concatenate(asked))
    turns = list(modes_of(pair[1]))
    for turn, (mode, satmode) in enumerate(turns):
        # the modes' rows differ only in rounding, so each gets a part
        assert held(case_of(*pair, mode, satmode), every[turn :: len(turns)]) > 50


def modes_of(target):
    return product(MODES, SATMODES if target in INTEGERS else SATMODES[:1])


@pytest.mark.parametrize("version", VERSIONS)
def test_every_edge_vector_of_every_case(version):
    asked = 0
    for turn, case in enumerate(CASES[version]):
        bits = inputs_of(case, "edge")[0]
        usual = case.attribute("mode") == "CAST_NONE"
        asked += held(case, bits if usual else bits[turn % 5 :: 5])
    assert asked > 15_000


@settings(max_examples=400)
@given(st.data())
def test_any_code_of_the_wide_sources(data):
    source, target = data.draw(st.sampled_from(WIDE))
    mode, satmode = data.draw(st.sampled_from(MODES)), data.draw(st.sampled_from(SATMODES))
    width = WIDTHS[source]
    numbers = st.integers(0, 2**width - 1)
    if source in INTEGERS:
        numbers |= st.integers(0, width).flatmap(lambda n: st.integers(0, 2**n - 1))
    drawn = data.draw(st.lists(numbers, min_size=1, max_size=50))
    held(case_of(source, target, mode, satmode), codes(source, drawn))


def test_cases_are_the_listed_pairs_in_every_mode_and_the_others_by_default():
    for version, modes_of_integers in (("0.1", 7), ("0.2", 14)):
        said = [(c.inputs[0].name, c.outputs[0].name, c.attributes) for c in CASES[version]]
        left_out = sum("default" in dict(attributes).values() for _, _, attributes in said)
        assert left_out == (5 if version == "0.1" else 5 + 9)
        assert len(set(said)) == len(said) == 10 * 7 + 11 * modes_of_integers + 43 + left_out
        for case in CASES[version]:
            source, target = case.inputs[0].name, case.outputs[0].name
            assert case.refusal == (target not in SUPPORTED[source])
    assert {t.name for c in MAIN for t in (*c.inputs, *c.outputs)} == set(TYPES)


def test_a_pair_that_lacks_a_mode_is_asked_what_it_does_then():
    asked = {c.name for c in CASES["9.2"]}
    assert "float32-to-bfloat16/mode=CAST_ODD/product=A3" in asked
    assert "float16-to-int8/mode=CAST_ODD/satmode=OFF/product=A3" in asked
    assert "float32-to-float8e5m2/mode=CAST_FLOOR/product=950" in asked
    assert "float32-to-float8e5m2/mode=CAST_FLOOR/product=A3" not in asked


def code_of(name, value):
    if name in INTEGERS:
        return int(value) % 2 ** WIDTHS[name]
    code = locate(name, abs(Fraction(value)))[0] + FLOATS[name].sign * (value < 0)
    assert decode(name, code) == Fraction(value)
    return code


def said(pair, mode, value, satmode="ON"):
    source, target = pair.split(">")
    return shown(target, wanted(source, target, mode, code_of(source, value), satmode))


def wanted(source, target, mode, code, satmode="ON"):
    return expect("0.2", source, target, {"mode": mode, "satmode": satmode}, code)


def shown(target, want):
    if len(want.readings) > 1:
        return f"disputed {[int(code) for _, code in want.readings]}"
    ((word, *code),) = want.readings
    if word == "undefined":
        return word
    if not code:
        return f"{want.level} {word}"
    value = decode(target, int(code[0]))
    return f"{want.level} {value}" if isinstance(value, str) else f"{want.level} {float(value):g}"


@pytest.mark.parametrize("value", [0.5, 1.5, 2.5, -0.5, -1.5, 2.25, -2.25, 2.75, -2.75, 3])
def test_the_modes_to_whole_numbers(value):
    table = {
        0.5: (0, 0, 1, 1, 0, 1),
        1.5: (2, 1, 2, 2, 1, 1),
        2.5: (2, 2, 3, 3, 2, 3),
        -0.5: (0, -1, 0, -1, 0, -1),
        -1.5: (-2, -2, -1, -2, -1, -1),
        2.25: (2, 2, 3, 2, 2, 3),
        -2.25: (-2, -3, -2, -2, -2, -3),
        2.75: (3, 2, 3, 3, 2, 3),
        -2.75: (-3, -3, -2, -3, -2, -3),
        3: (3, 3, 3, 3, 3, 3),
    }
    for mode, due in zip(MODES[1:], table[value], strict=True):
        assert said("float16>int8", mode, value) == f"normative {due}", mode
        # The same at a float's last bit: 1024 + value has steps of one there.
        if value > 0:
            assert said("float32>float16", mode, 1024 + value) == f"normative {1024 + due}", mode


@pytest.mark.parametrize(("pair", "mode", "value", "due"), [
    ("float16>int8", "CAST_NONE", 130.0, "normative 127"),
    ("float16>int8", "CAST_CEIL", 127.5, "normative 127"),
    ("float16>int8", "CAST_NONE", -128.5, "normative -128"),
    ("float16>int8", "CAST_NONE", 1.75, "normative 1"),
    ("float16>uint8", "CAST_NONE", 1.75, "implied 1"),
    ("float16>uint8", "CAST_FLOOR", -0.5, "normative 0"),
    ("float16>int16", "CAST_RINT", 40000.0, "normative 32767"),
    ("float32>float16", "CAST_NONE", 2.0, "normative 2"),
    ("float32>float16", "CAST_NONE", 3.0, "normative 3"),
    ("float32>float16", "CAST_NONE", 65519.0, "normative 65504"),
    ("float32>float16", "CAST_NONE", 65520.0, "implied inf"),
    ("float32>float16", "CAST_TRUNC", 65504.0, "normative 65504"),
    ("float32>float16", "CAST_TRUNC", 65510.0, "normative 65504"),
    ("float32>float16", "CAST_TRUNC", 65536.0, "undefined"),
    ("float32>float16", "CAST_FLOOR", 65510.0, "normative 65504"),
    ("float32>float16", "CAST_FLOOR", -65510.0, "undefined"),
    ("float32>float16", "CAST_CEIL", -65510.0, "normative -65504"),
    ("float32>float16", "CAST_CEIL", 65510.0, "undefined"),
    ("float32>float16", "CAST_ODD", 65510.0, "normative 65504"),
    ("float32>float16", "CAST_NONE", -(2.0**-30), "implied -0"),
    ("float32>float16", "CAST_CEIL", 2.0**-30, f"normative {2.0**-24:g}"),
    ("float32>int64", "CAST_NONE", 2.0**63, f"normative {2.0**63:g}"),
    ("int32>int16", "CAST_NONE", 70000, "normative 32767"),
    ("int64>int32", "CAST_ODD", -(2**40), f"normative {-(2.0**31):g}"),
    ("int32>int64", "CAST_NONE", -7, "implied -7"),
    ("int32>float16", "CAST_NONE", 70000, "implied inf"),
    ("int32>float16", "CAST_NONE", 2049, "normative 2048"),
    ("int32>float16", "CAST_ODD", 1, "undefined"),
    ("int16>float16", "CAST_NONE", 2049, "implied 2048"),
    ("int16>float16", "CAST_ODD", 2050, "implied 2050"),
    ("int16>float16", "CAST_ODD", 2049, "implied 2050"),
    ("int8>int8", "CAST_NONE", 1, "undefined"),
    ("bfloat16>float16", "CAST_NONE", 1.0, "undefined"),
])  # fmt: skip
def test_fact(pair, mode, value, due):
    assert said(pair, mode, value) == due


@pytest.mark.parametrize(("pair", "satmode", "value", "due"), [
    ("float16>int8", "default", 300.0, f"disputed {[44, 127]}"),
    ("float32>int32", "default", 2.0**40, f"normative {2.0**31 - 1:g}"),
    ("int32>int64", "default", 1.0, "implied 1"),
    ("float16>int8", "OFF", 300.0, f"disputed {[44, 127]}"),
    ("float16>int8", "OFF", -300.0, f"disputed {[256 - 44, 128]}"),
    ("float16>int8", "OFF", 50.0, "normative 50"),
    ("float16>int8", "ON", 300.0, "normative 127"),
    ("int64>int32", "OFF", 2**32 + 5, f"disputed {[5, 2**31 - 1]}"),
    ("float32>int32", "OFF", 1.0, "undefined"),
    ("float32>int32", "ON", 2.0**40, f"normative {2.0**31 - 1:g}"),
    ("int32>int64", "OFF", 1.0, "undefined"),
])  # fmt: skip
def test_what_the_saturation_mode_says(pair, satmode, value, due):
    mode = "CAST_RINT" if pair == "float16>int8" else "CAST_NONE"
    assert said(pair, mode, value, satmode) == due


def test_the_special_values():
    nan, plus, minus, zero = (0x7FC00000, 0x7F800000, 0xFF800000, 0x80000000)
    for mode in MODES:
        to_half = [shown("float16", wanted("float32", "float16", mode, x)) for x in (nan, minus)]
        assert to_half == ["implied nan", "implied -inf"]
        assert shown("float16", wanted("float32", "float16", mode, zero)) == "implied -0"
        whole = [shown("int16", wanted("float32", "int16", mode, x)) for x in (nan, plus, minus)]
        assert whole == ["undefined", "implied 32767", "implied -32768"]
