"""A worker process as its parent sees it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import struct
import time
from collections import defaultdict, deque
from dataclasses import dataclass, replace
from fcntl import F_SETFL, fcntl
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait

from convcheck.backends.protocol import time_of_call
from convcheck.errors import ConvcheckError, UnavailableError
from convcheck.files import unnamed_file
from convcheck.judge.tally import Tally
from convcheck.pool.keeper import start_worker
from convcheck.pool.messages import (
    Aborted,
    Ahead,
    Finished,
    Lost,
    Message,
    NotedCall,
    Notes,
    Opened,
    Setup,
    codec_for,
    surroundings,
)
from convcheck.pool.wire import Cases, Codec

OPENING = 120.0  # seconds that a runtime may take to load
LEAVING = 2.0  # seconds that a runtime may take to unload
GOING_ON = 20  # seconds that the rest of a message may take to come, bit by bit
LONGEST_TAIL = 300
TAIL = 1 << 12  # bytes of the log that are looked at
LARGEST = 1 << 28  # bytes of a message
ALIKE = 32  # messages that are kept, since the next ones may be like them
LONGEST_ALIKE = 1 << 16  # bytes of such a message

_NO_CASES: Cases = {}


@dataclass(frozen=True)
class Death:
    """What became of a worker, and the call that it was making."""

    #: How it ended, in words.
    how: str
    call: NotedCall
    #: Whether it was ended since the time-out had passed.
    timed_out: bool
    #: Seconds that the call took.
    last: float = 0.0
    #: Seconds that all calls of the job, or of the replay, took.
    spent: float = 0.0


class WorkerProcess:
    """A worker process, from its start to its end."""

    def __init__(self, imports: tuple[str, ...] = ()) -> None:
        self._log = unnamed_file()
        fcntl(self._log, F_SETFL, os.O_APPEND)  # whoever writes there shares it with others
        self._codec: Codec[Message]
        self._alike: dict[bytes, Message] = {}  # the latest last
        self._pipe, theirs = Pipe()
        _do_not_wait_for_ever(self._pipe)
        with unnamed_file() as notes, theirs:
            notes.truncate(Notes.SIZE)
            self.notes = Notes(notes.fileno())
            given = theirs.fileno(), notes.fileno(), self._log.fileno()
            self._line = start_worker(*given, imports)
        self._ready = select.poll()
        for end in (self._line, self._pipe):  # when it has ended, it has said what it will
            self._ready.register(end, select.POLLIN)

    def open(self, setup: Setup) -> Opened:
        """Have the worker open its backend. Raises what that raised, UnavailableError if it died.

        Before anything else is asked of it.
        """
        self._codec = codec_for(setup.judge)
        self.send(surroundings())
        self.send(setup)
        first = self.receive(OPENING, starting=True)
        if isinstance(first, Opened):
            return first
        how = first.how if isinstance(first, Death) else "something else was said"
        raise UnavailableError(f"backend {setup.address!r}: {how} while it was starting")

    def send(self, request: object) -> None:
        """Tell the worker something. That it is dead already is for `receive` to find out."""
        try:
            self._pipe.send(request)
        except ConnectionError:
            return

    def receive(
        self, timeout: float, cases: Cases = _NO_CASES, *, starting: bool = False
    ) -> Message | Death:
        """Wait for what the worker says of cases, or for its end, which a call of `timeout` seconds
        is.

        That it has lost what answers is its end, too. Raises what ends the run.
        """
        heard = self._next(timeout, cases, starting)
        if isinstance(heard, Aborted):
            raise heard.error
        return self._loss(heard) if isinstance(heard, Lost) else heard

    def _next(self, timeout: float, cases: Cases, starting: bool) -> Message | Death:
        begun = time.monotonic()
        while True:
            waited = time.monotonic() - begun if starting else self.notes.waiting()
            left = timeout if waited is None else timeout - waited
            ready = dict(self._ready.poll(max(left, 0) * 1000))
            if ready:
                return self._heard(cases, self._pipe.fileno() in ready)
            if left <= 0:
                said = f"{timeout:g} s" if starting else time_of_call(timeout)
                return self._death(f"no answer within {said}", timed_out=True)

    def _heard(self, cases: Cases, spoke: bool) -> Message | Death:
        """Read a message; what a worker said before it died still counts."""
        try:
            if spoke:
                return self._said(self._pipe.recv_bytes(LARGEST), cases)
        except BlockingIOError:
            return self._death(f"did not end a message to its parent within {GOING_ON} s")
        except ValueError:
            return self._death("wrote into the pipe of its worker")
        except (EOFError, OSError):
            pass
        return self._death()

    def _said(self, text: bytes, cases: Cases) -> Message:
        """Return what a text says. Many cases are answered alike, those with other attribute values
        above all: what is said of them has the same text, and is made once.
        """
        found = self._alike.pop(text, None) or self._codec.decode(text, cases)
        names_no_case = isinstance(found, Finished) and isinstance(found.result, Tally)
        if names_no_case and len(text) <= LONGEST_ALIKE:
            self._alike[text] = found
        if len(self._alike) > ALIKE:
            del self._alike[next(iter(self._alike))]
        return found

    def _loss(self, lost: Lost) -> Death:
        tail = self._tail() if lost.printed else ""
        return self._death(f"{lost.how}: {tail}" if tail else lost.how, timed_out=lost.timed_out)

    def _death(self, how: str = "", *, timed_out: bool = False) -> Death:
        """End the worker. Without a word of `how`, it is dead, or about to be."""
        last, spent = self.notes.waiting() or 0.0, self.notes.spent()
        death = Death(how, self.notes.call(), timed_out, last, spent)
        if not how:
            wait([self._line], LEAVING)
        self.kill()
        return death if how else replace(death, how=self._cause())

    def _cause(self) -> str:
        """Name the signal or status; with what the runtime printed where it chose to end."""
        said = self._line.recv(32) if wait([self._line], LEAVING) else b""
        if not said:
            return "ended with its keeper"
        code = os.waitstatus_to_exitcode(int(said))
        ending = f"exited with status {code}" if code >= 0 else f"died of {_signal_name(-code)}"
        tail = self._tail() if code >= 0 or code == -signal.SIGABRT else ""
        return f"{ending}: {tail}" if tail else ending

    def _tail(self) -> str:
        size = os.fstat(self._log.fileno()).st_size
        text = os.pread(self._log.fileno(), TAIL, max(size - TAIL, 0)).decode(errors="replace")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return " / ".join(lines[-2:])[-LONGEST_TAIL:]

    def has_ended(self) -> bool:
        """Return whether it is gone."""
        return bool(wait([self._line], 0))

    def kill(self) -> None:
        """Have the worker end now, and all that it has started. From any thread, at any time."""
        with contextlib.suppress(OSError):  # it is shut already
            self._line.shutdown(socket.SHUT_WR)

    def close(self, patience: float = 0.0) -> None:
        """Let the worker end within `patience` seconds, then see to it that it has."""
        self._pipe.close()
        if patience:
            wait([self._line], patience)
        self.kill()
        wait([self._line], LEAVING)
        self._line.close()
        self._log.close()


#: The workers that were started ahead, by the backend that they will open.
waiting: defaultdict[str, deque[WorkerProcess]] = defaultdict(deque)


def start_ahead(address: str) -> None:
    """Start a worker that imports what a backend needs, and waits for whoever takes it first.

    That none can be started is for the one to tell who needs it.
    """
    with contextlib.suppress(OSError, ConvcheckError):
        process = WorkerProcess()
        waiting[address].append(process)
        process.send(Ahead(surroundings(), address))


def worker_for(address: str, imports: tuple[str, ...] = ()) -> WorkerProcess:
    """Return a worker that is to open a backend: one that was started ahead, or a new one."""
    with contextlib.suppress(IndexError):  # there is none
        while True:
            found = waiting[address].popleft()
            if not found.has_ended():
                return found
            found.close()  # if it died of that, the next one does
    return WorkerProcess(imports)


def end_ahead() -> None:
    """End the workers that nobody took."""
    for ahead in waiting.values():
        while ahead:
            ahead.popleft().close()


def _do_not_wait_for_ever(pipe: Connection) -> None:
    """Have a message that has begun go on soon: a worker sends the whole of one at once."""
    with socket.socket(fileno=os.dup(pipe.fileno())) as same:
        same.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", GOING_ON, 0))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
