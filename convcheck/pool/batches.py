"""Which jobs one worker is handed at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from convcheck.ask.jobs import Job

LARGEST_BATCH = 32


def batches(jobs: Sequence[Job], wanted: int) -> list[list[Job]]:
    """Cut jobs into about so many batches, of at most LARGEST_BATCH jobs.

    Versions of an operator ask the same: what a worker has read and judged of one serves the next,
    so such cases come one after the other; the latest comes first, since it is asked more if it is
    answered. What differs in attribute values only is in one batch, if there is room in one: a
    runtime that does not tell them apart shows.
    """
    size = max(1, min(LARGEST_BATCH, len(jobs) // max(wanted, 1)))
    found, batch = list[list[Job]](), list[Job]()
    for group in _groups(jobs):
        if len(batch) + len(group) > size:
            found.append(batch)
            batch = []
        batch += group
        while len(batch) > LARGEST_BATCH:
            found.append(batch[:LARGEST_BATCH])
            batch = batch[LARGEST_BATCH:]
    return [one for one in (*found, batch) if one]


def _groups(jobs: Sequence[Job]) -> Iterator[list[Job]]:
    """Yield together what is asked of the same types, by its vectors; then each span by itself."""
    types: dict[str, dict[str, list[Job]]] = {}
    for job in jobs:
        questions = types.setdefault(job.case.question.partition("/")[0], {})
        questions.setdefault(job.case.question, []).append(job)
    for questions in types.values():
        group = [job for same in questions.values() for job in reversed(same)]
        yield [job for job in group if job.span is None]
        yield from ([job] for job in group if job.span is not None)
