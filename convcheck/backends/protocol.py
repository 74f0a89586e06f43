"""Backends: their interface, their answers, and their addresses.

The life of a backend:

1. *Found.* `open_backend` looks up the address: an entry point with a variant after a colon,
   `process:COMMAND`, or a class. `takes` gives the specs that a run uses by default.
2. *Prepared.* The parent calls `prepare`, if there is one, once per run before any worker starts.
   Slow work belongs here, since users see its progress.
3. *Started.* A fork server without runtimes forks the worker process. The worker makes its one
   instance, with the catalogue of the run's specs, and sends its `name` and `version` to the
   parent. If the constructor raises, the run ends with exit code 4.
4. *Supported cases.* `support(case)` is called before the first call of a case. It is quick and
   builds no model. A case that it declines is unsupported.
5. *Calls.* `answer(case, inputs)` is called once per call: vectors in every placement, then spans.
   `answers` and `bind` are used if there are any. A case with `hops` is a chain of casts in one
   graph, only for classes with `graphs`. Each call is first recorded in shared memory. For
   `--consistency`, `configured` makes a second instance with other options.
6. *Answers.* `judge` compares `Outputs` with expected values. `Refused` is wrong if a value is
   expected. `Declined` is allowed, since some runtimes only now find a kernel missing. `Oversized`
   is judged by its shapes. An exception is an error of the adapter: the verdict is `error`, and
   the instance is not used again.
7. *Crashes and hangs.* The worker dies, raises `DiedError`, or exceeds `--timeout` in a call. The
   parent ends it with its child processes and starts another (3), which bisects the recorded call.
   The inputs that crash are `crashed`, all others are run as before.
8. *Restarts.* A worker is restarted after a crash, after an exception, if limits of the process
   were lowered, if `spoiled` is true at the end of a case, or if a case's answers equal those of an
   earlier case with other attribute values, which could have leaked. The server that forks it has
   imported the class's `imports`. A case is given up after 64 crashes, or if its calls have taken
   8 times `--timeout` in total. Calls of a sweep have no such limit.
9. *Closed.* The parent closes its pipe, and the worker ends with its child processes, in any
   session. No method is called. `atexit` works unless the worker is killed.
"""

import contextlib
import importlib
import importlib.util
import inspect
import os
import re
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from convcheck.errors import ConvcheckError, UnavailableError, UsageError, install_hint
from convcheck.numerics.number import Bits, Codes
from convcheck.rules.cases import fixed_tensors
from convcheck.rules.model import Case, Spec
from convcheck.streams import meant

if TYPE_CHECKING:
    from convcheck.rules.load import Catalog


@dataclass(frozen=True)
class Outputs:
    """The codes (or texts), shape and type of each output.

    Codes are bit patterns in the format's storage type, of sub-byte types in the low bits of an
    entry. Types are convcheck's names.
    """

    arrays: tuple[Bits, ...]
    types: tuple[str, ...]


@dataclass(frozen=True)
class Refused:
    """The runtime raised an error on these values."""

    message: str


@dataclass(frozen=True)
class Raised(Refused):
    """The adapter raised an error. Only convcheck makes this answer."""


@dataclass(frozen=True)
class Declined:
    """The case cannot be run.

    `message` is the runtime's, or the adapter's if it did not call the runtime. `missing` is true
    if the kernel does not exist, false if the runtime rejected the model, which counts as a refusal
    if one is expected.
    """

    message: str
    missing: bool = False


@dataclass(frozen=True)
class Oversized:
    """An output has more than `max_elements` elements. Shapes and types cover all outputs."""

    shapes: tuple[tuple[int, ...], ...]
    types: tuple[str, ...]


Answer = Outputs | Refused | Declined | Oversized

LIMIT_VARIABLE = "CONVCHECK_MAX_ELEMENTS"
DEFAULT_LIMIT = 1 << 24


def max_elements() -> int:
    """Return the largest number of output elements that adapters fetch.

    It comes from an environment variable, which workers inherit. Raises UsageError.
    """
    said = os.environ.get(LIMIT_VARIABLE, str(DEFAULT_LIMIT))
    if not re.fullmatch(r"[0-9]{1,18}", said) or not int(said):
        hint = "a whole number of elements, from 1 on"
        raise UsageError(f"{LIMIT_VARIABLE} is {said!r} in the environment", hint=hint)
    return int(said)


TIMEOUT_VARIABLE = "CONVCHECK_TIMEOUT"
DEFAULT_TIMEOUT = 30.0


def call_timeout() -> float:
    """Return the time limit of a call in seconds."""
    return float(os.environ.get(TIMEOUT_VARIABLE, DEFAULT_TIMEOUT))


def time_of_call(seconds: float) -> str:
    """Return the time limit of a call in words."""
    return f"{seconds:g} s (--timeout SECONDS allows more)"


def signal_name(number: int) -> str:
    """Return SIGSEGV, or `signal 64` for one without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class DiedError(Exception):
    """The adapter's own process died in a call, or hangs.

    If `printed`, the end of the process's stderr explains `how`.
    """

    def __init__(self, how: str, *, timed_out: bool = False, printed: bool = False) -> None:
        super().__init__(how)
        self.how, self.timed_out, self.printed = how, timed_out, printed


class ProtocolError(ConvcheckError):
    """The other end of a pipe violates the process protocol."""


def last_words(error: BaseException) -> str:
    """Return an adapter's exception with the last lines of its traceback."""
    if isinstance(error, ProtocolError):
        return "; ".join(filter(None, (error.message, error.hint)))
    lines = traceback.TracebackException.from_exception(error, limit=-1).format()
    return "".join(lines).strip().removeprefix("Traceback (most recent call last):").strip()


class Backend(Protocol):
    """A runtime that converts. A worker process has one instance."""

    name: str
    version: str

    def support(self, case: Case) -> Declined | None:
        """Return why this adapter cannot run the case, None if it can. Builds no model."""
        ...

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Run a case on inputs of the given shapes.

        Calls of a case follow each other, with varying shapes. Adapters should cache what they
        built.
        """
        ...


def answers_of(
    backend: Backend, case: Case, questions: Iterable[Sequence[Bits]]
) -> Iterator[Answer]:
    """Yield the answers to several inputs of a case, each when requested.

    A backend's `answers(case, questions)` can read the next inputs before it answers.
    """
    ahead = getattr(backend, "answers", None)
    if callable(ahead):  # a user's class can use the name for data
        return cast(Iterator[Answer], ahead(case, questions))
    return (backend.answer(case, inputs) for inputs in questions)


Bound = Callable[[], Answer | None]


def bound(backend: Backend, case: Case, codes: Codes, out: Codes) -> Bound:
    """Return a function that converts codes from one buffer into another repeatedly.

    The case has one input that is not fixed. `out` has the shape of `codes` and the output's
    storage type. The function returns None if `out` has a well-formed answer, else the answer. A
    backend may have `bind(case, codes, out)`, which returns such a function, or None; else `answer`
    is called.
    """
    bind = None if case.fixed else getattr(backend, "bind", None)
    made = cast(Bound | None, bind(case, codes, out)) if callable(bind) else None
    inputs = [codes, *fixed_tensors(case)]
    return partial(_answered_into, backend, case.call, inputs, out) if made is None else made


def _answered_into(
    backend: Backend, case: Case, inputs: Sequence[Bits], out: Codes
) -> Answer | None:
    answer = backend.answer(case, inputs)
    if answer is None:  # None would mean that `out` has the answer
        raise TypeError("answer() returned None")
    if not isinstance(answer, Outputs) or answer.types != (case.outputs[0].name,):
        return answer
    if not isinstance(answer.arrays, tuple) or len(answer.arrays) != 1:
        return answer
    (array,) = answer.arrays
    if type(array) is not np.ndarray or array.dtype != out.dtype or array.shape != out.shape:
        return answer
    np.copyto(out, array)
    return None


GROUP = "convcheck.backends"


def backend_names() -> list[str]:
    """Return the sorted names of the installed backends."""
    return sorted(_installed())


def _installed() -> Mapping[str, EntryPoint]:
    return _found_on(tuple(sys.path))


@cache
def _found_on(path: tuple[str, ...]) -> Mapping[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def open_backend(address: str, catalog: "Catalog | None" = None) -> Backend:
    """Open the backend at an address: NAME, NAME:VARIANT, process:COMMAND or MODULE:Class.

    A constructor's parameter `catalog` gets the specs and types. Raises UsageError for an unknown
    name, UnavailableError for a runtime that is not installed.
    """
    name, _, variant = address.partition(":")
    points = _installed()
    try:
        if name in points:
            factory = points[name].load()
            if variant and not inspect.signature(factory).parameters.keys() - {"catalog"}:
                raise UsageError(f"{name} has no variant {variant!r}", hint=f"one of {name}")
            return _made(factory, [variant] if variant else [], catalog)
        if is_class(address):
            return _made(_class(name, variant), [], catalog)
    except ImportError as error:
        message = f"backend {address!r} is not available: {error}"
        hint = "install what it needs; `convcheck show backends` says what"
        if name in points and isinstance(error, ModuleNotFoundError) and error.name:
            hint = install_hint(error.name.partition(".")[0])
        raise UnavailableError(message, hint=hint) from error
    all_forms = f"one of {', '.join(sorted(points))}, process:COMMAND, or package.module:Class"
    also = f": there is no module {name!r} either" if variant else ""
    raise UsageError(f"unknown backend {address!r}{also}", hint=meant(name, points, all_forms))


def _made(
    factory: Callable[..., Backend], variant: list[str], catalog: "Catalog | None"
) -> Backend:
    if catalog is not None and "catalog" in inspect.signature(factory).parameters:
        return factory(*variant, catalog=catalog)
    return factory(*variant)


def is_class(address: str) -> bool:
    """Return whether an address is MODULE:Class, in a package or the working folder."""
    name, _, attribute = address.partition(":")
    if not attribute or name in backend_names():
        return False
    see_working_folder()
    return "." in name or (name.isidentifier() and importlib.util.find_spec(name) is not None)


def prepare_backend(address: str, say: Callable[[str], None]) -> None:
    """Call a backend's `prepare`, for slow work needed once per machine, in the parent.

    It imports no runtime. `say` prints progress. Raises UnavailableError if the work fails.
    """
    prepare = _of_class(address, "prepare")
    if prepare is not None:
        prepare(say)


def modules_of(address: str) -> tuple[str, ...]:
    """Return the modules to import before a backend is opened: its `loads`, or else `imports`."""
    found = _of_class(address, "loads") or _of_class(address, "imports")
    return tuple(map(str, found)) if isinstance(found, tuple) else ()


def takes(address: str, spec: Spec) -> bool:
    """Return whether a run without SPEC runs this spec on a backend.

    Its class's static method `takes` decides; without it, every spec is run. A class that runs
    another backend elsewhere has `stands_for`, which returns its address.
    """
    if stands_for := _of_class(address, "stands_for"):
        return takes(str(stands_for(address.partition(":")[2])), spec)
    choice = _of_class(address, "takes")
    return choice is None or bool(choice(spec))


def graph_options(address: str) -> Mapping[str, tuple[str, ...]] | None:
    """Return the options of a backend that affect graphs, with their values.

    `graphs` of its class names them. The backend then runs a chain (`hops` of a case) as one graph,
    built by the case's `setting`. None without `graphs`. Raises UsageError.
    """
    name, _, variant = address.partition(":")
    made = _class(name, variant) if is_class(address) else None
    graphs, options = (
        getattr(made, key) if hasattr(made, key) else _of_class(address, key)
        for key in ("graphs", "options")
    )
    if graphs is None:
        return None
    known = cast(Mapping[str, tuple[str, ...]], options or {})
    return {key: known[key] for key in cast(Iterable[str], graphs)}


def _of_class(address: str, name: str) -> Callable[..., object] | None:
    point = _installed().get(address.partition(":")[0])
    with contextlib.suppress(ImportError):
        return getattr(point.load(), name, None) if point else None
    return None


def see_working_folder() -> None:
    """Add the working folder to Python's module path."""
    if os.getcwd() not in sys.path:  # backends under development are there
        sys.path.insert(0, os.getcwd())


def _class(module: str, attribute: str) -> Callable[..., Backend]:
    see_working_folder()
    try:
        found = importlib.import_module(module)
    except Exception as error:  # modules of users raise anything
        telling = isinstance(error, ImportError | SyntaxError)
        why = str(error) if telling else last_words(error)
        said = f"module {module!r} cannot be imported: {why}"
        hint = "it is looked for in the working folder, then where Python looks (PYTHONPATH)"
        raise UnavailableError(said, hint=hint) from error
    factory = getattr(found, attribute, None)
    if factory is None:
        classes = [name for name, value in vars(found).items() if isinstance(value, type)]
        raise UsageError(f"{module} has no {attribute}", hint=meant(attribute, classes))
    return cast(Callable[..., Backend], factory)
