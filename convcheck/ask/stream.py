"""Send every code of a span in chunks through reused buffers, and judge each chunk."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING, cast

import numpy as np

from convcheck.ask.chains import ask_apart, chunk_vectors, said_once
from convcheck.ask.elements import Note
from convcheck.ask.jobs import Apart, Job
from convcheck.backends.protocol import Answer, Backend, Declined, Outputs, Refused, bound
from convcheck.judge.answers import CHUNK, EVERYWHERE, Avoid, Fault, Index
from convcheck.judge.elements import SweepJudge, codes_from
from convcheck.judge.examples import fault_group
from convcheck.judge.matching import form_complaint
from convcheck.judge.result import Group, Tally
from convcheck.judge.tally import merge
from convcheck.numerics.format import Numeric
from convcheck.numerics.number import Bits
from convcheck.records import replace
from convcheck.rules.model import Case
from convcheck.semantics.expected import Decision
from convcheck.semantics.program import Program
from convcheck.semantics.runs import TILE, Piece, in_chunks, runs
from convcheck.vectors.corpus import Span

if TYPE_CHECKING:
    from convcheck.causes.search import Held


_STEP = 1 << 12  # codes that a chunk is computed from; few, to leave the cache to the backend
POISON = 0x55  # fills an output before each call, in turn with its complement


@dataclass
class _Started:
    """A backend that has answered before, so that Declined counts as Refused."""

    backend: Backend
    name: str
    version: str
    refused: bool = False

    def support(self, case: Case) -> Declined | None:
        return None

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        answer = self.backend.answer(case, inputs)
        answer = Refused(answer.message) if isinstance(answer, Declined) else answer
        self.refused = self.refused or isinstance(answer, Refused)
        return answer


class Sweep:
    """A span of whole chunks of one sign, multiples of `tile`, to send."""

    def __init__(
        self, backend: Backend, case: Case, program: Program, form: Decision, span: Span,
        note: Note, tile: int = TILE, held: "Held | None" = None,
    ) -> None:  # fmt: skip
        self.held = held
        self.backend, self.case, self.program, self.form = backend, case, program, form
        self.note, self.span, self.tile = note, span, tile
        self.source = cast(Numeric, case.inputs[0].format)
        self.target = cast(Numeric, case.outputs[0].format)
        self.size = min(CHUNK, span.count, 1 << (self.source.bits - 1))
        self.codes = codes_from(case, 0, self.size)
        step = gcd(self.size, _STEP)
        self.low, self.high = self.codes[:step].copy(), self.codes[::step, None].copy()
        self.out = np.zeros(self.size, self.target.storage)
        self.judge = SweepJudge(case, program, form, self.out)

    def tally(self) -> Tally:
        """Return the tally of its codes, empty if declined."""
        call = bound(self.backend, self.case, self.codes, self.out)
        raw, poison, answered = self.out.view(np.uint8), POISON, False
        rows = self.codes.reshape(len(self.high), -1)
        for at, pieces in self._chunks():
            # a backend may write into its input
            np.add(self.high + self.high.dtype.type(at), self.low, out=rows)
            raw.fill(poison)
            poison ^= 0xFF
            self.note("sweep", np.array([at], np.intp))
            answer = self._taken(call())
            if answer is None:
                self.judge.chunk(at, pieces)
                if self.held:
                    self.held.chunk(at, pieces, self.out)
            elif isinstance(answer, Declined) and not answered:
                return Tally({}, (), declined=sum(end - first for first, end in self.span.asked))
            else:
                self._apart(at, answer)
            answered = True
        return self.judge.tally()

    def _chunks(self) -> Iterator[tuple[int, list[Piece]]]:
        for first, end in self.span.asked:
            if self.held:
                self.held.expect(first, end, self.size, self.tile)
            program, source, target = self.program, self.source, self.target
            found = runs(program, source, target, first, end - first, self.tile)
            chunks = in_chunks(found, first, end, self.size)
            yield from zip(range(first, end, self.size), chunks, strict=True)

    def _taken(self, answer: Answer | None) -> Answer | None:
        """Copy a well-formed answer into the buffer; return any other."""
        if isinstance(answer, Outputs) and form_complaint(answer, self.case, (self.size,)) is None:
            np.copyto(self.out, answer.arrays[0])
            return None
        return answer

    def _apart(self, at: int, answer: Answer) -> None:
        vectors = chunk_vectors(self.case, self.program, self.form, at, self.size)
        started = _Started(self.backend, self.backend.name, self.backend.version)

        def told(placement: str, index: Index) -> bool:
            return self.note(placement, index + at)

        tally = ask_apart(started, vectors, told, {}, Avoid(), held=self.held)
        again = isinstance(answer, Refused | Declined) and started.refused
        if not (tally.faults or again):
            fault = fault_group(vectors, said_once(answer, vectors))
            tally = replace(tally, faults=(fault,))
        self.judge.keep(tally)


def ask_span(
    backend: Backend, job: Job, span: Span, program: Program, form: Decision, note: Note,
    held: "Held | None" = None,
) -> Tally:  # fmt: skip
    """Test the codes of a span, which `note` counts from its first."""
    case = job.case

    def told(offset: int) -> Note:
        return lambda placement, index: note(placement, index + offset)

    def group(fault: Fault) -> Group:
        first = span.first + fault.index
        vectors = chunk_vectors(case, program, form, first, 1, span.seed)
        return fault_group(vectors, replace(fault, index=0))

    faults = tuple(map(group, job.avoid.faults))
    if job.avoid.placements >= EVERYWHERE:
        return Tally({}, (), (), faults)
    if not job.died and backend.support(case) is not None:
        return Tally({}, (), declined=span.count)
    tallies = [Tally({}, (), (), faults)]
    for chunk in _apart(job, span):
        part = span.chunk(chunk.first)
        vectors = chunk_vectors(case, program, form, part.first, part.count, part.seed)
        apart, scattered = told(chunk.first), span.seed is not None
        found = ask_apart(backend, vectors, apart, chunk.skip, chunk.avoid, scattered, held)
        crashed = any(key.sort == "crashed" for key, _ in found.entries)
        crashed = crashed or any(fault.verdict == "crashed" for fault in found.faults)
        if chunk.died and not crashed:
            message = f"{chunk.died}; not reproduced when the chunk was sent alone"
            fault = group(Fault("crashed", "bulk", message, chunk.first))
            found = replace(found, faults=(*found.faults, fault))
        tallies.append(found)
    rest = replace(span, apart=tuple(span.first + chunk.first for chunk in job.apart))
    if span.seed is None and rest.asked:
        counted = told(-span.first)
        tallies.append(Sweep(backend, case, program, form, rest, counted, held=held).tally())
    return merge(tallies)


def _apart(job: Job, span: Span) -> tuple[Apart, ...]:
    """The chunks to send by themselves. For samples, which have no order, all of them."""
    if span.seed is None:
        return job.apart
    known = {chunk.first: chunk for chunk in job.apart}
    return tuple(known.get(first, Apart(first)) for first in range(0, span.count, CHUNK))
