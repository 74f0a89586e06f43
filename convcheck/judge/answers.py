"""The answers of a backend to a case's inputs, and the faults on the way."""

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

ANSWERED, REFUSED, CRASHED, NOT_ASKED, LOST = range(5)  # LOST: the adapter raised

# the kind of a refusal that no single element is known to cause
WITH_OTHERS = "refused with others"

BETWEEN = "between calls"  # for a process that dies while idle

# Sizes of large calls. The excess over 2^10 or 2^16 is odd and larger than a set of vectors, so
# that every vector also stands behind the first 2^10 or 2^16 elements.
LARGE_CALLS = {plural(size, "element"): size for size in ((1 << 10) + 1105, (1 << 16) + 1107)}
MANY = 101
MANY_CALLS = plural(MANY, "call")
OTHERS = "after other attributes"  # the same inputs in a process that has seen other attributes
LARGEST = max(LARGE_CALLS.values())  # elements in a call, except under --consistency

ANOTHER = "another case"  # asked only to find out whether the backend answers it

TELLING = "telling causes apart"  # asked only to tell the causes of a failure apart

# The ways of sending elements to a backend. '' stands for the answers that count.
FIRST = (
    BETWEEN, "support", ANOTHER, "bulk", "alone", "odd tail", "short", "2-D", "3-D", "4-D",
    "empty", *LARGE_CALLS, MANY_CALLS, OTHERS, "sweep", TELLING,
)  # fmt: skip
AGAIN = ("again", "other place", "other options")  # repetitions with the same bits
PLACEMENTS = ("", *FIRST, *AGAIN)


@dataclass(frozen=True)
class Fault:
    """A malformed answer, or a failed call that no single element explains.

    `kind` is 'wrong shape', 'wrong type', 'wrong number of outputs', 'not a code of the type',
    'refused' (in this placement only), 'error' (the same, but the adapter raised) or 'crashed' (the
    crash needs several inputs, or this shape, or is not reproducible). `index` is the first element
    of the call or the one to blame; 0 for an empty call.
    """

    kind: str
    placement: str
    #: What is wrong, or the runtime's message.
    message: str
    index: int


@dataclass(frozen=True)
class Elsewhere:
    """Elements that got another answer in a later placement."""

    placement: str
    index: Index
    #: The answers there, as codes or texts.
    got: Bits


@dataclass(frozen=True)
class Answers:
    """The answers to n elements.

    `got` is output 0, meaningful only if `state` is ANSWERED. `messages` has the runtime's message
    for a refused element and the exit of the process for a crashed one. An element with malformed
    answers only is NOT_ASKED and has a fault. Elements `with_others` were refused in a batch, and
    the culprit is unknown.
    """

    got: Bits
    state: NDArray[np.uint8]
    messages: Mapping[int, str]
    faults: tuple[Fault, ...] = ()
    elsewhere: tuple[Elsewhere, ...] = ()
    declined: Declined | None = None
    with_others: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Avoid:
    """Calls that killed the backend before, without a single element to blame.

    A call never holds all elements of a set in `together`: it is split in two. `placements` are
    skipped. `faults` are reported for the case.
    """

    together: tuple[tuple[int, ...], ...] = ()
    placements: frozenset[str] = frozenset()
    faults: tuple[Fault, ...] = ()


EVERYWHERE = frozenset(FIRST)


@dataclass(frozen=True)
class CallAnswers:
    """The answers to n whole calls.

    `got` is meaningful only if `state` is ANSWERED. Outputs are unchecked: any number, type and
    shape. `left_out` counts calls that were skipped because their answers exceed `max_elements()`.
    """

    got: tuple[Outputs | Oversized | None, ...]
    state: NDArray[np.uint8]
    #: Call number -> the runtime's message, or the exit of the process.
    messages: Mapping[int, str]
    faults: tuple[Fault, ...] = ()
    declined: Declined | None = None
    left_out: int = 0
