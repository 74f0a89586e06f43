"""Check that the same items get the same bits however they are sent.

An item is an element or a whole call. `Questions` knows how to send either again. Even results that
the standard leaves undefined have to be consistent.
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

Items = NDArray[Any]  # one entry per item: codes, texts, or the outputs of a call
Came = Items | str | None  # a message if a call has no result; None if it was not made
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class OtherWay:
    """A way to send items again. Differences from it are of this `kind`."""

    kind: str
    #: The first way, as messages name it.
    one: str
    #: This way, as messages name it.
    other: str
    placement: str
    backend: Backend
    #: the items of each call that is made
    calls: tuple[Index, ...] = ()
    #: offset of the inputs in their buffers, in elements
    offset: int = 0
    #: expected results, if not the first answers
    due: Items | None = None


@dataclass(frozen=True)
class WayDifference:
    """Items, in order, with the results of both ways.

    If the second way gave no result, it is `silent` and `got` holds the reasons.
    """

    way: OtherWay
    index: Index
    #: The results of the first way, or the expected results of a way that has its own.
    due: Items
    got: Items
    silent: bool


class Questions(Protocol):
    """The answered items of one case, and the ways to send them again."""

    asked: Index
    #: the answer to each item
    answered: Items
    #: the index of each item's decision
    rows: NDArray[np.int16]
    decisions: tuple[Decision, ...]
    #: names of the first and of a second identical call
    twice: tuple[str, str]

    @property
    def vectors(self) -> Vectors:
        """Return the vectors of the case."""
        ...

    def ways(self, asking: AskingAgain) -> Iterator[OtherWay]:
        """Yield the ways. Each is used before the next one is made."""
        ...

    def plainly(self, way: OtherWay, before: tuple[Index, ...], index: Index) -> tuple[Index, ...]:
        """Return the calls that send items as at first. The last call has all of them, in order."""
        ...

    def read(self, answer: Outputs | Oversized, index: Index) -> Items | str:
        """Return the results of the items of a call, or a message if there are none."""
        ...

    def unlike(self, due: Items, got: Items) -> Mask:
        """Return the mask of items with other bits."""
        ...

    def digest(self, index: Index, due: Items, got: Items, first: WayDifference) -> int:
        """Return the digest of a group's items and results."""
        ...

    def example(self, difference: WayDifference, i: int) -> Example | CallExample:
        """Return one item with the results of both ways."""
        ...

    def ranges(self, index: Index) -> tuple[tuple[tuple[Word, Word], ...], int]:
        """Return runs of neighbouring items, and the number of runs that are left out."""
        ...


def consistent(
    questions: Questions, backend: Backend, note: Note, avoid: Avoid | None = None
) -> tuple[Group, ...]:
    """Send answered items again in other ways, and return a group for each kind of difference.

    `backend` is the one that answered. `note` is called with placement and items before each call.
    """
    asking = AskingAgain(questions, backend, note, avoid or Avoid())
    if len(questions.asked) and not asking.avoid.placements >= EVERYWHERE:
        for way in questions.ways(asking):
            asking.ask(way)
    return tuple(asking.groups())


class AskingAgain:
    """The reference answers, and the differences from them so far."""

    def __init__(self, questions: Questions, backend: Backend, note: Note, avoid: Avoid) -> None:
        self.questions, self.backend, self.note, self.avoid = questions, backend, note, avoid
        deaths = (fault for fault in avoid.faults if fault.kind == "crashed")
        self.deadly = {(fault.placement, fault.index) for fault in deaths}
        self.reference = questions.answered.copy()
        self.steady = np.zeros(len(self.reference), bool)  # items that other ways are compared on
        self.steady[questions.asked] = True
        self.again = OtherWay(UNREPEATABLE, *questions.twice, "again", backend)
        self.found: list[WayDifference] = []

    @property
    def repeatable(self) -> bool:
        """Whether no item differed between identical calls."""
        return all(found.way.kind != UNREPEATABLE for found in self.found)

    def options(self) -> Iterator[tuple[str, OtherWay]]:
        """Yield each option's name with a way, without calls, for each value but its first."""
        for name, (first, *values) in options_of(self.backend).items():
            for value in values:
                words = (_cut(f"{name} {first}"), _cut(f"{name} {value}"))
                other = configured(self.backend, {name: value})
                kind = f"{_cut(str(name))}-dependent"
                yield name, OtherWay(kind, *words, "other options", other)

    def ask(self, way: OtherWay) -> None:
        """Make the calls of a way and compare the results with the reference."""
        before: tuple[Index, ...] = ()
        for index in way.calls:
            due = self.reference[index] if way.due is None else way.due
            got = self.put(way, index)
            if got is None and way.placement == "again":
                self.steady[index] = False  # repeatability is unknown
            self._hold(way, before, index, due, got)
            before = (index,)

    def put(self, way: OtherWay, index: Index) -> Came:
        """Make one call of a way, unless it is to be avoided."""
        if self._avoided(way.placement, index) or broken(self.backend):
            return None
        if self.note(way.placement, index[:CHUNK]):  # longer calls repeat the same items
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
        """Blame the way for a difference only if both ways repeat their results."""
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
        return [self.put(way, index) for index in calls][-1]

    def _unlike(self, index: Index, due: Came, got: Came) -> Mask:
        if isinstance(due, np.ndarray) and isinstance(got, np.ndarray):
            return self.questions.unlike(due, got)
        unlike = (
            due is not None and got is not None and isinstance(due, str) != isinstance(got, str)
        )
        return np.full(len(index), unlike)

    def add(self, way: OtherWay, index: Index, due: Items, got: Came, here: Mask) -> None:
        """Add the items in the mask `here`. Unrepeatable items are not compared again."""
        if got is None or not here.any():
            return
        index, first = np.unique(index[here], return_index=True)
        silent = isinstance(got, str)
        gave = np.full(len(index), got, object) if silent else cast(Items, got)[here][first]
        self.found.append(WayDifference(way, index, due[here][first], gave, silent))
        if way.kind in (ORDER, UNREPEATABLE):
            self.steady[index] = False

    def groups(self) -> Iterator[Group]:
        """Yield a group for each kind, with or without a result, and deciding row."""
        rows = self.questions.rows
        for kind, silent in dict.fromkeys((f.way.kind, f.silent) for f in self.found):
            same = [f for f in self.found if (f.way.kind, f.silent) == (kind, silent)]
            for row, decision in enumerate(self.questions.decisions):
                here = [part for f in same if len((part := _part(f, rows[f.index] == row)).index)]
                if here:
                    of = int((rows[self.questions.asked] == row).sum())
                    yield self._group(decision, here, of)

    def _group(self, decision: Decision, found: list[WayDifference], of: int) -> Group:
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
    """Copy a tensor to `offset` elements into a new buffer; offset 0 returns the tensor itself."""
    if not offset:
        return tensor
    buffer = np.empty(tensor.size + offset, tensor.dtype)
    buffer[offset:] = tensor.reshape(-1)
    return cast(Bits, buffer[offset:].reshape(tensor.shape))


def _once_more(
    way: OtherWay, index: Index, due: Items, got: Came, more: Came
) -> tuple[OtherWay, Index, Items, Came]:
    """Return the difference between two calls of one way, or the original one if there is none."""
    if not isinstance(got, np.ndarray):
        return replace(way, kind=UNREPEATABLE), index, due, got
    words = way.other, f"{way.other} once more"
    return OtherWay(UNREPEATABLE, *words, way.placement, way.backend), index, got, more


def _part(found: WayDifference, here: Mask) -> WayDifference:
    return replace(found, index=found.index[here], due=found.due[here], got=found.got[here])


def _cut(words: str) -> str:
    return bounded(words, LONGEST_NAME)
