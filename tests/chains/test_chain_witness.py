"""A second method: chains composed by numpy and ml_dtypes, and by the oracle of the tests."""

from functools import cache
from itertools import islice, product

import ml_dtypes
import numpy as np
import pytest
from catalogue import CATALOG

from convcheck.chains.cast import Chain
from convcheck.chains.compare import compare_chain
from convcheck.chains.type_chain import CompiledCasts
from convcheck.numerics.format import Text
from convcheck.numerics.number import is_nan

SPEC = CATALOG.specs["onnx.Cast-21"]
FLOATS = {
    "float16": np.float16, "float32": np.float32, "float64": np.float64,
    "bfloat16": ml_dtypes.bfloat16,
    "float8e4m3fn": ml_dtypes.float8_e4m3fn, "float8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "float8e5m2": ml_dtypes.float8_e5m2, "float8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
}  # fmt: skip
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
TYPES = [*FLOATS, *INTEGERS, "bool"]
NARROW = [name for name in TYPES if not name.endswith(("32", "64"))]
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
    for middle, target in islice(product(TYPES, TYPES), NARROW.index(source) % step, None, step):
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
