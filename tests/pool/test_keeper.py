"""The keeper of a command's own process is forked from it, and its workers are as good as new."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command import convcheck, convcheck_process
from living import children_of, descendants_of, eventually, is_alive

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


def test_a_worker_does_not_end_as_the_command_does(tmp_path: Path) -> None:
    """What the command is to do at its end is not its worker's to do."""
    told = tmp_path / "told"
    script = (
        "import atexit; from convcheck.pool.keeper import start_keeper\n"
        f"atexit.register(lambda: open({str(told)!r}, 'a').write('the command ends\\n'))\n"
        "start_keeper(own=True)\n"
        "from convcheck.__main__ import main; main()\n"
    )
    environment = {**os.environ, "CONVCHECK_TEST_TOLD": str(told)}
    command = [sys.executable, "-c", script, *RUN, *TELLING]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert told_by(tmp_path)[1:] == ["ends", "the command ends"]


def test_nothing_is_left_of_a_command_that_is_killed() -> None:
    """Its forked keeper has nothing of it that keeps the way of its orders open."""
    hangs = ("--backend", "tests.planted.bad_backends:HangsAlways", "--timeout", "600")
    command = [sys.executable, "-m", "convcheck", *RUN, *hangs]
    nothing = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=nothing, stderr=nothing) as parent:
        left = eventually(lambda: two_of(descendants_of(parent.pid)), 60)
        parent.kill()
    assert eventually(lambda: not any(map(is_alive, left)), 30)


def two_of(processes: list[int]) -> list[int]:
    return processes if len(processes) >= 2 else []


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
