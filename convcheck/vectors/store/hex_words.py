"""Codes in files: hex of fixed width."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from convcheck.numerics.format import Bits, Format, Text
from convcheck.wording import plural


def hex_width(fmt: Format) -> int:
    """Return the number of hex digits of a code: one for every four bits or part of them."""
    return 0 if isinstance(fmt, Text) else (fmt.bits + 3) // 4


def bits_of_words(fmt: Format, words: Iterable[str]) -> Bits:
    """Return the codes of hex words, or texts. Raises ValueError for a word with too many bits."""
    if isinstance(fmt, Text):
        texts = list(words)
        array = np.empty(len(texts), object)
        array[:] = texts
        return array
    codes = np.array([int(word, 16) for word in words], np.uint64)
    if fmt.bits < 64 and (codes >> np.uint64(fmt.bits)).any():
        raise ValueError(f"a code of more than {plural(fmt.bits, 'bit')}")
    return codes.astype(fmt.storage)
