"""Compute an order-independent digest of (input, answer) pairs: a sum of hashes.

A hash has two lanes of 64 bits. Codes come in blocks of 4,096. Block b has a weight m(b), the
finaliser of splitmix64. Index i in a block has, in each lane, weights u(i), and t(i, k) for each
32-bit word a_k of the answer. The lane of a pair is

m(b) * (u(i) + t(i, 0) * a_0 + t(i, 1) * a_1)   mod 2^64.

It is linear in the answer, so a run of codes with one answer is summed by block.

Answers that differ only in a sign bit still differ in 33 bits of each lane. The weights are public,
so collisions can be constructed.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import cast

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.number import Bits, Codes, Texts, mix

_LANE = (1 << 64) - 1
_LANES = 2
_GOLDEN = 0x9E3779B97F4A7C15  # of splitmix64
_BITS = 12
_BLOCK = 1 << _BITS
_PIECE = 1 << 12  # pairs in a batch that fits the CPU cache
_WORD = 4  # bytes
_WORD_MASK = 0xFFFFFFFF
_TOGETHER = 1 << 12  # blocks whose weights are computed together

_Lanes = NDArray[np.uint64]


def digest_of_pairs(inputs: Bits, got: Bits) -> int:
    """Return the digest of inputs and answers, shape (n,). It depends on their item size."""
    if inputs.dtype.hasobject or got.dtype.hasobject:
        texts = zip(cast(Texts, inputs), cast(Texts, got), strict=True)
        return added(digest_of_words(tuple(map(str, pair))) for pair in texts)
    codes, answers = cast(Codes, inputs), cast(Codes, got)
    parts = (slice(at, at + _PIECE) for at in range(0, len(codes), _PIECE))
    return added(_of_piece(codes[part], answers[part]) for part in parts)


def _of_piece(inputs: Codes, got: Codes) -> int:
    codes, answers = inputs.astype(np.uint64, copy=False), got.astype(np.uint64)
    words = [answers]
    if got.dtype.itemsize > _WORD:
        words = [answers & np.uint64(_WORD_MASK), answers >> np.uint64(32)]
    place = (codes & np.uint64(_BLOCK - 1)).view(np.intp)
    block, weights = _block_weight(codes >> np.uint64(_BITS)), _weights(got.dtype.itemsize)
    lanes = []
    for lane in range(_LANES):
        sums = weights.place[lane].take(place)
        for word, each in zip(words, weights.word, strict=True):
            parts = each[lane].take(place)
            parts *= word
            sums += parts
        lanes.append(np.dot(sums, block))
    return _joined(lanes)


def digest_of_constant(first: int, count: int, answer: int, itemsize: int) -> int:
    """Return the digest of `count` codes from `first` on that share one answer."""
    end, total = first + count, np.zeros(_LANES, np.uint64)
    sums = _weights(itemsize).sums(answer)
    begin, stop = -(-first >> _BITS), end >> _BITS  # whole blocks
    if begin > stop:
        return _joined(_part(first, end, sums).tolist())
    for at in range(begin, stop, _TOGETHER):
        blocks = _block_weight(np.arange(at, min(at + _TOGETHER, stop), dtype=np.uint64))
        total += sums[:, -1] * blocks.sum(dtype=np.uint64)
    edges = _part(first, begin << _BITS, sums) + _part(stop << _BITS, end, sums)
    return _joined((total + edges).tolist())


def digest_of_words(words: tuple[int | str, ...]) -> int:
    """Return a 128-bit hash of texts or numbers."""
    return digest_of_bytes(repr(words).encode())


def digest_of_bytes(*parts: bytes) -> int:
    """Return a 128-bit hash of byte strings, concatenated."""
    state = hashlib.blake2b(digest_size=16)
    for part in parts:
        state.update(part)
    return int.from_bytes(state.digest(), "big")


def added(digests: Iterable[int]) -> int:
    """Return the digest of a union of disjoint sets."""
    both = list(digests)
    lanes = (sum(d >> 64 for d in both), sum(d & _LANE for d in both))
    return ((lanes[0] & _LANE) << 64) | (lanes[1] & _LANE)


def spell_digest(digest: int) -> str:
    """Spell a digest in 32 hexadecimal digits."""
    return f"{digest:032x}"


@dataclass(frozen=True)
class _Weights:
    #: u(i), shape (lanes, block)
    place: _Lanes
    #: t(i, k) of each word k, shifted by 2^8, 2^16 or 2^24 if answers share a word
    word: tuple[_Lanes, ...]
    #: running sums of `place` and `word`, from 0 on
    place_sums: _Lanes
    word_sums: tuple[_Lanes, ...]

    def sums(self, answer: int) -> _Lanes:
        found = self.place_sums
        for k, sums in enumerate(self.word_sums):
            found = found + sums * np.uint64((answer >> (32 * k)) & _WORD_MASK)
        return found


@cache
def _weights(itemsize: int) -> _Weights:
    place = _random(1, _BLOCK)
    packed = _random(2, 2 * _BLOCK)[:, : _BLOCK * itemsize // _WORD]
    if itemsize > _WORD:
        word = tuple(packed[:, k :: itemsize // _WORD] for k in range(itemsize // _WORD))
    else:
        at = np.arange(_BLOCK, dtype=np.uint64) * np.uint64(itemsize)
        shift = at % np.uint64(_WORD) * np.uint64(8)
        word = (np.ascontiguousarray(packed[:, at // np.uint64(_WORD)] << shift),)
    return _Weights(place, word, _running(place), tuple(map(_running, word)))


def _random(seed: int, count: int) -> _Lanes:
    first = np.arange(_LANES * count, dtype=np.uint64) + np.uint64(seed << 32)
    return mix(first + np.uint64(_GOLDEN)).reshape(_LANES, count)


def _running(weights: _Lanes) -> _Lanes:
    sums = np.zeros((_LANES, weights.shape[1] + 1), np.uint64)
    np.cumsum(weights, axis=1, out=sums[:, 1:])
    return sums


def _block_weight(blocks: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return m(b), odd so that no bit of a sum is lost."""
    weights = mix(blocks + np.uint64(_GOLDEN))
    weights |= np.uint64(1)
    return weights


def _part(first: int, end: int, sums: _Lanes) -> _Lanes:
    block = _block_weight(np.array([first >> _BITS], np.uint64))
    low = first & (_BLOCK - 1)
    return (sums[:, low + end - first] - sums[:, low]) * block


def _joined(lanes: Sequence[int]) -> int:
    return (int(lanes[0]) << 64) | int(lanes[1])
