"""Whether the same items get the same bits in whichever way they are asked.

An item is an element or a whole call: `Questions` says how either is asked again, and the rest is
the same for both. What the standard leaves undefined counts too: an answer may be any, but not now
this and now that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from convcheck.ask.elements import Note, inputs_at
from convcheck.ask.options import broken, configured, options_of
from convcheck.backends.checked import LONGEST_NAME, bounded
from convcheck.backends.protocol import Backend, Declined, Outputs, Oversized, Refused
from convcheck.judge.answers import CHUNK, EVERYWHERE, Avoid, Index
from convcheck.judge.digest import spell_digest
from convcheck.judge.result import CallExample, Example, Group, Word
from convcheck.numerics.codes import Bits
from convcheck.records import replace
from convcheck.semantics.expected import Decision
from convcheck.vectors.model import Vectors

UNREPEATABLE, ORDER = "differs from call to call", "order-dependent"
ALIGNMENT = "alignment-dependent"

Items = NDArray[Any]  # what came of items, one entry each: codes or texts, or a call's outputs
Came = Items | str | None  # of a call that gave nothing, the words for why; None: it was not made
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class OtherWay:
    """A way to ask items once more. A difference that it shows is of the `kind`."""

    kind: str
    #: The first way, in words.
    one: str
    #: This one, in words.
    other: str
    #: The placement of its calls, as backends and reports name it.
    placement: str
    backend: Backend
    #: the items of each call that is made
    calls: tuple[Index, ...] = ()
    #: how many elements after the start of their buffers the inputs begin
    offset: int = 0
    #: what its answers are held against where that is not what was answered first
    due: Items | None = None


@dataclass(frozen=True)
class WayDifference:
    """Items, in order, with what both ways gave. The second of a `silent` one gave nothing: `got`
    has the words for why.
    """

    #: The second of the two ways.
    way: OtherWay
    index: Index
    #: What the first way gave; for a way that has its own, what is due.
    due: Items
    got: Items
    silent: bool


class Questions(Protocol):
    """Items of one case that were answered, and the ways in which they can be asked again."""

    #: the items that were answered
    asked: Index
    #: by item, what was answered
    answered: Items
    #: by item, the number of its decision
    rows: NDArray[np.int16]
    decisions: tuple[Decision, ...]
    #: the words for what is asked twice in the same way
    twice: tuple[str, str]

    @property
    def vectors(self) -> Vectors:
        """Return what was asked."""
        ...

    def ways(self, asking: AskingAgain) -> Iterator[OtherWay]:
        """Yield the ways; each is asked before the next one is made."""
        ...

    def plainly(self, way: OtherWay, before: tuple[Index, ...], index: Index) -> tuple[Index, ...]:
        """Return the calls that ask items as at first; the last one, in order, has them all."""
        ...

    def read(self, answer: Outputs | Oversized, index: Index) -> Items | str:
        """Return what came of the items of a call, or why nothing did."""
        ...

    def unlike(self, due: Items, got: Items) -> Mask:
        """Return which items gave other bits."""
        ...

    def digest(self, index: Index, due: Items, got: Items, first: WayDifference) -> int:
        """Return the digest of the items of a group and what came of them."""
        ...

    def example(self, difference: WayDifference, i: int) -> Example | CallExample:
        """Show one item with what both ways gave."""
        ...

    def ranges(self, index: Index) -> tuple[tuple[tuple[Word, Word], ...], int]:
        """Return the runs of neighbours among items, and how many are not shown."""
        ...


def consistent(
    questions: Questions, backend: Backend, note: Note, avoid: Avoid | None = None
) -> tuple[Group, ...]:
    """Ask what was answered again, in other ways, and return a group of each sort of difference.

    `backend` is the one that answered. `note` is told placement and items before each call.
    Placements to avoid are not asked, and no call that killed the backend.
    """
    asking = AskingAgain(questions, backend, note, avoid or Avoid())
    if len(questions.asked) and not asking.avoid.placements >= EVERYWHERE:
        for way in questions.ways(asking):
            asking.ask(way)
    return tuple(asking.groups())


class AskingAgain:
    """The state of asking again: what is held against what, and which differences were found."""

    def __init__(self, questions: Questions, backend: Backend, note: Note, avoid: Avoid) -> None:
        self.questions, self.backend, self.note, self.avoid = questions, backend, note, avoid
        deaths = (fault for fault in avoid.faults if fault.kind == "crashed")
        self.deadly = {(fault.placement, fault.index) for fault in deaths}
        self.reference = questions.answered.copy()
        self.steady = np.zeros(len(self.reference), bool)  # what answers can be held against
        self.steady[questions.asked] = True
        self.again = OtherWay(UNREPEATABLE, *questions.twice, "again", backend)
        self.found: list[WayDifference] = []

    @property
    def repeatable(self) -> bool:
        """Whether nothing that was found differs from call to call."""
        return all(found.way.kind != UNREPEATABLE for found in self.found)

    def options(self) -> Iterator[tuple[str, OtherWay]]:
        """Yield each value of each option that is not the first, with the way, still without calls,
        that it makes.
        """
        for name, (first, *values) in options_of(self.backend).items():
            for value in values:
                words = (_cut(f"{name} {first}"), _cut(f"{name} {value}"))
                other = configured(self.backend, {name: value})
                kind = f"{_cut(str(name))}-dependent"
                yield name, OtherWay(kind, *words, "other options", other)

    def ask(self, way: OtherWay) -> None:
        """Make the calls of a way, and hold what comes against what is known."""
        before: tuple[Index, ...] = ()
        for index in way.calls:
            due = self.reference[index] if way.due is None else way.due
            got = self.put(way, index)
            if got is None and way.placement == "again":
                self.steady[index] = False  # it is not known whether they give the same twice
            self._hold(way, before, index, due, got)
            before = (index,)

    def put(self, way: OtherWay, index: Index) -> Came:
        """Make one call of a way, unless it is to be avoided."""
        if self._avoided(way.placement, index) or broken(self.backend):
            return None
        if self.note(way.placement, index[:CHUNK]):  # of a longer call, these are all its items
            return None
        vectors = self.questions.vectors
        inputs = [at_offset(tensor, way.offset) for tensor in inputs_at(vectors, index)]
        answer = way.backend.answer(vectors.case, inputs)
        if isinstance(answer, Refused | Declined):
            return answer.message
        return self.questions.read(answer, index)

    def _avoided(self, placement: str, index: Index) -> bool:
        alone = len(index) == 1 and (placement, int(index[0])) in self.deadly
        together = any(np.isin(culprits, index).all() for culprits in self.avoid.together)
        return alone or together or placement in self.avoid.placements

    def _hold(
        self, way: OtherWay, before: tuple[Index, ...], index: Index, due: Items, got: Came
    ) -> None:
        """Lay a difference to the way only where both ways give theirs twice."""
        differs = self.steady[index] & self._unlike(index, due, got)
        if way.kind != UNREPEATABLE and differs.any():
            calls = self.questions.plainly(way, before, index)
            plain = self._after(self.again, calls)
            more = self._after(way, (*before, index))
            if isinstance(plain, np.ndarray):
                plain = plain[np.searchsorted(calls[-1], index)]
            luck = differs & self._unlike(index, due, plain)
            self.add(self.again, index, due, plain, luck)
            differs &= ~luck
            luck = differs & self._unlike(index, got, more)
            self.add(*_once_more(way, index, due, got, more), luck)
            differs &= ~luck
        self.add(way, index, due, got, differs)

    def _after(self, way: OtherWay, calls: tuple[Index, ...]) -> Came:
        """Make calls one after the other, and return what came of the last one."""
        return [self.put(way, index) for index in calls][-1]

    def _unlike(self, index: Index, due: Came, got: Came) -> Mask:
        """Return which items of a call came otherwise; none where one was not made."""
        if isinstance(due, np.ndarray) and isinstance(got, np.ndarray):
            return self.questions.unlike(due, got)
        unlike = (
            due is not None and got is not None and isinstance(due, str) != isinstance(got, str)
        )
        return np.full(len(index), unlike)

    def add(self, way: OtherWay, index: Index, due: Items, got: Came, here: Mask) -> None:
        """Add the items `here` that differ. To what is not steady, nothing is held any more."""
        if got is None or not here.any():
            return
        index, first = np.unique(index[here], return_index=True)
        silent = isinstance(got, str)
        gave = np.full(len(index), got, object) if silent else cast(Items, got)[here][first]
        self.found.append(WayDifference(way, index, due[here][first], gave, silent))
        if way.kind in (ORDER, UNREPEATABLE):
            self.steady[index] = False

    def groups(self) -> Iterator[Group]:
        """Yield a group of each kind, of differences and of refusals apart, and deciding row."""
        rows = self.questions.rows
        for kind, silent in dict.fromkeys((f.way.kind, f.silent) for f in self.found):
            same = [f for f in self.found if (f.way.kind, f.silent) == (kind, silent)]
            for row, decision in enumerate(self.questions.decisions):
                here = [part for f in same if len((part := _part(f, rows[f.index] == row)).index)]
                if here:
                    of = int((rows[self.questions.asked] == row).sum())
                    yield self._group(decision, here, of)

    def _group(self, decision: Decision, found: list[WayDifference], of: int) -> Group:
        """Make a group of what one or more ways show: of each item, what the first did."""
        index = np.concatenate([f.index for f in found])
        index, first = np.unique(index, return_index=True)
        due, got = (np.concatenate([getattr(f, side) for f in found])[first]
                    for side in ("due", "got"))  # fmt: skip
        shown = found[0]
        at = (0,) if shown.silent else (0, len(shown.index) - 1)
        ranges, more = self.questions.ranges(index)
        return Group(
            decision,
            "inconsistent",
            f"{shown.way.kind}: refused" if shown.silent else shown.way.kind,
            len(index),
            of,
            spell_digest(self.questions.digest(index, due, got, shown)),
            placement=shown.way.other,
            ranges=ranges,
            more_ranges=more,
            examples=tuple(self.questions.example(shown, i) for i in dict.fromkeys(at)),
        )


def at_offset(tensor: Bits, offset: int) -> Bits:
    """Copy a tensor, of any shape, into a buffer in which it begins so many elements after the
    start; of no offset, return it as it is.
    """
    if not offset:
        return tensor
    buffer = np.empty(tensor.size + offset, tensor.dtype)
    buffer[offset:] = tensor.reshape(-1)
    return cast(Bits, buffer[offset:].reshape(tensor.shape))


def _once_more(
    way: OtherWay, index: Index, due: Items, got: Came, more: Came
) -> tuple[OtherWay, Index, Items, Came]:
    """Return what differs in one way, where there are two answers in it, else what did before."""
    if not isinstance(got, np.ndarray):
        return replace(way, kind=UNREPEATABLE), index, due, got
    words = way.other, f"{way.other} once more"
    return OtherWay(UNREPEATABLE, *words, way.placement, way.backend), index, got, more


def _part(found: WayDifference, here: Mask) -> WayDifference:
    return replace(found, index=found.index[here], due=found.due[here], got=found.got[here])


def _cut(words: str) -> str:
    """Return what a backend calls an option or a value, of bounded length."""
    return bounded(words, LONGEST_NAME)
