"""Fork servers, the processes that they fork, and the end of both.

The server is the standard library's. A new Python needs a quarter of a second of CPU time for what
every worker imports (`preload.py`); a fork needs milliseconds. No backend is opened in a server, so
a forked worker is as good as a new Python. A server of its own imports the modules that a backend
names in `imports`, for workers that replace others.

Nothing that a backend starts outlives its worker. On Linux a server adopts every process below it
that loses its parent, in whatever session or process group it is: a child of a server that is not a
worker belonged to one that has ended, and is killed. Elsewhere the worker's process group ends.
If this process is killed, its servers see that, kill their children and end.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import forkserver, reduction, resource_tracker, util
from multiprocessing.connection import wait

from convcheck.errors import UnavailableError
from convcheck.files import LIMITS

PRELOAD = "convcheck.pool.preload"
ENDING = 1.0  # seconds that killed processes have to be gone
LOST = 256  # larger than any exit code: the server died
PARENTS_DEATH, ADOPT_ORPHANS = 1, 36  # PR_SET_PDEATHSIG and PR_SET_CHILD_SUBREAPER

_lock = threading.Lock()
# by the modules for a backend; the module's own server is for others who use multiprocessing
_servers: dict[tuple[str, ...], forkserver.ForkServer] = {}
_alive: set[ForkedProcess] = set()


def start_server(imports: tuple[str, ...] = ()) -> forkserver.ForkServer:
    """Return the server that has imported modules for a backend. Start it if it does not run."""
    if imports not in _servers:
        _servers[imports] = forkserver.ForkServer()
        _servers[imports].set_forkserver_preload([PRELOAD, *imports])
    os.makedirs(util.get_temp_dir(), 0o700, exist_ok=True)  # a backend may have removed it
    resource_tracker.ensure_running()  # it would unblock the signal below
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # until it is in its group
    try:
        _servers[imports].ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return _servers[imports]


@dataclass(frozen=True)
class Start:
    """What a forked process is and does. The server calls `_bootstrap`, as that of a Process."""

    environment: Mapping[str, str]
    #: The working folder, '' if it was removed.
    folder: str
    #: The backend that the worker will be told to open.
    address: str

    @staticmethod
    def here(address: str) -> Start:
        """Return the start of a process that has this one's environment and folder."""
        folder = ""
        with contextlib.suppress(FileNotFoundError):
            folder = os.getcwd()
        return Start(dict(os.environ), folder, address)

    def _bootstrap(self, parent_sentinel: int) -> int:
        os.close(parent_sentinel)
        # the server lives as long as somebody has this
        os.close(forkserver._forkserver._forkserver_alive_fd)  # type: ignore[attr-defined]
        pipe, notes, log = forkserver.get_inherited_fds() or []
        os.set_inheritable(pipe, False)
        os.set_inheritable(notes, False)
        set_on_linux(PARENTS_DEATH, signal.SIGKILL)
        os.setpgid(0, 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)
        sys.argv[:] = ["-c"]  # as of a new Python
        os.environ.clear()
        os.environ.update(self.environment)
        with contextlib.suppress(OSError):
            os.chdir(self.folder)
        from convcheck.pool.worker import serve_parent

        atexit.unregister(end_server)
        serve_parent(self.address, pipe, notes)
        atexit._run_exitfuncs()
        return 0


class ForkedProcess:
    """A process that a server was told to fork, until it is closed."""

    def __init__(self, start: Start, files: Sequence[int], imports: tuple[str, ...] = ()) -> None:
        self._lock = threading.Lock()
        self._said: list[int] = []  # by the server: the process's number, then its exit code
        with _lock:
            self.server, (self.sentinel, data) = _connected(files, imports)
            _alive.add(self)
        with contextlib.suppress(BrokenPipeError), open(data, "wb") as file:
            reduction.dump({"sys_path": sys.path}, file)
            reduction.dump(start, file)

    def code(self, seconds: float = 0.0) -> int | None:
        """Return the exit code, or the negative number of a signal. LOST: the server died. None: it
        has not ended after so many seconds.
        """
        self._listen()
        if len(self._said) < 2 and seconds and wait([self.sentinel], seconds):
            self._listen()
        return self._said[1] if len(self._said) == 2 else None

    def _listen(self) -> None:
        with self._lock:
            while len(self._said) < 2 and wait([self.sentinel], 0):
                try:
                    self._said.append(forkserver.read_signed(self.sentinel))
                except EOFError:
                    self._said = [*(self._said or [0]), LOST]

    @property
    def pid(self) -> int:
        """The number of the process; 0 if the server does not fork it soon."""
        if not self._said:
            self.code(ENDING)
        return self._said[0] if self._said else 0

    def kill(self) -> None:
        """Kill the process and its group. One that is not forked yet ends without its pipe."""
        if self.code() is None and self._said:
            for kill in (os.killpg, os.kill):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    kill(self._said[0], signal.SIGKILL)

    def close(self) -> None:
        """Kill the process and all that it has started."""
        self.kill()
        code = self.code(ENDING)
        with _lock:
            _alive.discard(self)
            others = {process.pid for process in _alive if process.server == self.server}
            if code not in (None, LOST) and 0 not in others:
                end_children(self.server, others)
        with self._lock:
            self._said = [0, LOST]
            os.close(self.sentinel)


def _connected(files: Sequence[int], imports: tuple[str, ...]) -> tuple[int, tuple[int, int]]:
    """Return the process of a server, and the descriptors to and from a process that it forks."""
    deadline = time.monotonic() + ENDING
    while True:
        try:
            server = start_server(imports)
            ends = server.connect_to_new_process(files)
            return server._forkserver_pid, ends  # type: ignore[attr-defined]
        except OSError as error:
            if isinstance(error, FileNotFoundError):  # a backend removed the temporary folder
                _servers.pop(imports, None)
            if time.monotonic() > deadline:
                if error.errno in LIMITS:
                    raise
                hint = "TMPDIR must be a folder for temporary files, with a short name"
                raise UnavailableError(f"no worker can be started: {error}", hint=hint) from error
            time.sleep(0.001)  # a backend killed the server: it is started again once it is gone


def end_server() -> None:
    """Kill what is left, and remove the socket: the process that needs workers has ended."""
    end_children(os.getpid(), ())
    socket = forkserver._forkserver._forkserver_address  # type: ignore[attr-defined]
    with contextlib.suppress(OSError):
        os.unlink(socket)
        os.rmdir(os.path.dirname(socket))


def end_children(parent: int, spared: Collection[int]) -> None:
    """Kill the children of a process, and theirs as they become its own, but for some."""
    deadline = time.monotonic() + ENDING
    while time.monotonic() < deadline and (found := _children(parent) - set(spared)):
        for child in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(child, signal.SIGKILL)
        time.sleep(0.001)


def _children(parent: int) -> set[int]:
    """Return the children of a process that have not ended; none where there is no /proc."""
    found = set[int]()
    for name in filter(str.isdigit, os.listdir("/proc") if sys.platform == "linux" else ()):
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
            state, its_parent = file.read().rpartition(b")")[2].split()[:2]
            if int(its_parent) == parent and state != b"Z":
                found.add(int(name))
    return found


def set_on_linux(option: int, value: int) -> None:
    """Set an attribute of this process that only Linux has."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
