"""A worker process as its parent sees it."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import threading
import time
from ctypes import c_int64
from dataclasses import dataclass
from multiprocessing.connection import Pipe, wait
from multiprocessing.sharedctypes import RawArray
from pathlib import Path
from typing import Any

from convcheck.backends.protocol import time_of_call
from convcheck.errors import UnavailableError
from convcheck.judge.result import BackendInfo
from convcheck.pool import messages, worker
from convcheck.pool.fork_server import start_process
from convcheck.pool.messages import Aborted, Lost, Message, NotedCall, Opened, Setup, codec_for
from convcheck.pool.wire import Cases, Codec

OPENING = 120.0  # seconds that a runtime may take to load
LEAVING = 2.0  # seconds that a runtime may take to unload
LONGEST_TAIL = 300
LARGEST = 1 << 28  # bytes of a message

_NO_CASES: Cases = {}
_processes = threading.Lock()  # multiprocessing reaps every thread's children in start()
_numbers = itertools.count()


@dataclass(frozen=True)
class Death:
    """What became of a worker, and the call that it was making."""

    #: How it ended, in words.
    how: str
    call: NotedCall
    #: Whether it was ended since the time-out had passed.
    timed_out: bool


class WorkerProcess:
    """A worker process, from its start to its end."""

    def __init__(self, folder: Path) -> None:
        memory: Any = RawArray(c_int64, messages.ROOM)
        self.notes = messages.Notes(memory)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # a backend may have removed it
        self._log = folder / f"worker-{next(_numbers)}.log"
        self._closed = False
        self._codec: Codec[Message]
        self._pipe, theirs = Pipe()
        arguments = (theirs, memory, str(self._log))
        with _processes:
            self._process = start_process(worker.serve_parent, arguments)
        theirs.close()

    def open(self, setup: Setup) -> BackendInfo:
        """Have the worker open its backend. Raises what that raised, UnavailableError if it died.

        Before anything else is asked of it.
        """
        self._codec = codec_for(setup.judge)
        self.send(setup)
        first = self.receive(OPENING, starting=True)
        if isinstance(first, Opened):
            return first.info
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
            if left <= 0 and not self._pipe.poll():
                return self._death(f"{timeout:g} s" if starting else time_of_call(timeout))
            if wait([self._pipe, self._process.sentinel], max(left, 0)):
                return self._heard(cases)

    def _heard(self, cases: Cases) -> Message | Death:
        """Read a message; what a worker said before it died still counts."""
        try:
            if self._pipe.poll():
                return self._codec.decode(self._pipe.recv_bytes(LARGEST), cases)
        except (EOFError, OSError):
            pass
        except ValueError:
            self.kill()
            return Death("wrote into the pipe of its worker", self.notes.call(), timed_out=False)
        return self._death()

    def _death(self, time_said: str = "") -> Death:
        call = self.notes.call()
        if time_said:
            self.kill()
            return Death(f"no answer within {time_said}", call, timed_out=True)
        wait([self._process.sentinel], LEAVING)  # it closed the pipe: dead, or about to be
        self.kill()
        return Death(self._cause(), call, timed_out=False)

    def _loss(self, lost: Lost) -> Death:
        self.kill()
        tail = self._tail() if lost.printed else ""
        return Death(f"{lost.how}: {tail}" if tail else lost.how, self.notes.call(), lost.timed_out)

    def _cause(self) -> str:
        """Name the signal or status; with what the runtime printed where it chose to end."""
        with _processes:
            self._process.join()
            code = self._process.exitcode or 0
        ending = f"exited with status {code}" if code >= 0 else f"died of {_signal_name(-code)}"
        tail = self._tail() if code >= 0 or code == -signal.SIGABRT else ""
        return f"{ending}: {tail}" if tail else ending

    def _tail(self) -> str:
        try:
            text = self._log.read_bytes()[-4096:].decode(errors="replace")
        except OSError:
            return ""
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return " / ".join(lines[-2:])[-LONGEST_TAIL:]

    def kill(self) -> None:
        """End the worker now, and what it has started. From any thread, at any time."""
        with _processes:
            if not self._closed:
                self._process.kill()
                # its group, if it has got so far as to have one; what it started is in it
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid or 0, signal.SIGKILL)

    def close(self, patience: float = 0.0) -> None:
        """Let the worker end within `patience` seconds, then see to it that it has."""
        self._pipe.close()
        if patience:
            wait([self._process.sentinel], patience)
        self.kill()
        with _processes:
            self._process.join()
            self._process.close()
            self._closed = True
        self._log.unlink(missing_ok=True)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
