"""ONNX Runtime as a backend.

Every tensor goes in as a graph input, so that the kernel answers and not the constant folder, and
the graph optimiser is off. Numbers are written to and read from the memory of OrtValues: numpy
has no bfloat16, float8 or packed int4. A string OrtValue cannot be made from Python; ONNX Runtime
itself makes one, as the output of a model that is nothing but an initialiser. Inputs and outputs
are passed as vectors of its own: to have it make a Python list of them costs six times as much as
a run.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from convcheck.backends.library import checked_choice
from convcheck.backends.onnx import runtime_options as ort_options
from convcheck.backends.onnx.model import (
    TEXT_NAME,
    build,
    cannot_ask,
    input_names,
    is_of_onnx,
    output_names,
    serialised,
    tensor_type_number,
    text_source,
)
from convcheck.backends.onnx.runtime_bound import bind, can_bind
from convcheck.backends.packing import is_packed, pack, too_large, unpack
from convcheck.backends.protocol import Answer, Bound, Declined, Outputs, Oversized, Refused
from convcheck.errors import UnavailableError
from convcheck.numerics.codes import Bits, Codes, Texts
from convcheck.numerics.format import Numeric, Text
from convcheck.rules.model import Case, DType

if TYPE_CHECKING:
    from onnxruntime import SessionOptions
    from onnxruntime.capi.onnxruntime_pybind11_state import (
        InferenceSession,
        OrtDevice,
        OrtValue,
        OrtValueVector,
    )

    Feed = Callable[[Bits], tuple[OrtValue, object]]
    Read = Callable[[OrtValue, tuple[int, ...]], Bits]

CPU = "CPUExecutionProvider"
_KEPT_TEXTS = 4096  # tensors, of some kilobytes with their sessions
_KEPT_TYPES = 64  # how their tensors are made, and read
FATAL_ONLY = 4  # log severity: what goes wrong is in the exceptions


@dataclass(frozen=True)
class _Loaded:
    """A case's session, or why there is none, and how its tensors are made and read."""

    case: Case
    session: InferenceSession | Declined
    feeds: tuple[Feed, ...]  # of the inputs: the tensor, and what has to stay alive for it
    reads: dict[int, tuple[str, Read]]  # number of a type -> its name, and how it is read
    names: list[str]  # of the inputs
    outputs: list[str]
    devices: list[OrtDevice]  # of the outputs


class OnnxRuntime:
    """ONNX Runtime on one execution provider, the CPU's where `variant` is ''.

    Another provider never falls back on the CPU: a node that it does not take is declined.
    """

    #: What a worker may import while the run is still planned.
    loads = ("onnx", "onnxruntime")
    options = ort_options.OPTIONS
    #: The options that tell what becomes of a graph.
    graphs = (ort_options.OPTIMISATION,)

    def __init__(self, variant: str = "", choice: Mapping[str, str] | None = None) -> None:
        """Take an execution provider, and values of some of the options.

        Raises UnavailableError for a provider that this onnxruntime does not have, and UsageError
        for an option or a value that there is not.
        """
        import onnxruntime
        from onnxruntime.capi import onnxruntime_pybind11_state as classes

        onnxruntime.set_default_logger_severity(FATAL_ONLY)
        self._runtime, self._classes = onnxruntime, classes
        self._run_options = onnxruntime.RunOptions()
        self._device = classes.OrtDevice(
            classes.OrtDevice.cpu(), classes.OrtDevice.default_memory(), 0
        )
        self._provider = variant or CPU
        self._variant, self._choice = variant, checked_choice("ort", self.options, choice or {})
        self._session_options = self._options(self._provider)
        self._text_options = self._options(CPU)
        self._others: dict[tuple[tuple[str, str], ...], OnnxRuntime] = {}
        self._check_provider()
        self._loaded: _Loaded | None = None
        # to make a tensor of texts takes a session, and the same ones are asked of many cases
        self._texts = lru_cache(maxsize=_KEPT_TEXTS)(self._make_texts)
        self._feed = lru_cache(maxsize=_KEPT_TYPES)(self._make_feed)
        self.name = f"ort:{variant}" if variant else "ort"
        self.version = (
            f"onnxruntime {onnxruntime.__version__}, {self._provider}, graph inputs, "
            f"{ort_options.describe_options(self._choice)}"
        )

    takes = staticmethod(is_of_onnx)

    def configured(self, choice: Mapping[str, str]) -> OnnxRuntime:
        """Return the same backend with other values of some options; inputs stay graph inputs.

        One that was given before is given again, with the session that it has.
        """
        key = tuple(sorted(choice.items()))
        if key not in self._others:
            self._others[key] = OnnxRuntime(self._variant, {**self._choice, **choice})
        return self._others[key]

    def support(self, case: Case) -> Declined | None:
        """Decline what no ONNX model can say."""
        return cannot_ask(case)

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Run the case's node on the inputs, whose shapes may differ from call to call.

        A session that cannot be made is Declined, an exception of a run Refused, unless it says
        that there is no implementation.
        """
        if case.setting:
            choice = {name: value for name, value in case.setting if name in self.options}
            if choice.items() - self._choice.items():
                return self.configured(choice).answer(case, inputs)
            if ("input", "constant") in case.setting:
                return self._answer_of_constant(case, inputs)
        loaded = self._load(case)
        if isinstance(loaded.session, Declined):
            return loaded.session
        fed = [feed(bits) for feed, bits in zip(loaded.feeds, inputs, strict=True)]
        feeds = self._classes.OrtValueVector()
        for value, _ in fed:
            feeds.push_back(value)
        try:
            values = self._run(loaded.session, loaded.names, feeds, loaded.outputs, loaded.devices)
        except Exception as error:  # onnxruntime's exceptions share no other base class
            return from_run(str(error))
        return _answer(values, loaded.reads, inputs)

    def _answer_of_constant(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Run a chain whose input is part of the model."""
        loaded = self._loading(case, build(case, inputs).SerializeToString())
        if isinstance(loaded.session, Declined):
            return loaded.session
        nothing = self._classes.OrtValueVector()
        try:
            values = self._run(loaded.session, [], nothing, loaded.outputs, loaded.devices)
        except Exception as error:  # onnxruntime's exceptions share no other base class
            return from_run(str(error))
        return _answer(values, loaded.reads, inputs)

    def _run(
        self, session: InferenceSession, names: list[str], feeds: OrtValueVector,
        outputs: list[str], devices: list[OrtDevice],
    ) -> OrtValueVector:  # fmt: skip
        """Run a session; return its outputs. Raises what onnxruntime raises."""
        values = self._classes.OrtValueVector()
        session.run_with_ortvaluevector(self._run_options, names, feeds, outputs, values, devices)
        return values

    def bind(self, case: Case, codes: Codes, out: Codes) -> Bound | None:
        """Give a function that runs the case's node on one buffer, into the other, again and again.

        None where there is none: on another provider than the CPU's, for several inputs or
        outputs, texts, and buffers that are empty, of other types than the case's, of two shapes or
        not contiguous.
        """
        if self._provider != CPU or not can_bind(case, codes, out):
            return None
        session = self._load(case).session
        if isinstance(session, Declined):
            return partial(_same, session)
        # where a run fails, the same is asked without these buffers: they may not be to blame
        again = partial(self.answer, case, [codes])
        return bind(self._classes, session, case, codes, out, again)

    def _check_provider(self) -> None:
        available = self._runtime.get_available_providers()
        if self._provider not in available:
            raise UnavailableError(
                f"onnxruntime {self._runtime.__version__} has no {self._provider}",
                hint=f"one of {', '.join(f'ort:{name}' for name in available)}",
            )

    def _load(self, case: Case) -> _Loaded:
        if self._loaded is None or (self._loaded.case is not case and self._loaded.case != case):
            self._loaded = None  # frees the last session before the next one is made
            self._loaded = self._loading(case, serialised(case))
        return self._loaded

    def _loading(self, case: Case, model: bytes) -> _Loaded:
        outputs = output_names(case)
        return _Loaded(
            case,
            self._session(model),
            tuple(map(self._feed, case.inputs)),
            _reads((*case.inputs, *case.outputs)),
            input_names(case),
            outputs,
            [self._device] * len(outputs),
        )

    def _session(self, model: bytes) -> InferenceSession | Declined:
        try:
            return self._make_session(model, self._session_options, self._provider)
        except Exception as error:  # onnxruntime's exceptions share no other base class
            return from_load(str(error))

    def _options(self, provider: str) -> SessionOptions:
        options = self._runtime.SessionOptions()
        if provider != CPU:
            options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        ort_options.apply_options(self._runtime, options, self._choice)
        options.enable_mem_pattern = False
        options.enable_cpu_mem_arena = False
        options.log_severity_level = FATAL_ONLY
        return options

    def _make_session(
        self, model: bytes, options: SessionOptions, provider: str
    ) -> InferenceSession:
        """Make a session as onnxruntime's class in Python does, which takes as long again: it asks
        for all that is known of a model, and would try again on the CPU, and print.
        """
        session = self._classes.InferenceSession(options, model, False, False)
        session.initialize_session([provider], [{}], set())
        return session

    def _make_feed(self, dtype: DType) -> Feed:
        """Return how a tensor of a type is made."""
        if isinstance(dtype.format, Text):
            return lambda bits: self._texts(bits.shape, tuple(bits.flat))
        number = tensor_type_number(dtype)
        copied = partial(self._copied, dtype.format, number)
        if is_packed(dtype.format):
            return copied
        shared = self._classes.OrtValue.ortvalue_from_numpy_with_onnx_type
        return lambda bits: (
            (shared(bits, number), bits) if bits.flags.c_contiguous else copied(bits)
        )

    def _copied(self, fmt: Numeric, number: int, bits: Bits) -> tuple[OrtValue, None]:
        make = self._classes.OrtValue.ortvalue_from_shape_and_onnx_type
        value: OrtValue = make(bits.shape, number, self._device)
        memory = pack(fmt, cast(Codes, bits))
        if memory.size:  # an empty tensor may have no address
            ctypes.memmove(value.data_ptr(), memory.ctypes.data, memory.nbytes)
        return value, None

    def _make_texts(
        self, shape: tuple[int, ...], texts: tuple[str, ...]
    ) -> tuple[OrtValue, InferenceSession]:
        """Return a tensor of texts, and the session that has to stay alive for it."""
        array = np.array(texts, object).reshape(shape)
        session = self._make_session(text_source(array), self._text_options, CPU)
        nothing = self._classes.OrtValueVector()
        return self._run(session, [], nothing, [TEXT_NAME], [self._device])[0], session


def _same(answer: Answer) -> Answer:
    return answer


def _answer(
    values: OrtValueVector, reads: dict[int, tuple[str, Read]], inputs: Sequence[Bits]
) -> Outputs | Oversized:
    """Read the outputs in their own shapes, and name their types: of an unknown one, the bytes."""
    found = []
    for i in range(len(values)):
        value = values[i]
        name, read = reads.get(value.element_type()) or (str(value.data_type()), _bytes_of)
        found.append((name, tuple(value.shape()), read, value))
    names = tuple([name for name, _, _, _ in found])
    for _, shape, _, _ in found:
        if too_large(shape, inputs):
            return Oversized(tuple([shape for _, shape, _, _ in found]), names)
    return Outputs(tuple([read(value, shape) for _, shape, read, value in found]), names)


@lru_cache(maxsize=_KEPT_TYPES)
def _reads(types: tuple[DType, ...]) -> dict[int, tuple[str, Read]]:
    """Return by the numbers of types their names, and how outputs of them are read."""
    return {tensor_type_number(t): (t.name, _read(t)) for t in types}


def _read(dtype: DType) -> Read:
    """Return how an output of a type is read in its own shape."""
    fmt = dtype.format
    if isinstance(fmt, Text):
        return _texts_of
    if is_packed(fmt):
        return lambda value, shape: unpack(fmt, np.frombuffer(_memory(value), np.uint8), shape)
    storage = fmt.storage
    return lambda value, shape: np.frombuffer(_memory(value), storage).reshape(shape)


def _texts_of(value: OrtValue, shape: tuple[int, ...]) -> Texts:
    texts: Texts = np.asarray(value.numpy(), dtype=object).reshape(shape)
    return texts


def _bytes_of(value: OrtValue, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    return np.frombuffer(_memory(value), np.uint8)


def _memory(value: OrtValue) -> bytes:
    """Copy a numeric tensor's memory."""
    size = value.tensor_size_in_bytes()
    return ctypes.string_at(value.data_ptr(), size) if size else b""


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


@lru_cache(maxsize=_KEPT_TEXTS)
def from_run(message: str) -> Refused | Declined:
    """Judge why a run failed: there is no such kernel after all, or it refused these values."""
    text = _words(message)
    return Declined(text, missing=True) if _NO_KERNEL in text else Refused(text)


def _words(message: str) -> str:
    """Trim a message: the status word is kept, C++ source lines and line breaks are dropped."""
    text = _STATUS.sub(r"\1: ", _SOURCE_LINE.sub("", " ".join(message.split())))
    return _RUNNING.sub("", text)
