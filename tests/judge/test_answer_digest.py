from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from convcheck.judge.digest import added, digest_of_constant, digest_of_pairs, digest_of_words

STORAGE = (np.uint8, np.uint16, np.uint32, np.uint64)
BLOCK = 4096
LANE = 2**64
FIRSTS = st.one_of(
    st.integers(0, 3 * BLOCK), st.integers(2**31 - BLOCK, 2**31), st.integers(0, 2**64 - 5 * BLOCK)
)


def slow(first, got):
    lanes = [0, 0]
    for at, answer in enumerate(got.tolist(), first):
        for lane in (0, 1):
            lanes[lane] += mix(at // BLOCK, odd=True) * weight(lane, at % BLOCK, answer, got)
    return (lanes[0] % LANE) << 64 | lanes[1] % LANE


def weight(lane, place, answer, got):
    total, size = mix((1 << 32) + lane * BLOCK + place), got.dtype.itemsize
    for byte in range(size):
        at = place * size + byte
        word = mix((2 << 32) + lane * 2 * BLOCK + at // 4)
        total += word * (answer >> (8 * byte) & 0xFF) << (8 * (at % 4))
    return total


def mix(z, odd=False):
    z = (z + 0x9E3779B97F4A7C15) % LANE
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % LANE
    z = (z ^ z >> 27) * 0x94D049BB133111EB % LANE
    return z ^ z >> 31 | odd


def codes_from(first, count):
    return np.arange(count, dtype=np.uint64) + np.uint64(first)


def random(storage, count, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, np.iinfo(storage).max, count, storage, endpoint=True)


@pytest.mark.parametrize("storage", STORAGE)
@pytest.mark.parametrize(("first", "count"), [(0, 1), (4090, 9), (2**64 - 7, 7), (8192, 4097)])
def test_it_is_what_the_docstring_says(storage, first, count):
    got = random(storage, count)
    assert digest_of_pairs(codes_from(first, count), got) == slow(first, got)


@given(FIRSTS, st.integers(1, 4 * BLOCK), st.sampled_from(STORAGE), st.integers(0, 99), st.data())
def test_a_partition_adds_up(first, count, storage, seed, data):
    codes, got = codes_from(first, count), random(storage, count, seed)
    whole = digest_of_pairs(codes, got)
    cuts = sorted({0, count, *data.draw(st.lists(st.integers(0, count), max_size=4))})
    pairs = list(pairwise(cuts))
    assert added(digest_of_pairs(codes[a:b], got[a:b]) for a, b in pairs) == whole
    here = np.random.default_rng(seed).integers(0, 3, count)
    assert added(digest_of_pairs(codes[here == n], got[here == n]) for n in range(3)) == whole


@given(FIRSTS, st.integers(0, 4 * BLOCK), st.sampled_from(STORAGE), st.integers(0, 2**64 - 1))
def test_one_answer_to_all_is_summed_by_blocks(first, count, storage, answer):
    got = np.full(count, answer % (np.iinfo(storage).max + 1), storage)
    one = int(got[0]) if count else 0
    constant = digest_of_constant(first, count, one, got.dtype.itemsize)
    assert constant == digest_of_pairs(codes_from(first, count), got)


@pytest.mark.parametrize("storage", STORAGE)
def test_what_differs_has_another_digest(storage):
    codes, got = codes_from(2**20, 64), random(storage, 64)
    found = {
        digest_of_pairs(codes, got),
        digest_of_pairs(codes[::-1], got),
        digest_of_pairs(codes + np.uint64(1), got),
    }
    for bit in range(8 * got.dtype.itemsize):
        flipped = got ^ got.dtype.type(1 << bit)
        found |= {
            digest_of_pairs(codes, flipped),
            digest_of_pairs(codes, np.r_[flipped[:2], got[2:]]),
        }
        found.add(digest_of_pairs(codes, np.r_[got[:1], flipped[1:2], got[2:]]))
    found |= {digest_of_pairs(np.delete(codes, n), np.delete(got, n)) for n in range(64)}
    assert len(found) == 3 + 3 * 8 * got.dtype.itemsize + 64


def test_texts_add_up():
    texts = np.array(["1", "2.5", ""], object)
    got = np.array([1, 2, 3], np.uint8)
    parts = (digest_of_pairs(texts[i : i + 1], got[i : i + 1]) for i in range(3))
    assert added(parts) == digest_of_pairs(texts, got) != digest_of_pairs(texts[::-1], got)
    assert digest_of_words(("1", 2)) != digest_of_words(("1", "2"))
