"""A running program and its pipes, without deadlocks and with a deadline for every wait.

Output is read while a request is written. A crash ends a wait even if a child holds stdout open. A
program that exits with status 0 may have left work to a child.
"""

import contextlib
import os
import select
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fcntl import fcntl
from typing import IO

import numpy as np
from numpy.typing import NDArray

from convcheck.backends.process.headers import NOISE, after, looks_like_json, quoted_line
from convcheck.backends.protocol import DiedError, ProtocolError, signal_name
from convcheck.errors import UnavailableError, UsageError
from convcheck.streams import number, plural

PIPE_SIZE = 1 << 20  # bytes; Linux's limit for unprivileged users
LEAST_PIPE = 1 << 12  # bytes; the default if that fails
SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ
LONGEST_LINE = 1 << 28  # bytes; texts make headers long
LONGEST_NOISE = 1 << 12  # bytes of output without a header or a line end
LONGEST_NAME = 40
ENDING = 1.0  # seconds for a program to end after its stdout
LEAVING = 1.5  # seconds for a program to end after its input
_MANY = 1 << 16


@dataclass(frozen=True)
class Deadline:
    """The end of a wait."""

    at: float  # in seconds of `time.monotonic`
    said: str  # the limit in words

    def left(self) -> int:
        """Return the remaining milliseconds."""
        return max(int((self.at - time.monotonic()) * 1000), 0)


def within(seconds: float, said: str = "") -> Deadline:
    """Return a deadline shortly before the runner's own."""
    return Deadline(time.monotonic() + seconds - min(0.5, seconds / 5), said or f"{seconds:g} s")


class RunningProgram:
    """A command without a shell, optionally in a new process group."""

    def __init__(
        self, command: str, *, own_group: bool = False, stderr: IO[bytes] | None = None
    ) -> None:
        """Raises UsageError for an empty command, UnavailableError if it cannot start."""
        words = _words(command)
        self.name = command if len(command) <= LONGEST_NAME else words[0]
        self._group = own_group
        try:
            self._popen = subprocess.Popen(  # noqa: S603  the command is the user's own
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, bufsize=0,
                process_group=0 if own_group else None,
            )  # fmt: skip
        except OSError as error:
            raise _cannot_start(words[0], error) from None
        self._in, self.room = self._pipe(self._popen.stdin)  # capacity in bytes
        self._out, _ = self._pipe(self._popen.stdout)
        self._reads, self._both = select.poll(), select.poll()
        self._reads.register(self._out, select.POLLIN)
        self._both.register(self._out, select.POLLIN)
        self._both.register(self._in, select.POLLOUT)
        self._end: int | None = None
        with contextlib.suppress(AttributeError, OSError):
            self._end = os.pidfd_open(self._popen.pid)
            for each in (self._reads, self._both):
                each.register(self._end, select.POLLIN)
        self._waiting = b""  # unread output
        self._deaf = False  # its stdin is closed

    def _pipe(self, stream: IO[bytes] | None) -> tuple[int, int]:
        assert stream is not None  # noqa: S101
        os.set_blocking(stream.fileno(), False)
        size = LEAST_PIPE
        with contextlib.suppress(OSError):
            size = fcntl(stream.fileno(), SET_PIPE_SIZE, PIPE_SIZE)
        return stream.fileno(), size

    def _has_died(self) -> bool:
        """Return whether the program crashed without output. An exit is reported once."""
        if self._end is None or (status := self._popen.poll()) is None:
            return False
        for each in (self._reads, self._both):
            each.unregister(self._end)
        os.close(self._end)
        self._end = None
        return status != 0 and not self._reads.poll(0)

    def send(self, parts: Sequence[bytes | memoryview], deadline: Deadline) -> None:
        """Write a request. Raises DiedError if it is not read in time."""
        left = list(parts)
        total = sum(map(len, left))
        done = 0  # bytes
        while left and not self._deaf:
            wrote = self._write(left)
            done += wrote
            left = after(left, wrote)
            if left and not wrote and not self._deaf:
                self._wait_to_write(f"{number(done)} of {plural(total, 'byte')} taken", deadline)

    def _write(self, parts: list[bytes | memoryview]) -> int:
        try:
            return os.writev(self._in, parts[:16])
        except BlockingIOError:
            return 0
        except OSError:  # EPIPE: reading will report why
            self._deaf = True
            return 0

    def _wait_to_write(self, so_far: str, deadline: Deadline) -> None:
        ready = dict(self._both.poll(deadline.left()))
        if self._has_died():
            self._deaf = True  # reading reports it
        elif not ready:
            raise self._hangs(f"it has not read the request: {so_far}", deadline)
        if self._out in ready:
            data = os.read(self._out, PIPE_SIZE)
            self._waiting += data
            self._deaf = not data  # it has ended; reading reports it

    def left_over(self) -> bytes:
        """Return and clear unread output."""
        found, self._waiting = self._waiting, b""
        return found

    def line(self, deadline: Deadline) -> bytes:
        """Read a header line. Raises DiedError or ProtocolError."""
        while (end := self._waiting.find(b"\n") + 1) == 0:
            header = looks_like_json(self._waiting)
            if len(self._waiting) > (LONGEST_LINE if header else LONGEST_NOISE):
                raise self._noise()
            came = f"a header line without its end, {quoted_line(self._waiting)}, came"
            so_far = came if self._waiting else "no header came (is stdout flushed?)"
            data = os.read(self._out, _MANY) if self._wait_to_read(so_far, deadline) else b""
            if not data:
                raise self._ended(came if self._waiting else "")
            self._waiting += data
        found, self._waiting = self._waiting[:end], self._waiting[end:]
        return found

    def _noise(self) -> ProtocolError:
        if looks_like_json(self._waiting):
            start, count = quoted_line(self._waiting), plural(len(self._waiting), "byte")
            said = f"a header line has no end: {start}, {count}"
            return ProtocolError(said, hint="end each header line with a line feed")
        said = f"stdout had {quoted_line(self._waiting)}, which is not an answer"
        return ProtocolError(said, hint=NOISE)

    def payload(self, size: int, what: str, deadline: Deadline) -> NDArray[np.uint8]:
        """Read a tensor's bytes. Raises DiedError or ProtocolError."""
        if size <= len(self._waiting):  # it came with the header
            memory = np.frombuffer(bytearray(self._waiting[:size]), np.uint8)
            self._waiting = self._waiting[size:]
            return memory
        memory = np.empty(size, np.uint8)
        done = len(self._waiting)
        memory[:done] = np.frombuffer(self._waiting, np.uint8)
        self._waiting = b""
        view = memory.data
        while done < size:
            came = f"{number(done)} of the {plural(size, 'byte')} of {what} came"
            ready = self._wait_to_read(came, deadline)
            count = os.readv(self._out, [view[done:]]) if ready else 0
            if not count:
                raise self._ended(came)
            done += count
        return memory

    def drop(self, size: int, what: str, deadline: Deadline) -> None:
        """Read and discard bytes."""
        for begin in range(0, size, PIPE_SIZE):
            self.payload(min(PIPE_SIZE, size - begin), what, deadline)

    def _wait_to_read(self, so_far: str, deadline: Deadline) -> bool:
        while self._out not in (ready := dict(self._reads.poll(deadline.left()))):
            if self._has_died():
                return False
            if ready:
                continue
            if self._waiting and not looks_like_json(self._waiting):
                raise self._noise()
            raise self._hangs(so_far, deadline)
        return True

    def _hangs(self, what: str, deadline: Deadline) -> DiedError:
        return DiedError(f"no answer within {deadline.said}: {what}", timed_out=True)

    def _ended(self, so_far: str) -> DiedError | ProtocolError:
        """Return why stdout ended. `so_far` describes the received part of the answer."""
        status = self.wait(ENDING)
        if status is None:
            return ProtocolError(f"{self.name} closed its stdout but is still running",
                                 hint="keep stdout open until the input ends")  # fmt: skip
        if self._waiting and not looks_like_json(self._waiting):
            return self._noise()
        if status or not so_far:
            died = f"died of {signal_name(-status)}"
            how = f"exited with status {status}" if status >= 0 else died
            printed = status >= 0 or status == -signal.SIGABRT
            return DiedError(f"{self.name} {how}", printed=printed)
        return ProtocolError(f"the answer ends too early: {so_far}, and {self.name} ended",
                             hint="flush stdout, and exit only at the end of the "
                             "input")  # fmt: skip

    def wait(self, seconds: float) -> int | None:
        """Return the exit status, negative for a signal, None if it still runs."""
        try:
            return self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def end_input(self) -> None:
        """Close its stdin."""
        assert self._popen.stdin  # noqa: S101
        with contextlib.suppress(OSError):
            self._popen.stdin.close()

    def rest(self) -> bytes:
        """Return unread output after its end."""
        found = self.left_over()
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._out, PIPE_SIZE):
                found += data
        return found

    def leave(self) -> None:
        """Close its stdin, wait a little, then kill it."""
        self.end_input()
        self.wait(LEAVING)
        self.kill()

    def kill(self) -> None:
        """Kill it, with its own process group if any."""
        with contextlib.suppress(ProcessLookupError):
            if self._group:
                os.killpg(self._popen.pid, signal.SIGKILL)
        self._popen.kill()
        self._popen.wait()
        if self._end is not None:
            os.close(self._end)
            self._end = None
        self.end_input()
        if self._popen.stdout:
            self._popen.stdout.close()


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"process:{command}: {error}", hint="quote as in a shell") from None
    if not words:
        raise UsageError("process: which program?", hint="--backend 'process:./mine --flag'")
    return words


def _cannot_start(word: str, error: OSError) -> UnavailableError:
    reason, hint = error.strerror or str(error), "check the path"
    if isinstance(error, FileNotFoundError) and os.sep in word and os.path.exists(word):
        reason, hint = "its interpreter does not exist", "check its first line, #!"
    elif isinstance(error, FileNotFoundError):
        reason = "no such program"
        if os.sep not in word:
            hint = f"write ./{word}" if os.path.exists(word) else "it is not on the PATH either"
    elif isinstance(error, PermissionError):
        folder = os.path.isdir(word)
        reason, hint = ("it is a folder" if folder else "not executable"), f"chmod +x {word}"
        hint = "name a program inside it" if folder else hint
    elif shutil.which(word) or os.path.exists(word):  # ENOEXEC
        hint = "a script needs a first line like #!/bin/sh"
    return UnavailableError(f"process: cannot start {word}: {reason}", hint=hint)
