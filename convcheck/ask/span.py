"""Test a span of a case's codes, with chunks that crashed a worker by themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from convcheck.ask.elements import Note
from convcheck.ask.isolated import ask_apart, chunk_vectors
from convcheck.ask.jobs import Apart, Job
from convcheck.ask.stream import sweep
from convcheck.backends.protocol import Backend
from convcheck.judge.answers import CHUNK, EVERYWHERE, Fault, Index
from convcheck.judge.examples import fault_group
from convcheck.judge.result import Group, Tally
from convcheck.judge.tally import merge
from convcheck.records import replace
from convcheck.semantics.expected import Decision
from convcheck.semantics.program import Program
from convcheck.vectors.span import Span

if TYPE_CHECKING:
    from convcheck.causes.held import Held


def ask_span(
    backend: Backend, job: Job, span: Span, program: Program, form: Decision, note: Note,
    held: Held | None = None,
) -> Tally:  # fmt: skip
    """Test the codes of a span. `note` gets elements counted from its first code.

    Candidate causes in `held` are checked on the answers.
    """
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
        if chunk.died and not _crashed(found):
            message = f"{chunk.died}; not reproduced when the chunk was sent alone"
            fault = group(Fault("crashed", "bulk", message, chunk.first))
            found = replace(found, faults=(*found.faults, fault))
        tallies.append(found)
    rest = replace(span, apart=tuple(span.first + chunk.first for chunk in job.apart))
    if span.seed is None and rest.asked:
        tallies.append(sweep(backend, case, program, form, rest, told(-span.first), held=held))
    return merge(tallies)


def _crashed(tally: Tally) -> bool:
    crashed = any(key.sort == "crashed" for key, _ in tally.entries)
    return crashed or any(fault.verdict == "crashed" for fault in tally.faults)


def _apart(job: Job, span: Span) -> Iterator[Apart]:
    """Yield the chunks to send by themselves. For samples, which have no order, all of them."""
    if span.seed is None:
        yield from job.apart
        return
    known = {chunk.first: chunk for chunk in job.apart}
    for first in range(0, span.count, CHUNK):
        yield known.get(first, Apart(first))


def chunk_of(job: Job, index: Index) -> Apart:
    """Return the chunk of a span's elements, with what is known of it."""
    first = int(index.reshape(-1)[0]) // CHUNK * CHUNK
    return next((chunk for chunk in job.apart if chunk.first == first), Apart(first))


def with_chunk(job: Job, chunk: Apart) -> Job:
    """Return the job with a chunk added or replaced."""
    others = tuple(other for other in job.apart if other.first != chunk.first)
    return replace(job, apart=tuple(sorted((*others, chunk), key=lambda c: c.first)))
