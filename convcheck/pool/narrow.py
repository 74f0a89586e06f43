"""Find the smallest set of inputs that crashes a backend."""

from typing import Protocol

import numpy as np

from convcheck.ask.jobs import Job
from convcheck.judge.answers import ANOTHER, BETWEEN, EVERYWHERE, TELLING, Fault, Index
from convcheck.pool.messages import NotedCall
from convcheck.records import replace
from convcheck.streams import plural

PIECE = 256  # elements; a larger call is narrowed to one such piece first
HOPELESS = 8  # give up after this many deadly inputs and no harmless one
HOPELESS_HUNG = 2  # likewise for time-outs, which take much longer
MOST_REPLAYS = 48  # replays to minimise a set of inputs


class Replayer(Protocol):
    """Replays calls in a worker process, and counts the workers that die."""

    how: str  # how the last worker ended
    hung: bool  # whether it timed out

    @property
    def spent(self) -> bool:
        """Whether the case has used all its restarts."""

    def replay(self, calls: list[Index], *, fresh: bool = False) -> int | None:
        """Make calls in order, in a new worker if `fresh`. Return the index of the deadly one."""


def narrow(job: Job, call: NotedCall, replayer: Replayer) -> Job:
    """Return the job without the calls that crash, and with a fault for each."""
    if call.placement == ANOTHER:  # that version gets the blame when it is tested
        return replace(job, later=())
    if call.placement == TELLING:  # these calls have no expected result
        return without(job, TELLING)
    if call.placement in (BETWEEN, "support"):
        return _unexplained(job, call, replayer.how)
    inputs = call.index.reshape(-1)
    culprits, hopeless = _culprits(inputs, replayer)
    job = replace(job, skip={**job.skip, **culprits})
    if hopeless:
        tried = plural(len(culprits), "input")
        message = f"{replayer.how} on each of the first {tried} tried alone"
        return give_up(job, call, message)
    first = range(HOPELESS_HUNG if replayer.hung else HOPELESS)
    if culprits and job.case.whole_calls and all(i in job.skip for i in first):
        message = f"{replayer.how} on each of the first {plural(len(job.skip), 'call')}"
        return give_up(job, call, message)
    if culprits or replayer.spent:
        return job
    return _not_one_alone(job, call, replayer)


def _culprits(inputs: Index, replayer: Replayer) -> tuple[dict[int, str], bool]:
    """Return inputs that crash a worker alone, and whether every input tried did.

    The shuffled order makes the first few representative. A fresh worker confirms each, since an
    earlier call may be the cause.
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
        # the first was in a fresh worker, as after every death
        if deadly and replayer.replay([queue[deadly]], fresh=True) is None:
            break
        survivors += deadly
        found[int(queue[deadly][0])] = replayer.how
        queue = queue[deadly + 1 :]
        if len(found) >= (HOPELESS_HUNG if replayer.hung else HOPELESS) and not survivors:
            return found, True
    return found, False


def _not_one_alone(job: Job, call: NotedCall, replayer: Replayer) -> Job:
    """Distinguish inputs that crash together from a shape that crashes."""
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
        message = f"{replayer.how} in shape {call.index.shape}"
        job = _with_fault(job, call.placement, message, _first(call))
        return without(job, call.placement)
    return _unexplained(job, call, replayer.how)


def _unexplained(job: Job, call: NotedCall, how: str) -> Job:
    """Record a crash that no replay reproduces. The second time, skip the placement."""
    where = {BETWEEN: " between two calls", "support": " when asked for support"}
    message = how + where.get(call.placement, "; not reproduced alone")
    known = any(f.placement == call.placement and f.kind == "crashed" for f in job.avoid.faults)
    job = _with_fault(job, call.placement, message, _first(call))
    if not known:
        return job
    if call.placement in (BETWEEN, "support"):
        return give_up(job, call, message)
    return without(job, call.placement)


def give_up(job: Job, call: NotedCall, why: str) -> Job:
    """Return the job without further calls, and with a fault that says why."""
    fault = Fault("crashed", call.placement, f"{why}; the rest was not tested", _first(call))
    faults = tuple(f for f in job.avoid.faults if f.message != why)
    return replace(job, avoid=replace(job.avoid, placements=EVERYWHERE, faults=(*faults, fault)))


def _smallest(inputs: Index, replayer: Replayer) -> list[int]:
    """Minimise a deadly set with QuickXplain."""
    replays = 0

    def dies(elements: list[int]) -> bool:
        nonlocal replays
        replays += 1
        return replayer.replay([np.array(sorted(elements), np.intp)]) is not None

    def needed(rest: list[int], elements: list[int], changed: bool) -> list[int]:
        """The elements needed in addition to the rest, which has `changed`."""
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
    """Return the job without a placement."""
    placements = job.avoid.placements | {placement}
    return replace(job, avoid=replace(job.avoid, placements=placements))


def _first(call: NotedCall) -> int:
    return int(call.index.reshape(-1)[0]) if call.index.size else 0
