"""The keeper of a command's own process is forked from it, and its workers are as good as new."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from command import convcheck, convcheck_process
from living import children_of, is_alive

from convcheck.pool import keeper

RUN = ("run", "onnx.Cast-13", "--from", "float16", "--to", "float32", "--no-progress", "-j", "1")
TELLING = ("--backend", "tests.planted.forked:Telling")
LINUX = sys.platform == "linux"  # elsewhere it is not known how many threads there are


def told_by(tmp_path: Path) -> list[str]:
    return (tmp_path / "told").read_text().splitlines()


def test_a_command_forks_its_keeper(tmp_path: Path) -> None:
    done = convcheck_process(*RUN, *TELLING, CONVCHECK_TEST_TOLD=str(tmp_path / "told"))
    assert done.returncode == 1, done.stderr
    assert told_by(tmp_path) == [f"{LINUX} ['-c'] True", "ends"]


def test_in_a_process_of_others_it_is_a_new_python(tmp_path: Path) -> None:
    done = convcheck(*RUN, *TELLING, CONVCHECK_TEST_TOLD=str(tmp_path / "told"))
    assert done.returncode == 1, done.stderr
    assert told_by(tmp_path) == ["False ['-c'] True", "ends"]


def test_how_a_forked_worker_ended_is_told(tmp_path: Path) -> None:
    backend = ("--backend", "tests.planted.forked:LeavesByItself")
    done = convcheck_process(*RUN, *backend, CONVCHECK_TEST_TOLD=str(tmp_path / "told"))
    assert done.returncode == 1, done.stderr
    assert "exited with status 3" in done.stdout


def test_a_process_with_threads_does_not_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that holds a lock would hold it for ever in what is forked."""
    monkeypatch.setattr(keeper, "_started", {})
    monkeypatch.setattr(keeper, "_has_one_thread", lambda: False)
    monkeypatch.setattr(keeper, "_forked", lambda: pytest.fail("forked"))
    before = set(children_of(os.getpid()))
    keeper.start_keeper(own=True)
    [started] = keeper._started.values()
    assert {started.process} == set(children_of(os.getpid())) - before
    started.end()
    assert not is_alive(started.process)
