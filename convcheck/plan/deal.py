"""Deal a plan out to shards, and restore its order.

Adjacent cases that differ only in attribute values stay in one hand, so that any shard shows a
runtime that confuses them. Everything else is dealt one by one, which splits long specs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, zip_longest
from typing import TypeVar

T = TypeVar("T")
Alike = Callable[[T], str]  # key of a hand; '' for a hand of one


def hand_of(name: str) -> str:
    """Return the part of a case id before its attribute values."""
    return "/".join(name.split("/")[:2])


def deal(plan: Sequence[T], alike: Alike[T], of: int) -> list[list[T]]:
    """Return the parts of `of` shards, hand by hand.

    Deals one by one if there are too few hands or the plan's order could not be restored.
    """
    hands = list(_hands(plan, alike))
    dealt = [list(chain.from_iterable(hands[index::of])) for index in range(of)]
    if len(hands) >= of and _by_hands(dealt, alike) == list(plan):
        return dealt
    return [list(plan[index::of]) for index in range(of)]


def put_together(
    dealt: Sequence[Sequence[T]], alike: Alike[T], is_plan: Callable[[list[T]], bool]
) -> list[T] | None:
    """Merge all shards in the order that `is_plan` accepts, or return None."""
    either = (_by_hands(dealt, alike), _one_by_one(dealt))
    return next(filter(is_plan, either), None)


def plan_digest(ids: Sequence[str]) -> str:
    """Return a 128-bit hash of the case ids of a plan, in hexadecimal."""
    return hashlib.sha256("\n".join(ids).encode()).hexdigest()[:32]


def _by_hands(dealt: Sequence[Sequence[T]], alike: Alike[T]) -> list[T]:
    hands = _one_by_one([list(_hands(part, alike)) for part in dealt])
    return list(chain.from_iterable(hands))


def _one_by_one(dealt: Sequence[Sequence[T]]) -> list[T]:
    return [one for turn in zip_longest(*dealt) for one in turn if one is not None]


def _hands(plan: Sequence[T], alike: Alike[T]) -> Iterator[list[T]]:
    hand: list[T] = []
    for one in plan:
        if hand and not (alike(one) and alike(one) == alike(hand[0])):
            yield hand
            hand = []
        hand.append(one)
    if hand:
        yield hand
