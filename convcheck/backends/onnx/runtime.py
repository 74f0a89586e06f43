"""ONNX Runtime as a backend.

It is asked as in another environment, by the server in `standalone.py`: every tensor goes in as a
graph input, so that the kernel answers and not the constant folder, and the graph optimiser is off.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial

from convcheck.backends.library import checked_choice
from convcheck.backends.native import Direct, Native, Question, known_types
from convcheck.backends.onnx import runtime_options as ort_options
from convcheck.backends.onnx.model import (
    WORLD,
    build,
    cannot_ask,
    is_of_onnx,
    serialised,
    tensor_type_number,
)
from convcheck.backends.onnx.runtime_bound import bind, can_bind
from convcheck.backends.process.standalone import OrtServer, Told
from convcheck.backends.protocol import Answer, Bound, Declined, Refused
from convcheck.errors import UnavailableError
from convcheck.numerics.codes import Bits, Codes
from convcheck.rules.load import Catalog, load, user_folders
from convcheck.rules.model import Case
from convcheck.rules.types import Types

CPU = "CPUExecutionProvider"
_KEPT_WORDS = 4096


class OnnxRuntime:
    """ONNX Runtime on one execution provider, the CPU's where `variant` is ''.

    Another provider never falls back on the CPU: a node that it does not take is declined.
    """

    #: What a worker may import while the run is still planned.
    loads = ("onnx", "onnxruntime")
    options = ort_options.OPTIONS
    #: The options that tell what becomes of a graph.
    graphs = (ort_options.OPTIMISATION,)

    def __init__(
        self,
        variant: str = "",
        choice: Mapping[str, str] | None = None,
        *,
        catalog: Catalog | None = None,
    ) -> None:
        """Take an execution provider, and values of some of the options.

        Raises UnavailableError for a provider that this onnxruntime does not have, and UsageError
        for an option or a value that there is not.
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
            f"{ort_options.describe_options(self._choice)}"
        )

    takes = staticmethod(is_of_onnx)

    def configured(self, choice: Mapping[str, str]) -> OnnxRuntime:
        """Return the same backend with other values of some options; inputs stay graph inputs.

        One that was given before is given again, with the session that it has.
        """
        key = tuple(sorted(choice.items()))
        if key not in self._others:
            chosen = {**self._choice, **choice}
            self._others[key] = OnnxRuntime(self._variant, chosen, catalog=self._catalog)
        return self._others[key]

    def support(self, case: Case) -> Declined | None:
        """Decline what no ONNX model can say."""
        return cannot_ask(case)

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Run the case's node on the inputs, whose shapes may differ from call to call.

        A session that cannot be made is Declined, an exception of a run Refused, unless it says
        that there is no implementation.
        """
        if not case.setting:
            return self._direct.answer(case, inputs)
        choice = {name: value for name, value in case.setting if name in self.options}
        if choice.items() - self._choice.items():
            return self.configured(choice).answer(case, inputs)
        if ("input", "constant") not in case.setting:
            return self._direct.answer(case, inputs)
        # the inputs of a chain are a part of the model
        model = _text(build(case, inputs).SerializeToString())
        return self._direct.answer(case, inputs, {**self._direct.question(case), "model": model})

    def bind(self, case: Case, codes: Codes, out: Codes) -> Bound | None:
        """Give a function that runs the case's node on one buffer, into the other, again and again.

        None where there is none: on another provider than the CPU's, for several inputs or
        outputs, texts, and buffers that are empty, of other types than the case's, of two shapes or
        not contiguous.
        """
        if self._server.provider != CPU or not can_bind(case, codes, out):
            return None
        try:
            session = self._server.load(self._direct.question(case))
        except Told as told:
            return partial(_same, self._direct.told(told))
        # where a run fails, the same is asked without these buffers: they may not be to blame
        again = partial(self.answer, case, [codes])
        return bind(self._server.classes, session, case, codes, out, again)


def _same(answer: Answer) -> Answer:
    return answer


def _question(choice: Mapping[str, str], case: Case, catalog: Catalog) -> Question:
    """Return what the server is asked: options that are not as it has them, too."""
    found: Question = {"model": _text(serialised(case)), "types": _types(catalog.types)}
    if case.hops:  # of which middles may be outputs, after the others
        found["outputs"] = len(case.outputs)
    if own := ort_options.session_options(choice):
        found["options"] = own
    return found


@lru_cache(maxsize=1)
def _types(types: Types) -> dict[str, object]:
    known = [dtype for dtype in types.types.values() if dtype.name_in(WORLD)]
    return known_types(tensor_type_number, known)


def _text(model: bytes) -> str:
    return base64.b64encode(model).decode()


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
    "InsertedPrecisionFreeCast",  # its own node, put before a node without a float16 kernel
    "InsertedCast_",  # the same in releases before 1.16
    "assigned to the default CPU EP",  # the provider does not take the node
)


def from_load(message: str) -> Declined:
    """Judge why no session could be made: something is missing, or the model was turned down."""
    text = _words(message)
    return Declined(text, missing=any(phrase in text for phrase in _MISSING))


@lru_cache(maxsize=_KEPT_WORDS)
def from_run(message: str) -> Refused | Declined:
    """Judge why a run failed: there is no such kernel after all, or it refused these values."""
    text = _words(message)
    return Declined(text, missing=True) if _NO_KERNEL in text else Refused(text)


def _words(message: str) -> str:
    """Trim a message: the status word is kept, C++ source lines and line breaks are dropped."""
    text = _STATUS.sub(r"\1: ", _SOURCE_LINE.sub("", " ".join(message.split())))
    return _RUNNING.sub("", text)


def _heard(answer: Answer) -> Answer:
    if isinstance(answer, Declined) and not answer.missing:
        return from_load(answer.message)
    return from_run(answer.message) if isinstance(answer, Refused) else answer


ORT = Native(lambda case, catalog: cannot_ask(case), partial(_question, {}), _heard)
