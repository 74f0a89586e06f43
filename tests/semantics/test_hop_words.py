import numpy as np
import pytest
from catalogue import CATALOG

from convcheck.numerics.codec import decode
from convcheck.numerics.number import to_fraction
from convcheck.rules.hop import read_hop
from convcheck.rules.source import parse_yaml
from convcheck.semantics.hops import gone_through, keeps
from convcheck.semantics.vocabulary import COMPUTATIONS, Points, case_word

TYPES = CATALOG.types.types


def through(how, source, target, bits):
    hop = read_hop(parse_yaml(f"through: {how}", "own.yaml").need("through"), CATALOG.types)
    there = points(source, target, bits)
    assert not keeps(hop, there.source, there.target)
    return gone_through(there, hop, retyped=not isinstance(hop.type, str) and not hop.normal_only)


def points(source, target, bits):
    fmt = TYPES[source].format
    return Points(fmt, TYPES[target].format, bits, decode(fmt, bits))


def codes(source, *values):
    return np.array(values, TYPES[source].format.storage)


# (through, source, destination, code, the result's code in the source)
BY_HAND = [
    ("negated", "float32", "float16", 0x3F800000, 0xBF800000),
    ("negated", "float32", "float16", 0x80000000, 0x80000000),
    ("{scale: -1}", "float32", "float16", 0x3F800000, 0x3F000000),
    ("{scale: 1}", "float32", "float16", 0x7F800000, 0x7F800000),
    ("{bits: 21}", "float64", "float16", 0x3FF00200FFFFFFFF, 0x3FF0020000000000),
    ("aligned", "float32", "float16", 0x33000001, 0x33000000),
    ("aligned", "float32", "float16", 0x33001000, 0x33001000),  # 2^-25 and 2^-36
    ("aligned", "float32", "float16", 0x38800001, 0x38800001),  # 2^-14 and an ulp is normal
    ("{modulo: 32}", "float32", "float16", 0x28800000, 0x38800000),  # 2^-46 is 32 below 2^-14
    ("{modulo: 32}", "float32", "float16", 0x29000000, 0x29000000),  # 2^-45 is 31 below it
    ("{least: -9}", "float32", "float8e4m3fn", 0xBAFFFFFF, 0x00000000),  # no sign is left
    ("{least: -9}", "float32", "float8e4m3fn", 0xBB000000, 0xBB000000),  # 2^-9
    ("{least: -9}", "float32", "float8e4m3fn", 0x80000000, 0x00000000),
    ("{least: -9}", "float32", "float8e4m3fn", 0xFF800000, 0xFF800000),
    ("{type: float16, only: normal}", "float32", "float8e5m2", 0x3F801001, 0x3F802000),
    ("{type: float16, only: normal}", "float32", "float8e5m2", 0x38001001, 0x38001001),
    ("{type: float16, only: normal}", "float32", "float8e5m2", 0x477FF000, 0x477FF000),
]


@pytest.mark.parametrize(("how", "source", "target", "given", "becomes"), BY_HAND)
def test_a_number_becomes_another(how, source, target, given, becomes):
    got = through(how, source, target, codes(source, given)).x
    want = points(source, target, codes(source, becomes)).x
    assert (got.kind, got.sign) == (want.kind, want.sign)
    if not want.kind:
        assert to_fraction(got, 0) == to_fraction(want, 0)


@pytest.mark.parametrize(("how", "source", "given", "number"), [
    ("{code: int8}", "uint8", 0xFF, -1),
    ("{code: float8e5m2}", "float8e4m3fn", 0x40, 2),
    ("{type: float16, specials: normal}", "float16", 0x7C00, 65536),
    ("{type: float16, subnormals: normal}", "float16", 0x0000, 0.5**15),
    ("{type: float8e4m3fn, specials: normal, beyond: infinity}", "float8e4m3fn", 0x7F, 480),
])  # fmt: skip
def test_a_code_is_read_otherwise(how, source, given, number):
    there = through(how, source, "float32", codes(source, given))
    assert (there.x.kind[0], to_fraction(there.x, 0)) == (0, number)
    assert there.bits.tolist() == [given]


def test_a_text_is_read_otherwise():
    texts = np.array(["-1e-2", "é"], object)
    there = through('{texts: {"^-": "", "[eE]-": e}}', "string", "float32", texts)
    assert there.bits.tolist() == ["1e2", "é"]
    assert to_fraction(there.x, 0) == 100


# (word, mode, source, destination, code, result)
GIVEN = [
    ("wrapped-magnitude", "toward-zero", "int16", "uint8", 0xFFFE, 2),
    ("wrapped-unsigned", "toward-zero", "int16", "int8", 0x01FF, 0x7F),
    ("wrapped-short", "toward-zero", "int16", "int8", 0x0140, 0xC0),
    ("wrapped-short", "toward-zero", "int16", "uint8", 0x01C0, 0x40),
    ("low-byte", "", "float32", "bool", 0x3F800042, 0x42),
    ("most", "", "float32", "float8e4m3fn", 0xFF800001, 0xFE),
    ("most", "", "float32", "int8", 0xFF800001, 0x80),
    ("leading-bit", "", "float32", "float16", 0x3F7FFFFF, 0x3800),
    ("infinity-with-mantissa", "nearest-even", "float32", "float16", 0x47C00000, 0x7E00),
    ("digits", "toward-zero", "float32", "string", 0xCB800000, "-16777216"),
]


@pytest.mark.parametrize(("word", "mode", "source", "target", "given", "gives"), GIVEN)
def test_an_outcome_is_what_it_says(word, mode, source, target, given, gives):
    compute = COMPUTATIONS[word].compute
    assert compute(points(source, target, codes(source, given)), mode).tolist() == [gives]


@pytest.mark.parametrize(("label", "target", "holds", "fails"), [
    ("[x] carries", "float16", 0x3F7FFFFF, 0x3F7FE000),  # to 1; below it
    ("[x] is top", "float8e4m3fn", 0x43780000, 0x4377FFFF),  # 248 rounds to 256
    ("x is below least", "float8e4m3fn", 0xBAFFFFFF, 0x3B000000),
    ("signalling nan", "float16", 0x7FBFFFFF, 0x7FC00000),
    ("x > 4 max", "float8e4m3fn", 0x44E00001, 0x44E00000),  # 1792
    ("x < -4 max", "float8e4m3fn", 0xC4E00001, 0x44E00001),
])  # fmt: skip
def test_a_case_word_holds_where_it_says(label, target, holds, fails):
    word = case_word(label, {})
    assert word is not None
    there = points("float32", target, codes("float32", holds, fails))
    assert word(there, "nearest-even").tolist() == [True, False]
