"""Test causes against every answer of a sweep, by runs of codes."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from convcheck.causes.search import Search
from convcheck.causes.trial import LANES, Trial, judged_ones
from convcheck.errors import in_a_line
from convcheck.judge.answers import Answers
from convcheck.judge.matching import Mask
from convcheck.judge.result import Fit, Tally
from convcheck.judge.stream import unlike
from convcheck.numerics.format import Numeric
from convcheck.numerics.number import Codes
from convcheck.records import replace
from convcheck.rules.model import Case
from convcheck.semantics.answers_at import points_of
from convcheck.semantics.compile import compile_wrong, readings_at
from convcheck.semantics.evaluate import evaluate
from convcheck.semantics.expected import UNDEFINED
from convcheck.semantics.program import Program
from convcheck.semantics.runs import Affine, Constant, Piece, Unknown, in_chunks, runs
from convcheck.vectors.model import VectorSet

_BLOCK = 1 << 14  # codes that fit the CPU cache


@dataclass
class _Candidate:
    fit: Fit
    program: Program
    chunks: dict[int, list[Piece]] = field(default_factory=dict)  # first code -> its pieces


class Held:
    """Causes that fit every answer of a sweep so far. An error costs only the causes."""

    def __init__(self, search: Search, case: Case, fits: Iterable[Fit]) -> None:
        self.spec, self.case = search.catalog.specs[case.spec], case
        self.source = cast(Numeric, case.inputs[0].format)
        self.target = cast(Numeric, case.outputs[0].format)
        self.left: list[_Candidate] = []
        self.fault = ""  # the error that ended the search
        with self._at_no_cost():
            named = ((fit, search.named(fit.names)) for fit in fits)
            programs = ((fit, compile_wrong(self.spec, case, causes)) for fit, causes in named)
            self.left = [_Candidate(fit, program) for fit, program in programs if program]

    @contextmanager
    def _at_no_cost(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.left, self.fault = [], in_a_line(error)

    def fitted(self, tally: Tally) -> Tally:
        """Return the tally with causes left, none if a call failed or was declined."""
        crashed = any(key.sort == "crashed" for key, _ in tally.entries)
        if crashed or tally.faults or tally.declined or self.fault:
            return replace(tally, search_fault=self.fault)
        return replace(tally, fits=tuple(candidate.fit for candidate in self.left))

    def expect(self, first: int, end: int, size: int, tile: int) -> None:
        """Compute the candidates' runs for codes in chunks of one size."""
        with self._at_no_cost():
            for candidate in self.left:
                said = runs(candidate.program, self.source, self.target, first, end - first, tile)
                chunks = in_chunks(said, first, end, size)
                candidate.chunks.update(zip(range(first, end, size), chunks, strict=True))

    def chunk(self, at: int, due: Iterable[Piece], got: Codes) -> None:
        """Drop causes that miss answers to codes from `at` on, expected as `due`."""
        with self._at_no_cost():
            if self.left:
                free = [slice(a - at, b - at) for run, a, b in due if _is_free(run)]
                self.left = [one for one in self.left if self._gives_chunk(one, at, free, got)]

    def elements(self, vectors: VectorSet, answers: Answers) -> None:
        """Drop causes that miss answers to codes asked one by one."""
        with self._at_no_cost():
            index = judged_ones(vectors, answers)
            if index is None:
                self.left = []
            elif self.left and len(index):
                trial = Trial.of(self.spec, vectors, answers, index)
                whole = len(vectors) // LANES * LANES  # without the tail of whole vectors
                counts = (whole if one.fit.whole_vectors else len(vectors) for one in self.left)
                tails = [(one, index >= n) for one, n in zip(self.left, counts, strict=True)]
                self.left = [one for one, tail in tails if (tail | _said(one, trial)).all()]

    def _gives_chunk(self, one: _Candidate, at: int, free: list[slice], got: Codes) -> bool:
        differs = np.empty(len(got), bool)
        for piece in one.chunks.pop(at):
            part = slice(piece[1] - at, piece[2] - at)
            reading = one.fit.reading
            differs[part] = unlike(piece, got[part], self.source, self.target, reading)
        for part in free:
            differs[part] = False
        index = np.flatnonzero(differs)
        codes, got = (at + index).astype(self.source.storage), got[index]
        blocks = (slice(i, i + _BLOCK) for i in range(0, len(codes), _BLOCK))
        return all(self._gives_block(one, codes[block], got[block]) for block in blocks)

    def _gives_block(self, one: _Candidate, codes: Codes, got: Codes) -> bool:
        answered = np.zeros(len(codes), bool)
        trial = Trial(self.spec, self.case, points_of(self.case, codes), got, answered, ())
        missed = np.flatnonzero(~_said(one, trial))
        if not len(missed):
            return True
        due = evaluate(self.spec, self.case, codes[missed]).readings
        return bool(np.any([reading.patterns == UNDEFINED for reading in due], axis=0).all())


def _said(one: _Candidate, trial: Trial) -> Mask:
    readings = readings_at(one.program, trial.points)
    return trial.as_due(readings[min(one.fit.reading, len(readings) - 1)])


def _is_free(run: Constant | Affine | Unknown) -> bool:
    return isinstance(run, Constant) and any(p == UNDEFINED for _, p in run.outcomes)
