"""A program as a backend, as docs/protocol.md and `schema.json` describe.

The program ends with the worker, in its process group, and shares its stderr.
"""

import atexit
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from convcheck.backends.native import Native
from convcheck.backends.onnx.runtime import ORT
from convcheck.backends.openvino import OPENVINO
from convcheck.backends.packing import too_large
from convcheck.backends.process import headers
from convcheck.backends.process.program import Deadline, RunningProgram, within
from convcheck.backends.protocol import (
    Answer,
    Declined,
    DiedError,
    Outputs,
    Oversized,
    ProtocolError,
    Raised,
    call_timeout,
    time_of_call,
)
from convcheck.backends.torch import TORCH
from convcheck.errors import UnavailableError
from convcheck.numerics.number import Bits
from convcheck.rules.load import Catalog, load, user_folders
from convcheck.rules.model import Case, DType
from convcheck.streams import plural

RUNTIMES: Mapping[str, Native] = {"ort": ORT, "openvino": OPENVINO, "torch": TORCH}


def native_of(runtime: str) -> Native | None:
    """Return the native requests of a runtime, None for ''. Raises ProtocolError."""
    if runtime and runtime not in RUNTIMES:
        headers.wrong(f"it wants questions of {runtime!r}", f"one of {', '.join(RUNTIMES)}")
    return RUNTIMES[runtime] if runtime else None


AHEAD = 1 << 15  # bytes of requests sent before an answer is read
ROOM = 1 << 9  # bytes of a header
STARTING = 60.0  # seconds for the answer to hello


@dataclass(frozen=True)
class RequestTemplate:
    """The common parts of all requests of a case."""

    case: Case | None  # None if it is not in a spec
    start: Mapping[str, object]  # the header's keys before the inputs, except the run
    names: Sequence[str]
    types: Sequence[DType]
    outputs: Sequence[str]  # names of types


class Process:
    """A program that speaks the process protocol. If `spoiled`, it needs a restart."""

    def __init__(self, command: str = "", *, catalog: Catalog | None = None) -> None:
        """Raises UsageError for an empty command, UnavailableError if it cannot start or violates
        the protocol, DiedError if it ends or hangs.
        """
        self._program = RunningProgram(command)
        atexit.register(self._program.leave)
        try:
            welcome = greet(self._program)
            self._native = native_of(welcome.native)
        except ProtocolError as error:
            self._program.kill()
            hint = f"{error.hint}; `convcheck backend probe --backend 'process:{command}'`"
            raise UnavailableError(f"{self._program.name}: {error.message}", hint=hint) from None
        except UnavailableError as error:
            self._program.kill()
            raise UnavailableError(f"{self._program.name}: {error.message}") from None
        self.name, self.version = f"process:{command}", str(welcome)
        self._catalog = catalog or load(user_folders())
        self._timeout = call_timeout()
        self._question: RequestTemplate | None = None
        self._run = 0
        self.spoiled = False

    @staticmethod
    def available() -> str:
        """Return what can be used."""
        return "any program that speaks the protocol: 'process:./mine --flag'"

    def support(self, case: Case) -> Declined | None:
        """Return None, since programs decline cases themselves, except for native runtimes."""
        return self._native.support(case, self._catalog) if self._native else None

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Send one request and read its answer. Raises ProtocolError or DiedError."""
        return next(self.answers(case, [inputs]))

    def answers(self, case: Case, questions: Iterable[Sequence[Bits]]) -> Iterator[Answer]:
        """Send requests in batches that cannot deadlock. Raises like `answer`, at a failing one."""
        if self._question is None or self._question.case is not case:
            self._question = template_of(case, self._catalog, self._native)
        first = run = self._run + 1
        batch: list[Sequence[Bits]] = []
        try:
            for batch in _batches(questions, min(AHEAD, self._program.room)):
                first = self._run + 1
                self._run += len(batch)
                parts: list[bytes | memoryview] = []
                for run, inputs in enumerate(batch, first):
                    parts += request(self._question, run, inputs)
                self._program.send(parts, self._deadline())
                for run, inputs in enumerate(batch, first):
                    yield self._due(run, inputs)
        except DiedError as error:
            self._program.kill()
            if len(batch) == 1:
                raise
            how = f"{error.how}, {plural(len(batch), 'request')} sent at once"
            raise DiedError(how, timed_out=error.timed_out, printed=error.printed) from None
        except ProtocolError as error:
            self._program.kill()
            if run == first or error.hint != headers.NOISE:
                raise
            hint = f"{error.hint}; or the answer to run {run - 1} is not as long as its `bytes`"
            raise ProtocolError(error.message, hint=hint) from None

    def _deadline(self) -> Deadline:
        return within(self._timeout, time_of_call(self._timeout))

    def _due(self, run: int, inputs: Sequence[Bits]) -> Answer:
        types, own = self._catalog.types.types, self._native is not None
        answer, restart = receive(
            self._program, types, run, inputs, self._deadline(), own_types=own
        )
        self.spoiled = self.spoiled or restart
        if run == self._run:
            nothing_more(self._program, run)
        if self._native is None or isinstance(answer, Raised):
            return answer
        return self._native.heard(answer)


def _batches(questions: Iterable[Sequence[Bits]], ahead: int) -> Iterator[list[Sequence[Bits]]]:
    batch: list[Sequence[Bits]] = []
    size = 0
    for inputs in questions:
        more = ROOM + sum(bits.nbytes for bits in inputs)
        if batch and size + more > ahead:
            yield batch
            batch, size = [], 0
        batch.append(inputs)
        size += more
    if batch:
        yield batch


def receive(
    program: RunningProgram,
    types: headers.Types,
    run: int,
    inputs: Sequence[Bits],
    deadline: Deadline,
    *,
    own_types: bool = False,
) -> tuple[Answer, bool]:
    """Read an answer, and whether the program asks for a restart.

    With `own_types`, outputs may have types outside the specs. Raises ProtocolError or DiedError.
    """
    found, restart = headers.read_answer(program.line(deadline), run, types, own_types=own_types)
    if not isinstance(found, tuple):
        return found, restart
    names = tuple(tensor.dtype.name for tensor in found)
    if any(too_large(tensor.shape, inputs) for tensor in found):
        for n, tensor in enumerate(found, 1):
            program.drop(tensor.size, f"output {n}", deadline)
        return Oversized(tuple(tensor.shape for tensor in found), names), restart
    arrays = [
        tensor.bits(program.payload(tensor.size, f"output {n}", deadline))
        for n, tensor in enumerate(found, 1)
    ]
    return Outputs(tuple(arrays), names), restart


def nothing_more(program: RunningProgram, run: int) -> None:
    """Raise ProtocolError for data after an answer. Run 0 is hello."""
    extra = program.left_over()
    if not extra:
        return
    line, after = extra.partition(b"\n")[0], f"run {run}" if run else "hello"
    quoted = headers.quoted_line(line)
    if headers.looks_like_json(line):
        headers.wrong(f"{after} is answered twice: {quoted}", "answer each request exactly once")
    said = f"{plural(len(extra), 'byte')} too many after the answer to {after}: {quoted}"
    headers.wrong(said, "send exactly `bytes` bytes, and print to stderr")


def greet(program: RunningProgram) -> headers.Welcome:
    """Say hello. Raises DiedError, ProtocolError or UnavailableError."""
    deadline = within(STARTING)
    program.send([headers.HELLO], deadline)
    welcome = headers.read_welcome(program.line(deadline))
    nothing_more(program, 0)
    return welcome


def template_of(case: Case, catalog: Catalog, native: Native | None = None) -> RequestTemplate:
    """Return the common parts of a case's requests."""
    start: dict[str, object] = {
        "case": case.id,
        "spec": case.spec,
        "op": case.op.partition(".")[2],
        "attributes": dict(case.given),
    }
    if native:
        start["native"] = native.question(case, catalog)
    outputs = [dtype.name for dtype in case.outputs]
    return RequestTemplate(case, start, _input_names(case, catalog), case.inputs, outputs)


def request(asked: RequestTemplate, run: int, inputs: Sequence[Bits]) -> list[bytes | memoryview]:
    """Return a request: the header line, then the payloads."""
    pairs = list(zip(asked.types, inputs, strict=True))
    entries = [
        {"name": name, **headers.describe(*pair)}
        for name, pair in zip(asked.names, pairs, strict=True)
    ]
    header = {"run": run, **asked.start, "inputs": entries, "outputs": asked.outputs}
    return headers.message(headers.write_header(header), pairs)


def _input_names(case: Case, catalog: Catalog) -> list[str]:
    spec = catalog.specs.get(case.spec)
    if spec is None:
        return [f"x{n}" for n in range(len(case.inputs))]
    layouts = {layout.name: dict(layout.shapes) for layout in spec.layouts}
    there = layouts.get(case.layout) or next(iter(layouts.values()), None)
    names = [name for name, _ in spec.inputs if there is None or name in there]
    return names if len(names) == len(case.inputs) else [f"x{n}" for n in range(len(case.inputs))]
