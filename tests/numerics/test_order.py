from itertools import pairwise

import numpy as np
import pytest
from catalogue import CATALOG
from hypothesis import given, settings
from hypothesis import strategies as st

from convcheck.judge.ranges import KEPT, Pair, Ranges, merged, ranges_of
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
def test_positions_are_the_order_of_the_vectors(dtype) -> None:  # type: ignore[no-untyped-def]
    fmt = dtype.format
    codes = in_order(fmt, np.arange(1 << fmt.bits).astype(fmt.storage))
    assert (positions(fmt, codes) == np.arange(len(codes))).all()
    some = range(0, len(codes), max(1, len(codes) // 512))
    assert [code_at(fmt, at) for at in some] == [int(codes[at]) for at in some]
    assert [position_of(fmt, int(codes[at])) for at in some] == list(some)


@STABLE
@given(st.lists(st.integers(0, 1 << 16).map(lambda n: n << 47), max_size=40))
def test_codes_are_there_once_and_in_order(codes) -> None:  # type: ignore[no-untyped-def]
    assert each_once(np.array(codes, np.uint64)).tolist() == sorted(set(codes))


@pytest.mark.parametrize("dtype", SMALL, ids=lambda t: t.name)
def test_an_index_counts_the_values_from_zero(dtype) -> None:  # type: ignore[no-untyped-def]
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
def test_positions_of_32_bits_go_to_and_fro(name: str) -> None:
    fmt = TYPES[name].format
    codes = np.array([0, 1, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 1], np.uint32)
    at = positions(fmt, codes).tolist()
    assert sorted(at)[0] == 0
    assert sorted(at)[-1] == 2**32 - 1
    assert [code_at(fmt, position) for position in at] == codes.tolist()
    assert [position_of(fmt, code) for code in codes.tolist()] == at


@pytest.mark.parametrize("name", ["float64", "int64", "uint64", "bfloat16", "int4", "float8e8m0"])
def test_positions_of_one_and_of_several_codes_agree(name: str) -> None:
    fmt, random = TYPES[name].format, np.random.default_rng(0)
    for mask in (0, 1 << (fmt.bits - 1)):
        codes = random.integers(0, 1 << fmt.bits, 999, np.uint64).astype(fmt.storage)
        codes &= fmt.storage.type(((1 << fmt.bits) - 1) ^ mask)
        at = positions(fmt, codes).tolist()
        assert at == [position_of(fmt, code) for code in codes.tolist()]


def runs_of(failing: list[bool]) -> list[Pair]:
    edges = [i for i, (a, b) in enumerate(pairwise([False, *failing, False])) if a != b]
    return [(a, b - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]


@STABLE
@given(
    st.lists(st.booleans(), min_size=1, max_size=400), st.randoms(), st.sets(st.integers(1, 399))
)
def test_ranges_found_in_parts_are_those_of_the_whole(failing, random, cuts) -> None:  # type: ignore[no-untyped-def]
    edges = [0, *sorted(c for c in cuts if c < len(failing)), len(failing)]
    parts = []
    for first, end in pairwise(edges):
        at = np.flatnonzero(failing[first:end]) + first
        found = ranges_of(at, frozenset((first, end - 1))) if len(at) else Ranges()
        parts.append(((first, end - 1), found))
    random.shuffle(parts)
    while len(parts) > 1:
        some, parts = parts[:3], parts[3:]
        covered = sorted(pair for part, _ in some for pair in part_of(part))
        joined = join(covered)
        ends = frozenset(position for pair in joined for position in pair)
        parts.append((joined, merged([found for _, found in some], ends)))
        random.shuffle(parts)
    shown, more = parts[0][1].shown()
    runs = runs_of(failing)
    half = KEPT // 2
    assert list(shown) == (runs if len(runs) <= KEPT else runs[:half] + runs[-half:])
    assert more == len(runs) - len(shown)


def part_of(part) -> list[Pair]:  # type: ignore[no-untyped-def]
    return [part] if isinstance(part[0], int) else list(part)


def join(pairs: list[Pair]) -> list[Pair]:
    joined: list[Pair] = []
    for pair in pairs:
        if joined and joined[-1][1] + 1 == pair[0]:
            joined[-1] = (joined[-1][0], pair[1])
        else:
            joined.append(pair)
    return joined
