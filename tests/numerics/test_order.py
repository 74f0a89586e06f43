import numpy as np
import pytest
from catalogue import CATALOG
from hypothesis import given, settings
from hypothesis import strategies as st

from convcheck.numerics.order import (
    code_at,
    code_at_index,
    each_once,
    index_of,
    position_of,
    positions,
    rough_indices,
)
from convcheck.vectors.inputs import in_order

TYPES = CATALOG.types.types
SMALL = [t for t in TYPES.values() if t.name != "string" and t.format.bits <= 16]
STABLE = settings(deadline=None, derandomize=True, max_examples=300)


@pytest.mark.parametrize("dtype", SMALL, ids=lambda t: t.name)
def test_positions_are_the_order_of_the_vectors(dtype):
    fmt = dtype.format
    codes = in_order(fmt, np.arange(1 << fmt.bits).astype(fmt.storage))
    assert (positions(fmt, codes) == np.arange(len(codes))).all()
    some = range(0, len(codes), max(1, len(codes) // 512))
    assert [code_at(fmt, at) for at in some] == [int(codes[at]) for at in some]
    assert [position_of(fmt, int(codes[at])) for at in some] == list(some)


@STABLE
@given(st.lists(st.integers(0, 1 << 16).map(lambda n: n << 47), max_size=40))
def test_codes_are_there_once_and_in_order(codes):
    assert each_once(np.array(codes, np.uint64)).tolist() == sorted(set(codes))


@pytest.mark.parametrize("dtype", SMALL, ids=lambda t: t.name)
def test_an_index_counts_the_values_from_zero(dtype):
    fmt = dtype.format
    codes = in_order(fmt, np.arange(1 << fmt.bits).astype(fmt.storage))
    found = [index_of(fmt, code) for code in codes.tolist()]
    assert rough_indices(fmt, codes).tolist() == found
    steps = set(np.diff(found).tolist())
    assert steps <= {1, 0}
    assert found.count(0) == 1 + (0 in steps)
    pairs = zip(found, codes.tolist(), strict=True)
    assert all(code_at_index(fmt, at) == code for at, code in pairs if at)


@pytest.mark.parametrize("name", ["float32", "int32", "uint32"])
def test_positions_of_32_bits_go_to_and_fro(name):
    fmt = TYPES[name].format
    codes = np.array([0, 1, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 1], np.uint32)
    at = positions(fmt, codes).tolist()
    assert sorted(at)[0] == 0
    assert sorted(at)[-1] == 2**32 - 1
    assert [code_at(fmt, position) for position in at] == codes.tolist()
    assert [position_of(fmt, code) for code in codes.tolist()] == at


@pytest.mark.parametrize("name", ["float64", "int64", "uint64", "bfloat16", "int4", "float8e8m0"])
def test_positions_of_one_and_of_several_codes_agree(name):
    fmt, random = TYPES[name].format, np.random.default_rng(0)
    for mask in (0, 1 << (fmt.bits - 1)):
        codes = random.integers(0, 1 << fmt.bits, 999, np.uint64).astype(fmt.storage)
        codes &= fmt.storage.type(((1 << fmt.bits) - 1) ^ mask)
        at = positions(fmt, codes).tolist()
        assert at == [position_of(fmt, code) for code in codes.tolist()]
