"""Cases on few lines, each an id with lists in it: onnx.Cast-{19,21}/{int8,int16}-to-bool."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import product

from convcheck.errors import Place, UsageError
from convcheck.wording import plural

_WORD = re.compile(r"(-to-|[/=-])")
_LIST = re.compile(r"\{([^{}]*)\}")
_MOST = 100_000  # ids that a name may stand for
_Words = tuple[tuple[str, ...], ...]  # what stands in each place of an id


def compact_names(ids: Iterable[str]) -> list[str]:
    """Return names that stand for some ids, each once, and for no other.

    Ids that differ in one place are put together: attribute values first, the operator last.
    """
    cut: list[_Words] = [tuple((word,) for word in _WORD.split(name)) for name in ids]
    left = list(dict.fromkeys(cut))
    for place in reversed(range(max(map(len, left), default=0))):
        left = _joined(left, place)
    return ["".join(map(_spelled, words)) for words in left]


def ids_of(name: str, place: Place) -> Iterator[str]:
    """Return the ids that a name in some place stands for. Raises UsageError for too many."""
    parts = _LIST.split(name)
    lists = [part.split(",") if at % 2 else [part] for at, part in enumerate(parts)]
    count = 1
    for words in lists:
        count *= len(words)
    if count > _MOST:
        hint = f"a name stands for {_MOST:,} cases at most"
        raise UsageError(f"{plural(count, 'case')} in one name", place=place, hint=hint)
    return ("".join(words) for words in product(*lists))


def _joined(entries: Iterable[_Words], place: int) -> list[_Words]:
    """Put entries together that differ in nothing but the words in one place."""
    found: dict[tuple[_Words, _Words], dict[str, None]] = {}
    for entry in entries:
        key = entry[:place], entry[place + 1 :]
        found.setdefault(key, {}).update(dict.fromkeys(entry[place] if place < len(entry) else ()))
    return [(*before, tuple(words), *after) if words else before
            for (before, after), words in found.items()]  # fmt: skip


def _spelled(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else "{" + ",".join(words) + "}"
