"""Check that the same items, elements or whole calls, get the same bits however they are sent.

Even results that the standard leaves undefined have to be consistent.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from convcheck.ask.elements import Note, has_texts, inputs_at
from convcheck.ask.watched import WatchedBackend, options_of
from convcheck.backends.checked import LONGEST_NAME, bounded
from convcheck.backends.protocol import Backend, Declined, Outputs, Oversized, Refused, call_timeout
from convcheck.judge.answers import (
    ANSWERED,
    CHUNK,
    EVERYWHERE,
    LARGE_CALLS,
    MANY_CALLS,
    Answers,
    Avoid,
    Index,
)
from convcheck.judge.digest import (
    added,
    digest_of_bytes,
    digest_of_pairs,
    digest_of_words,
    spell_digest,
)
from convcheck.judge.examples import ELEMENTS_BEFORE, returned_strips, shown_inputs
from convcheck.judge.matching import Returned, codes_complaint, form_complaint, shapes_of
from convcheck.judge.ranges import joining, outermost
from convcheck.judge.result import CallExample, Example, Group, Word, entry_word
from convcheck.numerics.format import Text
from convcheck.numerics.number import Bits
from convcheck.records import replace
from convcheck.semantics.expected import Decision
from convcheck.streams import plural
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


ROTATIONS = (1, 3, 7, 13, 31)
MISSING = (1, 3)
PIECES = (3, 7, 17, 33, 65)  # elements: tails of vectors of 4 to 64, with and without a body
OFFSETS = (1, 3, 7)
LARGE = 2 * CHUNK + 1  # elements: enough for a runtime to use several threads

POSITION, LENGTH = "position-dependent", "length-dependent"
THREADS = "threads"  # the option that is also tested with large tensors
_STEP = 8  # growth of the call that measures the pace
_PIECES, _TEXT_PIECES = 128, 8  # calls per length
# kind of a difference by the placement of the run; POSITION for all others
_PLACED = {
    **dict.fromkeys(("alone", "short", *LARGE_CALLS), LENGTH),
    **dict.fromkeys(("2-D", "3-D", "4-D"), "shape-dependent"),
    MANY_CALLS: UNREPEATABLE,
}


class ElementsAgain(AskingAgain[VectorSet]):
    """The answered elements of a case, or a sample; their second answers are the reference."""

    twice = ("bulk", "bulk again")

    @cached_property
    def pool(self) -> Index:
        """The elements to send."""
        return sample(self.asked, self.vectors.rows)

    def _ways(self) -> Iterator[OtherWay]:
        pool, before = self.pool, self.answers.got
        got = self._put(self.again, pool)
        if not isinstance(got, np.ndarray):
            self._add(self.again, pool, before[pool], got, np.full(len(pool), True))
            return
        self.reference[pool] = got
        yield replace(self.again, calls=(pool,))
        if not self.steady[pool].any():
            return
        self._recorded(POSITION, "bulk of all", pool, before[pool])
        elsewhere = replace(self.again, placement="other place")
        large = self._can_be_large(elsewhere)
        yield from self._places(elsewhere, large)
        random = any(found.way.kind == UNREPEATABLE for found in self.found)
        for other in self.answers.elsewhere:
            here = np.isin(other.index, pool)
            kind = UNREPEATABLE if random else _PLACED.get(other.placement, POSITION)
            self._recorded(kind, other.placement, other.index[here], other.got[here])
        yield from self._with_options(large)

    def _recorded(self, kind: str, words: str, index: Index, got: Items) -> None:
        """Compare earlier answers, which are not repeated, with the bulk."""
        due = self.reference[index]
        differs = self.steady[index] & self._differing(due, got)
        self._add(replace(self.again, kind=kind, other=words), index, due, got, differs)

    def _can_be_large(self, elsewhere: OtherWay) -> bool:
        """Whether a large call would beat its time-out, by the pace of smaller ones."""
        size = 0 if has_texts(self.vectors.case) else len(self.pool)
        while 0 < size < LARGE:
            begun = time.monotonic()
            got = self._put(elsewhere, np.resize(self.pool, size))
            if got is None or (time.monotonic() - begun) * _STEP**2 > call_timeout():
                return False
            size *= _STEP
        return size > 0

    def _places(self, elsewhere: OtherWay, large: bool) -> Iterator[OtherWay]:
        pool = self.pool

        def way(kind: str, words: str, *calls: Index, offset: int = 0) -> OtherWay:
            return replace(elsewhere, kind=kind, other=words, calls=calls, offset=offset)

        for by in dict.fromkeys((*ROTATIONS, len(pool) // 2)):
            if 0 < by < len(pool):
                words = f"rotated by {by}" if by in ROTATIONS else "rotated by half"
                yield way(POSITION, words, np.roll(pool, -by))
        for missing in MISSING:
            if missing < len(pool):
                yield way(LENGTH, f"all but the last {missing}", pool[:-missing])
        for length in PIECES:
            if length < len(pool):
                yield way(LENGTH, f"in pieces of {length}", *self._cut(length))
        if large:
            yield way(LENGTH, f"repeated to {LARGE:,} elements", np.resize(pool, LARGE))
        for offset in OFFSETS:
            words = f"{plural(offset, 'element')} into the buffer"
            yield way(ALIGNMENT, words, pool, offset=offset)

    def _cut(self, length: int) -> Iterator[Index]:
        calls = _TEXT_PIECES if has_texts(self.vectors.case) else _PIECES
        chosen = some(self.pool, length * calls)
        return (chosen[i : i + length] for i in range(0, len(chosen), length))

    def _with_options(self, large: bool) -> Iterator[OtherWay]:
        first: Items | None = None
        for name, way in self._options():
            yield replace(way, calls=(self.pool,))
            if name == THREADS and large:
                call = np.resize(self.pool, LARGE)
                if first is None:
                    got = self._put(replace(way, backend=self.backend), call)
                    first = got if isinstance(got, np.ndarray) else self.reference[call]
                yield replace(way, calls=(call,), due=first)

    def _plainly(self, way: OtherWay, before: tuple[Index, ...], index: Index) -> tuple[Index, ...]:
        return (self.pool,)

    def _read(self, answer: Outputs | Oversized, index: Index) -> Items | str:
        wrong = form_complaint(answer, self.vectors.case, index.shape)
        return f"{wrong[0]}: {wrong[1]}" if wrong else cast(Outputs, answer).arrays[0]

    def _differing(self, due: Items, got: Items) -> Mask:
        return np.asarray(got != due, bool)

    def _digest(self, index: Index, due: Items, got: Items, first: WayDifference) -> int:
        if first.silent:
            return digest_of_words((first.got[0],))
        return digest_of_pairs(self.vectors.inputs[0][index], got)

    def _example(self, difference: WayDifference, i: int) -> Example:
        element, way = int(difference.index[i]), difference.way
        inputs = tuple(entry_word(tensor[element]) for tensor in self.vectors.inputs)
        due, got = entry_word(difference.due[i]), entry_word(difference.got[i])
        came = f"nothing: {got}" if difference.silent else self._spelled(got)
        message = f"{way.one} gives {self._spelled(due)}, {way.other} gives {came}"
        return Example(inputs, due, None if difference.silent else got, message)

    def _spelled(self, word: Word) -> str:
        fmt = self.vectors.case.outputs[0].format
        if isinstance(word, str) or isinstance(fmt, Text):
            return repr(word)[:80]
        return f"0x{word:0{fmt.storage.itemsize * 2}x}"

    def _ranges(self, index: Index) -> tuple[tuple[tuple[Word, Word], ...], int]:
        inputs, asked = self.vectors.inputs[0], self.asked
        if inputs.dtype.hasobject:
            return (), 0
        runs = joining((int(i), int(i)) for i in np.searchsorted(asked, index))
        kept = outermost(list(runs))
        pairs = tuple((entry_word(inputs[asked[a]]), entry_word(inputs[asked[b]])) for a, b in kept)
        return pairs, len(runs) - len(kept)


def sample(pool: Index, rows: NDArray[np.int16]) -> Index:
    """Choose at most CHUNK of the pool, a share per row, in order. Deterministic."""
    if len(pool) <= CHUNK:
        return pool
    found = np.unique(rows[pool])
    members = (pool[rows[pool] == row] for row in found)
    return np.sort(np.concatenate([some(each, CHUNK // len(found)) for each in members]))


def some(pool: Index, count: int) -> Index:
    """Choose at most `count` of the pool, in order. Deterministic."""
    if len(pool) <= count:
        return pool
    return np.sort(np.random.default_rng(0).choice(pool, count, replace=False))


class CallsAgain(AskingAgain[CallSet]):
    """The answered calls of a case, last call first."""

    twice = ("first", "asked again")

    def _comparable(self) -> Index:
        # outputs that were not fetched have no bits to compare
        fetched = [isinstance(got, Outputs) for got in self.answers.got]
        return np.flatnonzero((self.answers.state == ANSWERED) & fetched)[::-1]

    def _ways(self) -> Iterator[OtherWay]:
        backwards = replace(self.again, calls=self._steady())
        if len(self.asked) > 1:
            words = "in order", "in reverse order"
            backwards = replace(backwards, kind=ORDER, one=words[0], other=words[1])
        yield backwards
        if any(tensor.shape for i in self.asked for tensor in self.vectors.calls[i]):
            words = "at the start of a buffer", "1 element into it"
            elsewhere = OtherWay(ALIGNMENT, *words, "other place", self.backend, offset=1)
            yield replace(elsewhere, calls=self._steady())
        for _, way in self._options():
            yield replace(way, calls=self._steady())

    def _steady(self) -> tuple[Index, ...]:
        return tuple(np.array([i], np.intp) for i in self.asked if self.steady[i])

    def _plainly(self, way: OtherWay, before: tuple[Index, ...], index: Index) -> tuple[Index, ...]:
        """The call, after the one that preceded it first or in the other way."""
        if way.placement != "again":
            return (*before, index)
        at = int(np.flatnonzero(self.asked == index[0])[0]) + 1  # they are in reverse order
        return (*self.asked[at : at + 1].reshape(-1, 1), index)

    def _read(self, answer: Outputs | Oversized, index: Index) -> Items | str:
        wrong = codes_complaint(answer) if isinstance(answer, Outputs) else ""
        return wrong or np.array([answer], object)

    def _differing(self, due: Items, got: Items) -> Mask:
        pairs = zip(due, got, strict=True)
        return np.array([difference_of(one, other) is not None for one, other in pairs], bool)

    def _digest(self, index: Index, due: Items, got: Items, first: WayDifference) -> int:
        items = zip(index, due, got, strict=True)
        calls = ((*self.vectors.calls[i], *_bits(one), *_bits(other)) for i, one, other in items)
        return added(digest_of_bytes(*map(_bytes, parts)) for parts in calls)

    def _example(self, difference: WayDifference, i: int) -> CallExample:
        words, calls = (difference.way.one, difference.way.other), self.vectors
        due, got, number = difference.due[i], difference.got[i], int(difference.index[i])
        where, wrong = (None if isinstance(got, str) else difference_of(due, got)) or (None, 0)
        first = max(0, max(where[1] if where else 0, 0) - ELEMENTS_BEFORE)
        inputs, arguments = shown_inputs(calls, number, shapes_of(due), where)
        return CallExample(
            inputs,
            returned_strips(calls, number, due, first),
            None if isinstance(got, str) else returned_strips(calls, number, got, first),
            difference=where,
            wrong=wrong,
            message=_message(words, due, got, where),
            arguments=arguments,
        )


def difference_of(due: Returned, got: Returned) -> tuple[tuple[int, int], int] | None:
    """Return the first (output, element) that differs, -1 for types or shapes, and how many do."""
    mine, others = _forms(due), _forms(got)
    if mine != others:
        pairs = zip(mine, others, strict=False)
        output = next((n for n, (one, other) in enumerate(pairs) if one != other), 0)
        return (output, -1), 0
    if isinstance(due, Oversized) or isinstance(got, Oversized):
        return None
    bad = [
        np.flatnonzero(one.reshape(-1) != other.reshape(-1))
        for one, other in zip(due.arrays, got.arrays, strict=True)
    ]
    first = next((n for n, elements in enumerate(bad) if len(elements)), None)
    if first is None:
        return None
    return (first, int(bad[first][0])), sum(map(len, bad))


def _forms(got: Returned) -> list[str]:
    """Type and shape of each output: "float16 [7]"."""
    shapes = shapes_of(got)
    names = [*map(str, got.types), *[""] * (len(shapes) - len(got.types))]
    said = (list(shape) or "scalar" for shape in shapes)
    return [f"{name} {shape}".strip() for name, shape in zip(names, said, strict=False)]


def _bytes(part: NDArray[Any] | str) -> bytes:
    return part.encode() if isinstance(part, str) else np.ascontiguousarray(part).tobytes()


def _bits(got: Returned | str) -> tuple[NDArray[Any] | str, ...]:
    if isinstance(got, str):
        return (got,)
    return (*_forms(got), *(got.arrays if isinstance(got, Outputs) else ()))


def _message(
    words: tuple[str, str], due: Returned, got: Returned | str, where: tuple[int, int] | None
) -> str:
    one, other = words
    if isinstance(got, str):
        return f"{one} gives {_whole(due)}, {other} gives nothing: {got}"
    if isinstance(due, Oversized) or isinstance(got, Oversized) or not where or where[1] < 0:
        return f"{one} gives {_whole(due)}, {other} gives {_whole(got)}"
    output, element = where
    mine, its = (_code(answer.arrays[output].reshape(-1)[element]) for answer in (due, got))
    place = f" in element {element}" if due.arrays[output].ndim else ""
    place += f" of output {output + 1}" if len(due.arrays) > 1 else ""
    return f"{one} gives {mine}{place}, {other} gives {its}"


def _whole(got: Returned) -> str:
    return "; ".join(_forms(got)) or "no outputs"


def _code(code: np.unsignedinteger[Any]) -> str:
    return f"0x{int(code):0{code.dtype.itemsize * 2}x}"
