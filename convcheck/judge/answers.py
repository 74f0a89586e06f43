"""The answers of a backend to a case's inputs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from convcheck.backends.protocol import Declined
from convcheck.records import Record, by_hook, replace
from convcheck.rules.model import Case
from convcheck.semantics.expected import REFUSED as REFUSAL
from convcheck.semantics.expected import UNDEFINED, Reading
from convcheck.streams import plural
from convcheck.vectors.corpus import CHUNK as CHUNK
from convcheck.vectors.model import CallSet, Vectors

Index = NDArray[np.intp]
if TYPE_CHECKING:
    Array: TypeAlias = NDArray[Any]
else:  # built by the hook of judge/reading.py
    Array = by_hook(np.ndarray)

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

ANOTHER = "another case"  # asked only to see whether it is answered

TELLING = "telling causes apart"  # asked only to discriminate between causes

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
    'refused', 'error' (the adapter raised) or 'crashed'. `index` is the element to blame, else the
    first of the call.
    """

    kind: str
    placement: str
    #: What is wrong, or the runtime's message.
    message: str
    index: int


class Elsewhere(Record, frozen=True):
    """Other answers in a later placement."""

    placement: str
    index: Array
    got: Array


class Answers(Record, frozen=True):
    """The answers to n elements or whole calls.

    `got` has a code or text for each element (output 0), or the unchecked outputs of each call. It
    counts only if `state` is ANSWERED. `messages` are the runtime's for refusals, and the exits of
    crashed processes. Malformed answers are NOT_ASKED and have a fault. `with_others`: refused in a
    batch, culprit unknown. `left_out` counts calls whose answers exceed `max_elements()`.
    """

    got: Array
    state: Array
    messages: Mapping[int, str]
    faults: tuple[Fault, ...] = ()
    elsewhere: tuple[Elsewhere, ...] = ()
    declined: Declined | None = None
    with_others: frozenset[int] = frozenset()
    left_out: int = 0


@dataclass(frozen=True)
class Avoid:
    """Calls that killed the backend before, without a single element to blame.

    A call never holds all elements of a set in `together`.
    """

    together: tuple[tuple[int, ...], ...] = ()
    placements: frozenset[str] = frozenset()
    faults: tuple[Fault, ...] = ()


EVERYWHERE = frozenset(FIRST)


def is_refusal(vectors: Vectors, declined: Declined) -> bool:
    """Return whether declining a case, which cannot be sent, counts as a refusal of its inputs.

    It does if a refusal is expected or accepted, or if the output type is the answer.
    """
    if declined.missing or not len(vectors):
        return False
    return is_due(vectors) or vectors.case.refusal or not vectors.case.outputs


def is_due(vectors: Vectors) -> bool:
    """Return whether the first reading refuses every input."""
    if isinstance(vectors, CallSet):
        return all(each.readings[0].pattern == REFUSAL for each in vectors.expected)
    return bool((vectors.expected.readings[0].patterns == REFUSAL).all())


def may_refuse(case: Case, reading: Reading) -> NDArray[np.bool_]:
    """Return a mask of elements that may be refused, shape (n,)."""
    if case.refusal:
        return np.ones(reading.patterns.shape, bool)
    return np.asarray((reading.patterns == REFUSAL) | (reading.patterns == UNDEFINED))


def all_refused(vectors: Vectors, answers: Answers, message: str) -> Answers:
    """Return the answers to a rejected model: every element, or the first call, is refused."""
    state = np.full(len(answers.state), REFUSED, np.uint8)
    if isinstance(vectors, CallSet):
        state[1:] = NOT_ASKED
    return replace(answers, state=state, messages={0: message}, declined=None)
