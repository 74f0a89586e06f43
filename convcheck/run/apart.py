"""A chunk of codes asked by itself, with all that finds out which of them are to blame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np

from convcheck.backends.protocol import Backend
from convcheck.numerics.format import Codes, Numeric
from convcheck.numerics.order import positions
from convcheck.run.answers import EVERYWHERE, Avoid
from convcheck.run.ask import Note, ask
from convcheck.run.judge import group_of_fault
from convcheck.run.ranges import Pair
from convcheck.run.settle import settle
from convcheck.run.tally import Tally
from convcheck.run.weigh import codes_from
from convcheck.semantics.evaluate import run_program
from convcheck.semantics.expected import Decision
from convcheck.semantics.program import Program
from convcheck.spec.model import Case
from convcheck.vectors.model import VectorSet

_OTHERS = EVERYWHERE - {"bulk"}


def chunk_vectors(
    case: Case, program: Program, form: Decision, first: int, count: int
) -> VectorSet:
    """Give consecutive codes with what is expected of each."""
    codes = codes_from(case, first, count)
    return VectorSet(case, (codes,), run_program(program, case, codes), "exhaustive", form)


def ask_apart(
    backend: Backend, vectors: VectorSet, note: Note, skip: Mapping[int, str], avoid: Avoid
) -> Tally:
    """Ask consecutive codes in bulk, with all that finds out which of them are refused, or crash.

    An empty tally says that they were declined.
    """
    avoid = Avoid(avoid.together, avoid.placements | _OTHERS, avoid.faults)
    answers = ask(backend, vectors, note, skip, avoid)
    if answers.declined is not None:
        return Tally({}, {}, ())
    case, codes = vectors.case, cast(Codes, vectors.inputs[0])
    tally = settle(case, codes, vectors.expected, answers, _positions_of(case, codes))
    faults = tuple(group_of_fault(vectors, answers, fault) for fault in answers.faults)
    return Tally(tally.asked, tally.entries, tally.covered, faults)


def _positions_of(case: Case, codes: Codes) -> tuple[Pair, ...]:
    """Give the positions of consecutive codes, ends included; a sign may turn between them."""
    at = np.sort(positions(cast(Numeric, case.inputs[0].format), codes))
    cuts = np.flatnonzero(np.diff(at) != 1)
    firsts, lasts = [int(at[0]), *at[cuts + 1].tolist()], [*at[cuts].tolist(), int(at[-1])]
    return tuple(zip(firsts, lasts, strict=True))
