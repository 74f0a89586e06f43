"""Record a backend's calls and check its answers."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from ctypes import c_int64, sizeof
from dataclasses import dataclass
from math import prod
from mmap import mmap
from typing import cast

import numpy as np

from convcheck.ask.chains import in_sequence
from convcheck.backends.checked import AnswerError, bounded, checked_answer, checked_support
from convcheck.backends.protocol import (
    Answer,
    Backend,
    Bound,
    Declined,
    DiedError,
    ProtocolError,
    Raised,
    answers_of,
    bound,
    last_words,
)
from convcheck.errors import SpecError
from convcheck.judge.answers import (
    BETWEEN,
    LARGEST,
    NOT_ASKED,
    PLACEMENTS,
    TELLING,
    Answers,
    Fault,
    Index,
)
from convcheck.numerics.number import Bits, Codes
from convcheck.records import replace
from convcheck.rules.model import Case


def options_of(backend: Backend) -> Mapping[str, tuple[str, ...]]:
    """Return a backend's options. The first value of each is its default."""
    return cast(Mapping[str, tuple[str, ...]], getattr(backend, "options", {}))


TIME_OUTS = 8  # time limit of a case, in time-outs
NOTHING: Index = np.zeros(0, np.intp)


def time_is_spent(seconds: float, timeout: float) -> bool:
    """Whether a case has no time for another call after `seconds` of calls."""
    return seconds + timeout > TIME_OUTS * timeout


def spent_said(timeout: float) -> str:
    """Return the message for a case that reached its time limit."""
    return f"case aborted after {TIME_OUTS * timeout:g} s ({TIME_OUTS} times --timeout)"


@dataclass(frozen=True)
class NotedCall:
    """A call to the backend, with its elements in the call's shape."""

    placement: str
    index: Index


BUSY, STARTED, SPENT, PLACEMENT, DIMENSIONS, SHAPE = range(6)
HEAD = SHAPE + 4
ROOM = HEAD + LARGEST
_NUMBERS = {placement: number for number, placement in enumerate(PLACEMENTS)}


class Notes:
    """The call in progress, in shared memory, so that the parent can read it after a crash."""

    SIZE = ROOM * sizeof(c_int64)  # bytes

    def __init__(self, file: int) -> None:
        """Map the memory of a file descriptor."""
        self._memory = (c_int64 * ROOM).from_buffer(mmap(file, self.SIZE))
        self._cells = np.ctypeslib.as_array(self._memory)

    def begin(self, placement: str, index: Index) -> None:
        """Record a call that is about to be made."""
        flat = index if index.ndim == 1 else index.reshape(-1)
        self._cells[HEAD : HEAD + len(flat)] = flat
        memory = self._memory  # faster for single cells
        memory[SHAPE : SHAPE + index.ndim] = list(index.shape)
        memory[PLACEMENT], memory[DIMENSIONS] = _NUMBERS[placement], index.ndim
        memory[STARTED] = time.monotonic_ns()
        memory[BUSY] = 1

    def end(self) -> None:
        """Record that the call returned."""
        memory = self._memory
        if memory[BUSY]:
            memory[SPENT] += time.monotonic_ns() - memory[STARTED]
            memory[BUSY] = 0

    def clear(self) -> None:
        """Reset the time."""
        self._memory[SPENT] = 0

    def spent(self) -> float:
        """Return the seconds of all calls since the reset, including the current one."""
        memory = self._memory  # called before every call, so ctypes
        lasts = time.monotonic_ns() - memory[STARTED] if memory[BUSY] else 0
        return (memory[SPENT] + lasts) / 1e9

    def waiting(self) -> float | None:
        """Return the seconds since the current call began, or None between calls."""
        if not self._memory[BUSY]:
            return None
        return (time.monotonic_ns() - self._memory[STARTED]) / 1e9

    def call(self) -> NotedCall:
        """Return the current call, with placement BETWEEN for none or a damaged record."""
        nothing = NotedCall(BETWEEN, np.zeros(0, np.intp))
        if not self._cells[BUSY]:
            return nothing
        placement, dimensions = int(self._cells[PLACEMENT]), int(self._cells[DIMENSIONS])
        shape = tuple(self._cells[SHAPE:HEAD][: max(dimensions, 0)].tolist())
        known = 0 < placement < len(PLACEMENTS) and all(0 <= size <= LARGEST for size in shape)
        if not known or prod(shape) > LARGEST:
            return nothing
        index = self._cells[HEAD : HEAD + prod(shape)].astype(np.intp)
        return NotedCall(PLACEMENTS[placement], index.reshape(shape))


class Budget:
    """The time left for a case, and the call in progress."""

    def __init__(self, notes: Notes, timeout: float) -> None:
        self.notes, self.timeout = notes, timeout
        self.start(0.0)

    def start(self, spent: float) -> None:
        """Begin a case whose calls took `spent` seconds in earlier workers."""
        self.spent = spent
        # the first call that was skipped
        self.unmade: tuple[str, Index] | None = None
        self.notes.clear()

    @property
    def is_spent(self) -> bool:
        """Whether the time limit is reached."""
        return time_is_spent(self.spent + self.notes.spent(), self.timeout)

    def begin(self, placement: str, index: Index) -> bool:
        """Record a call. Return True if there is no time for it."""
        if self.is_spent:
            self.unmade = self.unmade or (placement, index)
            return True
        self.notes.begin(placement, index)
        return False

    def begin_telling(self, placement: str, index: Index) -> bool:
        """Record a call that discriminates between causes."""
        return self.begin(TELLING, NOTHING)

    def in_time(self, answers: Answers) -> Answers:
        """Return answers, with a fault if the case ran out of time."""
        if self.unmade is None:
            return answers
        placement, index = self.unmade
        asked = f"{np.count_nonzero(answers.state != NOT_ASKED):,} of {len(answers.state):,}"
        said = f"{spent_said(self.timeout)}; {asked} were tested"
        first = int(index.reshape(-1)[0]) if index.size else 0
        fault = Fault("crashed", placement, said, first)
        return replace(answers, faults=(*answers.faults, fault))


_END = object()


class WatchedBackend:
    """A backend whose calls are recorded. If it dies, its call is still open.

    It is `broken` once it raises or is `spoiled`. Chains go cast by cast unless it `takes_graphs`.
    """

    def __init__(self, backend: Backend, notes: Notes, takes_graphs: bool = False) -> None:
        self.name, self.version = backend.name, backend.version
        self._backend, self.notes, self._takes_graphs = backend, notes, takes_graphs
        self._own_fault = False
        self._others: list[WatchedBackend] = []
        self._supported: tuple[Case, Declined | None] | None = None

    @property
    def broken(self) -> bool:
        """Whether the backend has to be replaced."""
        return self._own_fault or any(other.broken for other in self._others)

    @property
    def options(self) -> Mapping[str, tuple[str, ...]]:
        """The backend's options."""
        return options_of(self._backend)

    def configured(self, choice: Mapping[str, str]) -> Backend:
        """Return the backend with other options, also watched."""
        other = WatchedBackend(cast(WatchedBackend, self._backend).configured(choice), self.notes)
        self._others = [*(o for o in self._others if o.broken), other]
        return cast(Backend, other)

    def _look(self) -> None:
        self._own_fault = self._own_fault or bool(getattr(self._backend, "spoiled", False))

    def support(self, case: Case) -> Declined | None:
        """Return None, or why the case is declined."""
        if self._supported is None or self._supported[0] is not case:
            self.notes.begin("support", NOTHING)
            with self:
                each = case.hops if case.hops and not self._takes_graphs else (case,)
                said = map(self._backend.support, [one.call for one in each])
                found = next(filter(None, said), None)
            self._supported = case, checked_support(found)
        return self._supported[1]

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Return the answer to a call that was recorded."""

        def made() -> Answer:
            if case.hops and not self._takes_graphs:
                return in_sequence(self._backend, case, inputs)
            return self._backend.answer(case.call, inputs)

        return cast(Answer, self._called(made, case))

    def answer_if_any(self, case: Case, inputs: Sequence[Bits]) -> Answer | None:
        """Return the answer, or None on any error except a crash."""
        try:
            return self.answer(case, inputs)
        except DiedError:
            raise
        except BaseException:
            return None

    def answers(self, case: Case, questions: Iterable[Sequence[Bits]]) -> Iterator[Answer]:
        """Yield the answers to calls, which the caller records."""
        if not callable(getattr(self._backend, "answers", None)):
            yield from (self.answer(case, inputs) for inputs in questions)
            return
        found = answers_of(self._backend, case.call, questions)
        while True:
            with self:
                answer = next(found, _END)
            if answer is _END:
                return
            self._look()
            yield checked_answer(answer, case)

    def bind(self, case: Case, codes: Codes, out: Codes) -> Bound:
        """Return a reusable call on fixed memory. The caller records each use."""
        self.notes.begin("support", NOTHING)
        with self:
            call = bound(self._backend, case, codes, out)
        return lambda: self._called(call, case, is_bound=True)

    def _called(self, call: Bound, case: Case, is_bound: bool = False) -> Answer | None:
        """Raised if the adapter raises."""
        try:
            with self:
                answer = call()
            self._look()
            return None if answer is None and is_bound else checked_answer(answer, case)
        except (DiedError, SpecError, ProtocolError):
            raise
        except AnswerError as error:
            return Raised(f"no answer: {error}")
        except BaseException as error:  # including SystemExit
            return Raised(bounded(last_words(error)))

    def __enter__(self) -> None:
        """Begin a call that was recorded before."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        if kind is not None and issubclass(kind, DiedError):
            return
        self.notes.end()
        self._own_fault = self._own_fault or kind is not None
