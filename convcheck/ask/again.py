"""Whether the same inputs get the same bits in whichever way they are asked.

What the standard leaves undefined counts too: an answer may be any, but not now this and now that.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import cast

import numpy as np
from numpy.typing import NDArray

from convcheck.ask import other_ways as ways
from convcheck.ask.elements import Note, inputs_at
from convcheck.ask.options import broken, configured, options_of
from convcheck.backends.protocol import Answer, Backend, Declined, Outputs, Refused, call_timeout
from convcheck.judge.answers import ANSWERED, CHUNK, EVERYWHERE, Answers, Avoid, Index
from convcheck.judge.digest import digest_of_pairs, digest_of_words, spell_digest
from convcheck.judge.form import form_complaint
from convcheck.judge.ranges import joining, outermost
from convcheck.judge.result import Example, Group, Word
from convcheck.numerics.format import Bits, Text
from convcheck.rules.model import Case
from convcheck.semantics.expected import Decision
from convcheck.vectors.model import CallSet, Vectors, VectorSet

UNREPEATABLE = "differs from call to call"
THREADS = "threads"  # the option of which large tensors are asked too
_STEP = 8  # a larger call is so many times as large as one that took little of its time
_PIECES, _TEXT_PIECES = 128, 8  # calls a length; a tensor of texts takes longer to make
# the kinds of the differences that the placements of every run show
_PLACED = {
    "alone": ways.LENGTH, "odd tail": ways.POSITION, "short": ways.LENGTH, "4-D": "shape-dependent",
}  # fmt: skip


def consistent(
    backend: Backend,
    vectors: Vectors,
    answers: Answers,
    note: Note,
    avoid: Avoid | None = None,
) -> tuple[Group, ...]:
    """Ask what was answered again, in other ways, and give a group of each sort of difference.

    `answers` are those of the same backend to the same vectors. `note` is told placement and
    elements before each call, as by `ask`. Placements to avoid are not asked.
    """
    avoid = avoid or Avoid()
    if isinstance(vectors, CallSet) or avoid.placements >= EVERYWHERE:
        return ()
    asking = _Asking(backend, vectors, answers, note, avoid)
    if len(asking.pool):
        asking.everything()
    return tuple(asking.groups())


@dataclass(frozen=True)
class _Found:
    """Elements, in order, with what another way gave, or, where nothing came of it, why not."""

    kind: str
    one: str  # the ways, in words
    other: str
    index: Index
    due: Bits
    got: Bits | None
    message: str = ""


class _Asking:
    def __init__(
        self, backend: Backend, vectors: VectorSet, answers: Answers, note: Note, avoid: Avoid
    ) -> None:
        self.backend, self.vectors, self.answers = backend, vectors, answers
        self.case, self.note, self.avoid = vectors.case, note, avoid
        self.asked = np.flatnonzero(answers.state == ANSWERED)
        self.pool = ways.sample(self.asked, vectors.expected.rows)
        formats = [dtype.format for dtype in (*self.case.inputs, *self.case.outputs)]
        self.texts = any(isinstance(fmt, Text) for fmt in formats)
        self.reference = answers.got.copy()
        self.found: list[_Found] = []

    def everything(self) -> None:
        if not self._settled():
            return
        pieces = _TEXT_PIECES if self.texts else _PIECES
        for way in ways.ways(self.pool, pieces, large=self.large):
            for call in way.calls:
                got = self._put("other place", self.backend, call, way.offset)
                again = partial(self._put, "other place", self.backend, call, way.offset)
                self._compare(way.kind, ("bulk", way.words), call, self.reference[call], got, again)
        self._placements_of_the_run()
        for name, values in options_of(self.backend).items():
            self._option(name, values)

    def _settled(self) -> bool:
        """Take the bulk's answers, as far as they are the same twice, to hold others against."""
        first = self._put("again", self.backend, self.pool)
        if first is None:
            return False
        if isinstance(first, str):
            before = self.reference[self.pool]
            self._compare(UNREPEATABLE, ("bulk", "bulk again"), self.pool, before, first)
            return False
        second = self._put("again", self.backend, self.pool)
        self._compare(UNREPEATABLE, ("bulk", "bulk again"), self.pool, first, second)
        same = first == second if isinstance(second, np.ndarray) else np.ones(len(first), bool)
        self.pool, first = self.pool[same], first[same]
        before = self.answers.got[self.pool]
        self._compare(ways.POSITION, ("bulk", "bulk of all"), self.pool, first, before)
        self.reference[self.pool] = first
        return bool(len(self.pool))

    @cached_property
    def large(self) -> bool:
        """Whether a large call, by the pace of smaller ones, ends before it counts as a crash."""
        size = 0 if self.texts else len(self.pool)
        while 0 < size < ways.LARGE:
            begun = time.monotonic()
            got = self._put("other place", self.backend, np.resize(self.pool, size))
            if got is None or (time.monotonic() - begun) * _STEP**2 > call_timeout():
                return False
            size *= _STEP
        return size > 0

    def _placements_of_the_run(self) -> None:
        """Take what other placements answered, be it right or of no matter there.

        They are not asked again: of a backend that answers at random, they prove nothing.
        """
        random = any(found.kind == UNREPEATABLE for found in self.found)
        for other in self.answers.elsewhere:
            here = np.isin(other.index, self.pool)
            index = other.index[here]
            words = ("bulk", other.placement)
            kind = UNREPEATABLE if random else _PLACED.get(other.placement, ways.POSITION)
            self._compare(kind, words, index, self.reference[index], other.got[here])

    def _option(self, name: str, values: tuple[str, ...]) -> None:
        """Hold answers to calls under each value of an option against those under the first."""
        calls = [self.pool]
        if name == THREADS and self.large:
            calls.append(ways.repeated(self.pool))
        due = [self.reference[self.pool]]
        for call in calls[1:]:
            got = self._put("other options", self.backend, call)
            due.append(self.reference[call] if not isinstance(got, np.ndarray) else got)
        for value in values[1:]:
            other = configured(self.backend, {name: value})
            words = (f"{name} {values[0]}", f"{name} {value}")
            for call, wanted in zip(calls, due, strict=True):
                again = partial(self._put, "other options", other, call)
                self._compare(f"{name}-dependent", words, call, wanted, again(), again)

    def _put(
        self, placement: str, backend: Backend, index: Index, offset: int = 0
    ) -> Bits | str | None:
        """Make a call; give the codes, or why there are none. None where it is to be avoided."""
        inside = [np.isin(culprits, index).all() for culprits in self.avoid.together]
        if placement in self.avoid.placements or any(inside) or broken(self.backend):
            return None
        self.note(placement, index[:CHUNK])  # of a longer call, these are all its elements
        inputs = inputs_at(self.vectors, index)
        moved = [ways.at_offset(tensor, offset) for tensor in inputs]
        return _codes(backend.answer(self.case, moved), self.case, index)

    def _compare(
        self, kind: str, words: tuple[str, str], index: Index, due: Bits, got: Bits | str | None,
        again: Callable[[], Bits | str | None] | None = None,
    ) -> None:  # fmt: skip
        """Note what differs; if both ways can be asked `again`, under this kind only what both give
        twice.
        """
        if got is None:
            return
        if isinstance(got, str):
            index, first = np.unique(index, return_index=True)
            self.found.append(_Found(kind, *words, index, due[first], None, got))
            return
        differs = np.asarray(got != due, bool)
        random = differs.copy()
        random &= self._unsteady(index, got, again) if again and differs.any() else False
        for name, here in ((kind, differs & ~random), (UNREPEATABLE, random)):
            if here.any():
                elements, first = np.unique(index[here], return_index=True)
                mine, other = due[here][first], got[here][first]
                self.found.append(_Found(name, *words, elements, mine, other))

    def _unsteady(
        self, index: Index, got: Bits, again: Callable[[], Bits | str | None]
    ) -> NDArray[np.bool_]:
        """Return which elements of a call get other bits when it, or the bulk, is asked again."""
        more, bulk = again(), self._put("again", self.backend, self.pool)
        unsteady = np.zeros(len(index), bool)
        if isinstance(more, np.ndarray):
            unsteady |= np.asarray(more != got, bool)
        if isinstance(bulk, np.ndarray):
            unsteady |= np.isin(index, self.pool[np.asarray(bulk != self.reference[self.pool])])
        return unsteady

    def groups(self) -> Iterator[Group]:
        """Yield a group of each kind, of differences and of refusals apart, and deciding row."""
        rows = self.vectors.expected.rows
        kinds = dict.fromkeys((found.kind, found.got is None) for found in self.found)
        for kind, silent in kinds:
            same = [f for f in self.found if (f.kind, f.got is None) == (kind, silent)]
            for row, decision in enumerate(self.vectors.expected.decisions):
                here = [part for f in same if (part := _taken(f, rows[f.index] == row))]
                if here:
                    yield self._group(decision, here, int((rows[self.asked] == row).sum()))

    def _group(self, decision: Decision, found: list[_Found], of: int) -> Group:
        """Make a group of what one or more ways show: of each element, what the first did."""
        index = np.concatenate([f.index for f in found])
        index, first = np.unique(index, return_index=True)
        shown = found[0]
        at = (0, len(shown.index) - 1) if shown.got is not None else (0,)
        examples = tuple(self._example(shown, i) for i in dict.fromkeys(at))
        ranges, more = self._ranges(index)
        sums = self._digest(found, index, first)
        return Group(
            decision, "inconsistent", _kind(shown), len(index), of, sums,
            placement=shown.other, ranges=ranges, more_ranges=more, examples=examples,
        )  # fmt: skip

    def _digest(self, found: list[_Found], index: Index, first: Index) -> str:
        inputs = self.vectors.inputs[0][index]
        got = [f.got for f in found if f.got is not None]
        if not got:
            return spell_digest(digest_of_words((found[0].message,)))
        return spell_digest(digest_of_pairs(inputs, cast(Bits, np.concatenate(got)[first])))

    def _example(self, found: _Found, i: int) -> Example:
        element = int(found.index[i])
        inputs = tuple(_word(tensor[element]) for tensor in self.vectors.inputs)
        due = _word(found.due[i])
        got = None if found.got is None else _word(found.got[i])
        return Example(inputs, due, got, self._message(found, due, got))

    def _message(self, found: _Found, due: Word, got: Word | None) -> str:
        one = f"{found.one} gives {self._spelled(due)}"
        if got is None:
            return f"{one}, {found.other} gives nothing: {found.message}"
        return f"{one}, {found.other} gives {self._spelled(got)}"

    def _spelled(self, word: Word) -> str:
        fmt = self.case.outputs[0].format
        if isinstance(word, str) or isinstance(fmt, Text):
            return repr(word)[:80]
        return f"0x{word:0{fmt.storage.itemsize * 2}x}"

    def _ranges(self, index: Index) -> tuple[tuple[tuple[Word, Word], ...], int]:
        """Return runs of neighbours among the elements that were asked."""
        inputs = self.vectors.inputs[0]
        if inputs.dtype.hasobject:
            return (), 0
        asked = self.asked
        runs = joining((int(i), int(i)) for i in np.searchsorted(asked, index))
        kept = outermost(list(runs))
        pairs = tuple((_word(inputs[asked[a]]), _word(inputs[asked[b]])) for a, b in kept)
        return pairs, len(runs) - len(kept)


def _codes(answer: Answer, case: Case, index: Index) -> Bits | str:
    if isinstance(answer, Refused | Declined):
        return answer.message
    wrong = form_complaint(answer, case, index.shape)
    if wrong:
        return f"{wrong[0]}: {wrong[1]}"
    return cast(Outputs, answer).arrays[0]


def _taken(found: _Found, mask: NDArray[np.bool_]) -> _Found | None:
    if not mask.any():
        return None
    got = None if found.got is None else found.got[mask]
    return _Found(
        found.kind, found.one, found.other, found.index[mask], found.due[mask], got, found.message
    )  # fmt: skip


def _kind(found: _Found) -> str:
    return found.kind if found.got is not None else f"{found.kind}: refused"


def _word(value: object) -> Word:
    return value if isinstance(value, str) else int(cast(int, value))
