"""Where worker processes come from: a server that has imported what all of them need, and forks.

A Python that starts anew and imports numpy and convcheck takes half a second of CPU time, which a
backend that dies often costs again and again; a fork takes milliseconds. The server is a process
of its own with one thread, in which no backend is ever opened: what is forked is as fresh as what
is started.
"""

from __future__ import annotations

import errno
import multiprocessing
import os
import resource
import shutil
from collections.abc import Callable, Mapping
from multiprocessing import forkserver, util
from multiprocessing.process import BaseProcess
from typing import Any

FEW_FILES = 64  # a server that may open no more has none left to hand over

_forking = multiprocessing.get_context("forkserver")
_forking.set_forkserver_preload(["convcheck.pool.worker"])
_starting = multiprocessing.get_context("spawn")


def start_server() -> None:
    """Start the server, if it does not run yet, and do not wait for its imports.

    Raises OSError where the system does not let it run.
    """
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < FEW_FILES:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    forkserver.ensure_running()


def start_process(target: Callable[..., None], arguments: tuple[Any, ...]) -> BaseProcess:
    """Start `target` with the environment of this process, and then `arguments`, in a new one.

    It is forked by the server. Where there can be none, or it cannot be reached since a backend has
    removed its socket with all other temporary files, a Python is started.
    """
    given = (dict(os.environ), *arguments)
    try:
        start_server()  # first, since a process knows the temporary folder that was there before it
        forked = _forking.Process(target=target, args=given, daemon=True)
        forked.start()
    except (OSError, EOFError):
        started = _starting.Process(target=target, args=given, daemon=True)
        started.start()
        return started
    return forked


def take_environment(environment: Mapping[str, str]) -> None:
    """Take over the environment of the parent: the server may be older than it."""
    os.environ.clear()
    os.environ.update(environment)


def remove_socket() -> None:
    """Remove what the server of a parent that was killed leaves behind."""
    shutil.rmtree(util.get_temp_dir(), ignore_errors=True)
