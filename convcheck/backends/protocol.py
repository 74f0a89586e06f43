"""What a backend is, what it answers, and how a name becomes one.

The life of a backend, and who calls what when:

1. *Found.* The command looks up the address (`open_backend`): the name of an entry point, with a
   variant after a colon, `process:COMMAND`, or a class. `takes` says which specs a run asks if the
   user chose none.
2. *Prepared.* `prepare_backend` calls `prepare`, if there is one, in the parent, once a run and
   before any worker starts. Work that takes long is done here, where users see why they wait.
3. *Started.* A fork server, which has loaded no runtime, forks the worker process. The worker makes
   its one instance (`open_backend`, with the catalogue of the specs that are asked) and tells the
   parent its `name` and `version`. If the constructor raises, the run ends with exit code 4: no
   other worker would do better.
4. *Asked what it supports.* The worker calls `support(case)` before the first question of a case.
   It is quick and builds no model. If it returns `Declined`, the case is unsupported, and no
   question of it is put.
5. *Asked.* The worker calls `answer(case, inputs)` for each call, one after the other: vectors in
   every placement, then spans. It uses `answers` and `bind` if the backend has them. Of a case with
   `hops`, one graph makes all of these casts; only a class with `graphs` is asked such. Before each
   call it notes in shared memory what it asks. For `--consistency`, `configured` makes a second
   instance with other options.
6. *Answers.* `Outputs` are judged by `judge`; `Refused` is wrong where an answer is due; `Declined`
   is possible here, since some runtimes know only now that they have no kernel; `Oversized` is
   judged by its shapes. An exception is the adapter's own fault: the verdict is `error`, and the
   instance is not used again.
7. *Dies or hangs.* There is a signal, an exit, `DiedError`, or no finished call within `--timeout`.
   The parent ends the worker and whatever it has started, and starts another worker (3). This one
   repeats the noted call in halves, until the inputs to blame are known. They are `crashed`;
   everything else is asked as before.
8. *Restarted.* This happens after a death, after an exception, if limits of the process were
   lowered, if `spoiled` is true at the end of a case, or if the answers to a case are those to one
   with other attribute values, which came before and is not to be taken for it. A server that has
   imported the modules in `imports`, if the class has them, forks such a worker. After 64 deaths,
   the case is given up and the next one begins; likewise if the calls of a case, deadly or not,
   have taken 8 times `--timeout`. (The calls of a sweep have no such limit.)
9. *Closed.* The parent closes its pipe, and the worker process ends; there is no method for it.
   Register cleanup with `atexit`, but do not depend on it, since a process may be killed. Processes
   that the worker started end with it, whatever session they are in.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from convcheck.errors import ConvcheckError, UnavailableError, UsageError, install_hint
from convcheck.numerics.codes import Bits, Codes
from convcheck.rules.fixed import fixed_tensors
from convcheck.rules.model import Case, Spec
from convcheck.wording import meant

if TYPE_CHECKING:
    from convcheck.rules.load import Catalog


@dataclass(frozen=True)
class Outputs:
    """An answer: the codes (or texts) of each output, in the shape that came back, and its type.

    The codes are raw bit patterns in the format's storage type. Sub-byte types have one element
    per entry, in the low bits. Types are convcheck's names.
    """

    #: One array per output, of any shape.
    arrays: tuple[Bits, ...]
    types: tuple[str, ...]


@dataclass(frozen=True)
class Refused:
    """The runtime raised an error on these values."""

    #: The runtime's own words.
    message: str


@dataclass(frozen=True)
class Raised(Refused):
    """The adapter raised an error: the runtime did not answer. convcheck makes these itself."""


@dataclass(frozen=True)
class Declined:
    """The question could not be put: there is no kernel, or the model would not load or build.

    `missing` is true if the kernel does not exist, and false if the runtime turned the model down:
    only the latter counts as a refusal where one is expected.
    """

    #: The runtime's own words, or the adapter's if it did not ask the runtime.
    message: str
    missing: bool = False


@dataclass(frozen=True)
class Oversized:
    """An answer with an output of more than `max_elements` elements, which was not fetched.

    Shapes and types are those of all outputs.
    """

    #: One shape per output.
    shapes: tuple[tuple[int, ...], ...]
    types: tuple[str, ...]


Answer = Outputs | Refused | Declined | Oversized

LIMIT_VARIABLE = "CONVCHECK_MAX_ELEMENTS"
DEFAULT_LIMIT = 1 << 24


def max_elements() -> int:
    """Return how many elements an output may have for an adapter to fetch it.

    A variable of the environment says so, where workers see it. Raises UsageError if it has
    anything else.
    """
    said = os.environ.get(LIMIT_VARIABLE, str(DEFAULT_LIMIT))
    if not re.fullmatch(r"[0-9]{1,18}", said) or not int(said):
        hint = "a whole number of elements, from 1 on"
        raise UsageError(f"{LIMIT_VARIABLE} is {said!r} in the environment", hint=hint)
    return int(said)


TIMEOUT_VARIABLE = "CONVCHECK_TIMEOUT"
DEFAULT_TIMEOUT = 30.0


def call_timeout() -> float:
    """Return the seconds that one call may take, as the run told this worker process."""
    return float(os.environ.get(TIMEOUT_VARIABLE, DEFAULT_TIMEOUT))


def time_of_call(seconds: float) -> str:
    """Return the time that a call may take, in the words of a message about a time-out."""
    return f"{seconds:g} s (--timeout SECONDS allows more)"


class DiedError(Exception):
    """The adapter's own process died of a call, or hangs in it.

    The runner treats this as if the worker had. `printed` says that the last lines which the
    process wrote to stderr belong to `how`.
    """

    def __init__(self, how: str, *, timed_out: bool = False, printed: bool = False) -> None:
        super().__init__(how)
        self.how, self.timed_out, self.printed = how, timed_out, printed


class ProtocolError(ConvcheckError):
    """The other end of a pipe does not follow the process protocol."""


def last_words(error: BaseException) -> str:
    """Return what an adapter raised, and where: the last lines of a traceback."""
    if isinstance(error, ProtocolError):
        return "; ".join(filter(None, (error.message, error.hint)))
    lines = traceback.TracebackException.from_exception(error, limit=-1).format()
    return "".join(lines).strip().removeprefix("Traceback (most recent call last):").strip()


class Backend(Protocol):
    """A runtime that converts. One instance lives in one worker process."""

    name: str
    version: str

    def support(self, case: Case) -> Declined | None:
        """Return why this adapter cannot ask the case, None if it can. Builds no model."""
        ...

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Put a case's inputs, in the shapes given, to the runtime, and return its answer.

        This is called several times in a row for one case, with different inputs and shapes, so an
        adapter should keep what it built for the last case.
        """
        ...


def answers_of(
    backend: Backend, case: Case, questions: Iterable[Sequence[Bits]]
) -> Iterator[Answer]:
    """Put several inputs of a case, one after the other, and yield each answer when it is wanted.

    A backend may have `answers(case, questions)`, which can take the next question before it has
    answered the last.
    """
    ahead = getattr(backend, "answers", None)
    if callable(ahead):  # of an adapter it may be a table of its own
        return cast(Iterator[Answer], ahead(case, questions))
    return (backend.answer(case, inputs) for inputs in questions)


Bound = Callable[[], Answer | None]


def bound(backend: Backend, case: Case, codes: Codes, out: Codes) -> Bound:
    """Return a function that converts the codes in one buffer into another, again and again.

    The case has one input that is not fixed, and `out` has the shape of `codes` and the output's
    storage type. The function returns None if a well-formed answer is in `out`, and any other
    answer as it is. A backend may have `bind(case, codes, out)`, which returns such a function, or
    None if it has none for the case or the buffers. In that case, without `bind`, and where inputs
    are fixed, `answer` is called each time.
    """
    bind = None if case.fixed else getattr(backend, "bind", None)
    made = cast(Bound | None, bind(case, codes, out)) if callable(bind) else None
    inputs = [codes, *fixed_tensors(case)]
    return partial(_answered_into, backend, case.call, inputs, out) if made is None else made


def _answered_into(
    backend: Backend, case: Case, inputs: Sequence[Bits], out: Codes
) -> Answer | None:
    """Copy an answer that is fine at first sight; what else comes back is for others to judge."""
    answer = backend.answer(case, inputs)
    if answer is None:  # which here would say that it is in `out`
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
    """Return the names of the installed backends, of any package, in alphabetical order."""
    return sorted(_installed())


def _installed() -> Mapping[str, EntryPoint]:
    return _found_on(tuple(sys.path))


@cache
def _found_on(path: tuple[str, ...]) -> Mapping[str, EntryPoint]:
    """Return the backends by name. This reads a file of every installed package."""
    return {point.name: point for point in entry_points(group=GROUP)}


def open_backend(address: str, catalog: Catalog | None = None) -> Backend:
    """Open the backend at an address: NAME, NAME:VARIANT, process:COMMAND or MODULE:Class.

    If its constructor has a parameter `catalog`, it is given the specs and types; without a
    catalogue it reads them itself. Raises UsageError for an unknown name, and UnavailableError for
    a runtime that is not installed.
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


def _made(factory: Callable[..., Backend], variant: list[str], catalog: Catalog | None) -> Backend:
    if catalog is not None and "catalog" in inspect.signature(factory).parameters:
        return factory(*variant, catalog=catalog)
    return factory(*variant)


def is_class(address: str) -> bool:
    """Return whether an address is MODULE:Class, in a package or here, and not a backend's name."""
    name, _, attribute = address.partition(":")
    if not attribute or name in backend_names():
        return False
    see_working_folder()
    return "." in name or (name.isidentifier() and importlib.util.find_spec(name) is not None)


def prepare_backend(address: str, say: Callable[[str], None]) -> None:
    """Let a backend do work that takes long and is done once per machine, if it has a `prepare`.

    This is called in the parent, before workers open the backend, because nobody sees what they
    print. It imports no runtime. `say` is told what is going on. Raises UnavailableError if the
    work cannot be done. If the backend is not installed at all, `open_backend` says so later.
    """
    prepare = _of_class(address, "prepare")
    if prepare is not None:
        prepare(say)


def modules_of(address: str) -> tuple[str, ...]:
    """Return the modules that an installed backend says that it imports when it is opened.

    Its class may have them as `loads`; without that, `imports` has some.
    """
    found = _of_class(address, "loads") or _of_class(address, "imports")
    return tuple(map(str, found)) if isinstance(found, tuple) else ()


def takes(address: str, spec: Spec) -> bool:
    """Return whether a run without SPEC asks a backend this spec.

    A backend's class may have `takes`, a static method; without it, every spec is asked. One that
    only says where another runs has `stands_for`, which returns the other's address.
    """
    if stands_for := _of_class(address, "stands_for"):
        return takes(str(stands_for(address.partition(":")[2])), spec)
    choice = _of_class(address, "takes")
    return choice is None or bool(choice(spec))


def graph_options(address: str) -> Mapping[str, tuple[str, ...]] | None:
    """Return the options of a backend that tell what becomes of a graph, with their values; None
    for one that takes no graphs.

    A backend's class may have `graphs`, the names of these among its `options`. It then answers a
    chain (`hops` of a case) with one graph, built as the case's `setting` says. Raises UsageError
    for a class that is not there.
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
    """Return what an installed backend's class has under a name, None if there is nothing."""
    point = _installed().get(address.partition(":")[0])
    with contextlib.suppress(ImportError):
        return getattr(point.load(), name, None) if point else None
    return None


def see_working_folder() -> None:
    """Have Python look for modules in the working folder, too."""
    if os.getcwd() not in sys.path:  # a backend under development lies in the working folder
        sys.path.insert(0, os.getcwd())


def _class(module: str, attribute: str) -> Callable[..., Backend]:
    see_working_folder()
    try:
        found = importlib.import_module(module)
    except Exception as error:  # whatever a module raises that is somebody else's
        telling = isinstance(error, ImportError | SyntaxError)
        why = str(error) if telling else last_words(error)
        said = f"module {module!r} cannot be imported: {why}"
        hint = "it is looked for in the working folder, then where Python looks (PYTHONPATH)"
        raise UnavailableError(said, hint=hint) from error
    factory = getattr(found, attribute, None)
    if factory is None:
        classes = [name for name, value in vars(found).items() if isinstance(value, type)]
        raise UsageError(f"{module} has no {attribute}", hint=meant(attribute, classes))
    made: Callable[..., Backend] = factory
    return made
