"""Where worker processes come from, and who of them lives and dies: their keeper decides.

    this process ----- worker, and whatever its backend starts
              \\\\        |
               line --- keeper

The keeper is a process of its own with one thread. It has imported what every worker needs: a
Python that starts anew takes a quarter of a second of CPU time for that, a fork milliseconds. No
backend is opened in it, so what is forked is as fresh as what is started, and the keeper can be
trusted. What a backend names in `imports`, a keeper of its own imports besides, for the workers
that come in the place of others.

A keeper is a new Python, but for one: a command that begins, and is convcheck's own, needs the same
imports and has read nothing yet, so it forks its first keeper.

Each worker has a line, a socket between this process and the keeper. When its end here is shut,
since the worker is to end or since this process is gone, however it went, or when the worker has
ended by itself, then everything ends that the worker has started. On Linux nothing gets away, into
whatever session or process group it has moved: what has lost its parent becomes a child of the
worker, and when that has ended, of the keeper, which knows it for none of its own. Elsewhere it is
the worker's process group that ends. After that the keeper says on the line how the worker ended.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import importlib
import os
import resource
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from convcheck import signals

ENDING = 1.0  # seconds that processes have to be gone in once they were killed
LOOKING = 1.0  # seconds between two looks at how long a log is
LONGEST_LOG = 1 << 26  # bytes
YOUNG = 200_000  # objects, before cycles are looked for: a process here makes many, and few cycles
PROGRAM = (
    "import sys; imports = sys.argv[1]; sys.path[:] = sys.argv[2:]; del sys.argv[1:]; "
    "from convcheck.pool.keeper import keep; descriptors = keep(imports.split()); "
    "from convcheck.pool.worker import serve_parent; serve_parent(*descriptors)"
)
_THREADS = "OPENBLAS_NUM_THREADS"  # a process that forks has one
_PARENTS_DEATH, _ADOPT = 1, 36  # of Linux, PR_SET_PDEATHSIG and PR_SET_CHILD_SUBREAPER
_STDIN, _STDOUT, _STDERR = range(3)


# In the process whose workers they are


@dataclass(frozen=True)
class _Started:
    """A keeper of a process, and the socket on which workers are asked of it."""

    owner: int
    process: int
    orders: socket.socket

    def end(self) -> None:
        """Have it end, and its workers. It may still be importing, and have none."""
        self.orders.close()
        if os.getpid() == self.owner:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(self.process, signal.SIGTERM)
                if not _has_ended(self.process, 2 * ENDING):
                    os.kill(self.process, signal.SIGKILL)
                    os.waitpid(self.process, 0)


def _has_ended(process: int, seconds: float) -> bool:
    """Return whether a child ends in time."""
    deadline = time.monotonic() + seconds
    while not os.waitpid(process, os.WNOHANG)[0]:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.001)
    return True


_lock = threading.Lock()
_started: dict[tuple[str, ...], _Started] = {}  # by what they import for a backend


def start_keeper(*, own: bool = False) -> None:
    """Start the keeper, if there is none yet. A process that is convcheck's `own`, and has one
    thread, imports what it needs and forks it; else it is a new Python, for which nobody waits.
    """
    if own and () not in _started and _has_one_thread():
        _prepare()
        if _has_one_thread():  # nothing that was imported has started another
            _enter((), *_forked())
    with _lock:
        _there()


def start_worker(pipe: int, notes: int, log: int, imports: tuple[str, ...] = ()) -> socket.socket:
    """Have a worker started that has three descriptors, of the last also as stderr; its line.

    It has imported modules where they can be had.
    """
    ours, theirs = socket.socketpair()
    with theirs, _lock:
        given = [theirs.fileno(), pipe, notes, log]
        try:
            socket.send_fds(_there(imports).orders, [b"."], given)
        except ConnectionError:  # a backend may have killed it, or what it imports
            socket.send_fds(_there(anew=True).orders, [b"."], given)
    return ours


def _there(imports: tuple[str, ...] = (), *, anew: bool = False) -> _Started:
    """Return a keeper of this process, and of none that it was forked from."""
    found = _started.get(imports)
    if found is not None and (anew or found.owner != os.getpid()):
        atexit.unregister(found.end)
        found.end()
        found = None
    return found or _enter(imports, *_spawned(imports))


def _enter(imports: tuple[str, ...], process: int, orders: socket.socket) -> _Started:
    found = _started[imports] = _Started(os.getpid(), process, orders)
    atexit.register(found.end)
    return found


def _spawned(imports: tuple[str, ...]) -> tuple[int, socket.socket]:
    """Start a new Python as a keeper; return its process, and the socket for orders."""
    ours, theirs = socket.socketpair()
    warnings = [f"-W{option}" for option in sys.warnoptions]
    command = [sys.executable, *warnings, "-c", PROGRAM, " ".join(imports), *sys.path]
    files: list[tuple[Any, ...]] = [(os.POSIX_SPAWN_DUP2, theirs.fileno(), _STDIN)]
    files += [(os.POSIX_SPAWN_OPEN, n, os.devnull, os.O_WRONLY, 0) for n in (_STDOUT, _STDERR)]
    with theirs:
        process = os.posix_spawn(
            sys.executable, command, os.environ, file_actions=files, setpgroup=0
        )
    return process, ours


def _has_one_thread() -> bool:
    """Return whether this process is known to have one thread, those of libraries included."""
    return sys.platform == "linux" and len(os.listdir("/proc/self/task")) == 1


def _forked() -> tuple[int, socket.socket]:
    """Fork a keeper; return its process, and the socket for orders. There it does not return."""
    ours, theirs = socket.socketpair()
    process = os.fork()
    if not process:
        ours.close()
        _be_forked(theirs)
    theirs.close()
    return process, ours


def _be_forked(orders: socket.socket) -> NoReturn:
    """Be a keeper, and each of its workers, with nothing of the process before but its imports."""
    atexit._clear()
    signals.reset()
    os.setpgid(0, 0)
    given = orders.detach()
    os.dup2(given, _STDIN)
    if given != _STDIN:
        os.close(given)
    for stream in (_STDOUT, _STDERR):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream)
        if nothing != stream:
            os.close(nothing)
    sys.argv[:] = ["-c"]  # as of a new Python
    status = 1
    try:
        descriptors = keep(())
        from convcheck.pool.worker import serve_parent

        serve_parent(*descriptors)
        status = 0
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
    _leave(status)


def _leave(status: int) -> NoReturn:
    """End as a Python does: what calls this was not begun by this process."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(status)


# In the keeper


def keep(imports: Sequence[str]) -> tuple[int, int]:
    """Return in each worker, with its pipe and its notes; in the keeper, do not return.

    Whatever is wrong with a module that a backend imports is for its worker to tell.
    """
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))  # crashes are expected; no core files
    _on_linux(_ADOPT, 1)
    from convcheck.backends.protocol import see_working_folder

    _prepare()
    if imports:
        see_working_folder()
    for name in imports:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    gc.set_threshold(YOUNG)
    gc.freeze()  # what stays for good is looked at by no collection, and shared by all workers
    found = _Keeper().forked()
    if found is None:
        os._exit(0)
    return found


def _prepare() -> None:
    """Import and make what every worker needs, and start no threads for linear algebra, which none
    needs. Nothing random, which would be alike in all: numpy's own generator has a state once
    numpy.random is imported.
    """
    before = os.environ.get(_THREADS)
    os.environ[_THREADS] = "1"
    import numpy.ctypeslib  # the notes are arrays of that
    import numpy.ma  # noqa: F401  np.unique looks for masks

    import convcheck.pool.worker
    import convcheck.vectors.corpus  # noqa: F401  where vectors come from
    from convcheck.pool.messages import codec_for

    codec_for(None)
    if before is None:
        del os.environ[_THREADS]
    else:
        os.environ[_THREADS] = before


@dataclass(frozen=True)
class _Kept:
    """What the keeper has of a worker."""

    line: socket.socket
    log: int

    def let_go(self) -> None:
        self.line.close()
        os.close(self.log)


class _Keeper:
    """The workers that are alive, by their process."""

    def __init__(self) -> None:
        self.orders = socket.socket(fileno=_STDIN)
        self.kept: dict[int, _Kept] = {}
        self.signals, self.wake = os.pipe()
        os.set_blocking(self.signals, False)
        os.set_blocking(self.wake, False)
        signal.set_wakeup_fd(self.wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # from here on it ends with its orders

    def forked(self) -> tuple[int, int] | None:
        """Fork the workers that are asked for, and see to their ends; None at the end of all."""
        while True:
            lines = [kept.line.fileno() for kept in self.kept.values()]
            ready = select.select([_STDIN, self.signals, *lines], [], [], LOOKING)[0]
            if self.signals in ready:
                os.read(self.signals, 1 << 12)
            for worker, kept in self.kept.items():
                if kept.line.fileno() in ready:
                    _kill(worker)
                if os.fstat(kept.log).st_size > LONGEST_LOG:
                    os.ftruncate(kept.log, 0)
            self.bury(_ended())
            if _STDIN in ready:
                given = socket.recv_fds(self.orders, 1, 4)[1]
                if not given:
                    break
                if not self.forked_one(*given):
                    return given[1], given[2]
        for worker in self.kept:
            _kill(worker)
            _kill(-worker)
        self.kept.clear()
        self.end_strangers({})
        return None

    def forked_one(self, line: int, pipe: int, notes: int, log: int) -> int:
        """Fork a worker; return its process, 0 in the worker."""
        worker = os.fork()
        if not worker:
            self.let_go()
            os.close(line)
            os.set_inheritable(pipe, False)
            os.set_inheritable(notes, False)
            _settle(log)
            return 0
        os.close(pipe)
        os.close(notes)
        self.kept[worker] = _Kept(socket.socket(fileno=line), log)
        return worker

    def let_go(self) -> None:
        """Let go of everything that is the keeper's, but for its stdin."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.close(self.signals)
        os.close(self.wake)
        self.orders.detach()
        for kept in self.kept.values():
            kept.let_go()

    def bury(self, ended: dict[int, int]) -> None:
        """End what workers that have ended leave behind, then say how they did."""
        if not ended.keys() & self.kept.keys():
            return
        self.end_strangers(ended)
        for worker in ended.keys() & self.kept.keys():
            kept = self.kept.pop(worker)
            with contextlib.suppress(OSError):  # nobody may hear it any more
                kept.line.send(str(ended[worker]).encode())
            kept.let_go()

    def end_strangers(self, ended: dict[int, int]) -> None:
        """End the children that are no worker: they are of workers that have ended."""
        for worker in () if sys.platform == "linux" else ended.keys() & self.kept.keys():
            _kill(-worker)
        deadline = time.monotonic() + ENDING
        while time.monotonic() < deadline:
            ended |= _ended()
            alive = self.kept.keys() - ended.keys()
            if not (strangers := [child for child in _children() if child not in alive]):
                break
            for child in strangers:
                _kill(child)
            time.sleep(0.001)


def _settle(log: int) -> None:
    """Be a worker: in a process group of one's own, with a log, and with children that stay."""
    _on_linux(_PARENTS_DEATH, signal.SIGKILL)
    _on_linux(_ADOPT, 1)
    os.setpgid(0, 0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, _STDIN)
    os.dup2(log, _STDOUT)
    os.dup2(log, _STDERR)
    os.close(nothing)
    os.close(log)


def _ended() -> dict[int, int]:
    """Return the status of each child that has ended, once."""
    found: dict[int, int] = {}
    with contextlib.suppress(ChildProcessError):
        while (pair := os.waitpid(-1, os.WNOHANG))[0]:
            found[pair[0]] = pair[1]
    return found


def _children() -> list[int]:
    """Return the children of this process, ended ones too; none where there is no /proc."""
    found = []
    for name in os.listdir("/proc") if sys.platform == "linux" else ():
        with contextlib.suppress(OSError):  # it has ended since
            if name.isdigit() and _parent(name) == os.getpid():
                found.append(int(name))
    return found


def _parent(process: str) -> int:
    with open(f"/proc/{process}/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[1])


def _kill(process: int) -> None:
    """Kill a process, or a process group, whose number is negative."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(process, signal.SIGKILL)


def _on_linux(option: int, value: int) -> None:
    """Set an attribute of this process that only Linux has."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
