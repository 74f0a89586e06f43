"""Messages between parent and worker, and the call record that outlives a worker."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

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
from convcheck.judge.answers import Elsewhere, Index
from convcheck.judge.reading import Types, hook_of, hooks, plain, with_id
from convcheck.judge.result import BackendInfo, CaseResult, Tally
from convcheck.records import Record, by_hook, replace
from convcheck.rules.causes import CauseFile
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case
from convcheck.vectors.corpus import Span

if TYPE_CHECKING:
    ResultField: TypeAlias = CaseResult | Tally
else:
    ResultField = by_hook(CaseResult, Tally)


@dataclass(frozen=True)
class Setup:
    """First message to a worker. A judge replaces convcheck's."""

    address: str
    corpus: VectorSource
    judge: Judge | None
    timeout: float = DEFAULT_TIMEOUT
    consistency: bool = False
    catalog: Catalog | None = None
    causes: tuple[CauseFile, ...] = ()


@dataclass(frozen=True)
class Replay:
    """To a worker: make these calls in order and ignore the answers."""

    case: Case
    calls: tuple[Index, ...]
    #: That elements count from, if not the vectors of the case.
    chunk: Span | None = None
    spent: float = 0.0


class Opened(Record, frozen=True, tag=True):
    """From a worker: the backend is open."""

    info: BackendInfo
    #: Modules to import before the next worker is forked.
    imports: tuple[str, ...] = ()


class Aborted(Record, frozen=True, tag=True):
    """From a worker, its last message: an error that ends the run."""

    #: A key of ERRORS.
    kind: str
    message: str
    place: Place | None
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
    """From a worker: a result. A `leaving` worker is replaced; a `doubt` has another's answers."""

    result: ResultField
    leaving: bool
    doubt: Elsewhere | None = None


class Survived(Record, frozen=True, tag=True):
    """From a worker: it made every call of a replay."""


class Lost(Record, frozen=True, tag=True):
    """From a worker, at its end: the backend died or hangs. If `printed`, stderr says `how`."""

    how: str
    timed_out: bool
    printed: bool


Message = Opened | Aborted | Finished | Survived | Lost
msgspec.msgpack.Decoder(Message)  # before threads do, as in `judge.reading`
ERRORS = {kind.__name__: kind for kind in (SpecError, VectorError, UsageError, UnavailableError)}


def encode(message: object) -> bytes:
    """Encode a worker's message. A case becomes its id."""
    if isinstance(message, Finished) and isinstance(message.result, CaseResult):
        message = replace(message, result=with_id(message.result))
    return msgspec.msgpack.encode(message, enc_hook=plain)


def decode(text: bytes, kind: Any, types: Types, cases: Mapping[str, Case]) -> Any:
    """Decode a message of untrusted code about some cases. Raises ValueError."""
    made = hooks(types, cases)
    hook = hook_of(made)

    def result(found: Any) -> Any:
        of = CaseResult if isinstance(found, dict) and "verdict" in found else Tally
        return msgspec.convert(found, of, dec_hook=hook)

    made[ResultField] = result
    try:
        return msgspec.msgpack.decode(text, type=kind, dec_hook=hook)
    except (LookupError, TypeError, OverflowError, RecursionError, ConvcheckError) as error:
        raise ValueError(f"not a message: {error}") from error
