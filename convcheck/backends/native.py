"""Run runtimes through the servers of `standalone.py`, here or in another Python."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from convcheck.backends.packing import is_packed
from convcheck.backends.process import headers
from convcheck.backends.process.standalone import Fed, Told
from convcheck.backends.protocol import Answer, Declined, Outputs, max_elements
from convcheck.errors import UnavailableError, UsageError, install_hint
from convcheck.numerics.format import Format, Text
from convcheck.numerics.number import Bits
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case, DType

Question = dict[str, Any]


@dataclass(frozen=True)
class Native:
    """The requests and answers of a runtime's server."""

    #: Returns why a case cannot be run, if so, without the runtime.
    support: Callable[[Case, Catalog], Declined | None]
    #: Returns the `native` part of a request, without the limit of output elements.
    ask: Callable[[Case, Catalog], Question]
    #: Interprets an answer with the runtime's message.
    heard: Callable[[Answer], Answer]

    def question(self, case: Case, catalog: Catalog) -> Question:
        """Return the `native` part of a request."""
        return {**self.ask(case, catalog), "limit": max_elements()}


class Direct:
    """A runtime's server in this process."""

    def __init__(self, native: Native, server: Any, catalog: Catalog) -> None:
        self._native, self._server = native, server
        #: the request of a case, cached for the last one
        self.question = lru_cache(maxsize=1)(partial(native.question, catalog=catalog))

    def answer(
        self, case: Case, inputs: Sequence[Bits], question: Question | None = None
    ) -> Answer:
        """Run a request, by default the case's."""
        asked = question or self.question(case)
        given = [fed(t, bits, asked) for t, bits in zip(case.inputs, inputs, strict=True)]
        try:
            made = self._server.answer(asked, given)
        except Told as told:
            return self.told(told)
        return Outputs(tuple([codes for _, _, codes in made]), tuple([name for name, _, _ in made]))

    def told(self, told: Told) -> Answer:
        """Return an answer without outputs."""
        header = msgspec.convert({"run": 0, **told.answer}, headers.AnswerHeader)
        return self._native.heard(headers.without_tensors(header))


def fed(dtype: DType, bits: Bits, question: Question) -> Fed:
    """Return an input for a server, copied, since a runtime may write to it."""
    known = question["types"][dtype.name]
    codes = np.array(bits, dtype.format.storage, order="C")
    return Fed(known["own"], known["bits"], bits.shape, codes)


def known_types(own: Callable[[DType], object], types: Iterable[DType]) -> dict[str, object]:
    """Return types for a server: the runtime's name and the number of bits, 0 for texts.

    The first of several types with the same name is used.
    """
    found: dict[str, object] = {}
    taken = set()
    for dtype in types:
        name = own(dtype)
        if name and name not in taken:
            taken.add(name)
            found[dtype.name] = {"own": name, "bits": _bits(dtype.format)}
    return found


def _bits(fmt: Format) -> int:
    if isinstance(fmt, Text):
        return 0
    return fmt.bits if is_packed(fmt) else 8 * fmt.storage.itemsize


def release_of(extra: str, *, module: str = "", package: str = "") -> str:
    """Return a runtime's package and release, named like `extra` unless given.

    Raises UnavailableError with the extra.
    """
    if find_spec(module or extra) is None:
        said = f"No module named {module or extra!r}"
        raise UnavailableError(said, hint=install_hint(extra))
    return f"{package or extra} {version(package or extra)}"


def variant_name(runtime: str, variant: str, variants: Iterable[str]) -> str:
    """Return the name of a backend's variant, '' for the default. Raises UsageError."""
    names = {known: f"{runtime}:{known}" if known else runtime for known in variants}
    if variant not in names:
        hint = f"one of {', '.join(names.values())}"
        raise UsageError(f"{runtime} has no variant {variant!r}", hint=hint)
    return names[variant]


def cache_folder(name: str) -> Path:
    """Return a folder in the user's cache (XDG Base Directory Specification 0.8)."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(given) if os.path.isabs(given) else Path.home() / ".cache"
    return base / "convcheck" / name
