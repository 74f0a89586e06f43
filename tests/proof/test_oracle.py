"""The oracle alone, compared with facts from the text, by hand."""

from fractions import Fraction
from itertools import pairwise

import pytest
from oracle import Ask, answer, boundaries, decode, expect, question, types
from oracle.facts import DECODED, FACTS, INF32, MINUS_INF32, MINUS_NAN32, NAN32, f32, f64
from oracle.formats import FLOATS, WIDTHS, _locate_wide, grid, locate, nearest_even, span
from oracle.question import TYPES_ADDED
from oracle.tables import E8M0, TABLES

NEAREST_OFF = {"saturate": 0, "round_mode": "nearest"}
FP8 = ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz")


def show(want):
    words = [
        f"{p[1]:x}" if len(p) == 2 and isinstance(p[1], int) else str(p[-1]) for p in want.readings
    ]
    return "undefined" if want.level == words[0] else f"{want.level} {'|'.join(words)}"


def ask(version, pair, x, attributes=None):
    source, destination = pair.split(">")
    return show(expect(version, source, destination, attributes or {}, x))


@pytest.mark.parametrize(
    ("name", "code", "value"), list(zip(*[iter(DECODED.split())] * 3, strict=True))
)
def test_decode(name, code, value):
    words = ("inf", "-inf", "nan", "-nan", "-0")
    assert decode(name, int(code, 16)) == (value if value in words else Fraction(value))


def test_span():
    assert [span(f"uint{n}")[1] for n in (2, 4, 8, 16)] == [3, 15, 255, 65535]
    assert [span(f"uint{n}") for n in (32, 64)] == [(0, 0xFFFFFFFF), (0, 0xFFFFFFFFFFFFFFFF)]
    assert [span(f"int{n}") for n in (2, 4, 8)] == [(-2, 1), (-8, 7), (-128, 127)]
    assert [span(f"int{n}")[1] for n in (16, 32)] == [32767, 2147483647]
    assert span("int64") == (-9223372036854775808, 9223372036854775807)


def test_a_code_that_does_not_fit_is_refused():
    for name, code in (("float4e2m1", 16), ("bool", 2), ("int64", 2**64), ("uint8", -1)):
        with pytest.raises(ValueError, match=name):
            decode(name, code)


@pytest.mark.parametrize("name", [name for name in FLOATS if WIDTHS[name] <= 16])
def test_grids_ascend_and_encode_what_they_decode(name):
    points, float_ = grid(name).points, FLOATS[name]
    assert all(low < high for low, high in pairwise(points))
    for code in [*range(64), *range(float_.largest - 64, float_.largest + 1)]:
        if 0 <= code <= float_.largest:
            value = decode(name, code)
            assert isinstance(value, Fraction)
            assert nearest_even(name, value) == code
            assert _locate_wide(float_, value) == (code, 0)


@pytest.mark.parametrize("name", ["float4e2m1", "float6e2m3", "float6e3m2", "float8e4m3fnuz"])
def test_nearest_even_is_the_nearest_of_all_values(name):
    values = [Fraction(point, grid(name).scale) for point in grid(name).points]
    for boundary in boundaries(name)[::3]:
        for x in (boundary, boundary + Fraction(1, 2**50), boundary - Fraction(1, 2**50)):
            if 0 <= x < values[-1]:
                best = min(range(len(values)), key=lambda i: (abs(values[i] - x), i % 2))
                assert nearest_even(name, x) == best
                assert _locate_wide(FLOATS[name], x) == locate(name, x)


def test_boundaries():
    quarters = (*range(8), *range(8, 16, 2), 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96)
    four = [Fraction(x, 4) for x in quarters]
    assert boundaries("float4e2m1") == [-x for x in four[:0:-1]] + four
    assert {Fraction(448), Fraction(464), Fraction(480), Fraction(1792)} < {
        *boundaries("float8e4m3fn")
    }
    assert max(boundaries("float8e8m0")) == 2**129
    assert min(boundaries("float8e8m0")) == Fraction(1, 2**129)
    ends = {"bool": (-1, 4), "int2": (-8, 4), "uint2": (-3, 12), "uint8": (-255, 1020)}
    for name, (low, high) in ends.items():
        assert boundaries(name) == [Fraction(k, 2) for k in range(2 * low, 2 * high + 1)]
    with pytest.raises(ValueError, match="float16"):
        boundaries("float16")


def test_types():
    assert len(types(1)) == len(types(6)) == 12
    assert [len(types(v)) for v in (9, 13, 19, 21, 23, 24, 25, 28)] == [
        *(13, 14, 18, 20, 21, 22, 24, 26)
    ]
    assert set(types(28)) == {*WIDTHS, "string"}
    with pytest.raises(ValueError, match="22"):
        types(22)
    for version, name in ((6, "string"), (9, "bfloat16"), (13, FP8[0]), (19, "int4")):
        assert ask(version, f"{name}>float32", 0) == ask(version, f"int8>{name}", 0) == "undefined"
    assert ask(25, "float6e2m3>bool", 1) == ask(24, "int2>bool", 1) == "undefined"
    assert ask(23, "float8e8m0>bool", 1) == ask(21, "float4e2m1>bool", 1) == "undefined"


@pytest.mark.parametrize("version", TYPES_ADDED)
def test_versions_of_one_edition_are_answered_alike(version):
    """The oracle's question has an edition. The version itself gives the same answer."""
    special = (0, 1, 2**31 - 1, 2**31, NAN32, MINUS_NAN32, INF32, MINUS_INF32, f32(464.25))
    inputs = {"float32": (*special, f32(1.5), f32(-1e30), f32(0.1)), "int16": (0, 7, 40000)}
    inputs |= {"bool": (0, 1), "string": ("-0", "NaN", "-INF", "1.5", "7", "1e9", "?")}
    inputs |= {name: tuple(range(2 ** WIDTHS[name])) for name in FP8 if name in types(version)}
    for destination in types(version):
        for saturate in (0, 1):
            for source, codes in inputs.items():
                if source in types(version):
                    put = question(version, source, destination, {"saturate": saturate})
                    assert isinstance(put, Ask)
                    own = put._replace(edition=version)
                    assert all(answer(put, x) == answer(own, x) for x in codes), (put, own)


@pytest.mark.parametrize(("version", "saturate", "table"), TABLES)
def test_the_float8_tables(version, saturate, table):
    for x, row in table.items():
        for to, cell in zip(FP8, row.split(), strict=True):
            word = cell if "nan" in cell else f"{int(cell, 16):x}"
            level = "implied" if cell == "-nan" else "normative"
            got = ask(version, f"float32>{to}", x, {"saturate": saturate})
            assert got == f"{level} {word}", (hex(x), to)
            if saturate:
                assert ask(version, f"float32>{to}", x, {"round_mode": "down"}) == got


@pytest.mark.parametrize(("version", "pair", "x", "attributes", "want"), FACTS)
def test_fact(version, pair, x, attributes, want):
    assert ask(version, pair, x, attributes) == want


@pytest.mark.parametrize("text", ["0.5", "5.0", "-0.5", "5e0", "5E+1", "50e-1", "0e0"])
def test_literals(text):
    assert ask(9, "string>float64", text) == f"implied {f64(float(text)):x}"


@pytest.mark.parametrize("text", [
    *("", ".", "e5", "+", "1e", "1e+", " 1", "1 ", "1\n", "1_0", "0x1", "1.5f", "1,5", "1..2"),
    *(".5", "5.", "+.5", "+5", "5e01", "007", "-00", "00.5", "00000000000000000000000005"),
    *("Infinity", "+NaN", "-NaN", "--1", "1.00000000000000000000", "Hello World!"),
    *("\u0661", "\u0131nf"),  # an Arabic digit, a dotless i
])  # fmt: skip
def test_strings_of_no_defined_value(text):
    assert ask(13, "string>float32", text) == ask(13, "string>int8", text) == "undefined"


@pytest.mark.parametrize("text", ["100.5", "128", "-129", "1e1", "1.", "INF", "0x1"])
def test_strings_of_no_defined_integer(text):
    assert ask(13, "string>int8", text) == "undefined"


@pytest.mark.parametrize(("x", "row"), E8M0.items())
def test_the_e8m0_table(x, row):
    levels = {"n": "normative", "i": "implied"}
    columns = [(s, mode) for s in (1, 0) for mode in ("up", "down", "nearest")]
    for (saturate, mode), cell in zip(columns, row.split(), strict=True):
        level, _, word = cell.partition(":")
        attributes = {"saturate": saturate, "round_mode": mode}
        want = f"{levels[level]} {word}" if word else "undefined"
        assert ask(24, "float64>float8e8m0", x, attributes) == want, (saturate, mode)


def test_e8m0_from_other_sources():
    assert ask(24, "bool>float8e8m0", 0) == ask(24, "int32>float8e8m0", 0) == "implied 0"
    assert ask(24, "int8>float8e8m0", 6) == "implied 82"
    assert ask(24, "int8>float8e8m0", 0x80) == "undefined"
    assert ask(24, "bool>float8e8m0", 0, NEAREST_OFF) == "implied nan"
    assert ask(28, "float6e2m3>float8e8m0", 0x09) == "normative 80"
    assert ask(24, "float8e8m0>float8e8m0", 0x05, NEAREST_OFF) == "implied 5"
    assert ask(24, "float8e8m0>float8e8m0", 0xFF) == "implied nan"
    assert ask(24, "int8>float8e8m0", 1, {"round_mode": "odd"}) == "undefined"
    assert ask(24, "int8>float8e8m0", 1, {"saturate": 2}) == "undefined"
    assert ask(24, "int8>float16", 1, {"round_mode": "odd", "saturate": 7}) == "implied 3c00"


def test_the_wrong_kind_of_input_is_refused():
    for source, x in (("string", 1), ("float32", "1")):
        with pytest.raises(TypeError):
            expect(9, source, "int8", {}, x)
