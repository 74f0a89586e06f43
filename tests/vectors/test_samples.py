import hashlib
from fractions import Fraction

import numpy as np
import pytest
from catalogue import CATALOG
from comparing import numeric
from hypothesis import given, settings
from hypothesis import strategies as st

from convcheck.numerics.codec import decode
from convcheck.numerics.format import Float, Int
from convcheck.numerics.number import FINITE, from_fractions, is_nan, to_fraction
from convcheck.numerics.order import at
from convcheck.vectors.samples import samples

PAIRS = [
    ("float64", "float32"),
    ("float64", "float8e4m3fn"),
    ("float64", "int32"),
    ("float64", "uint64"),
    ("float32", "float64"),
    ("int64", "float32"),
    ("int64", "int8"),
    ("uint64", "int64"),
    ("uint64", "float8e8m0"),
    ("float8e8m0", "float32"),
    ("float32", "float8e8m0"),
    ("float8e4m3fnuz", "int8"),
    ("float64", "bool"),
    ("int64", "string"),
    ("bool", "float16"),
]
TURNS = 4
NEAR = 1

# Eight codes from the millionth on, and the SHA-256 of the first 100,000.
GOLDEN = {
    ("float64", "float32"): (
        "8a738959cad9d49d 396f43d0cfffffff 3948ca1134bee2bd 396ab9f05ffffff8 "
        "8a873a85624437dc 397099354fffffff dd5ecb848037c5ae b976749fa0000006",
        "ad94a7adec839216bde06acc3f5dde465ec3831f2b3f26a59eecdb5838482811",
    ),
    ("float64", "float8e4m3fn"): (
        "a78584a5630bcb8 c07cffffffffffff 24432455ffb7190b c07afffffffffff3 "
        "a8922ceddb7c8cd 408cffffffffffff 8100d00e4fbeefb9 4083000000000000",
        "253777e2df46ad6054894bd03ffdeb3edc0cd48ceac01bb33e4b6197c439491b",
    ),
    ("float64", "int32"): (
        "a7afd691ab4a937 41056253fffffffe a31cd341d8d08309 41021f53ffc77956 "
        "a892c8bf73f8d75 c11df0bbfffffffe 7e81ebb02ddf8a1f 4115607fff3f83e1",
        "978fa73855d7309754ab04d9222ef4e18e8500c1cca073a53b31b723d8b9099d",
    ),
    ("float64", "string"): (
        "182a4ed84fb23ef2 cf0344cf29f5742d 983932fb7ee8e4f9 a5a290f6d9be985d "
        "9841439fd3b6827c b241bef1c7d5e3bd 1854e42419aac100 1429bb660542d1b6",
        "3af4d552ef9b567f573418bf695beb5987fe3fffdaf43252601526a8d74da672",
    ),
    ("int64", "float32"): (
        "264 fffffffffffffceb 1addc4d8508a6f13 350 520 fffffffffffffa92 8b425c4aa14c1ec4 669",
        "bd0bbab2e37bf89f683962a41c5f40ce08d0e507549a4d7a5309e65ec69e35cd",
    ),
    ("int64", "int8"): (
        "2e4 fffffffffffffd00 417665c91e89fd5e 39d 467 fffffffffffffc00 aeacdcbdf5b1419d 3db",
        "a6cae364f1f1e2dc9af5d664b2725417c0fda0bb357ffd1e8c54729d798c2a0b",
    ),
    ("uint64", "float16"): (
        "287 2db d4839a4792f6c79b 3d3 54d 7d9 6abcb68c66d71dc2 4d4",
        "515f66a8bcc33b41bddb4f7fc088b64eaf866d6793f0fbfa53658aeee7f575d2",
    ),
    ("float32", "float64"): (
        "1b99760c 9bf87526 96d66722 1be2d4b6 9c3ca2e1 9c580460 5030d6c2 9c513cd7",
        "55e04caccca4fe47238037c50583f34deda3e739f47acf213cfd71f1961e0dfd",
    ),
    ("float8e8m0", "float32"): (
        "64 53 33 54 65 54 4b 55",
        "a72ffef9bbc13b76994e7f2beda79c4a6104d7d4cc5912180c21b4669fb98ac9",
    ),
}


def formats(pair):
    return numeric(pair[0]), CATALOG.types.types[pair[1]].format


def named(pair):
    return "->".join(pair)


def exact(fmt, codes):
    x = decode(fmt, codes)
    return [to_fraction(x, i) if x.kind[i] == FINITE else None for i in range(len(x))]


def binade(value):
    e = abs(value).numerator.bit_length() - value.denominator.bit_length()
    return e if abs(value) >= Fraction(2) ** e else e - 1


def spacing(fmt, value):
    if not isinstance(fmt, Float):
        return Fraction(1)
    least = fmt.lowest_exponent if fmt.zero else -(10**6)
    return Fraction(2) ** max((binade(value) if value else least) - fmt.mantissa, least)


@pytest.mark.parametrize("pair", PAIRS, ids=named)
@settings(max_examples=8, deadline=None)
@given(
    first=st.sampled_from([0, 1, 7, 10**9 - 3, 2**40 + 1, 2**64 - 5]),
    sizes=st.lists(st.sampled_from([0, 1, 2, 3, 5, 100, 4093]), max_size=6),
    data=st.data(),
)
def test_pieces_of_any_size_in_any_order_are_the_same_sequence(pair, first, sizes, data):
    source, target = formats(pair)
    starts = [first + sum(sizes[:k]) for k in range(len(sizes))]
    order = data.draw(st.permutations(range(len(sizes))))
    pieces = {k: samples(source, target, 5, starts[k], sizes[k]) for k in order}
    parts = [pieces[k] for k in range(len(sizes))]
    whole = samples(source, target, 5, first, sum(sizes))
    assert whole.shape == (sum(sizes),)
    assert whole.dtype == source.storage
    np.testing.assert_array_equal(np.concatenate([*parts, whole[:0]]), whole)


@pytest.mark.parametrize("pair", list(GOLDEN), ids=named)
def test_the_sequence_is_the_one_that_was_promised(pair):
    """A change needs a new SEQUENCE in convcheck/vectors/samples.py."""
    codes = samples(*formats(pair), 0, 0, 100_000)
    little = codes.astype(codes.dtype.newbyteorder("<"))
    text = hashlib.sha256(little.tobytes()).hexdigest()
    few = samples(*formats(pair), 0, 10**6, 8)
    assert (" ".join(f"{int(code):x}" for code in few), text) == GOLDEN[pair]


@pytest.mark.parametrize(("pair", "lowest", "highest"), [
    (("float64", "float32"), -1074, 1023),
    (("float64", "bool"), -1074, 1023),
    (("float32", "int8"), -149, 127),
    (("float8e8m0", "float32"), -127, 127),
    (("int64", "float32"), 0, 63),
    (("uint64", "string"), 0, 63),
    (("uint32", "float16"), 0, 31),
])  # fmt: skip
def test_every_binade_of_the_source_has_its_share(pair, lowest, highest):
    """Within as many samples of the first turn as there are binades, from any start."""
    source, target = formats(pair)
    turns = TURNS if isinstance(target, Float | Int) else 2
    zero = not isinstance(source, Float) or source.zero
    binades = highest - lowest + 1 + zero
    for first in (0, 10**9):
        values = exact(source, samples(source, target, 3, first, turns * binades)[::turns])
        assert None not in values
        met = [binade(v) for v in values if v]
        assert sorted(met) == list(range(lowest, highest + 1))
        assert values.count(Fraction(0)) == zero
    many = exact(source, samples(source, target, 3, 0, 20 * turns * binades)[::turns])
    signs = {(binade(v), v < 0) for v in many if v}
    assert len(signs) == (1 + source.signed) * (binades - zero) - (pair[0] == "int64")


@pytest.mark.parametrize(
    "pair", [("float64", "float32"), ("float64", "float8e4m3fn"), ("int64", "float32")], ids=named
)
def test_a_quarter_is_next_to_a_boundary_of_a_float(pair):
    source, target = numeric(pair[0]), numeric(pair[1])
    values = exact(source, samples(source, target, 2, 0, 16_000))
    near, ties = [], []
    for value in values:
        grid = spacing(target, value or Fraction(0)) / 2
        steps = round((value or 0) / grid)
        # The largest source value not above the boundary, and two steps from that one.
        distance = abs((value or 0) - steps * grid) / spacing(source, value or Fraction(0))
        near.append(value is not None and distance < 5)
        ties.append(near[-1] and distance == 0 and steps % 2 == 1)
    assert all(near[NEAR::TURNS])
    share = np.mean(ties[NEAR::TURNS])
    assert share > (0.03 if pair[0] == "int64" else 0.1)


def test_a_quarter_is_next_to_an_integer_or_a_half():
    source, target = numeric("float64"), numeric("int32")
    values = exact(source, samples(source, target, 2, 0, 24_000)[NEAR::TURNS])
    ties = 0
    for value in values:
        assert value is not None
        steps = round(value * 2)
        assert abs(value - Fraction(steps, 2)) <= 2 * spacing(source, value)
        assert abs(value) < 2**34
        ties += value * 2 == steps and steps % 2 == 1
    assert ties > len(values) / 10


@pytest.mark.parametrize("pair", [("float64", "float32"), ("int64", "float16")], ids=named)
def test_the_boundaries_rotate_through_the_binades_within_reach(pair):
    source, target = numeric(pair[0]), numeric(pair[1])
    reach = Fraction(2) ** target.highest_exponent * 8
    least = max(Fraction(2) ** target.lowest_exponent / 2, Fraction(2) ** -1000)
    least = least if isinstance(source, Float) else Fraction(1)
    values = exact(source, samples(source, target, 2, 0, 20_000)[NEAR::TURNS])
    met = {binade(v) for v in values if v}
    assert met >= set(range(binade(least), binade(reach)))
    assert all(v is not None and abs(v) < reach * 2 for v in values)


@pytest.mark.parametrize(("pair", "wanted"), [
    (("float64", "float32"), Fraction(2) ** 128 - Fraction(2) ** 103),
    (("float64", "float8e4m3fn"), Fraction(464)),
    (("float64", "int32"), Fraction(2**32 - 1, 2)),
    (("float64", "int32"), Fraction(-(2**32) - 1, 2)),
    (("float64", "uint8"), Fraction(511, 2)),
    (("float64", "uint8"), Fraction(-1, 2)),
    (("float64", "int64"), Fraction(2**63)),
    (("float64", "float8e8m0"), Fraction(3, 2) * Fraction(2) ** 127),
    (("int64", "float16"), Fraction(65520)),
    (("int64", "int8"), Fraction(128)),
])  # fmt: skip
def test_the_end_of_the_range_and_its_neighbours_are_asked(pair, wanted):
    source, target = numeric(pair[0]), numeric(pair[1])
    asked = set(samples(source, target, 0, 0, 100_000).tolist())
    number = from_fractions([abs(wanted)])
    for offset in (-2, -1, 0, 1, 2):
        code = at(source, number, np.array([offset]), np.array([wanted < 0]))
        assert int(code[0]) in asked, offset


def test_integers_come_next_to_where_they_wrap():
    values = exact(numeric("int64"), samples(numeric("int64"), numeric("int16"), 0, 0, 20_000))
    outside = [abs(v) for v in values[NEAR::TURNS] if v is not None and abs(v) > 2**15]
    assert len(outside) > 3000
    assert all((v + 2) % 2**15 <= 4 for v in outside)
    assert len(set(outside)) > 2000


def test_bits_are_random_patterns_too():
    source = numeric("float32")
    patterns = samples(source, numeric("float16"), 0, 0, 100_000)[2::TURNS]
    assert 0.002 < is_nan(source, patterns).mean() < 0.006
    ones = (patterns[:, None] >> np.arange(32, dtype=np.uint32)) & np.uint32(1)
    assert (abs(ones.mean(axis=0) - 0.5) < 0.02).all()
