"""A plan dealt out to shards, and put in its order again.

Cases that differ in attribute values only are one hand, as far as the plan has them side by side:
a runtime that takes one for the other shows in any shard. All else is dealt out one by one, so that
long specs are shared out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, zip_longest
from typing import TypeVar

T = TypeVar("T")
Alike = Callable[[T], str]  # what the members of a hand have in common; '' for one by itself


def hand_of(name: str) -> str:
    """Return what the id of a case has in common with those that differ in attribute values."""
    return "/".join(name.split("/")[:2])


def deal(plan: Sequence[T], alike: Alike[T], of: int) -> list[list[T]]:
    """Return the parts of so many shards: hand by hand, if there are enough hands and the order of
    the plan follows from the parts; else one by one.
    """
    hands = list(_hands(plan, alike))
    dealt = [list(chain.from_iterable(hands[index::of])) for index in range(of)]
    if len(hands) >= of and _by_hands(dealt, alike) == list(plan):
        return dealt
    return [list(plan[index::of]) for index in range(of)]


def put_together(
    dealt: Sequence[Sequence[T]], alike: Alike[T], is_plan: Callable[[list[T]], bool]
) -> list[T] | None:
    """Return what all shards have in the order of their plan, None where no order `is_plan`."""
    either = (_by_hands(dealt, alike), _one_by_one(dealt))
    return next(filter(is_plan, either), None)


def plan_digest(ids: Sequence[str]) -> str:
    """Hash the ids of the cases of a plan, in order, to 128 bits in hexadecimal digits."""
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
