"""After a death: find the smallest set of inputs that does it."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from convcheck.ask.jobs import Job
from convcheck.judge.answers import ANOTHER, BETWEEN, EVERYWHERE, TELLING, Fault, Index
from convcheck.pool.messages import NotedCall
from convcheck.records import replace
from convcheck.wording import plural

PIECE = 256  # of a call that is larger, the piece is found before the elements in it
HOPELESS = 8  # so many deadly inputs, with none tried between them that is not
HOPELESS_HUNG = 2  # the same for time-outs, each of which costs the run much longer
MOST_REPLAYS = 48  # to make a set of inputs smaller that does it only together


class Replayer(Protocol):
    """Makes calls in a worker process, and counts the workers that this costs."""

    how: str  # what became of the worker the last time that one died
    hung: bool  # whether it was a time-out

    @property
    def spent(self) -> bool:
        """Whether the case has cost all the restarts that it may."""
        ...

    def replay(self, calls: list[Index], *, fresh: bool = False) -> int | None:
        """Make calls in order, give the position of the deadly one; `fresh`: in a new worker."""
        ...


def narrow(job: Job, call: NotedCall, replayer: Replayer) -> Job:
    """Return the job with what is to be avoided, and reported, so that it can go on."""
    if call.placement == ANOTHER:  # which is to answer for it itself
        return replace(job, later=())
    if call.placement == TELLING:  # nothing is due there
        return without(job, TELLING)
    if call.placement in (BETWEEN, "support"):
        return _unexplained(job, call, replayer.how)
    inputs = call.index.reshape(-1)
    culprits, hopeless = _culprits(inputs, replayer)
    job = replace(job, skip={**job.skip, **culprits})
    if hopeless:
        message = (
            f"{replayer.how} on each of the first {plural(len(culprits), 'input')} tried alone"
        )
        return give_up(job, call, message)
    if culprits and job.case.whole_calls and _none_survived(job, replayer):
        return give_up(
            job, call, f"{replayer.how} on each of the first {plural(len(job.skip), 'call')}"
        )
    if culprits or replayer.spent:
        return job
    return _not_one_alone(job, call, replayer)


def _culprits(inputs: Index, replayer: Replayer) -> tuple[dict[int, str], bool]:
    """Find inputs that kill a worker alone, and tell whether every input tried did.

    They are tried in a shuffled order, so that the first few speak for all of them, and those
    found are tried again in a fresh worker: a worker may also die of what came before.
    """
    if len(inputs) > PIECE:
        pieces = np.array_split(inputs, -(-len(inputs) // PIECE))
        deadly = replayer.replay(pieces)
        if deadly is None:
            return {}, False
        inputs = pieces[deadly]
    found: dict[int, str] = {}
    queue = [inputs[i : i + 1] for i in np.random.default_rng(0).permutation(len(inputs))]
    survivors = 0
    while queue and not replayer.spent and (deadly := replayer.replay(queue)) is not None:
        # the first was tried in a fresh worker, as after every death
        if deadly and replayer.replay([queue[deadly]], fresh=True) is None:
            break
        survivors += deadly
        found[int(queue[deadly][0])] = replayer.how
        queue = queue[deadly + 1 :]
        if len(found) >= (HOPELESS_HUNG if replayer.hung else HOPELESS) and not survivors:
            return found, True
    return found, False


def _none_survived(job: Job, replayer: Replayer) -> bool:
    """Return whether the first calls, which are made in order, were deadly all of them."""
    first = range(HOPELESS_HUNG if replayer.hung else HOPELESS)
    return all(i in job.skip for i in first)


def _not_one_alone(job: Job, call: NotedCall, replayer: Replayer) -> Job:
    """Tell inputs that do it together from a shape that does it, and from neither."""
    inputs = call.index.reshape(-1)
    repeated = len(np.unique(inputs)) < len(inputs)
    if len(inputs) > 1 and not repeated and replayer.replay([inputs], fresh=True) is not None:
        together = _smallest(inputs, replayer)
        message = f"{replayer.how}; needs {plural(len(together), 'input')} together"
        job = _with_fault(job, call.placement, message, together[0])
        sets = (*job.avoid.together, tuple(together))
        return replace(job, avoid=replace(job.avoid, together=sets))
    odd_shape = call.index.ndim != 1 or repeated or not len(inputs)
    if odd_shape and replayer.replay([call.index], fresh=True) is not None:
        message = f"{replayer.how} when asked in shape {call.index.shape}"
        job = _with_fault(job, call.placement, message, _first(call))
        return without(job, call.placement)
    return _unexplained(job, call, replayer.how)


def _unexplained(job: Job, call: NotedCall, how: str) -> Job:
    """Note a death that no call repeats; the second time, do without the placement."""
    where = {BETWEEN: " between two calls", "support": " when asked whether it supports the case"}
    message = how + where.get(call.placement, "; not reproduced alone")
    known = any(f.placement == call.placement and f.kind == "crashed" for f in job.avoid.faults)
    job = _with_fault(job, call.placement, message, _first(call))
    if not known:
        return job
    if call.placement in (BETWEEN, "support"):
        return give_up(job, call, message)
    return without(job, call.placement)


def give_up(job: Job, call: NotedCall, why: str) -> Job:
    """Ask nothing more of the case, and say so."""
    fault = Fault("crashed", call.placement, f"{why}; the rest was not asked", _first(call))
    faults = tuple(f for f in job.avoid.faults if f.message != why)
    return replace(job, avoid=replace(job.avoid, placements=EVERYWHERE, faults=(*faults, fault)))


def _smallest(inputs: Index, replayer: Replayer) -> list[int]:
    """Make a deadly set smaller (QuickXplain): no input can be left out, but for the budget."""
    replays = 0

    def dies(elements: list[int]) -> bool:
        nonlocal replays
        replays += 1
        return replayer.replay([np.array(sorted(elements), np.intp)]) is not None

    def needed(rest: list[int], elements: list[int], changed: bool) -> list[int]:
        """Return the elements needed besides the rest. `changed`: the rest has grown."""
        if replays >= MOST_REPLAYS or replayer.spent:
            return elements
        if changed and dies(rest):
            return []
        if len(elements) == 1:
            return elements
        left, right = elements[: len(elements) // 2], elements[len(elements) // 2 :]
        of_right = needed(rest + left, right, bool(left))
        of_left = needed(rest + of_right, left, bool(of_right))
        return of_left + of_right

    return sorted(needed([], inputs.tolist(), False))


def _with_fault(job: Job, placement: str, message: str, index: int) -> Job:
    fault = Fault("crashed", placement, message, index)
    faults = tuple(dict.fromkeys((*job.avoid.faults, fault)))
    return replace(job, avoid=replace(job.avoid, faults=faults))


def without(job: Job, placement: str) -> Job:
    """Return the job with a placement that is not asked."""
    placements = job.avoid.placements | {placement}
    return replace(job, avoid=replace(job.avoid, placements=placements))


def _first(call: NotedCall) -> int:
    return int(call.index.reshape(-1)[0]) if call.index.size else 0
