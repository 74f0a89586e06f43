"""Check a program that speaks the process protocol, up to the first violation."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from convcheck.backends.checked import LONGEST_NAME, bounded
from convcheck.backends.process.backend import (
    RequestTemplate,
    greet,
    native_of,
    nothing_more,
    receive,
    request,
    template_of,
)
from convcheck.backends.process.program import RunningProgram, within
from convcheck.backends.protocol import Answer, DiedError, Outputs, ProtocolError, Raised
from convcheck.errors import ConvcheckError, UnavailableError
from convcheck.files import unnamed_file
from convcheck.numerics.format import Text
from convcheck.numerics.number import Bits
from convcheck.numerics.words import code_of
from convcheck.records import grouped
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case, DType
from convcheck.streams import plural

PATIENCE = 10.0  # seconds for an answer
ENDING = 5.0  # seconds for a program to end after its input
LARGE = 1 << 22  # bytes
NOBODYS = "convcheck.NobodyKnowsThis"
STEPS = {
    "starts": "The program is started without a shell; it reads stdin and writes to stdout.",
    "answers hello": 'The first line is {"hello": 1}. Answer {"hello": 1, "name": "mine", '
    '"version": "1.0"} and a line feed, and flush.',
    "declines what nobody knows": 'A program answers what it does not support with {"run": 7, '
    '"declined": "why"}, after reading the payload.',
    "answers or declines every pair of types": "An answer is a line with the run of the request "
    "and one of outputs, declined, refused; then the bytes of the outputs.",
    "answers a scalar": "Shape [] is a scalar: one element. The answer has the shape of the input.",
    "answers a tensor without elements": "A shape with a 0 in it has no elements and no bytes.",
    "answers three requests sent at once": "Requests may be pipelined; answer in order. "
    "Read exactly as many bytes as the header says.",
    "answers 4 MiB": "A pipe takes and gives a tensor in pieces: read and write until all of its "
    "bytes are through.",
    "ends with its input": "At the end of its input the program exits with status 0, and writes "
    "nothing more to stdout.",
}


@dataclass(frozen=True)
class ProbeStep:
    """A step's note, or what is wrong."""

    name: str
    note: str = ""
    wrong: str = ""
    hint: str = ""

    @property
    def rule(self) -> str:
        """The rule of the protocol."""
        return STEPS[self.name]


@dataclass
class Probe:
    """The check of a program. `supported` are cases with outputs."""

    command: str
    catalog: Catalog
    asked: Sequence[Sequence[Case]]  # each list is tried until a case gets outputs
    advance: Callable[[], None] = lambda: None  # called after each list
    supported: list[Case] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)  # its last lines on stderr

    def steps(self) -> Iterator[ProbeStep]:
        """Yield the steps up to the first failure."""
        with unnamed_file() as log:
            try:
                self._program = RunningProgram(self.command, own_group=True, stderr=log)
            except ConvcheckError as error:
                yield ProbeStep("starts", wrong=error.message, hint=error.hint)
                return
            try:
                yield from self._run_steps()
            finally:
                self._program.leave()
                log.seek(0)
                lines = log.read()[-4096:].decode(errors="replace").splitlines()
                self.printed = [line for line in lines if line.strip()][-3:]

    def _run_steps(self) -> Iterator[ProbeStep]:
        self._run = 0
        scalar, empty = partial(self._shaped, ()), partial(self._shaped, (0,))
        doing: Sequence[Callable[[], str]] = (
            lambda: "", self._hello, self._nobodys, self._pairs, scalar, empty, self._several,
            self._large, self._end,
        )  # fmt: skip
        for name, do in zip(STEPS, doing, strict=True):
            try:
                note = do()
            except (ProtocolError, UnavailableError) as error:
                yield ProbeStep(name, wrong=bounded(error.message), hint=bounded(error.hint))
                return
            except DiedError as error:
                yield ProbeStep(name, wrong=bounded(error.how))
                return
            yield ProbeStep(name, note)

    def _hello(self) -> str:
        welcome = greet(self._program)
        self._native = native_of(welcome.native)
        return bounded(str(welcome), LONGEST_NAME)

    def _nobodys(self) -> str:
        dtype = next(iter(self.catalog.types.types.values()))
        start = {
            "case": f"{NOBODYS}-1/x",
            "spec": f"{NOBODYS}-1",
            "op": NOBODYS.partition(".")[2],
            "attributes": {},
        }
        bits = [_ones(dtype, (3,))]
        self._run += 1
        known = RequestTemplate(None, start, ["x"], [dtype], [dtype.name])
        self._program.send(request(known, self._run, bits), within(PATIENCE))
        answer = self._answer(bits, self._run, None)
        if isinstance(answer, Outputs):
            raise ProtocolError("it answered an operator that does not exist with outputs",
                                hint="check `op`, and decline operators that you do "
                                "not know")  # fmt: skip
        return _said(answer)

    def _pairs(self) -> str:
        for alike in self.asked:
            if found := next(filter(self._answers, alike), None):
                self.supported.append(found)
            self.advance()
        if not self.supported:
            raise ProtocolError(f"it gave outputs to none of {plural(len(self.asked), 'question')}",
                                hint="match `op`, `type` and `outputs` as `convcheck show types` "
                                "spells them")  # fmt: skip
        return f"outputs for {len(self.supported):,} of {len(self.asked):,}"

    def _answers(self, case: Case) -> bool:
        return isinstance(self._ask(case, _inputs(case, (3,))), Outputs)

    def _shaped(self, shape: tuple[int, ...]) -> str:
        case = self._element_case()
        if case is None:
            return "skipped: it supports no element-wise conversion"
        answer = self._ask(case, _inputs(case, shape))
        return "" if isinstance(answer, Outputs) else _said(answer)

    def _several(self) -> str:
        case = self._element_case() or self.supported[0]
        sizes = ((1,), (2,), (5,)) if not case.whole_calls else ((3,),) * 3
        asked = [_inputs(case, shape) for shape in sizes]
        first, self._run = self._run + 1, self._run + 3
        known = template_of(case, self.catalog, self._native)
        parts = [p for n, bits in enumerate(asked) for p in request(known, first + n, bits)]
        self._program.send([b"".join(parts)], within(PATIENCE))
        for n, bits in enumerate(asked):
            self._answer(bits, first + n, case, last=n == 2)
        return ""

    def _large(self) -> str:
        case = self._element_case()
        if case is None:
            return "skipped: it supports no element-wise conversion"
        inputs = _inputs(case, (LARGE // case.inputs[0].format.storage.itemsize,))
        begun = time.monotonic()
        answer = self._ask(case, inputs)
        if not isinstance(answer, Outputs):
            return _said(answer)
        moved = LARGE + sum(a.nbytes for a in answer.arrays)
        return f"{moved / (time.monotonic() - begun) / 1e6:,.0f} MB/s, both ways and the work"

    def _end(self) -> str:
        begun = time.monotonic()
        self._program.end_input()
        status = self._program.wait(ENDING)
        if status is None:
            raise ProtocolError(f"it was still running {ENDING:g} s after the end of its input",
                                hint="leave the loop at the end of the input")  # fmt: skip
        if status:
            raise ProtocolError(f"it ended with status {status}", hint="return 0 from main")
        if extra := self._program.rest():
            wrote = f"it wrote {plural(len(extra), 'byte')} to stdout: {extra[:60]!r}"
            raise ProtocolError(f"after its input had ended {wrote}",
                                hint="print diagnostics to stderr")  # fmt: skip
        return f"after {(time.monotonic() - begun) * 1000:,.0f} ms"

    def _element_case(self) -> Case | None:
        found = [c for c in self.supported if not c.whole_calls and c.sources == c.inputs]
        numbers = (c for c in found if not isinstance(c.inputs[0].format, Text))
        return next(numbers, None)

    def _ask(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        self._run += 1
        known = template_of(case, self.catalog, self._native)
        self._program.send(request(known, self._run, inputs), within(PATIENCE))
        return self._answer(inputs, self._run, case)

    def _answer(
        self, inputs: Sequence[Bits], run: int, case: Case | None, *, last: bool = True
    ) -> Answer:
        types = self.catalog.types.types
        answer, _ = receive(self._program, types, run, inputs, within(PATIENCE))
        if isinstance(answer, Raised):
            raise ProtocolError(answer.message)
        if last:
            nothing_more(self._program, run)
        if case and isinstance(answer, Outputs):
            _check_form(case, inputs, answer)
        return answer


def questions(cases: Iterable[Case]) -> list[list[Case]]:
    """Return the cases of each spec and combination of types, with all attribute values."""
    asked = (case for case in cases if not case.outside)
    return [*grouped(((case.spec, case.inputs, case.outputs), case) for case in asked).values()]


def _inputs(case: Case, shape: tuple[int, ...]) -> list[Bits]:
    """Return inputs that are all 1. Inputs of whole calls have their ranks."""
    ranks = case.ranks or (None,) * len(case.inputs)
    shapes = (shape if rank is None else (1,) * rank for rank in ranks)
    return [_ones(dtype, shape) for dtype, shape in zip(case.inputs, shapes, strict=True)]


def _ones(dtype: DType, shape: tuple[int, ...]) -> Bits:
    if isinstance(dtype.format, Text):
        return np.full(shape, "1", object)
    return np.full(shape, code_of(dtype.format, "1")[0], dtype.format.storage)


def _check_form(case: Case, inputs: Sequence[Bits], answer: Outputs) -> None:
    due = [dtype.name for dtype in case.outputs] or list(answer.types[:1])
    if list(answer.types) != due:
        raise ProtocolError(f"asked for {', '.join(due)}, it answered {', '.join(answer.types)}: "
                            f"{case.id}", hint="`outputs` has the expected types; "
                            "decline what you do not support")  # fmt: skip
    shape, got = inputs[0].shape, answer.arrays[0].shape
    if not case.whole_calls and got != shape:
        raise ProtocolError(f"an input of shape {list(shape)} came back as {list(got)}: {case.id}",
                            hint="return the input's shape, also for [] and [0]")  # fmt: skip


def _said(answer: Answer) -> str:
    words = getattr(answer, "message", "")
    return f"{type(answer).__name__.lower()}: {words}"[:70]
