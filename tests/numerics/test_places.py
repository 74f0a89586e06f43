"""Where codes stand among some: as a dict tells it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from convcheck.numerics.places import _PRIMES, Places

TYPES = (np.uint8, np.uint16, np.uint32, np.uint64)


@given(st.sampled_from(TYPES), st.data())
def test_each_code_is_found_and_no_other(
    storage: type[np.unsignedinteger], data: st.DataObject
) -> None:
    codes = st.integers(0, int(np.iinfo(storage).max))
    some = sorted(data.draw(st.sets(codes, min_size=1, max_size=40)))
    place = {code: i for i, code in enumerate(some)}
    asked = data.draw(st.lists(st.sampled_from(some) | codes, max_size=40))
    found = Places(np.array(some, storage)).of(np.array(asked, storage))
    if all(code in place for code in asked):
        assert found is not None
        assert found.tolist() == [place[code] for code in asked]
    else:
        assert found is None


def test_codes_of_equal_remainders_are_told_apart() -> None:
    """By the next modulus, or by a search where they are alike by every one."""
    product = int(np.prod(_PRIMES[:3], dtype=np.uint64))
    for step in (_PRIMES[0], _PRIMES[0] * _PRIMES[1], product):
        codes = np.arange(4, dtype=np.uint64) * np.uint64(step)
        found = Places(codes).of(codes[::-1].reshape(2, 2))
        assert found is not None
        assert found.tolist() == [[3, 2], [1, 0]]
        assert Places(codes).of(codes + np.uint64(1)) is None
    alike = np.concatenate([np.arange(3, dtype=np.uint64) * np.uint64(p) for p in _PRIMES])
    both = np.unique(alike)
    place = Places(both).of(both)
    assert place is not None
    assert place.tolist() == list(range(len(both)))


@pytest.mark.parametrize("wanted", [np.array(["b", "a"], object), np.array(["b", "x"], object)])
def test_texts_are_found(wanted: np.ndarray) -> None:
    place = Places(np.array(["a", "b"], object)).of(wanted)
    assert (place is None) == ("x" in wanted)
    assert place is None or place.tolist() == [1, 0]


def test_codes_of_another_type_are_not_there() -> None:
    assert Places(np.array([1], np.uint8)).of(np.array([1], np.uint16)) is None
