"""ONNX Runtime, through the server of `standalone.py`.

Tensors are graph inputs, without optimisation, to test kernels and not constant folding.
"""

import base64
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, cast

import numpy as np

from convcheck.backends.library import checked_choice
from convcheck.backends.native import Direct, Native, Question, known_types
from convcheck.backends.onnx.model import (
    WORLD,
    build,
    cannot_ask,
    input_names,
    is_of_onnx,
    output_names,
    tensor_type_number,
)
from convcheck.backends.packing import is_packed, pack, unpack_into
from convcheck.backends.process.standalone import OrtServer, Told
from convcheck.backends.protocol import Answer, Bound, Declined, Refused
from convcheck.errors import UnavailableError
from convcheck.numerics.format import Numeric, Text
from convcheck.numerics.number import Bits, Codes
from convcheck.rules.load import Catalog, load, user_folders
from convcheck.rules.model import Case
from convcheck.rules.types import Types
from convcheck.streams import plural


def can_bind(case: Case, codes: Codes, out: Codes) -> bool:
    """Return whether a case of one input and output, not texts, can run on two buffers."""
    types = (*case.inputs, *case.outputs)
    if len(case.inputs) != 1 or len(case.outputs) != 1 or codes.shape != out.shape:
        return False
    if not codes.size or any(isinstance(dtype.format, Text) for dtype in types):
        return False
    both = zip(types, (codes, out), strict=True)
    fit = all(a.dtype == t.format.storage and a.flags.c_contiguous for t, a in both)
    return fit and out.flags.writeable


def bind(classes: Any, session: Any, case: Case, codes: Codes, out: Codes, again: Bound) -> Bound:
    """Bind buffers that `can_bind`. A run that raises returns the result of `again`."""
    source, target = (cast(Numeric, t.format) for t in (case.inputs[0], case.outputs[0]))
    given = pack(source, codes) if is_packed(source) else codes
    memory = pack(target, np.zeros_like(out)) if is_packed(target) else out
    device = classes.OrtDevice(classes.OrtDevice.cpu(), classes.OrtDevice.default_memory(), 0)
    binding = classes.SessionIOBinding(session)  # binds addresses and keeps no array alive
    numbers = tensor_type_number(case.inputs[0]), tensor_type_number(case.outputs[0])
    address = given.ctypes.data, memory.ctypes.data
    binding.bind_input(input_names(case)[0], device, numbers[0], codes.shape, address[0])
    binding.bind_output(output_names(case)[0], device, numbers[1], codes.shape, address[1])

    def convert() -> Answer | None:
        if given is not codes:
            np.copyto(given, pack(source, codes))
        if memory is not out:
            # what a kernel does not write cannot pass for the last answer
            np.invert(memory, out=memory)
        try:
            session.run_with_iobinding(binding, None)
        except Exception:  # onnxruntime's exceptions share no other base class
            return again()
        if memory is not out:
            unpack_into(target, memory, out)
        return None

    return convert


CPU = "CPUExecutionProvider"
# Options with their values, the default first.
THREADS, OPTIMISATION = "threads", "optimisation"
OPTIONS: Mapping[str, tuple[str, ...]] = {
    THREADS: ("1", "2", "4"),
    OPTIMISATION: ("off", "basic", "extended", "all", "all-and-cast-chains"),
}
_LEVELS = {
    "off": "ORT_DISABLE_ALL",
    "basic": "ORT_ENABLE_BASIC",
    "extended": "ORT_ENABLE_EXTENDED",
    "all": "ORT_ENABLE_ALL",
    "all-and-cast-chains": "ORT_ENABLE_ALL",
}
_CAST_CHAINS = "optimization.enable_cast_chain_elimination"
_KEPT_WORDS = 4096


class OnnxRuntime:
    """ONNX Runtime on an execution provider, without fallback to the CPU."""

    loads = ("onnx", "onnxruntime")
    options = OPTIONS
    graphs = (OPTIMISATION,)

    def __init__(
        self,
        variant: str = "",
        choice: Mapping[str, str] | None = None,
        *,
        catalog: Catalog | None = None,
    ) -> None:
        """Raises UnavailableError for an unknown provider, UsageError for an unknown option or
        value.
        """
        self._variant, self._choice = variant, checked_choice("ort", self.options, choice or {})
        try:
            self._server = server = OrtServer(variant)
        except ValueError as error:
            from onnxruntime import get_available_providers

            known = ", ".join(f"ort:{name}" for name in get_available_providers())
            raise UnavailableError(str(error), hint=f"one of {known}") from None
        self._catalog = catalog or load(user_folders())
        ask = partial(_question, self._choice)
        self._direct = Direct(Native(ORT.support, ask, ORT.heard), server, self._catalog)
        self._others: dict[tuple[tuple[str, str], ...], OnnxRuntime] = {}
        self.name = f"ort:{variant}" if variant else "ort"
        self.version = (
            f"onnxruntime {server.runtime.__version__}, {server.provider}, graph inputs, "
            f"optimisation {self._choice[OPTIMISATION]}, "
            f"{plural(int(self._choice[THREADS]), 'thread')}"
        )

    takes = staticmethod(is_of_onnx)

    def configured(self, choice: Mapping[str, str]) -> "OnnxRuntime":
        """Return the backend with other values of some options, cached with its session."""
        key = tuple(sorted(choice.items()))
        if key not in self._others:
            chosen = {**self._choice, **choice}
            self._others[key] = OnnxRuntime(self._variant, chosen, catalog=self._catalog)
        return self._others[key]

    def support(self, case: Case) -> Declined | None:
        """Decline cases without an ONNX model."""
        return cannot_ask(case)

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Run the case's graph. A failed session is Declined."""
        if not case.setting:
            return self._direct.answer(case, inputs)
        choice = {name: value for name, value in case.setting if name in self.options}
        if choice.items() - self._choice.items():
            return self.configured(choice).answer(case, inputs)
        if ("input", "constant") not in case.setting:
            return self._direct.answer(case, inputs)
        # the chain's inputs are part of the model
        model = base64.b64encode(build(case, inputs).SerializeToString()).decode()
        return self._direct.answer(case, inputs, {**self._direct.question(case), "model": model})

    def bind(self, case: Case, codes: Codes, out: Codes) -> Bound | None:
        """Return a function between buffers that `can_bind`, on the CPU, else None."""
        if self._server.provider != CPU or not can_bind(case, codes, out):
            return None
        try:
            session = self._server.load(self._direct.question(case))
        except Told as told:
            answer = self._direct.told(told)
            return lambda: answer
        # after a failure, retry without these buffers
        again = partial(self.answer, case, [codes])
        return bind(self._server.classes, session, case, codes, out, again)


def _question(choice: Mapping[str, str], case: Case, catalog: Catalog) -> Question:
    model = base64.b64encode(build(case).SerializeToString()).decode()
    found: Question = {"model": model, "types": _types(catalog.types)}
    if case.hops:  # exposed intermediate outputs follow
        found["outputs"] = len(case.outputs)
    if any(choice.get(name, values[0]) != values[0] for name, values in OPTIONS.items()):
        level, entries = optimisation_of(choice)
        found["options"] = {
            "threads": int(choice[THREADS]), "level": level, "entries": dict(entries)
        }  # fmt: skip
    return found


def optimisation_of(choice: Mapping[str, str]) -> tuple[str, Mapping[str, str]]:
    """Return the name of a session's optimisation level, and its configuration entries."""
    value = choice.get(OPTIMISATION, "off")
    return _LEVELS[value], {_CAST_CHAINS: "1"} if value == "all-and-cast-chains" else {}


@lru_cache(maxsize=1)
def _types(types: Types) -> dict[str, object]:
    known = [dtype for dtype in types.types.values() if dtype.name_in(WORLD)]
    return known_types(tensor_type_number, known)


_RUNNING = re.compile(
    r"Non-zero status code returned while running \w+ node\. Name:'[^']*' Status Message: "
)
_STATUS = re.compile(r"^\[ONNXRuntimeError\] : \d+ : (\w+) : ")
_SOURCE_LINE = re.compile(r"\S+\.(?:cc|cpp|cu|h):\d+ .*?\)(?: const)? ")  # file:line signature
_NO_KERNEL = "NOT_IMPLEMENTED"
_MISSING = (
    _NO_KERNEL,
    "of input parameter",  # Type 'tensor(string)' of input parameter (x0) … is invalid
    "Invalid tensor data type",
    "Unsupported model IR version",
    "is under development and support for this is limited",  # the opset
    "InsertedPrecisionFreeCast",  # its own node before a node without a float16 kernel
    "InsertedCast_",  # the same before 1.16
    "assigned to the default CPU EP",  # the provider does not take the node
)


@lru_cache(maxsize=_KEPT_WORDS)
def _words(message: str) -> str:
    """Drop C++ source lines and line breaks from a message, keep the status word."""
    text = _STATUS.sub(r"\1: ", _SOURCE_LINE.sub("", " ".join(message.split())))
    return _RUNNING.sub("", text)


def _heard(answer: Answer) -> Answer:
    if isinstance(answer, Declined) and not answer.missing:
        text = _words(answer.message)
        return Declined(text, missing=any(phrase in text for phrase in _MISSING))
    if isinstance(answer, Refused):
        text = _words(answer.message)
        return Declined(text, missing=True) if _NO_KERNEL in text else Refused(text)
    return answer


ORT = Native(lambda case, catalog: cannot_ask(case), partial(_question, {}), _heard)
