"""Fork servers and the processes that they fork.

A fork needs milliseconds, a new Python a quarter of a second to import `preload.py`. A second
server also has the `imports` of a backend, for replacement workers. No server opens a backend.

No process that a backend starts outlives its worker. On Linux, a server adopts orphans below it in
any session or process group, and kills its children other than workers. Elsewhere, the worker's
process group is killed. If the parent dies, so do its servers and their children.
"""

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
ENDING = 1.0  # seconds for killed processes to end
LOST = 256  # above any exit code: the server died
PARENTS_DEATH, ADOPT_ORPHANS = 1, 36  # PR_SET_PDEATHSIG and PR_SET_CHILD_SUBREAPER

_lock = threading.Lock()
# by the preloaded modules; multiprocessing's own server is left to others
_servers: dict[tuple[str, ...], forkserver.ForkServer] = {}
_alive: "set[ForkedProcess]" = set()


def start_server(imports: tuple[str, ...] = ()) -> forkserver.ForkServer:
    """Return a running server that has imported these modules."""
    if imports not in _servers:
        _servers[imports] = forkserver.ForkServer()
        _servers[imports].set_forkserver_preload([PRELOAD, *imports])
    os.makedirs(util.get_temp_dir(), 0o700, exist_ok=True)  # a backend may remove it
    resource_tracker.ensure_running()  # its start would unblock the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # until it has its group
    try:
        _servers[imports].ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return _servers[imports]


@dataclass(frozen=True)
class Start:
    """Environment and address for a forked process. The server calls its `_bootstrap`."""

    environment: Mapping[str, str]
    #: '' if it was removed
    folder: str
    address: str

    @staticmethod
    def here(address: str) -> "Start":
        """Return the start of a process like this one."""
        folder = ""
        with contextlib.suppress(FileNotFoundError):
            folder = os.getcwd()
        return Start(dict(os.environ), folder, address)

    def _bootstrap(self, parent_sentinel: int) -> int:
        os.close(parent_sentinel)
        # an open copy would keep the server alive
        os.close(forkserver._forkserver._forkserver_alive_fd)  # type: ignore[attr-defined]
        pipe, notes, log = forkserver.get_inherited_fds() or []
        os.set_inheritable(pipe, False)
        os.set_inheritable(notes, False)
        set_on_linux(PARENTS_DEATH, signal.SIGKILL)
        os.setpgid(0, 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)
        sys.argv[:] = ["-c"]  # as in a new Python
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
    """A process that a server forks."""

    def __init__(self, start: Start, files: Sequence[int], imports: tuple[str, ...] = ()) -> None:
        self._lock = threading.Lock()
        self._said: list[int] = []  # from the server: process id, then exit code
        with _lock:
            self.server, (self.sentinel, data) = _connected(files, imports)
            _alive.add(self)
        with contextlib.suppress(BrokenPipeError), open(data, "wb") as file:
            reduction.dump({"sys_path": sys.path}, file)
            reduction.dump(start, file)

    def code(self, seconds: float = 0.0) -> int | None:
        """Return the exit code, a negative signal number, LOST, or None after `seconds`."""
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
        """The process id; 0 if the server does not fork it in time."""
        if not self._said:
            self.code(ENDING)
        return self._said[0] if self._said else 0

    def kill(self) -> None:
        """Kill the process and its group. Before its fork, closing its pipe ends it."""
        if self.code() is None and self._said:
            for kill in (os.killpg, os.kill):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    kill(self._said[0], signal.SIGKILL)

    def close(self) -> None:
        """Kill the process and everything that it started, once it is forked."""
        if self.pid:
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
    """The server's process id, and the descriptors from and to a new process."""
    deadline = time.monotonic() + ENDING
    while True:
        try:
            server = start_server(imports)
            ends = server.connect_to_new_process(files)
            return server._forkserver_pid, ends  # type: ignore[attr-defined]
        except OSError as error:
            if isinstance(error, FileNotFoundError):  # a backend removed the folder
                _servers.pop(imports, None)
            if time.monotonic() > deadline:
                if error.errno in LIMITS:
                    raise
                hint = "TMPDIR must be a folder for temporary files, with a short name"
                raise UnavailableError(f"cannot start a worker: {error}", hint=hint) from error
            time.sleep(0.001)  # a backend killed the server; try again once it is gone


def end_server() -> None:
    """Kill all children and remove the socket."""
    end_children(os.getpid(), ())
    socket = forkserver._forkserver._forkserver_address  # type: ignore[attr-defined]
    with contextlib.suppress(OSError):
        os.unlink(socket)
        os.rmdir(os.path.dirname(socket))


def end_children(parent: int, spared: Collection[int]) -> None:
    """Kill the children of a process except `spared`, and orphans that it adopts."""
    deadline = time.monotonic() + ENDING
    while time.monotonic() < deadline and (found := _children(parent) - set(spared)):
        for child in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(child, signal.SIGKILL)
        time.sleep(0.001)


def _children(parent: int) -> set[int]:
    """Those that have not ended; none without /proc."""
    found = set[int]()
    for name in filter(str.isdigit, os.listdir("/proc") if sys.platform == "linux" else ()):
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
            state, its_parent = file.read().rpartition(b")")[2].split()[:2]
            if int(its_parent) == parent and state != b"Z":
                found.add(int(name))
    return found


def set_on_linux(option: int, value: int) -> None:
    """Set a process attribute with prctl, on Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
