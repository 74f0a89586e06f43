"""A worker process as its parent sees it."""

import contextlib
import os
import select
import signal
import socket
import struct
import time
from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass
from fcntl import F_SETFL, fcntl
from multiprocessing import Pipe

from convcheck.ask.watched import NotedCall, Notes
from convcheck.backends.protocol import signal_name, time_of_call
from convcheck.errors import ConvcheckError, UnavailableError
from convcheck.files import unnamed_file
from convcheck.judge.reading import Types
from convcheck.pool.forkserver import LOST, ForkedProcess, Start
from convcheck.pool.messages import Aborted, Lost, Message, Opened, Setup, decode
from convcheck.rules.model import Case

OPENING = 120.0  # seconds for a runtime to load
LEAVING = 2.0  # seconds for a runtime to unload
GOING_ON = 20  # seconds between parts of a message
LONGEST_TAIL = 300
TAIL = 1 << 12  # bytes of the log that are read
LARGEST = 1 << 28  # bytes of a message
LOOKING = 1.0  # seconds between checks of the log's size
LONGEST_LOG = 1 << 26  # bytes

Cases = Mapping[str, Case]
_NO_CASES: Cases = {}


@dataclass(frozen=True)
class Death:
    """How a worker ended, and the call that it was making."""

    how: str
    call: NotedCall
    timed_out: bool
    #: seconds of that call, and of all of the job or replay
    last: float = 0.0
    spent: float = 0.0


class WorkerProcess:
    """A worker process."""

    def __init__(self, start: Start, imports: tuple[str, ...] = ()) -> None:
        self.start = start
        self._types: Types = {}
        self._killed = False
        with contextlib.ExitStack() as unused:
            self._log = unused.enter_context(unnamed_file())
            fcntl(self._log, F_SETFL, os.O_APPEND)  # several processes write there
            self._pipe, theirs = Pipe()
            unused.enter_context(self._pipe)
            with socket.socket(fileno=os.dup(self._pipe.fileno())) as same:  # messages come at once
                patience = struct.pack("ll", GOING_ON, 0)
                same.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, patience)
            with theirs, unnamed_file() as notes:
                notes.truncate(Notes.SIZE)
                self.notes = Notes(notes.fileno())
                given = theirs.fileno(), notes.fileno(), self._log.fileno()
                self._process = ForkedProcess(start, given, imports)
            unused.pop_all()
        self._ready = select.poll()
        for end in (self._process.sentinel, self._pipe):
            self._ready.register(end, select.POLLIN)

    def open(self, setup: Setup) -> Opened:
        """Open the backend. Raises UnavailableError if the worker dies."""
        self._types = setup.catalog.types.types if setup.catalog else {}
        self.send((self.start.environment, setup))
        first = self.receive(OPENING, starting=True)
        if isinstance(first, Opened):
            return first
        how = first.how if isinstance(first, Death) else "unexpected message"
        raise UnavailableError(f"backend {setup.address!r}: {how} while it was starting")

    def send(self, request: object) -> None:
        """Send a request. A dead worker shows in `receive`."""
        with contextlib.suppress(ConnectionError):
            self._pipe.send(request)

    def receive(
        self, timeout: float, cases: Cases = _NO_CASES, *, starting: bool = False
    ) -> Message | Death:
        """Return the worker's next message, or its death. Raises an error that ends the run."""
        heard = self._next(timeout, cases, starting)
        if isinstance(heard, Aborted):
            raise heard.error
        if not isinstance(heard, Lost):
            return heard
        tail = self._tail() if heard.printed else ""
        return self._death(f"{heard.how}: {tail}" if tail else heard.how, heard.timed_out)

    def _next(self, timeout: float, cases: Cases, starting: bool) -> Message | Death:
        begun = time.monotonic()
        while not self._killed:
            waited = time.monotonic() - begun if starting else self.notes.waiting()
            left = timeout if waited is None else timeout - waited
            ready = dict(self._ready.poll(min(max(left, 0.0), LOOKING) * 1000))
            if self._pipe.fileno() in ready:
                return self._heard(cases)
            if self._process.code() is not None:
                break
            if left <= 0:
                said = f"{timeout:g} s" if starting else time_of_call(timeout)
                return self._death(f"no answer within {said}", timed_out=True)
            if os.fstat(self._log.fileno()).st_size > LONGEST_LOG:
                os.ftruncate(self._log.fileno(), 0)
        return self._death()

    def _heard(self, cases: Cases) -> Message | Death:
        """Read a message, even if the worker died since."""
        try:
            ends = (t for case in cases.values() for t in (*case.inputs, *case.outputs))
            types = self._types or {t.name: t for t in ends}
            found: Message = decode(self._pipe.recv_bytes(LARGEST), Message, types, cases)
            return found
        except BlockingIOError:
            return self._death(f"did not finish a message within {GOING_ON} s")
        except ValueError:
            return self._death("wrote into the pipe of its worker")
        except (EOFError, OSError):
            return self._death()

    def _death(self, how: str = "", timed_out: bool = False) -> Death:
        last, spent, call = self.notes.waiting() or 0.0, self.notes.spent(), self.notes.call()
        how = how or self._cause()
        self.kill()
        return Death(how, call, timed_out, last, spent)

    def _cause(self) -> str:
        """The signal or status, with the last output if the runtime exited by itself."""
        code = self._process.code(LEAVING)
        if code is None:
            self.kill()
            code = self._process.code(LEAVING)
            if code in (None, -signal.SIGKILL):
                return "closed its pipe"
        if code == LOST:
            return "ended with its fork server"
        ending = f"died of {signal_name(-code)}" if code < 0 else f"exited with status {code}"
        tail = self._tail() if code >= 0 or code == -signal.SIGABRT else ""
        return f"{ending}: {tail}" if tail else ending

    def _tail(self) -> str:
        size = os.fstat(self._log.fileno()).st_size
        text = os.pread(self._log.fileno(), TAIL, max(size - TAIL, 0)).decode(errors="replace")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return " / ".join(lines[-2:])[-LONGEST_TAIL:]

    def has_ended(self) -> bool:
        """Whether the process has ended."""
        return self._process.code() is not None

    def kill(self) -> None:
        """End the worker now, from any thread."""
        self._killed = True
        self._process.kill()

    def close(self, patience: float = 0.0) -> None:
        """Wait `patience` seconds for the worker, then kill everything that it started."""
        self._pipe.close()
        if patience:
            self._process.code(patience)
        self._process.close()
        self._log.close()


# started ahead, by backend address
waiting: defaultdict[str, deque[WorkerProcess]] = defaultdict(deque)


def start_ahead(address: str) -> None:
    """Start a worker that imports the backend's modules and waits. Hides errors."""
    with contextlib.suppress(OSError, ConvcheckError):
        waiting[address].append(WorkerProcess(Start.here(address)))


def worker_for(start: Start, imports: tuple[str, ...]) -> WorkerProcess:
    """Return a worker for a backend, started ahead or new."""
    while waiting[start.address]:
        found = waiting[start.address].popleft()
        if not found.has_ended():
            found.start = start  # the environment may have changed
            return found
        found.close()  # the next one will report the cause
    return WorkerProcess(start, imports)


def end_ahead() -> None:
    """End the workers that are still waiting."""
    for ahead in waiting.values():
        while ahead:
            ahead.popleft().close()
