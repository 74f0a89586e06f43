from functools import cache
from itertools import islice, product

import ml_dtypes
import numpy as np
import pytest
from catalogue import CATALOG

from convcheck.chains.cast import Chain
from convcheck.chains.compare import INTERVALS, VECTORS, IntervalSearch, compare_chain
from convcheck.chains.judgement import triples
from convcheck.chains.segments import UnprovenError
from convcheck.chains.type_chain import CompiledCasts
from convcheck.numerics.format import Text
from convcheck.numerics.number import is_nan

TYPES = CATALOG.types.types


def ways(spec, *names, where=()):
    return list(CompiledCasts(CATALOG, CATALOG.specs[spec], where).chain(names).ways())


@pytest.mark.parametrize(("spec", "least", "most", "step", "where"), [
    ("onnx.Cast-21", 1, 8, 23, ()),
    ("onnx.Cast-21", 16, 16, 53, ()),
    ("onnx.Cast-28", 1, 8, 97, ("saturate=0",)),
    ("openvino.Convert-1", 1, 8, 11, ()),
    ("openvino.Convert-1", 16, 16, 41, ()),
    ("pypto.cast-0.2", 1, 8, 3, ()),
])  # fmt: skip
def test_intervals_tell_what_every_input_tells(spec, least, most, step, where):
    conversions, proved = CompiledCasts(CATALOG, CATALOG.specs[spec], where), 0
    narrow = (t for t in triples(CATALOG.specs[spec]) if least <= TYPES[t[0]].format.bits <= most)
    for names in islice(narrow, 0, None, step):
        for way in conversions.chain(names).ways():
            every = compare_chain(way.chain, way.direct)
            try:
                search = IntervalSearch(way.chain, way.direct)
            except UnprovenError:
                continue
            first, both = search.compared(counted=False), search.compared(counted=True)
            assert first is not None
            assert both is not None
            assert first.least == every.least, names
            assert both.counts == every.counts, names
            proved += 1
    assert proved > 20


@pytest.mark.parametrize("names", [
    ("int16", "int32", "int8", "bool"),
    ("int16", "int64", "uint8", "float8e4m3fn"),
    ("uint16", "int32", "int8", "uint8"),
    ("float16", "int32", "int8", "int16"),
])  # fmt: skip
def test_low_bits_in_the_middle_turn_back(names):
    """Low bits are not monotone: the ends of an interval do not show 256, whose low byte is 0. The
    result must be no proof, or a right one.
    """
    for way in ways("onnx.Cast-21", *names):
        every = compare_chain(way.chain, way.direct)
        try:
            both = IntervalSearch(way.chain, way.direct).compared(counted=True)
        except UnprovenError:
            continue
        assert both is not None
        assert both.counts == every.counts


@pytest.mark.parametrize(("spec", "names"), [
    ("onnx.Cast-21", "float32 float64 float32"),
    ("onnx.Cast-21", "int64 int32 int8"),
    ("onnx.Cast-21", "int64 float64 float16"),
    ("onnx.Cast-21", "int32 int64 float64"),
    ("onnx.Cast-21", "uint64 int64 uint64"),
    ("onnx.Cast-21", "float16 float32 float64 float16"),
    ("openvino.Convert-1", "float64 int64 int32"),
])  # fmt: skip
def test_wide_chains_are_proved_equal(spec, names):
    for way in ways(spec, *names.split()):
        found = compare_chain(way.chain, way.direct)
        assert found.proof != VECTORS
        assert found.least is None
        assert found.counts.inputs == 1 << way.chain.source.bits


def by_hand(way, codes):
    asked = np.array(codes, np.uint64)
    return way.chain.results(asked).same(Chain((way.direct,)).results(asked)).tolist()


@pytest.mark.parametrize(("names", "least", "different"), [
    # one above a tie of bfloat16, which float32 cannot represent from 2^24 on
    ("int32 float32 bfloat16", (1 << 24) + (1 << 16) + 1, 32_512),
    ("float32 float16 float8e4m3fn", 0x3A800001, 1_032_192),
    ("float32 int8 float32", 1, 2_248_015_618),
])  # fmt: skip
def test_what_differs_is_counted_and_the_least_is_shown(names, least, different):
    [way] = ways("onnx.Cast-21", *names.split())
    found = compare_chain(way.chain, way.direct)
    assert (found.proof, found.least, found.is_least) == (INTERVALS, least, True)
    assert found.counts.different == different
    assert by_hand(way, [least - 1, least]) == [True, False]


def test_the_neighbour_of_a_tie_goes_the_wrong_way():
    """From 2^24 to 2^25 float32 has every second integer, and rounds the neighbours of a bfloat16
    tie to the tie. Both then go to even.
    """
    [way] = ways("onnx.Cast-21", "int32", "float32", "bfloat16")
    binade = range(1 << 24, 1 << 25)
    ties = list(binade[1 << 16 :: 1 << 17])
    near = [t + d for t in ties for d in (-2, -1, 0, 1, 2)]
    wrong = [n for n, same in zip(near, by_hand(way, near), strict=True) if not same]
    assert wrong == [t + (1 if (t >> 17) % 2 == 0 else -1) for t in ties]


def test_one_text_is_read_one_way_in_all_casts():
    read = [way.readings for way in ways("onnx.Cast-21", "float64", "float32", "int4")]
    assert [set(one.values()) for one in read] == [{"nearest-even"}, {"toward-zero"}]
    both = [way.readings for way in ways("onnx.Cast-21", "float8e5m2", "float16", "int4")]
    assert len(both) == 4


def test_a_cast_that_tells_nans_apart_leaves_open_what_comes_of_any_nan():
    """float8e4m3fn without saturation keeps a NaN's sign, and a cast to float32 gives any NaN."""
    [way] = ways("onnx.Cast-23", "float16", "float32", "float8e4m3fn", where=("saturate=0",))
    found = compare_chain(way.chain, way.direct)
    assert found.counts.chain_open == 2 * ((1 << 10) - 1)
    assert found.least is None


SPEC = CATALOG.specs["onnx.Cast-21"]
# A second method: chains composed by numpy and ml_dtypes.
FLOATS = {
    "float16": np.float16, "float32": np.float32, "float64": np.float64,
    "bfloat16": ml_dtypes.bfloat16,
    "float8e4m3fn": ml_dtypes.float8_e4m3fn, "float8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "float8e5m2": ml_dtypes.float8_e5m2, "float8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
}  # fmt: skip
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
NAMES = [*FLOATS, *INTEGERS, "bool"]
NARROW = [name for name in NAMES if not name.endswith(("32", "64"))]
NAN = np.uint64(1 << 63)  # of any type narrower than 64 bits


def numbers(name, codes):
    known = np.dtype(FLOATS.get(name, name))
    return codes.astype(f"u{known.itemsize}").view(known)


def codes_of(name, values):
    fmt = CATALOG.types.types[name].format
    assert not isinstance(fmt, Text)
    codes = values.view(f"u{values.itemsize}")
    found = codes.astype(np.uint64)
    if name in FLOATS:
        found[is_nan(fmt, codes)] = NAN
    return found


@cache
def every(name):
    dtype = CATALOG.types.types[name].format
    assert not isinstance(dtype, Text)
    return np.arange(1 << dtype.bits, dtype=np.uint64)


@cache
def converted(source, target):
    with np.errstate(all="ignore"):
        return numbers(source, every(source)).astype(FLOATS.get(target, target))


@pytest.mark.parametrize("source", NARROW)
def test_chains_are_what_the_witness_composes(source):
    """Every defined code of a narrow source, through all types (every sixth pair for 16 bits).
    ml_dtypes does not saturate, and keeps the sign of a zero.
    """
    plain, unsaturated = CompiledCasts(CATALOG, SPEC), CompiledCasts(CATALOG, SPEC, ("saturate=0",))
    codes = every(source)
    step = 1 if len(codes) < 1 << 16 else 6
    for middle, target in islice(product(NAMES, NAMES), NARROW.index(source) % step, None, step):
        names = (source, middle, target)
        applies = any(name.startswith("float8") for name in names[1:])
        ways = (unsaturated if applies else plain).chain(names).ways()
        [way] = (way for way in ways if set(way.readings.values()) <= {"sign kept", "the identity"})
        chain, direct = way.chain.results(codes), Chain((way.direct,)).results(codes)
        with np.errstate(all="ignore"):
            onward = converted(source, middle).astype(FLOATS.get(target, target))
        twice = codes_of(target, onward)
        itself = numbers(source, codes)
        once = codes_of(target, itself if source == target else converted(source, target))
        both = chain.defined & direct.defined
        differs = np.flatnonzero(both & (twice != once))
        found = compare_chain(way.chain, way.direct)
        assert found.counts.different == len(differs), names
        assert found.least == (int(codes[differs[0]]) if len(differs) else None), names
