"""Test a chunk of codes by itself, and find the codes that are refused or crash."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import numpy as np

from convcheck.ask.elements import Note, ask
from convcheck.backends.protocol import Answer, Backend, Declined, Raised, Refused
from convcheck.judge.answers import CHUNK, EVERYWHERE, Avoid, Fault
from convcheck.judge.elements import tally_of_elements
from convcheck.judge.examples import fault_groups
from convcheck.judge.matching import form_complaint
from convcheck.judge.ranges import Pair
from convcheck.judge.result import Tally
from convcheck.judge.stream import codes_from
from convcheck.numerics.format import Numeric
from convcheck.numerics.number import Codes
from convcheck.numerics.order import positions
from convcheck.records import replace
from convcheck.rules.model import Case
from convcheck.semantics.answers_at import run_program
from convcheck.semantics.expected import Decision
from convcheck.semantics.program import Program
from convcheck.semantics.runs import lookup
from convcheck.vectors.model import VectorSet
from convcheck.vectors.samples import samples

if TYPE_CHECKING:
    from convcheck.causes.held import Held

OTHERS = EVERYWHERE - {"bulk"}  # placements without codes of spans


def chunk_vectors(
    case: Case, program: Program, form: Decision, first: int, count: int, seed: int | None = None
) -> VectorSet:
    """Return consecutive codes, or samples, with their expected results."""
    if seed is None:
        codes = codes_from(case, first, count)
    else:
        source = cast(Numeric, case.inputs[0].format)
        codes = samples(source, case.outputs[0].format, seed, first, count)
    if count < CHUNK or program.computed:
        expected = run_program(program, case, codes)
    else:
        source, target = (cast(Numeric, t[0].format) for t in (case.inputs, case.outputs))
        expected = lookup(program, source, target).expected(codes)
    return VectorSet(case, (codes,), expected, "exhaustive", form)


def ask_apart(
    backend: Backend, vectors: VectorSet, note: Note, skip: Mapping[int, str], avoid: Avoid,
    scattered: bool = False, held: Held | None = None,
) -> Tally:  # fmt: skip
    """Send codes in bulk, and find those that are refused or crash.

    Codes are consecutive unless `scattered`. Candidate causes in `held` are checked on the answers.
    """
    avoid = Avoid(avoid.together, avoid.placements | OTHERS, avoid.faults)
    answers = ask(backend, vectors, note, skip, avoid)
    if held:
        held.elements(vectors, answers)
    if answers.declined is not None:
        return Tally({}, (), declined=len(vectors))
    case, codes = vectors.case, cast(Codes, vectors.inputs[0])
    covered = None if scattered else _positions_of(case, codes)
    tally = tally_of_elements(vectors, answers, covered)
    return replace(tally, faults=fault_groups(vectors, answers.faults))


def said_once(answer: Answer, vectors: VectorSet) -> Fault:
    """Return the fault of an answer that changed when the codes were sent again."""
    kind, said = "refused", getattr(answer, "message", "")
    if isinstance(answer, Raised):
        kind = "error"
    elif not isinstance(answer, Refused | Declined):
        complaint = form_complaint(answer, vectors.case, (len(vectors),))
        kind, said = complaint or ("not a code of the type", "some of the answers")
    return Fault(kind, "bulk", f"{said}; not reproduced when sent again", 0)


def _positions_of(case: Case, codes: Codes) -> tuple[Pair, ...]:
    """Return the ranges of positions of consecutive codes, ends included. The sign may change."""
    at = np.sort(positions(cast(Numeric, case.inputs[0].format), codes))
    cuts = np.flatnonzero(np.diff(at) != 1)
    firsts, lasts = [int(at[0]), *at[cuts + 1].tolist()], [*at[cuts].tolist(), int(at[-1])]
    return tuple(zip(firsts, lasts, strict=True))
