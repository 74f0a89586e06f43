"""Run batches in one worker at a time, replace it, and find the inputs that crash it."""

import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from convcheck.ask.jobs import Apart, Job
from convcheck.ask.watched import NOTHING, NotedCall, spent_said, time_is_spent
from convcheck.errors import UnavailableError
from convcheck.judge.answers import ANOTHER, BETWEEN, CHUNK, EVERYWHERE, TELLING, Fault, Index
from convcheck.judge.result import BackendInfo, CaseResult, Tally
from convcheck.pool.forkserver import Start
from convcheck.pool.messages import Finished, Opened, Replay, ResultField, Setup
from convcheck.pool.process import LEAVING, Death, WorkerProcess, worker_for
from convcheck.records import Record, replace
from convcheck.rules.model import Case
from convcheck.streams import plural

PIECE = 256  # elements; a larger call is narrowed to one such piece first
HOPELESS = 8  # give up after this many deadly inputs and no harmless one
HOPELESS_HUNG = 2  # likewise for time-outs, which take much longer
MOST_REPLAYS = 48  # replays to minimise a set of inputs
MOST_RESTARTS = 64  # restarts for the vectors of a case, or for a span
MOST_OF_CASE = 256  # restarts for a case with all its spans
TIME_OUT = 8  # restarts that a time-out counts for
_SHOWN = {"sweep": "bulk"}  # placements that reports rename
TRIES = 3  # attempts to open a backend that opened before


class Reported(Record, frozen=True, tag=True):
    """The result of a job, by its position in the plan."""

    position: int
    result: ResultField
    #: with the crashes on the way
    seconds: float = 0.0


class Restarts(Record, frozen=True, tag=True):
    """The number of workers that died and were replaced."""

    count: int


Report = BackendInfo | Reported | Restarts


class _StopError(Exception):
    pass


@dataclass
class WorkQueue:
    """The state that lanes share."""

    setup: Setup
    timeout: float
    batches: deque[list[Job]]
    #: None: as a copy of this process
    start: Start | None = None
    #: to repeat in a new worker before any with other attribute values
    doubted: list[Job] = field(default_factory=list)
    restarts: int = 0
    #: wall time in seconds, by job position
    clocks: dict[int, float] = field(default_factory=dict)
    #: restarts by job position and by case id
    spent: dict[int | str, int] = field(default_factory=dict)
    #: of calls in dead workers and in replays, by case id
    seconds: dict[str, float] = field(default_factory=dict)
    given_up: dict[str, str] = field(default_factory=dict)
    #: ids of cases that crashed: their spans get no further calls for causes
    deadly: set[str] = field(default_factory=set)
    imports: tuple[str, ...] = ()
    stopped: bool = False
    #: or the run is over
    opened: threading.Event = field(default_factory=threading.Event)
    #: the last batch is taken, or the run is over
    drained: threading.Event = field(default_factory=threading.Event)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _busy: "set[Lane]" = field(default_factory=set)
    _processes: set[WorkerProcess] = field(default_factory=set)

    def take(self, lane: "Lane") -> list[Job]:
        """Return the lane's next batch, after waiting for jobs that others may put back."""
        with self._changed:
            self._busy.discard(lane)
            self._changed.notify_all()
            while not (self.stopped or self.batches or self.doubted) and self._busy:
                self._changed.wait()
            batch = [] if self.stopped else self._next()
            if batch:
                self._busy.add(lane)
            if not self.batches:
                self.drained.set()
            return batch

    def _next(self) -> list[Job]:
        if self.batches or not self.doubted:
            return self.batches.popleft() if self.batches else []
        values = self.doubted[0].case.attributes
        batch = [job for job in self.doubted if job.case.attributes == values]
        self.doubted = [job for job in self.doubted if job.case.attributes != values]
        return batch

    def doubt(self, job: Job) -> None:
        """Queue a job for a new worker that has tested no other attribute values."""
        with self._changed:
            self.doubted.append(job)
            self._changed.notify_all()

    def known(self, job: Job) -> Job:
        """Return the job with the time of its case, and without calls if the case was abandoned."""
        if job.case.id in self.seconds:
            job = replace(job, spent=self.seconds[job.case.id])
        if job.span and job.case.id in self.deadly:
            job = without(job, TELLING)
        if job.case.id not in self.given_up or job.avoid.placements >= EVERYWHERE:
            return job
        return give_up(job, NotedCall("bulk", NOTHING), self.given_up[job.case.id])

    def put_back(self, jobs: Iterable[Job]) -> None:
        """Put jobs back for any lane."""
        if batch := list(jobs):
            with self._changed:
                self.batches.appendleft(batch)
                self._changed.notify_all()

    def enter(self, process: WorkerProcess) -> None:
        """Register a worker for `stop`."""
        with self._changed:
            self._processes.add(process)
        if self.stopped:
            process.kill()

    def introduce(self, said: Opened) -> bool:
        """Whether this is the first backend that opened."""
        with self._changed:
            first = not self.opened.is_set()
            if first:
                self.imports = said.imports
                self.opened.set()
            return first

    def leave(self, process: WorkerProcess) -> None:
        """Forget a worker that has ended."""
        with self._changed:
            self._processes.discard(process)

    def died(self, job: Job, cost: int) -> tuple[int, int]:
        """Count a dead worker. Return the restarts of its job and of its case."""
        with self._changed:
            self.restarts += 1
            for key in (job.position, job.case.id):
                self.spent[key] = self.spent.get(key, 0) + cost
            return self.spent[job.position], self.spent[job.case.id]

    def took(self, case: Case, seconds: float) -> float:
        """Add seconds to a case. Return its total."""
        with self._changed:
            self.seconds[case.id] = self.seconds.get(case.id, 0.0) + seconds
            return self.seconds[case.id]

    def clocked(self, job: Job, begun: float) -> float:
        """Add the wall time since `begun` to a job. Return its total."""
        past = self.clocks.get(job.position, 0.0) + time.monotonic() - begun
        self.clocks[job.position] = past
        return past

    def stop(self) -> None:
        """Kill every worker. The lanes then end."""
        with self._changed:
            self.stopped = True
            self.opened.set()
            self.drained.set()
            self._changed.notify_all()
            processes = list(self._processes)
        for process in processes:
            process.kill()


class Lane:
    """Runs batches in one worker after the other."""

    def __init__(self, queue: WorkQueue) -> None:
        self.queue = queue
        self.process: WorkerProcess | None = None
        self.news: list[BackendInfo] = []  # from the first backend that opened

    def reports(self) -> Iterator[Report]:
        """Run all batches. Yields the backend's name once, results, and restarts on death."""
        patience = 0.0
        try:
            while batch := self.queue.take(self):
                if any(job.before is not None for job in batch):
                    self.drop(LEAVING)
                yield from self._batch(deque(batch))
            patience = LEAVING
        except _StopError:
            pass
        finally:
            self.drop(patience)

    def worker(self) -> WorkerProcess:
        """Return the worker, opened if needed."""
        process = self.process or self._opened(TRIES)
        if self.queue.stopped:
            raise _StopError
        return process

    def _opened(self, tries: int) -> WorkerProcess:
        queue = self.queue
        imports = queue.imports if tries == TRIES else ()
        process = self.process = worker_for(queue.start or Start.here(queue.setup.address), imports)
        queue.enter(process)
        try:
            said = process.open(replace(queue.setup, timeout=queue.timeout))
        except BaseException as error:
            self.drop()
            if not isinstance(error, UnavailableError):
                raise
            if queue.stopped:
                raise _StopError from None
            if tries == 1 or not queue.opened.is_set():
                raise
            return self._opened(tries - 1)
        if queue.introduce(said):
            self.news.append(said.info)
        return process

    def drop(self, patience: float = 0.0) -> None:
        """End the worker."""
        if self.process is not None:
            self.process.close(patience)
            self.queue.leave(self.process)
            self.process = None

    def _batch(self, jobs: deque[Job]) -> Iterator[Report]:
        process = self.worker()
        while self.news:
            yield self.news.pop()
        jobs = deque(map(self.queue.known, jobs))
        process.send(tuple(jobs))
        while jobs:
            job, begun = jobs[0], time.monotonic()
            heard = process.receive(self.queue.timeout, {job.case.id: job.case})
            seconds = self.queue.clocked(job, begun)
            if self.queue.stopped:
                raise _StopError
            if isinstance(heard, Death):
                jobs.popleft()
                self.drop()
                self.queue.put_back(jobs)
                yield self._after(job, heard)
                return
            if not isinstance(heard, Finished):
                continue
            jobs.popleft()
            if heard.leaving:
                self.drop()
                self.queue.put_back(jobs)
            if heard.doubt:
                whole = heard.result.whole if isinstance(heard.result, Tally) else heard.result
                told = whole.diagnosis if whole else None
                self.queue.doubt(replace(job, before=heard.doubt, explained=told))
            else:
                yield Reported(job.position, heard.result, seconds)
            if heard.leaving:
                return

    def _after(self, job: Job, death: Death) -> Report:
        begun = time.monotonic()
        if job.avoid.placements >= EVERYWHERE:  # it died without a call
            result = CaseResult(job.case, "crashed", 0, "edge", (), death.how)
            return Reported(job.position, result, self.queue.clocked(job, begun))
        again = self._looked_into(job, death)
        self.queue.clocked(job, begun)
        self.queue.put_back([again])
        return Restarts(self.queue.restarts)

    def _looked_into(self, job: Job, death: Death) -> Job:
        replayer = _Replayer(self, job, death)
        call = death.call
        if job.span is None or call.placement == TELLING:
            self.queue.deadly.add(job.case.id)
        if job.span is None:
            job = narrow(job, call, replayer)
        elif call.placement == "sweep":  # find which elements of the chunk
            job = _with_chunk(job, replace(_chunk_of(job, call.index), died=death.how))
        elif call.placement in (BETWEEN, "support", TELLING):
            job = narrow(job, call, replayer)
        else:
            chunk = replayer.chunk = _chunk_of(job, call.index)
            inside = replace(call, index=call.index - chunk.first)
            found = narrow(replace(job, skip=chunk.skip, avoid=chunk.avoid), inside, replayer)
            job = _with_chunk(job, replace(chunk, skip=found.skip, avoid=found.avoid))
        if replayer.spent and not job.avoid.placements >= EVERYWHERE:
            said = f"{death.how}; {replayer.spent_said}"
            if replayer.hopeless:
                self.queue.given_up[job.case.id] = said
            shown = _SHOWN.get(call.placement, call.placement)
            job = give_up(job, replace(call, placement=shown), said)
        return job


class _Replayer:
    """Replays calls in a worker process, and counts the workers that die."""

    def __init__(self, lane: Lane, job: Job, death: Death) -> None:
        self.lane, self.job = lane, job
        self.chunk: Apart | None = None  # the chunk of a span that elements count from
        # a span has no time limit, so only its last call counts
        self._count(death, death.last if job.span else death.spent)

    def _count(self, death: Death, seconds: float) -> None:
        self.how, self.hung = death.how, death.timed_out
        self.seconds = self.lane.queue.took(self.job.case, seconds)
        cost = TIME_OUT if death.timed_out else 1
        self.count, self.of_case = self.lane.queue.died(self.job, cost)

    @property
    def spent(self) -> bool:
        return self.count >= MOST_RESTARTS or self.hopeless

    @property
    def hopeless(self) -> bool:
        return self.of_case >= MOST_OF_CASE or self._late

    @property
    def _late(self) -> bool:
        return time_is_spent(self.seconds, self.lane.queue.timeout)

    @property
    def spent_said(self) -> str:
        if self._late:
            return spent_said(self.lane.queue.timeout)
        return f"gave up after {MOST_OF_CASE if self.hopeless else MOST_RESTARTS} restarts"

    def replay(self, calls: list[Index], *, fresh: bool = False) -> int | None:
        """Make calls in order, in a new worker if `fresh`. Return the index of the deadly one."""
        if fresh:
            self.lane.drop()
        process = self.lane.worker()
        span = self.job.span
        chunk = span.chunk(self.chunk.first) if span and self.chunk else None
        process.send(Replay(self.job.case, tuple(calls), chunk, self.seconds))
        heard = process.receive(self.lane.queue.timeout)
        if self.lane.queue.stopped:
            raise _StopError
        if not isinstance(heard, Death):
            self.seconds = self.lane.queue.took(self.job.case, process.notes.spent())
            return None
        self._count(heard, heard.spent)
        self.lane.drop()
        same = (n for n, index in enumerate(calls) if np.array_equal(index, heard.call.index))
        return next(same, None) if heard.call.placement != BETWEEN else None


def narrow(job: Job, call: NotedCall, replayer: _Replayer) -> Job:
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


def _culprits(inputs: Index, replayer: _Replayer) -> tuple[dict[int, str], bool]:
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


def _not_one_alone(job: Job, call: NotedCall, replayer: _Replayer) -> Job:
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


def _smallest(inputs: Index, replayer: _Replayer) -> list[int]:
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


def _chunk_of(job: Job, index: Index) -> Apart:
    """Return the chunk of a span's elements."""
    first = int(index.reshape(-1)[0]) // CHUNK * CHUNK
    return next((chunk for chunk in job.apart if chunk.first == first), Apart(first))


def _with_chunk(job: Job, chunk: Apart) -> Job:
    """Return the job with a chunk added or replaced."""
    others = tuple(other for other in job.apart if other.first != chunk.first)
    return replace(job, apart=tuple(sorted((*others, chunk), key=lambda c: c.first)))
