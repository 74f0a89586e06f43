"""What the parent and a worker tell each other, and the notes that outlive a worker."""

from __future__ import annotations

import time
from collections.abc import Mapping
from ctypes import c_int64, sizeof
from dataclasses import dataclass
from math import prod
from mmap import mmap
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import numpy as np

from convcheck.ask.jobs import Judge, VectorSource
from convcheck.backends.checked import bounded
from convcheck.backends.protocol import DEFAULT_TIMEOUT
from convcheck.errors import (
    ConvcheckError,
    Place,
    SpecError,
    UnavailableError,
    UsageError,
    VectorError,
)
from convcheck.judge.answers import (
    BETWEEN,
    LARGEST,
    PLACEMENTS,
    Index,
)
from convcheck.judge.reading import Types, hook_of, hooks, plain, with_id
from convcheck.judge.result import BackendInfo, CaseResult, ElsewhereField, Tally
from convcheck.records import Record, by_hook, replace
from convcheck.rules.cause_files import CauseFile
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case
from convcheck.vectors.span import Span

if TYPE_CHECKING:
    ResultField: TypeAlias = CaseResult | Tally
else:
    ResultField = by_hook(CaseResult, Tally)


@dataclass(frozen=True)
class Setup:
    """First message to a worker. Without a judge, the worker takes convcheck's own.

    `catalog` has the specs and types that the backend is handed. `timeout` is of use to a backend
    that can tell what its program was doing when it passed. With `consistency`, vectors are also
    asked in other places or another order, and with other options.
    """

    #: The backend, as addressed on the command line.
    address: str
    #: Where the vectors come from.
    corpus: VectorSource
    judge: Judge | None
    timeout: float = DEFAULT_TIMEOUT
    consistency: bool = False
    catalog: Catalog | None = None
    #: The causes that are tried on what fails; () for none.
    causes: tuple[CauseFile, ...] = ()


@dataclass(frozen=True)
class Replay:
    """To a worker: only make these calls, one after the other. The answers do not matter."""

    case: Case
    calls: tuple[Index, ...]
    #: The chunk whose elements are meant; None for the vectors of the case.
    chunk: Span | None = None
    #: Seconds that calls of the case have taken before.
    spent: float = 0.0


class Opened(Record, frozen=True, tag=True):
    """From a worker: the backend is there."""

    #: What the backend says that it is.
    info: BackendInfo
    #: The modules that may be imported before the next worker is forked.
    imports: tuple[str, ...] = ()


class Aborted(Record, frozen=True, tag=True):
    """From a worker, its last: the backend cannot be opened, or a spec has a hole: the run ends."""

    #: The class of the error, one of ERRORS.
    kind: str
    #: What is wrong.
    message: str
    place: Place | None
    #: What to do about it.
    hint: str

    @property
    def error(self) -> ConvcheckError:
        """The error that ends the run."""
        return ERRORS[self.kind](self.message, place=self.place, hint=self.hint)


def aborted(error: ConvcheckError) -> Aborted:
    """Return an error as a message."""
    kind = next((name for name, kind in ERRORS.items() if isinstance(error, kind)), "")
    said, hint = bounded(error.message), bounded(error.hint)
    return Aborted(kind or UnavailableError.__name__, said, error.place, hint)


class Finished(Record, frozen=True, tag=True):
    """From a worker: the result of the next job, or the tally of a span. A `leaving` worker asks to
    be replaced. Where there is `doubt`, these answers are those of a case with other attribute
    values, which came before: to be asked again is whether they are so without that.
    """

    result: ResultField
    leaving: bool
    doubt: ElsewhereField | None = None


class Survived(Record, frozen=True, tag=True):
    """From a worker: every call of a replay was made."""


class Lost(Record, frozen=True, tag=True):
    """From a worker, its last: what answers has died of the call that is noted, or hangs in it.

    `printed`: what it wrote to stderr belongs to `how`.
    """

    how: str
    #: Whether it hangs: the time-out passed.
    timed_out: bool
    printed: bool


Message = Opened | Aborted | Finished | Survived | Lost
ERRORS = {kind.__name__: kind for kind in (SpecError, VectorError, UsageError, UnavailableError)}


def encode(message: object) -> bytes:
    """Return a worker's message as data: a case is its id, since the parent has the case."""
    if isinstance(message, Finished) and isinstance(message.result, CaseResult):
        message = replace(message, result=with_id(message.result))
    return msgspec.msgpack.encode(message, enc_hook=plain)


def decode(text: bytes, kind: Any, types: Types, cases: Mapping[str, Case]) -> Any:
    """Return the message of a kind that is about some of the cases, by their ids.

    A backend is code that nobody has read, and it lives in the worker: what comes from there is
    data, and each field is held to its type. Raises ValueError for anything else.
    """
    made = hooks(types, cases)
    hook = hook_of(made)

    def result(found: Any) -> Any:
        of = CaseResult if isinstance(found, dict) and "verdict" in found else Tally
        return msgspec.convert(found, of, dec_hook=hook)

    made[ResultField] = result
    try:
        return msgspec.msgpack.decode(text, type=kind, dec_hook=hook)
    except (LookupError, TypeError, OverflowError, RecursionError, ConvcheckError) as error:
        raise ValueError(f"no message: {error}") from error


@dataclass(frozen=True)
class NotedCall:
    """A call to the backend: the placement and the elements, in the shape in which they went."""

    placement: str
    index: Index


BUSY, STARTED, SPENT, PLACEMENT, DIMENSIONS, SHAPE = range(6)
HEAD = SHAPE + 4
ROOM = HEAD + LARGEST
_NUMBERS = {placement: number for number, placement in enumerate(PLACEMENTS)}


class Notes:
    """The call that is being made, in memory shared by parent and worker.

    The worker writes it before the call, so that the parent can read it when the worker is dead.
    """

    SIZE = ROOM * sizeof(c_int64)  # bytes

    def __init__(self, file: int) -> None:
        """Take the memory from a file of the size, by its descriptor."""
        self._memory = (c_int64 * ROOM).from_buffer(mmap(file, self.SIZE))
        self._cells = np.ctypeslib.as_array(self._memory)

    def begin(self, placement: str, index: Index) -> None:
        """Note a call that is about to be made."""
        flat = index if index.ndim == 1 else index.reshape(-1)
        self._cells[HEAD : HEAD + len(flat)] = flat
        memory = self._memory  # of single cells, it is quicker
        memory[SHAPE : SHAPE + index.ndim] = list(index.shape)
        memory[PLACEMENT], memory[DIMENSIONS] = _NUMBERS[placement], index.ndim
        memory[STARTED] = time.monotonic_ns()
        memory[BUSY] = 1

    def end(self) -> None:
        """Note that the call came back."""
        memory = self._memory
        if memory[BUSY]:
            memory[SPENT] += time.monotonic_ns() - memory[STARTED]
            memory[BUSY] = 0

    def clear(self) -> None:
        """Begin to count the time of calls anew."""
        self._memory[SPENT] = 0

    def spent(self) -> float:
        """Return the seconds of all calls since then, that which lasts included."""
        memory = self._memory  # it is asked before every call
        lasts = time.monotonic_ns() - memory[STARTED] if memory[BUSY] else 0
        return (memory[SPENT] + lasts) / 1e9

    def waiting(self) -> float | None:
        """Return the seconds since the call began (one clock for all processes); None between."""
        if not self._memory[BUSY]:
            return None
        return (time.monotonic_ns() - self._memory[STARTED]) / 1e9

    def call(self) -> NotedCall:
        """Return the call that was being made; under BETWEEN where there was none, or where the
        backend wrote over the notes.
        """
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
