"""Test chains: each cast alone, then the graph, or the casts in sequence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from convcheck.ask.elements import Note, ask
from convcheck.ask.isolated import OTHERS
from convcheck.backends.protocol import Answer, Backend, Declined, Outputs
from convcheck.judge.answers import ANSWERED, Avoid
from convcheck.judge.matching import form_complaint
from convcheck.numerics.number import Bits
from convcheck.records import replace
from convcheck.rules.fixed import fixed_tensors
from convcheck.rules.model import Case, Spec
from convcheck.semantics.expected import EXACT, UNDEFINED, Decision, Expected, Reading
from convcheck.vectors.model import VectorSet

if TYPE_CHECKING:
    from convcheck.chains.cast import U64

ALONE = "a cast alone is wrong"


@dataclass(frozen=True)
class CastsAlone:
    """Results of a chain's casts, each tested alone."""

    #: Mask of the chain's inputs for which all casts are right.
    right: NDArray[np.bool_]
    #: Why a cast cannot be tested; '' if all can.
    declined: str = ""


def ask_alone(backend: Backend, casts: Iterable[tuple[VectorSet, bool]], note: Note) -> CastsAlone:
    """Test casts alone. Each has a flag: True for the chain's own, False for a replacement."""
    right: NDArray[np.bool_] | None = None
    for vectors, own in casts:
        answers = ask(backend, vectors, note, {}, Avoid(placements=OTHERS))
        if answers.declined and own:
            nothing = np.zeros(len(vectors), bool)
            return CastsAlone(nothing, f"{vectors.case.name} alone: {answers.declined.message}")
        if answers.declined:  # the backend cannot use it as a replacement
            continue
        due = vectors.expected.readings[0]
        mine = (answers.state == ANSWERED) & (due.patterns == EXACT) & (answers.got == due.codes)
        right = mine if right is None else right & mine
    if right is None:
        raise ValueError("a chain without casts")
    return CastsAlone(right)


def own_results(
    backend: Backend, spec: Spec, vectors: VectorSet, note: Note, casts: Sequence[Case]
) -> U64 | None:
    """Return the codes after some casts in sequence, each sent alone, or None without an answer."""
    from convcheck.chains.asked import cast_alone

    codes = vectors.inputs[0].astype(np.uint64)
    for each in casts:
        alone = cast_alone(spec, each, codes, vectors.case)
        answers = ask(backend, alone, note, {}, Avoid(placements=OTHERS))
        if answers.declined or answers.faults or (answers.state != ANSWERED).any():
            return None
        codes = answers.got.astype(np.uint64)
    return codes


def open_where_wrong(vectors: VectorSet, right: NDArray[np.bool_]) -> VectorSet:
    """Return a chain's vectors, undefined for inputs on which a single cast is wrong."""
    if right.all():
        return vectors
    first, rows = vectors.expected.decisions[0], np.where(right, 0, 1).astype(np.int16)
    open_row = Decision(
        first.rule, ALONE, "undefined", first.cite, first.source, first.place, first.readings,
        gloss=first.gloss,
    )  # fmt: skip
    readings = tuple(
        Reading(each.codes, np.where(right, each.patterns, UNDEFINED).astype(np.uint8))
        for each in vectors.expected.readings
    )
    return replace(vectors, expected=Expected(rows, (first, open_row), readings))


def in_sequence(backend: Backend, case: Case, inputs: Sequence[Bits]) -> Answer:
    """Send the casts of a chain one after the other."""
    answer: Answer = Declined("a chain without casts")
    for hop in case.hops:
        answer = backend.answer(hop.call, [*inputs, *fixed_tensors(hop)])
        if not isinstance(answer, Outputs) or form_complaint(answer, hop, inputs[0].shape):
            return answer
        inputs = answer.arrays
    return answer
