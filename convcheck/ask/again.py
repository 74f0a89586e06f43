"""Check that the same items, elements or whole calls, get the same bits however they are sent.

Even results that the standard leaves undefined have to be consistent.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from convcheck.ask.elements import Note, inputs_at
from convcheck.ask.watched import WatchedBackend, options_of
from convcheck.backends.checked import LONGEST_NAME, bounded
from convcheck.backends.protocol import Backend, Declined, Outputs, Oversized, Refused
from convcheck.judge.answers import ANSWERED, CHUNK, EVERYWHERE, Answers, Avoid, Index
from convcheck.judge.digest import spell_digest
from convcheck.judge.result import CallExample, Example, Group, Word
from convcheck.numerics.number import Bits
from convcheck.records import replace
from convcheck.semantics.expected import Decision
from convcheck.vectors.model import CallSet, VectorSet

UNREPEATABLE, ORDER = "differs from call to call", "order-dependent"
ALIGNMENT = "alignment-dependent"

Items = NDArray[Any]  # one entry per item: codes, texts, or the outputs of a call
Came = Items | str | None  # a message if a call has no result; None if it was not made
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class OtherWay:
    """A way to send items again. Differences from it are of this `kind`."""

    kind: str
    #: The first way, and this one, as messages name them.
    one: str
    other: str
    placement: str
    backend: Backend
    calls: tuple[Index, ...] = ()
    #: of the inputs in their buffers, in elements
    offset: int = 0
    #: if not the first answers
    due: Items | None = None


@dataclass(frozen=True)
class WayDifference:
    """Items with the results of both ways; a `silent` second way gave reasons instead."""

    way: OtherWay
    index: Index
    due: Items
    got: Items
    silent: bool


V = TypeVar("V", VectorSet, CallSet)


class AskingAgain(ABC, Generic[V]):
    """The answered items of a case, and the differences from the reference answers."""

    twice: tuple[str, str]

    def __init__(
        self, vectors: V, answers: Answers, backend: Backend, note: Note,
        avoid: Avoid | None = None,
    ) -> None:  # fmt: skip
        self.vectors: V = vectors
        self.answers, self.backend, self.note = answers, backend, note
        self.avoid = avoid or Avoid()
        self.asked = self._comparable()
        deaths = (fault for fault in self.avoid.faults if fault.kind == "crashed")
        self.deadly = {(fault.placement, fault.index) for fault in deaths}
        self.reference = answers.got.copy()
        self.steady = np.zeros(len(self.reference), bool)  # items that other ways are compared on
        self.steady[self.asked] = True
        self.again = OtherWay(UNREPEATABLE, *self.twice, "again", backend)
        self.found: list[WayDifference] = []

    def groups(self) -> tuple[Group, ...]:
        """Send the items in all ways, and return a group for each kind of difference."""
        if len(self.asked) and not self.avoid.placements >= EVERYWHERE:
            for way in self._ways():
                self._ask(way)
        return tuple(self._groups())

    def _comparable(self) -> Index:
        return np.flatnonzero(self.answers.state == ANSWERED)

    @abstractmethod
    def _ways(self) -> Iterator[OtherWay]:
        """Each is used before the next one is made."""

    @abstractmethod
    def _plainly(self, way: OtherWay, before: tuple[Index, ...], index: Index) -> tuple[Index, ...]:
        """Calls that send items as at first. The last call has all of them, in order."""

    @abstractmethod
    def _read(self, answer: Outputs | Oversized, index: Index) -> Items | str:
        """Results of the items of a call, or a message."""

    @abstractmethod
    def _differing(self, due: Items, got: Items) -> Mask: ...

    @abstractmethod
    def _digest(self, index: Index, due: Items, got: Items, first: WayDifference) -> int: ...

    @abstractmethod
    def _example(self, difference: WayDifference, i: int) -> Example | CallExample: ...

    def _ranges(self, index: Index) -> tuple[tuple[tuple[Word, Word], ...], int]:
        """Runs of neighbouring items, and the number of runs that are left out."""
        return (), 0

    def _options(self) -> Iterator[tuple[str, OtherWay]]:
        """Each option's name with a way, without calls, for each value but its first."""
        for name, (first, *values) in options_of(self.backend).items():
            for value in values:
                words = (_cut(f"{name} {first}"), _cut(f"{name} {value}"))
                other = cast(WatchedBackend, self.backend).configured({name: value})
                kind = f"{_cut(str(name))}-dependent"
                yield name, OtherWay(kind, *words, "other options", other)

    def _ask(self, way: OtherWay) -> None:
        before: tuple[Index, ...] = ()
        for index in way.calls:
            due = self.reference[index] if way.due is None else way.due
            got = self._put(way, index)
            if got is None and way.placement == "again":
                self.steady[index] = False  # repeatability is unknown
            self._hold(way, before, index, due, got)
            before = (index,)

    def _put(self, way: OtherWay, index: Index) -> Came:
        alone = len(index) == 1 and (way.placement, int(index[0])) in self.deadly
        together = any(np.isin(culprits, index).all() for culprits in self.avoid.together)
        avoided = alone or together or way.placement in self.avoid.placements
        if avoided or getattr(self.backend, "broken", False):
            return None
        if self.note(way.placement, index[:CHUNK]):  # longer calls repeat the same items
            return None
        inputs = [at_offset(tensor, way.offset) for tensor in inputs_at(self.vectors, index)]
        answer = way.backend.answer(self.vectors.case, inputs)
        if isinstance(answer, Refused | Declined):
            return answer.message
        return self._read(answer, index)

    def _hold(
        self, way: OtherWay, before: tuple[Index, ...], index: Index, due: Items, got: Came
    ) -> None:
        """Blame the way for a difference only if both ways repeat their results."""
        differs = self.steady[index] & self._unlike(index, due, got)
        if way.kind != UNREPEATABLE and differs.any():
            calls = self._plainly(way, before, index)
            plain = self._after(self.again, calls)
            more = self._after(way, (*before, index))
            if isinstance(plain, np.ndarray):
                plain = plain[np.searchsorted(calls[-1], index)]
            luck = differs & self._unlike(index, due, plain)
            self._add(self.again, index, due, plain, luck)
            differs &= ~luck
            luck = differs & self._unlike(index, got, more)
            if isinstance(got, np.ndarray):
                words = way.other, f"{way.other} once more"
                twice = OtherWay(UNREPEATABLE, *words, way.placement, way.backend)
                self._add(twice, index, got, more, luck)
            else:
                self._add(replace(way, kind=UNREPEATABLE), index, due, got, luck)
            differs &= ~luck
        self._add(way, index, due, got, differs)

    def _after(self, way: OtherWay, calls: tuple[Index, ...]) -> Came:
        return [self._put(way, index) for index in calls][-1]

    def _unlike(self, index: Index, due: Came, got: Came) -> Mask:
        if isinstance(due, np.ndarray) and isinstance(got, np.ndarray):
            return self._differing(due, got)
        unlike = (
            due is not None and got is not None and isinstance(due, str) != isinstance(got, str)
        )
        return np.full(len(index), unlike)

    def _add(self, way: OtherWay, index: Index, due: Items, got: Came, here: Mask) -> None:
        """Unrepeatable items are not compared again."""
        if got is None or not here.any():
            return
        index, first = np.unique(index[here], return_index=True)
        silent = isinstance(got, str)
        gave = np.full(len(index), got, object) if silent else cast(Items, got)[here][first]
        self.found.append(WayDifference(way, index, due[here][first], gave, silent))
        if way.kind in (ORDER, UNREPEATABLE):
            self.steady[index] = False

    def _groups(self) -> Iterator[Group]:
        """A group for each kind, with or without a result, and deciding row."""
        rows = self.vectors.rows
        for kind, silent in dict.fromkeys((f.way.kind, f.silent) for f in self.found):
            same = [f for f in self.found if (f.way.kind, f.silent) == (kind, silent)]
            for row, decision in enumerate(self.vectors.decisions):
                here = [part for f in same if len((part := _part(f, rows[f.index] == row)).index)]
                if here:
                    of = int((rows[self.asked] == row).sum())
                    yield self._group(decision, here, of)

    def _group(self, decision: Decision, found: list[WayDifference], of: int) -> Group:
        index = np.concatenate([f.index for f in found])
        index, first = np.unique(index, return_index=True)
        due, got = (np.concatenate([getattr(f, side) for f in found])[first]
                    for side in ("due", "got"))  # fmt: skip
        shown = found[0]
        at = (0,) if shown.silent else (0, len(shown.index) - 1)
        ranges, more = self._ranges(index)
        kind = f"{shown.way.kind}: refused" if shown.silent else shown.way.kind
        digest = spell_digest(self._digest(index, due, got, shown))
        examples = tuple(self._example(shown, i) for i in dict.fromkeys(at))
        return Group(
            decision, "inconsistent", kind, len(index), of, digest, placement=shown.way.other,
            ranges=ranges, more_ranges=more, examples=examples,
        )  # fmt: skip


def at_offset(tensor: Bits, offset: int) -> Bits:
    """Copy a tensor to `offset` elements into a buffer; offset 0 returns the tensor itself."""
    if not offset:
        return tensor
    buffer = np.empty(tensor.size + offset, tensor.dtype)
    buffer[offset:] = tensor.reshape(-1)
    return cast(Bits, buffer[offset:].reshape(tensor.shape))


def _part(found: WayDifference, here: Mask) -> WayDifference:
    return replace(found, index=found.index[here], due=found.due[here], got=found.got[here])


def _cut(words: str) -> str:
    return bounded(words, LONGEST_NAME)
