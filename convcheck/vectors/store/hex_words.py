"""Codes in files: hex of fixed width."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

import numpy as np

from convcheck.numerics.codes import Bits
from convcheck.numerics.format import Format, Text
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
    if fmt.bits < 64 and np.count_nonzero(codes >> np.uint64(fmt.bits)):
        raise ValueError(f"a code of more than {plural(fmt.bits, 'bit')}")
    return codes.astype(fmt.storage)


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
