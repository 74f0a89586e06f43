"""Which cases a glob matches, fast for many globs and many cases."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Iterable
from difflib import get_close_matches
from fnmatch import translate
from functools import cached_property

_SEPARATED = re.compile(r"[/=-]")
_SPECIAL = re.compile(r"[*?\[\]]")
_TELLING, _NEAR = 1000, 10  # words of more ids tell little; so many ids are compared
_BRACKETS = re.compile(r"\[!?\]?[^\]]*\]")


class Index:
    """Case ids by the words in them, each with the separators around it ('-int8/').

    A word of a glob that has separators around it, too, is in every id that the glob matches. So
    few ids are held against the glob itself.
    """

    def __init__(self, ids: Iterable[str]) -> None:
        self.ids = frozenset(ids)

    @cached_property
    def _having(self) -> dict[str, set[str]]:
        """The ids that have a word. A list of plain ids does without."""
        found: dict[str, set[str]] = {}
        for name in self.ids:
            for word in words_of(name):
                found.setdefault(word, set()).add(name)
        return found

    def matches(self, glob: str) -> frozenset[str]:
        """Return the ids that a glob matches, as fnmatch does."""
        if not _SPECIAL.search(glob):
            return self.ids & {glob}
        like = re.compile(translate(glob)).match
        return frozenset(name for name in self.candidates(glob) if like(name))

    def candidates(self, glob: str) -> frozenset[str]:
        """Return the ids that have all the words of a glob: those that it matches, or more."""
        words = [w for w in words_of(_BRACKETS.sub("*", glob)) if not _SPECIAL.search(w)]
        having = sorted((self._having.get(word, set()) for word in words), key=len)
        return frozenset(having[0].intersection(*having[1:])) if having else self.ids

    def nearest(self, glob: str) -> str:
        """Return an id that is spelled nearly like a glob, '' where none is."""
        shared: Counter[str] = Counter()
        for word in words_of(glob):
            having = self._having.get(word, set())
            shared.update(having if len(having) <= _TELLING else ())
        most = heapq.nsmallest(_NEAR, shared.items(), key=lambda item: (-item[1], item[0]))
        found = get_close_matches(glob, [name for name, _ in most], 1, 0.7)
        return found[0] if found else ""


def words_of(name: str) -> list[str]:
    """Cut an id or glob at its separators: ['^onnx.Op-', '-21/', '/float32-', …]."""
    cuts = [match.start() for match in _SEPARATED.finditer(name)]
    marked = f"^{name}$"
    starts = [0, *(cut + 1 for cut in cuts)]
    ends = [*(cut + 2 for cut in cuts), len(marked)]
    return [marked[start:end] for start, end in zip(starts, ends, strict=True)]
