"""What a backend is, what it answers, and how a name becomes one.

The life of a backend, and who calls what when:

1. *Found.* The command looks its address up (`open_backend`): the name of an entry point, with a
   variant after a colon, `process:COMMAND`, or a class. `takes` says which specs a run asks where
   the user chose none.
2. *Prepared.* In the parent, once a run and before any worker: `prepare_backend` calls `prepare`,
   if there is one. What takes long on a machine is done here, where people see why they wait.
3. *Started.* A worker process, forked by a keeper in which no runtime is loaded, makes the one
   instance that it has (`open_backend`, with the catalogue of the specs that are asked) and tells
   the parent its `name` and `version`. What the constructor raises ends the run with exit code 4:
   no other worker would do better.
4. *Asked what it supports.* `support(case)`, before the first question of a case. It is quick and
   builds no model. `Declined`: the case is unsupported, and no question of it is put.
5. *Asked.* `answer(case, inputs)` for each call, one after the other: vectors in every placement,
   then spans; or `answers` and `bind`, where the backend has them. Before each call the worker
   notes in shared memory what it asks. For `--consistency`, `configured` makes a second instance
   with other options.
6. *Answers*: `Outputs`, judged by `judge`; `Refused`, wrong where an answer is due; `Declined`,
   since some runtimes know only now that they have no kernel; `Oversized`, judged by its shapes.
   An exception is the adapter's own fault: verdict `error`, and the instance is not used any
   further.
7. *Dies or hangs.* A signal, an exit, `DiedError`, or no finished call within `--timeout`. The
   keeper ends the worker and whatever it has started, starts another worker (3), and the noted call
   is made again, in halves, until the inputs to blame are known. They are `crashed`; everything
   else is asked as before.
8. *Started anew.* After a death, after an exception, where limits of the process were lowered, or
   when `spoiled` is true at the end of a case. After 64 deaths that case is given up, and the next
   one begins; likewise when its calls, deadly or not, have taken 8 times `--timeout`. (In a sweep
   there are as many calls as it needs.)
9. *Closed.* The parent closes its pipe, and the worker process ends; there is no method for it.
   What has to be cleaned up is registered with `atexit`; nothing may depend on it, since a process
   may be killed. Processes that it started end with it, whatever session they are in.
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
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from convcheck.backends.binaries import module_paths
from convcheck.errors import ConvcheckError, UnavailableError, UsageError, install_hint
from convcheck.numerics.format import Bits, Codes
from convcheck.rules.model import Case, Spec
from convcheck.wording import meant

if TYPE_CHECKING:
    from convcheck.rules.load import Catalog


@dataclass(frozen=True)
class Outputs:
    """An answer: per output the codes (or texts) in the shape that came back, and the type.

    The codes are raw bit patterns in the format's storage type, sub-byte types one element an
    entry in the low bits. Types are convcheck's names.
    """

    #: One array an output, of any shape.
    arrays: tuple[Bits, ...]
    types: tuple[str, ...]


@dataclass(frozen=True)
class Refused:
    """The runtime raised on a value where an answer was asked, in its own words."""

    #: The runtime's own words.
    message: str


@dataclass(frozen=True)
class Declined:
    """The question could not be put: no kernel, load or build error, in the runtime's own words.

    `missing` tells a kernel that does not exist from a model that the runtime turned down: where
    a refusal is expected, only the latter is one.
    """

    #: The runtime's own words, or the adapter's where it did not ask the runtime.
    message: str
    missing: bool = False


@dataclass(frozen=True)
class Oversized:
    """An answer with an output of more than `max_elements` elements, which was left where it was.

    Shapes and types are those of all outputs.
    """

    #: One shape an output.
    shapes: tuple[tuple[int, ...], ...]
    types: tuple[str, ...]


Answer = Outputs | Refused | Declined | Oversized

LIMIT_VARIABLE = "CONVCHECK_MAX_ELEMENTS"
DEFAULT_LIMIT = 1 << 24


def max_elements() -> int:
    """Count the elements that an output may have for an adapter to fetch it.

    The command line puts its --max-elements into the environment, where workers see it. Raises
    UsageError where something else stands there.
    """
    said = os.environ.get(LIMIT_VARIABLE, str(DEFAULT_LIMIT))
    if not re.fullmatch(r"[0-9]{1,18}", said) or not int(said):
        hint = "a whole number of elements, from 1 on"
        raise UsageError(f"{LIMIT_VARIABLE} is {said!r} in the environment", hint=hint)
    return int(said)


TIMEOUT_VARIABLE = "CONVCHECK_TIMEOUT"
DEFAULT_TIMEOUT = 30.0


def call_timeout() -> float:
    """Return the seconds that one call may take: what the run said to this worker process."""
    return float(os.environ.get(TIMEOUT_VARIABLE, DEFAULT_TIMEOUT))


def time_of_call(seconds: float) -> str:
    """Return the time that a call may take as a message about a time-out tells it."""
    return f"{seconds:g} s (--timeout SECONDS allows more)"


class DiedError(Exception):
    """What answers is a process of its own, and has died of a call or hangs in it.

    To the runner it is as if the worker had done so. `printed`: what it last wrote to stderr
    belongs to `how`.
    """

    def __init__(self, how: str, *, timed_out: bool = False, printed: bool = False) -> None:
        super().__init__(how)
        self.how, self.timed_out, self.printed = how, timed_out, printed


class ProtocolError(ConvcheckError):
    """The other end of a pipe does not keep to the process protocol: this is no answer."""


def last_words(error: BaseException) -> str:
    """Say what an adapter raised: the last lines of a traceback, where and what."""
    if isinstance(error, ProtocolError):
        return "; ".join(filter(None, (error.message, error.hint)))
    lines = traceback.TracebackException.from_exception(error, limit=-1).format()
    return "".join(lines).strip().removeprefix("Traceback (most recent call last):").strip()


class Backend(Protocol):
    """A runtime that converts. One instance lives in one worker process."""

    name: str
    version: str

    def support(self, case: Case) -> Declined | None:
        """Return why this adapter cannot ask the case, None where it can. Builds no model."""
        ...

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Put a case's inputs, in the shapes given, to the runtime.

        Called several times in a row for one case, with other inputs and shapes: an adapter keeps
        what it built for the last case.
        """
        ...


def answers_of(
    backend: Backend, case: Case, questions: Iterable[Sequence[Bits]]
) -> Iterator[Answer]:
    """Put several inputs of a case, one after the other; gives each answer when it is asked for.

    A backend may have `answers(case, questions)`, where it can be told the next before it has
    answered the last.
    """
    ahead = getattr(backend, "answers", None)
    if callable(ahead):  # of an adapter it may be a table of its own
        return cast(Iterator[Answer], ahead(case, questions))
    return (backend.answer(case, inputs) for inputs in questions)


Bound = Callable[[], Answer | None]


def bound(backend: Backend, case: Case, codes: Codes, out: Codes) -> Bound:
    """Return a function that converts the codes in one buffer into another, again and again.

    For a case of one input. It returns None where the answer, well-formed, is in `out`, an array
    of the shape of `codes` and of the output's storage type, and any other answer as it is. A
    backend may have `bind(case, codes, out)`, which gives such a function, or None for a case or
    buffers that it has none for: then, and without it, `answer` is asked each time.
    """
    bind = getattr(backend, "bind", None)
    made = cast(Bound | None, bind(case, codes, out)) if callable(bind) else None
    return partial(_answered_into, backend, case, codes, out) if made is None else made


def _answered_into(backend: Backend, case: Case, codes: Codes, out: Codes) -> Answer | None:
    """Copy an answer that is fine at first sight; what else comes back is for others to judge."""
    answer = backend.answer(case, [codes])
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
    """Return the backends by name; to look for them reads a file of every installed package."""
    return {point.name: point for point in entry_points(group=GROUP)}


def open_backend(address: str, catalog: Catalog | None = None) -> Backend:
    """Open the backend at an address: NAME, NAME:VARIANT, process:COMMAND or MODULE:Class.

    One whose constructor has a parameter `catalog` is handed the specs and types; without a
    catalogue it reads them itself. Raises UsageError for an unknown name and UnavailableError for
    a runtime that is not there.
    """
    name, _, variant = address.partition(":")
    points = _installed()
    try:
        if name in points:
            return _made(points[name].load(), [variant] if variant else [], catalog)
        if is_class(address):
            return _made(_class(name, variant), [], catalog)
    except ImportError as error:
        message = f"backend {address!r} is not available: {error}"
        hint = "install what it needs; `convcheck list backends` says what"
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
    """Return whether an address is MODULE:Class and no backend's, in a package or here."""
    name, _, attribute = address.partition(":")
    if not attribute or name in backend_names():
        return False
    _see_working_folder()
    return "." in name or (name.isidentifier() and importlib.util.find_spec(name) is not None)


def prepare_backend(address: str, say: Callable[[str], None]) -> None:
    """Have a backend do what takes long and is done once on a machine, if it has a `prepare`.

    In the parent, before workers open it: what they print nobody sees. Imports no runtime. `say`
    is told what is going on. Raises UnavailableError where it cannot be done; that a backend is
    not there at all is for `open_backend` to say.
    """
    prepare = _of_class(address, "prepare")
    if prepare is not None:
        prepare(say)


def takes(address: str, spec: Spec) -> bool:
    """Return whether a run without a choice of specs asks a backend this one.

    A backend's class may say it in `takes`, a static method; without it, every spec is asked.
    """
    choice = _of_class(address, "takes")
    return choice is None or bool(choice(spec))


def code_of_backend(address: str) -> list[Path]:
    """Return the files and folders of the code that answers; empty where they are not known.

    An installed backend's class may say it in `code`, a static method that is given the variant;
    without it, it is the package of the class. Imports no runtime.
    """
    name, _, variant = address.partition(":")
    if (code := _of_class(address, "code")) is not None:
        return [*cast(Iterable[Path], code(variant))]
    point = _installed().get(name)
    return module_paths(point.module if point else name) if point or is_class(address) else []


def _of_class(address: str, name: str) -> Callable[..., object] | None:
    """Return a static method of an installed backend's class, None where there is none."""
    point = _installed().get(address.partition(":")[0])
    with contextlib.suppress(ImportError):
        return getattr(point.load(), name, None) if point else None
    return None


def _see_working_folder() -> None:
    if os.getcwd() not in sys.path:  # a backend under development lies in the working folder
        sys.path.insert(0, os.getcwd())


def _class(module: str, attribute: str) -> Callable[..., Backend]:
    _see_working_folder()
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
        raise UsageError(f"{module} has no {attribute}", hint=meant(attribute, vars(found)))
    made: Callable[..., Backend] = factory
    return made
