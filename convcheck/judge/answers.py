"""What a backend answered to a case's inputs, and how the asking itself went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from convcheck.backends.protocol import Declined, Outputs, Oversized
from convcheck.numerics.codes import Bits
from convcheck.vectors.span import CHUNK as CHUNK
from convcheck.wording import plural

Index = NDArray[np.intp]

# The states of an element.
ANSWERED, REFUSED, CRASHED, NOT_ASKED, LOST = range(5)  # LOST: the adapter raised

WITH_OTHERS = "refused with others"  # the kind of what is not known to be refused alone

BETWEEN = "between calls"  # what happens when nothing is asked

# Calls of more than 2^10 and 2^16 elements: by an odd number that is larger than a set of vectors,
# so that each of them stands behind the first 2^10 or 2^16. And so many calls, one after the other.
LARGE_CALLS = {plural(size, "element"): size for size in ((1 << 10) + 1105, (1 << 16) + 1107)}
MANY = 101
MANY_CALLS = plural(MANY, "call")
OTHERS = "after other attributes"  # what a process answers that was asked the same with others
LARGEST = max(LARGE_CALLS.values())  # no call has more elements, but for what --consistency asks

ANOTHER = "another case"  # what is asked only to find out whether it is answered

TELLING = "telling causes apart"  # what is asked only to tell apart the causes of a failure

# The ways in which elements are put to a backend. Under '' stands what is counted.
FIRST = (
    BETWEEN, "support", ANOTHER, "bulk", "alone", "odd tail", "short", "2-D", "3-D", "4-D",
    "empty", *LARGE_CALLS, MANY_CALLS, OTHERS, "sweep", TELLING,
)  # fmt: skip
AGAIN = ("again", "other place", "other options")  # what was answered, for the same bits
PLACEMENTS = ("", *FIRST, *AGAIN)


@dataclass(frozen=True)
class Fault:
    """An answer that is malformed as a whole, or a call that failed for no one element's sake.

    `kind` is one of 'wrong shape', 'wrong type', 'wrong number of outputs', 'not a code of the
    type', 'refused' (by a placement: its elements were answered elsewhere), 'error' (likewise, but
    the adapter raised) and 'crashed' (needs several inputs together, the placement's shape, or is
    not reproduced). `index` is the first
    element that was asked, or that is to blame; 0 where no element was asked.
    """

    kind: str
    placement: str
    #: What is wrong, or what the runtime said.
    message: str
    index: int


@dataclass(frozen=True)
class Elsewhere:
    """Elements that another placement answered differently from the first one, and how."""

    placement: str
    index: Index
    #: Their answers there, as codes or texts.
    got: Bits


@dataclass(frozen=True)
class Answers:
    """The answers of n elements.

    `got` is output 0, of meaning where `state` is ANSWERED. `messages` has the runtime's own
    words for refused elements, and what became of the process for crashed ones. An element that
    was only ever in malformed answers is NOT_ASKED, and a fault says why. Those `with_others` were
    refused in calls of which it was not found out whose fault that was.
    """

    got: Bits
    state: NDArray[np.uint8]
    messages: Mapping[int, str]
    faults: tuple[Fault, ...] = ()
    #: What placements after the first answered differently.
    elsewhere: tuple[Elsewhere, ...] = ()
    declined: Declined | None = None
    with_others: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Avoid:
    """What killed the backend before without one element being to blame.

    `together` are sets of elements that must not all stand in one call: such a call is made in
    two. `placements` are not used at all. `faults` is what the case will report about it.
    """

    together: tuple[tuple[int, ...], ...] = ()
    placements: frozenset[str] = frozenset()
    faults: tuple[Fault, ...] = ()


EVERYWHERE = frozenset(FIRST)


@dataclass(frozen=True)
class CallAnswers:
    """The answers of n whole calls: `got` is of meaning where `state` is ANSWERED.

    An answer may have any number of outputs of any type and shape: to judge that is the judge's.
    `left_out` calls were not asked since their answers have more than `max_elements()`.
    """

    got: tuple[Outputs | Oversized | None, ...]
    state: NDArray[np.uint8]
    #: Call number -> the runtime's own words, or what became of the process.
    messages: Mapping[int, str]
    faults: tuple[Fault, ...] = ()
    declined: Declined | None = None
    left_out: int = 0
