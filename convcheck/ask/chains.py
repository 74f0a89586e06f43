"""Test chains: each cast alone, then the graph, or the casts in sequence."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from convcheck.ask.elements import Note, ask
from convcheck.backends.protocol import Answer, Backend, Declined, Outputs, Raised, Refused
from convcheck.judge.answers import ANSWERED, CHUNK, EVERYWHERE, Avoid, Fault
from convcheck.judge.elements import codes_from, tally_of_elements
from convcheck.judge.examples import fault_groups
from convcheck.judge.matching import form_complaint
from convcheck.judge.ranges import Pair
from convcheck.judge.result import Tally
from convcheck.numerics.format import Numeric
from convcheck.numerics.number import Bits, Codes
from convcheck.numerics.order import positions
from convcheck.records import replace
from convcheck.rules.cases import fixed_tensors
from convcheck.rules.model import Case, Spec
from convcheck.semantics.answers_at import run_program
from convcheck.semantics.expected import EXACT, UNDEFINED, Decision, Expected, Reading
from convcheck.semantics.program import Program
from convcheck.semantics.runs import lookup
from convcheck.vectors.model import VectorSet
from convcheck.vectors.samples import samples

if TYPE_CHECKING:
    from convcheck.causes.search import Held
    from convcheck.chains.cast import U64


BUT_BULK = EVERYWHERE - {"bulk"}  # placements without codes of spans


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
    scattered: bool = False, held: "Held | None" = None,
) -> Tally:  # fmt: skip
    """Send codes in bulk, consecutive unless `scattered`, and check the causes in `held`."""
    avoid = Avoid(avoid.together, avoid.placements | BUT_BULK, avoid.faults)
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
    """The ranges of positions of consecutive codes, ends included. The sign may change."""
    at = np.sort(positions(cast(Numeric, case.inputs[0].format), codes))
    cuts = np.flatnonzero(np.diff(at) != 1)
    firsts, lasts = [int(at[0]), *at[cuts + 1].tolist()], [*at[cuts].tolist(), int(at[-1])]
    return tuple(zip(firsts, lasts, strict=True))


ALONE = "a cast alone is wrong"


# the mask of the inputs for which all casts are right, and why one cannot be tested, or ''
CastsAlone = tuple[NDArray[np.bool_], str]


def ask_alone(backend: Backend, casts: Iterable[tuple[VectorSet, bool]], note: Note) -> CastsAlone:
    """Test casts alone, the chain's own (True) and replacements."""
    right: list[NDArray[np.bool_]] = []
    for vectors, own in casts:
        answers = ask(backend, vectors, note, {}, Avoid(placements=BUT_BULK))
        if answers.declined and own:
            said = f"{vectors.case.name} alone: {answers.declined.message}"
            return np.zeros(len(vectors), bool), said
        if answers.declined:  # the backend cannot use it as a replacement
            continue
        due = vectors.expected.readings[0]
        exact = (answers.state == ANSWERED) & (due.patterns == EXACT)
        right.append(exact & (answers.got == due.codes))
    return np.logical_and.reduce(right), ""


def own_results(
    backend: Backend, spec: Spec, vectors: VectorSet, note: Note, casts: Sequence[Case]
) -> "U64 | None":
    """Return the codes after some casts, each sent alone, or None without an answer."""
    from convcheck.chains.asked import cast_alone

    codes = vectors.inputs[0].astype(np.uint64)
    for each in casts:
        alone = cast_alone(spec, each, codes, vectors.case)
        answers = ask(backend, alone, note, {}, Avoid(placements=BUT_BULK))
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
