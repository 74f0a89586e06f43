"""Ask every code of a part of a source, in chunks through reused buffers, and judge on the way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from convcheck.backends.protocol import Answer, Backend, Declined, Refused, bound
from convcheck.numerics.format import Bits, Numeric
from convcheck.run.answers import CHUNK, Avoid
from convcheck.run.apart import ask_apart, chunk_vectors
from convcheck.run.ask import Note
from convcheck.run.tally import Tally
from convcheck.run.weigh import Piece, Weighing, codes_from
from convcheck.semantics.expected import Decision
from convcheck.semantics.outline import TILE, Stretch, outline
from convcheck.semantics.program import Program
from convcheck.spec.model import Case
from convcheck.vectors.span import Span

_POISON = 0x55  # what an output is filled with before it is asked for, and in turn its complement


def sweep(
    backend: Backend, case: Case, program: Program, form: Decision, span: Span, note: Note,
    tile: int = TILE,
) -> Tally:  # fmt: skip
    """Ask a span of codes, which begins and ends with a chunk, and tally the answers.

    A chunk is CHUNK codes, or of a small source or span fewer: a multiple of `tile`, and all of
    one sign. An empty tally says that the backend declined the very first question. `note` is
    told of each chunk before it is asked. What the adapter raises is not caught.
    """
    return _Sweep(backend, case, program, form, span, note, tile).tally()


@dataclass
class _Started:
    """A backend that has answered before: what it declines now, it refuses."""

    backend: Backend
    name: str
    version: str

    def support(self, case: Case) -> Declined | None:
        return None

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        answer = self.backend.answer(case, inputs)
        return Refused(answer.message) if isinstance(answer, Declined) else answer


class _Sweep:
    """The buffers, and the state of asking one span."""

    def __init__(
        self, backend: Backend, case: Case, program: Program, form: Decision, span: Span,
        note: Note, tile: int,
    ) -> None:  # fmt: skip
        self.backend, self.case, self.program, self.form = backend, case, program, form
        self.note, self.span, self.tile = note, span, tile
        self.source = cast(Numeric, case.inputs[0].format)
        self.target = cast(Numeric, case.outputs[0].format)
        self.size = min(CHUNK, span.count, 1 << (self.source.bits - 1))
        self.steps = codes_from(case, 0, self.size)
        self.codes = self.steps.copy()
        self.out = np.zeros(self.size, self.target.storage)
        self.weighing = Weighing(case, program, form, self.out, tile)

    def tally(self) -> Tally:
        """Ask, and give what was found."""
        call = bound(self.backend, self.case, self.codes, self.out)
        raw, poison, answered = self.out.view(np.uint8), _POISON, False
        for at, pieces in self._chunks():
            # made anew each time: a backend may have written into its input
            np.add(self.steps, self.steps.dtype.type(at), out=self.codes)
            raw.fill(poison)
            poison ^= 0xFF
            self.note("sweep", np.array([at], np.intp))
            answer = call()
            if answer is None:
                self.weighing.chunk(at, pieces)
            elif isinstance(answer, Declined) and not answered:
                return Tally({}, {}, declined=self.span.count)
            else:
                self._apart(at)
            answered = True
        return self.weighing.tally()

    def _chunks(self) -> Iterator[tuple[int, list[Piece]]]:
        """Give the first code of each chunk, and the pieces of stretches that lie in it."""
        for first, end in self.span.asked:
            stretches = iter(self._outline(first, end))
            stretch = next(stretches)
            for at in range(first, end, self.size):
                pieces: list[Piece] = []
                begin, stop = at, at + self.size
                while begin < stop:
                    if stretch.end <= begin:
                        stretch = next(stretches)
                    last = min(stretch.end, stop)
                    pieces.append((stretch, begin, last))
                    begin = last
                yield at, pieces

    def _outline(self, first: int, end: int) -> list[Stretch]:
        program, source, target = self.program, self.source, self.target
        return outline(program, source, target, first, end - first, self.tile)

    def _apart(self, at: int) -> None:
        """Ask a chunk again that was refused, or answered with something that has no form."""
        vectors = chunk_vectors(self.case, self.program, self.form, at, self.size)
        started = _Started(self.backend, self.backend.name, self.backend.version)
        self.weighing.keep(ask_apart(started, vectors, self.note, {}, Avoid()))
