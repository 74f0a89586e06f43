"""Send a case's inputs to a backend, elements in several placements, whole calls as they are."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import cast

import numpy as np
from numpy.typing import NDArray

from convcheck.ask import placements
from convcheck.backends.protocol import (
    Answer,
    Backend,
    Declined,
    Outputs,
    Oversized,
    Raised,
    Refused,
    answers_of,
    bound,
    call_timeout,
    max_elements,
)
from convcheck.judge.answers import (
    ANSWERED,
    CHUNK,
    CRASHED,
    EVERYWHERE,
    LARGE_CALLS,
    LARGEST,
    LOST,
    MANY,
    MANY_CALLS,
    NOT_ASKED,
    REFUSED,
    Answers,
    Avoid,
    Elsewhere,
    Fault,
    Index,
)
from convcheck.judge.matching import codes_complaint, form_complaint, strangers
from convcheck.numerics.format import Bool, Format, Text
from convcheck.numerics.number import Bits, Codes
from convcheck.numerics.order import special_codes
from convcheck.records import replace
from convcheck.rules.cases import fixed_tensors
from convcheck.rules.model import Case, DType
from convcheck.semantics.expected import REFUSED as TO_REFUSE
from convcheck.semantics.expected import UNDEFINED, ExpectedCall
from convcheck.streams import plural
from convcheck.vectors.model import CallSet, Vectors, VectorSet


def companion(dtype: DType, index: Index, count: int) -> Bits:
    """Return a tensor of the type, deterministic in the elements (of `count`) and their shape."""
    shape = shape_for(index, count)
    turn = index.size + (int(index.reshape(-1)[0]) if index.size else 0)
    return _codes(dtype.format, turn, shape).copy()


@lru_cache(maxsize=4096)
def _codes(fmt: Format, turn: int, shape: tuple[int, ...]) -> Bits:
    size = prod(shape)
    if isinstance(fmt, Text):
        texts = np.empty(size, object)
        texts[:] = [str(turn + i) for i in range(size)]
        return texts.reshape(shape)
    codes = np.arange(2) if isinstance(fmt, Bool) else np.asarray(special_codes(fmt))
    return codes[(turn + np.arange(size)) % len(codes)].astype(fmt.storage).reshape(shape)


def shape_for(index: Index, count: int) -> tuple[int, ...]:
    """Choose a shape that would show if used or broadcast; in every other case, a scalar."""
    if index.ndim == 0:
        return (1,)
    if index.ndim > 1:
        return (0,)
    if index.size == 1:
        return (2, 2)
    return () if bool(index.size) == bool(count % 2) else (3,)


Note = Callable[[str, Index], bool]

ONE_BY_ONE = 8  # a refused call of at most this many elements is sent one by one
FREE_ONE_BY_ONE = 64  # likewise for undefined elements: most of them are refused
MOST_REFUSALS = 256  # refused elements found one by one; further ones share a call
MOST_RAISED = 16  # likewise, elements on which the adapter raises
_PATIENCE = 1.0  # seconds for many calls: an emulator may take 10 ms each
_ROOM = 8  # a larger call is made if its estimated time is an eighth of the time-out


class _DeclinedError(Exception):
    pass


def ask(
    backend: Backend,
    vectors: VectorSet,
    note: Note,
    skip: Mapping[int, str],
    avoid: Avoid | None = None,
    thorough: Callable[[Index], bool] = lambda answered: False,
    suspected: Index | None = None,
) -> Answers:
    """Send every element except those to skip, in every placement except those to avoid.

    Of a refused call, suspected elements are sent one by one. If `thorough` holds for the answered
    elements, large and many calls are made. `note` gets placement and elements, in the call's
    shape, before each call; True means that no time is left for it.
    """
    asking = _Asking(backend, vectors, note, skip, avoid or Avoid())
    if suspected is not None:
        asking.suspected[suspected] = True
    if asking.avoid.placements >= EVERYWHERE:
        return asking.answers()
    declined = backend.support(vectors.case)
    if declined is None:
        try:
            asking.everything()
            if thorough(asking.answered_ones()):
                asking.thoroughly()
        except _DeclinedError as error:
            [declined] = error.args
    return asking.answers(declined)


def inputs_at(vectors: Vectors, index: Index) -> list[Bits]:
    """Return copies of the inputs at `index`, in its shape, or the inputs of one call."""
    if isinstance(vectors, CallSet):
        return [tensor.copy() for tensor in vectors.calls[int(index[0])]]
    if index.ndim:
        tensors = [tensor.take(index) for tensor in vectors.inputs]
    else:
        tensors = [tensor[index.reshape(1)].reshape(()) for tensor in vectors.inputs]
    if vectors.case.fixed:
        return [*tensors, *fixed_tensors(vectors.case)]
    others = vectors.case.inputs[len(tensors) :]
    return [*tensors, *(companion(dtype, index, len(vectors)) for dtype in others)]


def has_texts(case: Case) -> bool:
    """Whether an input or the output is a text."""
    return any(isinstance(t.format, Text) for t in (*case.inputs, *case.outputs))


def everywhere(vectors: VectorSet, pattern: int) -> NDArray[np.bool_]:
    """Return the mask of elements that have the pattern under every reading."""
    masks = [reading.patterns == pattern for reading in vectors.expected.readings]
    return np.asarray(np.logical_and.reduce(masks))


class _Asking:
    def __init__(
        self, backend: Backend, vectors: VectorSet, note: Note, skip: Mapping[int, str],
        avoid: Avoid,
    ) -> None:  # fmt: skip
        self.backend, self.vectors, self.note, self.avoid = backend, vectors, note, avoid
        self.format = vectors.case.outputs[0].format
        blank = "" if isinstance(self.format, Text) else 0
        self.got: Bits = np.full(len(vectors), blank, self.format.storage)
        self.state = np.full(len(vectors), NOT_ASKED, np.uint8)
        self.messages = dict(skip)
        self.state[list(skip)] = CRASHED
        self.faults = {(fault.kind, fault.placement): fault for fault in avoid.faults}
        self.elsewhere: dict[str, list[tuple[Index, Bits]]] = {}
        self.undefined = everywhere(vectors, UNDEFINED)
        self.to_refuse = everywhere(vectors, TO_REFUSE)
        self.hopeful = ~self.undefined & ~self.to_refuse
        self.suspected = np.zeros(len(vectors), bool)
        self.refusals = 0
        self.with_others: set[int] = set()
        self.answered = False
        self.died = bool(skip or avoid.faults)

    def answers(self, declined: Declined | None = None) -> Answers:
        faults = (*self.avoid.faults, *self.faults.values())
        declined = None if self.died else declined  # a crash counts even so
        return Answers(
            self.got, self.state, self.messages, tuple(dict.fromkeys(faults)),
            tuple(self._differences()), declined, frozenset(self.with_others),
        )  # fmt: skip

    def _differences(self) -> Iterator[Elsewhere]:
        for placement, found in self.elsewhere.items():
            index = np.concatenate([i for i, _ in found])
            got = np.concatenate([codes for _, codes in found])
            index, first = np.unique(index, return_index=True)
            yield Elsewhere(placement, index, got[first])

    def everything(self) -> None:
        """Send in bulk, then in other placements all that was not refused."""
        for group in self._groups():
            for begin in range(0, len(group), CHUNK):
                self._bulk(group[begin : begin + CHUNK])
        usable = self._usable()
        masks = self.state != CRASHED, usable, usable & self.hopeful
        chosen = map(np.flatnonzero, masks)
        self._placed(placements.calls(self.vectors.case.shapes, self._told, *chosen))

    def _usable(self) -> NDArray[np.bool_]:
        """Elements that can share a call."""
        usable = (self.state == ANSWERED) | ((self.state == NOT_ASKED) & self.hopeful)
        return np.asarray(usable, bool)

    @property
    def _told(self) -> bool:
        """An input only sets a type. The sibling without it has every placement."""
        return self.vectors.case.sources != self.vectors.case.inputs

    def thoroughly(self) -> None:
        """Send in every rank, in large calls and in many calls, as long as they are fast."""
        seconds: list[float] = []
        pool, case = np.flatnonzero(self._usable()), self.vectors.case
        if self._told or not len(pool):
            return
        ranks = [rank for rank in (2, 3) if case.shapes is None or rank in case.shapes.ranks]
        self._placed((f"{n}-D", index) for n in ranks for index in placements.shaped(pool, n))
        texts = has_texts(case)
        for placement, size in LARGE_CALLS.items():
            if size > max_elements():
                return
            call = placements.large(pool, size)
            begun = time.monotonic()
            self._placed([(placement, call)])
            seconds.append(time.monotonic() - begun)
            if texts or seconds[-1] / size * LARGEST * _ROOM > call_timeout():
                return
        if min(seconds) * MANY > _PATIENCE or MANY_CALLS in self.avoid.placements:
            return
        if len(case.inputs) == 1:
            for piece in placements.parted(self.answered_ones()[:CHUNK], self.avoid.together):
                self._many(piece)

    def answered_ones(self) -> Index:
        return np.flatnonzero(self.state == ANSWERED)

    def _many(self, index: Index) -> None:
        """Repeat one call many times, across recompilation of the kernel and full caches."""
        codes, due = cast(Codes, inputs_at(self.vectors, index)[0]), cast(Codes, self.got[index])
        buffer, out, right = codes.copy(), np.zeros_like(due), due.tobytes()
        call = bound(self.backend, self.vectors.case, buffer, out)
        for _ in range(MANY):
            buffer[:] = codes  # a backend may write into its input
            np.invert(due, out=out)  # clear all old results
            if self.note(MANY_CALLS, index):
                break
            answer = call()
            if answer is None:
                if out.tobytes() == right:
                    continue
                answer = Outputs((out.copy(),), (self.vectors.case.outputs[0].name,))
            if reply := self._taken(MANY_CALLS, index, answer):
                self._refused_here(MANY_CALLS, index, reply)

    def _groups(self) -> Iterator[Index]:
        """Elements that may be refused come apart from the others."""
        there = self.state == NOT_ASKED
        apart = self.to_refuse.copy()
        if any(isinstance(t.format, Text) for t in self.vectors.case.inputs):
            apart |= self.undefined
        for mask in (there & ~apart, there & apart & self.undefined, there & self.to_refuse):
            (group,) = mask.nonzero()
            if len(group):
                yield group

    def _bulk(self, index: Index) -> bool:
        """Send in bulk. Return whether anything was refused."""
        refused = False
        avoided = "bulk" in self.avoid.placements
        for piece in () if avoided else placements.parted(index, self.avoid.together):
            if reply := self._put("bulk", piece):
                self._refused(piece, reply)
                refused = True
        return refused

    def _refused(self, index: Index, reply: Refused) -> None:
        if len(index) == 1 or self.to_refuse.all():
            self._mark_refused(index, reply)
        elif self.refusals >= (MOST_RAISED if isinstance(reply, Raised) else MOST_REFUSALS):
            said = f"{reply.message} (in a call with {len(index) - 1} others)"
            self._mark_refused(index, replace(reply, message=said))
            self.with_others.update(index.tolist())
        else:
            self._apart(index, reply)

    def _apart(self, index: Index, reply: Refused) -> None:
        """Send the elements of a refused call one by one, or bisect it."""
        few = FREE_ONE_BY_ONE if self.undefined[index].all() else ONE_BY_ONE
        alone = index[self.suspected[index]]
        if 0 < len(alone) < len(index):
            self._bulk(index[~self.suspected[index]])
        elif not len(alone) and len(index) <= few:
            alone = index
        if len(alone):
            for piece in np.array_split(alone, len(alone)):
                self._bulk(piece)
            return
        first, second = np.array_split(index, 2)
        if self._bulk(first):
            self._bulk(second)
        else:
            self._refused(second, reply)

    def _mark_refused(self, index: Index, reply: Refused) -> None:
        self.refusals += len(index)
        self.state[index] = LOST if isinstance(reply, Raised) else REFUSED
        self.messages.update(dict.fromkeys(index.tolist(), reply.message))

    def _placed(self, wanted: Iterable[tuple[str, Index]]) -> None:
        calls = [
            (placement, piece)
            for placement, call in wanted
            if placement not in self.avoid.placements
            for piece in placements.parted(call, self.avoid.together)
        ]
        # the first answer may decline the case, so wait for it
        for part in [calls] if self.answered else [calls[:1], calls[1:]]:
            self._several(part)

    def _several(self, calls: Sequence[tuple[str, Index]]) -> None:
        """A backend may receive a call before it has answered the previous one."""
        questions = (inputs_at(self.vectors, piece) for _, piece in calls)
        answers = answers_of(self.backend, self.vectors.case, questions)
        for placement, piece in calls:
            if self.note(placement, piece):
                break
            if reply := self._taken(placement, piece, next(answers)):
                self._refused_here(placement, piece.reshape(-1), reply)

    def _refused_here(self, placement: str, index: Index, reply: Refused) -> None:
        """Record a refusal, unless its elements are known to be refused."""
        states = set(self.state[index].tolist())
        if len(index) == 1 and NOT_ASKED in states:
            self._mark_refused(index, reply)
        elif not states <= {REFUSED, LOST} or not states:
            due = index[self.hopeful[index]]
            if len(due) or not len(index):  # undefined elements may be refused in any placement
                kind = "error" if isinstance(reply, Raised) else "refused"
                self._fault(kind, placement, reply.message, due)

    def _put(self, placement: str, index: Index) -> Refused | None:
        if self.note(placement, index):
            return None
        answer = self.backend.answer(self.vectors.case, inputs_at(self.vectors, index))
        return self._taken(placement, index, answer)

    def _taken(self, placement: str, index: Index, answer: Answer) -> Refused | None:
        """Record the result of a call, or return a refusal."""
        if isinstance(answer, Declined):
            if not self.answered:
                raise _DeclinedError(answer)
            answer = Refused(answer.message)
        self.answered = True
        if isinstance(answer, Refused):
            return answer
        wrong = form_complaint(answer, self.vectors.case, index.shape)
        if wrong and self.vectors.case.outside:  # outside the text, a wrong form is not a fault
            return Refused(f"answered: {wrong[0]}, {wrong[1]}")
        if wrong:
            self._fault(wrong[0], placement, wrong[1], index.reshape(-1))
        elif isinstance(answer, Outputs):
            self._record(placement, index.reshape(-1), answer.arrays[0].reshape(-1))
        return None

    def _fault(self, kind: str, placement: str, message: str, index: Index) -> None:
        first = int(index[0]) if len(index) else 0
        self.faults.setdefault((kind, placement), Fault(kind, placement, message, first))

    def _record(self, placement: str, index: Index, codes: Bits) -> None:
        strange = strangers(self.format, codes)
        if strange is not None:
            share = f"{int(strange.sum())} of {plural(len(index), 'element')}"
            code = codes[strange][0]
            shown = hex(int(code)) if isinstance(code, np.integer) else repr(code)[:80]
            message = f"{shown}, {share}"
            self._fault("not a code of the type", placement, message, index[strange])
            index, codes = index[~strange], codes[~strange]
        state = self.state[index]
        new = state == NOT_ASKED
        differs = ~new & ((state == REFUSED) | np.asarray(codes != self.got[index], bool))
        if np.count_nonzero(differs):
            self.elsewhere.setdefault(placement, []).append((index[differs], codes[differs]))
        self.got[index[new]] = codes[new]
        self.state[index[new]] = ANSWERED


def ask_calls(
    backend: Backend, calls: CallSet, note: Note, skip: Mapping[int, str],
    avoid: Avoid | None = None,
) -> Answers:  # fmt: skip
    """Make every call except those to skip and those with too large answers. `note` as in `ask`."""
    avoid, messages = avoid or Avoid(), dict(skip)
    got, state = np.full(len(calls), None), np.full(len(calls), NOT_ASKED, np.uint8)
    state[list(skip)] = CRASHED
    faults: dict[str, Fault] = {}
    left_out, limit, answered = 0, max_elements(), False
    given_up = "bulk" in avoid.placements  # every call is made in bulk
    declined = None if given_up else backend.support(calls.case)
    for i in () if given_up or declined else np.flatnonzero(state == NOT_ASKED).tolist():
        if largest(calls.expected[i]) > limit:
            left_out += 1
            continue
        index = np.array([i], np.intp)
        if note("bulk", index):
            break
        answer = backend.answer(calls.case, inputs_at(calls, index))
        if isinstance(answer, Declined) and not answered:
            declined = answer
            break
        answered = True
        if isinstance(answer, Refused | Declined):
            state[i] = LOST if isinstance(answer, Raised) else REFUSED
            messages[i] = answer.message
        elif isinstance(answer, Outputs) and (message := codes_complaint(answer)):
            faults.setdefault(message, Fault("wrong type", "bulk", message, i))
        else:
            state[i], got[i] = ANSWERED, _within(limit, answer)
    declined = None if skip or avoid.faults else declined  # a crash counts even so
    every = (*avoid.faults, *faults.values())
    return Answers(got, state, messages, every, declined=declined, left_out=left_out)


def _within(limit: int, answer: Outputs | Oversized) -> Outputs | Oversized:
    """Drop outputs that an adapter should not have fetched."""
    if isinstance(answer, Oversized) or all(a.size <= limit for a in answer.arrays):
        return answer
    return Oversized(tuple(a.shape for a in answer.arrays), tuple(answer.types))


def largest(expected: ExpectedCall) -> int:
    """Return the number of elements of the largest expected output."""
    outputs = (due for reading in expected.readings for due in reading.outputs)
    return max((prod(due.shape) for due in outputs), default=0)
