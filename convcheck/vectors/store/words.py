"""Spell codes and expected values as words of a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.codes import Bits
from convcheck.numerics.format import Format, Text
from convcheck.semantics.expected import EXACT, PATTERNS
from convcheck.wording import plural


def words_of_bits(fmt: Format, bits: Bits) -> list[str]:
    """Return codes in hexadecimal of fixed width, or texts as they are."""
    entries: list[Any] = bits.reshape(-1).tolist()
    if isinstance(fmt, Text):
        return entries
    width = (fmt.bits + 3) // 4
    return [f"{code:0{width}x}" for code in entries]


def bits_of_words(fmt: Format, words: Iterable[str]) -> Bits:
    """Return the codes of hexadecimal words, or texts. Raises ValueError for too many bits."""
    if isinstance(fmt, Text):
        texts = list(words)
        array = np.empty(len(texts), object)
        array[:] = texts
        return array
    codes = np.array([int(word, 16) for word in words], np.uint64)
    if fmt.bits < 64 and np.count_nonzero(codes >> np.uint64(fmt.bits)):
        raise ValueError(f"a code of more than {plural(fmt.bits, 'bit')}")
    return codes.astype(fmt.storage)


def words_due(fmt: Format, codes: Bits, patterns: NDArray[np.uint8]) -> list[str]:
    """Return expected values as codes or pattern names; a text starts with an equals sign."""
    mark = "=" if isinstance(fmt, Text) else ""
    pairs = zip(words_of_bits(fmt, codes), patterns.tolist(), strict=True)
    return [f"{mark}{word}" if p == EXACT else PATTERNS[p] for word, p in pairs]


def due_of_words(fmt: Format, words: Sequence[str]) -> tuple[Bits, NDArray[np.uint8]]:
    """Return the codes and patterns of expected words. Raises ValueError for invalid words."""
    if isinstance(fmt, Text):
        found = [EXACT if word.startswith("=") else PATTERNS.index(word) for word in words]
    else:
        found = [PATTERNS.index(word) if word in PATTERNS else EXACT for word in words]
    skipped, blank = (1, "") if isinstance(fmt, Text) else (0, "0")
    pairs = zip(words, found, strict=True)
    codes = bits_of_words(fmt, [w[skipped:] if p == EXACT else blank for w, p in pairs])
    return codes, np.array(found, np.uint8)


def with_runs(words: Iterable[str]) -> str:
    """Join words with spaces; n equal words in a row become WORD*n."""
    runs = ((word, len(list(run))) for word, run in groupby(words))
    return " ".join(word if n == 1 else f"{word}*{n}" for word, n in runs)


def without_runs(text: str) -> list[str]:
    """Split the words that `with_runs` joined. Raises ValueError for an invalid count."""
    words: list[str] = []
    for run in text.split():
        word, star, n = run.partition("*")
        if star:
            words += [word] * int(n)
        else:
            words.append(word)
    return words
