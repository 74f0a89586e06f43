"""Group jobs into batches for workers."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from convcheck.ask.jobs import Job

LARGEST = 32  # jobs in a batch, unless they have to stay together


def in_batches(jobs: Sequence[Job], lanes: int, a_lane: int) -> deque[list[Job]]:
    """Return about `a_lane` batches per lane. Cases with the same types share a batch.

    Versions of an operator are adjacent, so that a worker reuses vectors and answers.
    """
    size = max(1, min(LARGEST, len(jobs) // (max(lanes, 1) * a_lane)))
    batches, batch = deque[list[Job]](), list[Job]()
    for group in _groups(jobs):
        if len(batch) + len(group) > size:
            batches.append(batch)
            batch = []
        batch = batch + group
    return deque(filter(None, (*batches, batch)))


def _groups(jobs: Sequence[Job]) -> Iterator[list[Job]]:
    """Yield jobs of the same types, adjacent to show kernels that ignore attribute values.

    Spans and whole calls are jobs by themselves.
    """
    types: dict[str, dict[str, list[Job]]] = {}
    for job in jobs:
        questions = types.setdefault(job.case.question.partition("/")[0], {})
        questions.setdefault(job.case.question, []).append(job)
    for questions in types.values():
        alike = [job for same in questions.values() for job in reversed(same)]
        yield [job for job in alike if _has_siblings(job)]
        yield from ([job] for job in alike if not _has_siblings(job))


def _has_siblings(job: Job) -> bool:
    return job.span is None and not job.case.whole_calls
