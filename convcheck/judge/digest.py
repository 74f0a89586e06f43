"""A digest of answers that does not depend on their order, so that parts of a case add up."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import cast

import numpy as np
from numpy.typing import NDArray

from convcheck.judge.result import Word
from convcheck.numerics.format import Bits, Codes, Texts

_LANE = (1 << 64) - 1


def digest(inputs: Bits, got: Bits) -> str:
    """Sum two 64-bit hashes per (input, answer), each mod 2^64: their order does not matter."""
    if inputs.dtype.hasobject or got.dtype.hasobject:
        texts = zip(cast(Texts, inputs), cast(Texts, got), strict=True)
        total = sum(int(digest_of_words(tuple(map(str, pair))), 16) for pair in texts)
        return f"{total % 2**128:032x}"
    x, y = cast(Codes, inputs).astype(np.uint64), cast(Codes, got).astype(np.uint64)
    lanes = [int(_mix(_mix(x + np.uint64(seed)) ^ y).sum(dtype=np.uint64)) for seed in (1, 2)]
    return f"{lanes[0]:016x}{lanes[1]:016x}"


def added(digests: Iterable[int]) -> int:
    """Add digests of disjoint parts, lane by lane, as the sums of elements are."""
    both = list(digests)
    lanes = (sum(d >> 64 for d in both), sum(d & _LANE for d in both))
    return ((lanes[0] & _LANE) << 64) | (lanes[1] & _LANE)


def _mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64 (Steele, Lea and Flood, 2014)."""
    z = (z + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def digest_of_words(words: tuple[Word, ...]) -> str:
    """Hash words to 128 bits."""
    return hashlib.blake2b(repr(words).encode(), digest_size=16).hexdigest()


def digest_of_run(first: int, count: int, got: Codes) -> int:
    """Hash the answers to consecutive codes from `first` on to 128 bits.

    For answers of any number at once, of shape (count,): of some that are all the same, (1,).
    """
    hashed = hashlib.sha256(f"{first} {count} ".encode())
    hashed.update(np.ascontiguousarray(got).data)
    return int.from_bytes(hashed.digest()[:16])
