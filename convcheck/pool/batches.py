"""Which jobs a worker is handed at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from convcheck.ask.jobs import Job

LARGEST = 32  # jobs of a batch that could be cut


def in_batches(jobs: Sequence[Job], lanes: int, a_lane: int) -> deque[list[Job]]:
    """Cut jobs into so many batches a lane, if there are enough. Cases that differ in attribute
    values only stay together, and may make a batch larger.

    Versions of an operator ask the same: what a worker has read and judged of one serves the next,
    so such cases come one after the other; the latest comes first, since it is asked more if it is
    answered.
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
    """Yield together what is asked of the same types. Those with other attribute values come one
    after the other: a runtime that does not tell them apart shows. A span, or whole calls, are not
    held to that.
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
