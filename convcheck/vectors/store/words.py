"""Codes, and what is expected of answers, as words of a file."""

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
    """Spell codes in hex of fixed width, a digit for every four bits; a text is a word as it is."""
    entries: list[Any] = bits.reshape(-1).tolist()
    if isinstance(fmt, Text):
        return entries
    width = (fmt.bits + 3) // 4
    return [f"{code:0{width}x}" for code in entries]


def bits_of_words(fmt: Format, words: Iterable[str]) -> Bits:
    """Return the codes of hex words, or texts. Raises ValueError for a word with too many bits."""
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
    """Spell what is expected: codes, or pattern words; a text is marked by an equals sign."""
    mark = "=" if isinstance(fmt, Text) else ""
    pairs = zip(words_of_bits(fmt, codes), patterns.tolist(), strict=True)
    return [f"{mark}{word}" if p == EXACT else PATTERNS[p] for word, p in pairs]


def due_of_words(fmt: Format, words: Sequence[str]) -> tuple[Bits, NDArray[np.uint8]]:
    """Return the codes and patterns that `words_due` spelled. Raises ValueError for other words."""
    if isinstance(fmt, Text):
        found = [EXACT if word.startswith("=") else PATTERNS.index(word) for word in words]
    else:
        found = [PATTERNS.index(word) if word in PATTERNS else EXACT for word in words]
    skipped, blank = (1, "") if isinstance(fmt, Text) else (0, "0")
    pairs = zip(words, found, strict=True)
    codes = bits_of_words(fmt, [w[skipped:] if p == EXACT else blank for w, p in pairs])
    return codes, np.array(found, np.uint8)


def with_runs(words: Iterable[str]) -> str:
    """Return words with a space between them; one that comes n times in a row is WORD*n."""
    runs = ((word, len(list(run))) for word, run in groupby(words))
    return " ".join(word if n == 1 else f"{word}*{n}" for word, n in runs)


def without_runs(text: str) -> list[str]:
    """Return the words of a text that `with_runs` made. Raises ValueError for what is no number."""
    words: list[str] = []
    for run in text.split():
        word, star, n = run.partition("*")
        if star:
            words += [word] * int(n)
        else:
            words.append(word)
    return words
