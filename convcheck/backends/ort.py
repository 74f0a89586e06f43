"""ONNX Runtime as a backend.

Every tensor goes in as a graph input, so that the kernel answers and not the constant folder, and
the graph optimiser is off. Numbers are written to and read from the memory of OrtValues: numpy
has no bfloat16, float8 or packed int4. A string OrtValue cannot be made from Python; ONNX Runtime
itself makes one, as the output of a model that is nothing but an initialiser.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from convcheck.backends.onnx_model import (
    TEXT_NAME,
    build,
    cannot_ask,
    element_type,
    input_names,
    output_names,
    text_source,
)
from convcheck.backends.packing import pack, unpack
from convcheck.backends.protocol import Answer, Declined, Outputs, Refused
from convcheck.errors import UnavailableError
from convcheck.numerics.format import Bits, Codes, Text, Texts
from convcheck.spec.model import Case, DType

if TYPE_CHECKING:
    from onnxruntime import InferenceSession, OrtValue, SessionOptions

CPU = "CPUExecutionProvider"
FATAL_ONLY = 4  # log severity: what goes wrong is in the exceptions


@dataclass(frozen=True)
class _Loaded:
    """A case's session, or why there is none, and the case's types by number."""

    case: Case
    session: InferenceSession | Declined
    types: dict[int, DType]


class OnnxRuntime:
    """ONNX Runtime on one execution provider, the CPU's where `variant` is ''.

    Another provider never falls back on the CPU: a node that it does not take is declined.
    """

    def __init__(self, variant: str = "") -> None:
        """Raise UnavailableError for a provider that this onnxruntime does not have."""
        import onnxruntime

        onnxruntime.set_default_logger_severity(FATAL_ONLY)
        self._runtime = onnxruntime
        self._provider = variant or CPU
        self._check_provider()
        self._loaded: _Loaded | None = None
        self.name = f"ort:{variant}" if variant else "ort"
        self.version = (
            f"onnxruntime {onnxruntime.__version__}, {self._provider}, graph inputs, "
            "optimisation off, 1 thread"
        )

    def support(self, case: Case) -> Declined | None:
        """Decline what no ONNX model can say."""
        return cannot_ask(case)

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Run the case's node on the inputs, whose shapes may differ from call to call.

        A session that cannot be made is Declined, an exception of a run Refused, unless it says
        that there is no implementation.
        """
        loaded = self._load(case)
        if isinstance(loaded.session, Declined):
            return loaded.session
        feeders: list[InferenceSession] = []  # a string tensor needs its session to stay alive
        feeds = {
            name: self._feed(dtype, bits, feeders)
            for name, dtype, bits in zip(input_names(case), case.inputs, inputs, strict=True)
        }
        try:
            values = loaded.session.run_with_ort_values(output_names(case), feeds)
        except Exception as error:  # onnxruntime's exceptions share no other base class
            return _from_run(str(error))
        results = [_fetch(value, loaded.types) for value in values]
        return Outputs(tuple(bits for bits, _ in results), tuple(name for _, name in results))

    def _check_provider(self) -> None:
        available = self._runtime.get_available_providers()
        if self._provider not in available:
            raise UnavailableError(
                f"onnxruntime {self._runtime.__version__} has no {self._provider}",
                hint=f"one of {', '.join(f'ort:{name}' for name in available)}",
            )

    def _load(self, case: Case) -> _Loaded:
        if self._loaded is None or self._loaded.case != case:
            self._loaded = None  # frees the last session before the next one is made
            types = {element_type(dtype): dtype for dtype in (*case.inputs, *case.outputs)}
            self._loaded = _Loaded(case, self._session(case), types)
        return self._loaded

    def _session(self, case: Case) -> InferenceSession | Declined:
        model, options = build(case).SerializeToString(), self._options()
        if self._provider != CPU:
            options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        try:
            return self._make_session(model, options, self._provider)
        except Exception as error:  # onnxruntime's exceptions share no other base class
            return _from_load(str(error))

    def _options(self) -> SessionOptions:
        options = self._runtime.SessionOptions()
        options.graph_optimization_level = self._runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = 1
        options.log_severity_level = FATAL_ONLY
        return options

    def _make_session(
        self, model: bytes, options: SessionOptions, provider: str
    ) -> InferenceSession:
        # enable_fallback: by itself, Python code would print, and try again on the CPU
        return self._runtime.InferenceSession(
            model, options, providers=[provider], enable_fallback=False
        )

    def _feed(self, dtype: DType, bits: Bits, feeders: list[InferenceSession]) -> OrtValue:
        if isinstance(dtype.format, Text):
            source = text_source(cast(Texts, bits))
            feeders.append(self._make_session(source, self._options(), CPU))
            return feeders[-1].run_with_ort_values([TEXT_NAME], {})[0]
        number = element_type(dtype)
        value = self._runtime.OrtValue.ortvalue_from_shape_and_type(bits.shape, number)
        _memory(value)[:] = pack(dtype.format, cast(Codes, bits))
        return value


def _fetch(value: OrtValue, types: dict[int, DType]) -> tuple[Bits, str]:
    """Read an output in its own shape, and name its type: of an unknown one, the bytes."""
    dtype = types.get(value.element_type())
    if dtype is None:
        return _memory(value).copy(), str(value.data_type())
    shape = tuple(value.shape())
    if isinstance(dtype.format, Text):
        texts: Texts = np.asarray(value.numpy(), dtype=object).reshape(shape)
        return texts, dtype.name
    return unpack(dtype.format, _memory(value), shape), dtype.name


def _memory(value: OrtValue) -> NDArray[Any]:
    """View a numeric tensor's memory as bytes: good only while the value lives."""
    size = value.tensor_size_in_bytes()
    if not size:
        return np.empty(0, np.uint8)  # an empty tensor may have no address
    return np.frombuffer((ctypes.c_uint8 * size).from_address(value.data_ptr()), np.uint8)


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
    "assigned to the default CPU EP",  # the provider does not take the node
)


def _from_load(message: str) -> Declined:
    """Judge why no session could be made: something is missing, or the model was turned down."""
    text = _words(message)
    return Declined(text, missing=any(phrase in text for phrase in _MISSING))


def _from_run(message: str) -> Refused | Declined:
    text = _words(message)
    return Declined(text, missing=True) if _NO_KERNEL in text else Refused(text)


def _words(message: str) -> str:
    """Trim a message: the status word is kept, C++ source lines and line breaks are dropped."""
    text = _STATUS.sub(r"\1: ", _SOURCE_LINE.sub("", " ".join(message.split())))
    return _RUNNING.sub("", text)
