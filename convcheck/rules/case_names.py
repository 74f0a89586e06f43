"""Compact names of sets of cases: onnx.Cast-{19,21}/{int8,int16}-to-bool stands for four ids."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import product
from math import prod

from convcheck.errors import Place, UsageError
from convcheck.streams import plural

_WORD = re.compile(r"(-to-|[/=-])")
_LIST = re.compile(r"\{([^{}]*)\}")
_MOST = 100_000  # ids of a name
_Words = tuple[tuple[str, ...], ...]  # alternatives for each part of an id


def compact_names(ids: Iterable[str]) -> list[str]:
    """Return names that stand for exactly these ids, each for one operator."""
    cut: Iterable[_Words] = (tuple((word,) for word in _WORD.split(name)) for name in ids)
    names = list(dict.fromkeys(cut))
    words = dict.fromkeys(word for name in names for (word,) in name)
    rank = {word: position for position, word in enumerate(words)}
    for place in reversed(range(1, max(map(len, names), default=0))):
        alike: dict[tuple[_Words, _Words], dict[str, None]] = {}
        for name in names:
            here = dict.fromkeys(name[place] if place < len(name) else ())
            alike.setdefault((name[:place], name[place + 1 :]), {}).update(here)
        names = [(*before, tuple(sorted(here, key=rank.__getitem__)), *after) if here else before
                 for (before, after), here in alike.items()]  # fmt: skip
    return ["".join(w[0] if len(w) == 1 else f"{{{','.join(w)}}}" for w in name) for name in names]


def ids_of(name: str, place: Place) -> list[str]:
    """Return the ids of a name. Raises UsageError if there are too many."""
    parts = _LIST.split(name)
    lists = [part.split(",") if at % 2 else [part] for at, part in enumerate(parts)]
    if (count := prod(map(len, lists))) > _MOST:
        hint = f"a name stands for {_MOST:,} cases at most"
        raise UsageError(f"{plural(count, 'case')} in one name", place=place, hint=hint)
    return ["".join(words) for words in product(*lists)]
