import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

import pytest
from catalogue import CORPUS
from living import children_of, descendants_of, eventually, is_alive
from planted.identity import BrokenCorpus, Corpus, SlowCorpus, case, judge

from convcheck.errors import UnavailableError, UsageError
from convcheck.judge.result import BackendInfo
from convcheck.plan.runner import execute
from convcheck.pool.forkserver import Start, start_server
from convcheck.pool.local import Session
from convcheck.pool.messages import Setup
from convcheck.pool.process import WorkerProcess, start_ahead, waiting


@pytest.fixture(autouse=True)
def _leaves_nothing(tmp_path, monkeypatch):
    start_server()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield
    assert not list(tmp_path.iterdir())
    assert not workers_of(os.getpid())
    assert not [t for t in threading.enumerate() if t.name == "lane"]


def workers_of(parent):
    return [each for server in children_of(parent) for each in descendants_of(server)]


def run(name, numbers=(0, 1, 2), *, corpus=None, module="bad_backends", **options):
    settings = {"jobs": 1, "timeout": 20.0, "on_result": lambda result: None}
    return execute(
        f"tests.planted.{module}:{name}",
        [case(number) for number in numbers],
        corpus or Corpus(),
        judge=judge,
        **{**settings, **options},
    )


def bad_one(execution):
    assert [r.case.name for r in execution.cases] == [case(n).name for n in (0, 1, 2)]
    before, result, after = execution.cases
    assert {(r.verdict, r.checked, r.message) for r in (before, after)} == {
        ("pass", 37, "not asked: 0")
    }
    return result


def test_every_case_is_asked_and_reported_in_plan_order():
    seen = []
    execution = run("Good", range(100), jobs=2, on_result=seen.append)
    assert [r.case.attribute("number") for r in execution.cases] == list(range(100))
    assert {r.verdict for r in execution.cases} == {"pass"}
    assert sorted(map(id, seen)) == sorted(map(id, execution.cases))
    assert execution.backend == BackendInfo("planted", "1")
    assert (execution.interrupted, execution.remarks) == (False, ())


@pytest.mark.parametrize(("name", "verdict", "checked", "words"), [
    ("Segfault", "crashed", 127, "100: died of SIGSEGV\nnot asked: 0"),
    ("OsExit", "crashed", 127, "100: exited with status 3\nnot asked: 0"),
    ("OsExitZero", "crashed", 127, "100: exited with status 0\nnot asked: 0"),
    ("Abort", "crashed", 127, "100: died of SIGABRT: terminate called after throwing an instance "
     "of 'int'\nnot asked: 0"),
    ("FloatingPoint", "crashed", 126, "37: died of SIGFPE\n100: died of SIGFPE\nnot asked: 0"),
    ("Together", "crashed", 128,
     "crashed [bulk] died of SIGSEGV; needs 2 inputs together @37"),
    ("LongDies", "crashed", 128, "inputs together"),
    ("HangsOnOne", "crashed", 127,
     "100: no answer within 1 s (--timeout SECONDS allows more)\nnot asked: 0"),
    ("Raises", "error", 127, "ValueError: a fault of the adapter"),
    ("SysExit", "error", 127, "SystemExit: 3"),
])  # fmt: skip
def test_a_bad_input_costs_itself_only(name, verdict, checked, words):
    execution = run(name, timeout=1.0 if "Hangs" in name else 20.0)
    result = bad_one(execution)
    assert (result.verdict, result.checked) == (verdict, checked)
    assert words in result.message
    assert (verdict == "error") == ("bad_backends.py" in result.message)
    if name == "Segfault":
        assert execution.remarks == ("the backend was restarted 3 times",)


@pytest.mark.parametrize(("name", "words"), [
    ("ScalarDies", "crashed [alone] died of SIGSEGV in shape () @0"),
    ("FourDimensionalDies", "crashed [4-D] died of SIGSEGV in shape (2, 3, 4, 5)"),
    ("EmptyDies", "crashed [empty] died of SIGSEGV in shape (0,) @0"),
])  # fmt: skip
def test_a_deadly_shape(name, words):
    (result,) = run(name, (1,)).cases
    assert (result.verdict, result.checked) == ("crashed", 128)
    assert words in result.message


def test_a_death_that_is_not_repeated(monkeypatch, tmp_path):
    once = tmp_path / "once"
    once.touch()
    monkeypatch.setenv("CONVCHECK_TEST_ONCE", str(once))
    (result,) = run("Once", (1,)).cases
    assert (result.verdict, result.checked) == ("crashed", 128)
    words = "crashed [bulk] died of SIGSEGV; not reproduced alone @0"
    assert result.message == f"{words}\nnot asked: 0"


def test_a_backend_that_dies_of_its_past_blames_no_input():
    results = run("AfterManyCalls", (0, 1)).cases
    assert [r.checked for r in results] == [37, 128]
    assert "; not reproduced alone" in results[1].message


def test_a_backend_that_always_dies_costs_little():
    (result,) = run("Always", (1,)).cases
    assert (result.verdict, result.checked) == ("crashed", 0)
    assert "died of SIGSEGV on each of the first 8 inputs tried alone" in result.message
    assert result.message.endswith("not asked: 120")


@pytest.mark.parametrize(("name", "words"), [
    ("SupportDies", "died of SIGSEGV when asked for support"),
    ("HangsAlways", "no answer within 0.3 s (--timeout SECONDS allows more) on each of the first 2 "
     "inputs tried"),
])  # fmt: skip
def test_what_never_answers_has_crashed(name, words):
    (result,) = run(name, (1,), timeout=0.3 if name == "HangsAlways" else 20.0).cases
    assert result.verdict == "crashed"
    assert words in result.message


def test_only_calls_can_time_out():
    (result,) = run("Good", (1,), corpus=SlowCorpus(), timeout=0.2).cases
    assert result.verdict == "pass"


def test_a_fault_of_convcheck_is_an_error():
    result = bad_one(run("Good", corpus=BrokenCorpus()))
    assert result.verdict == "error"
    assert "LookupError: no such vectors" in result.message


@pytest.mark.parametrize(("name", "verdict"), [
    ("TwoOutputs", "fail"),
    ("WrongShape", "fail"),
    ("Garbage", "error"),
    ("RefusesAll", "refused"),
    ("DeclinesCase", "unsupported"),
])  # fmt: skip
def test_what_is_no_death_costs_no_worker(name, verdict):
    execution = run(name)
    assert [r.verdict for r in execution.cases] == [verdict] * 3
    assert not execution.remarks


def test_noise_does_not_reach_the_report(capfd):
    assert [r.verdict for r in run("Noisy").cases] == ["pass"] * 3
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("name", "kind", "words"), [
    ("Nobody", UsageError, "tests.planted.bad_backends has no Nobody"),
    ("CannotOpen", UnavailableError, "OSError: libruntime.so: not found"),
    ("DiesOnOpening", UnavailableError, "died of SIGSEGV while it was starting"),
])  # fmt: skip
def test_a_backend_that_cannot_be_opened(name, kind, words):
    with pytest.raises(kind, match=words):
        run(name, range(40), jobs=2)


def test_an_interrupt_keeps_what_there_is():
    def interrupt(result):
        os.kill(os.getpid(), signal.SIGINT)

    began = time.monotonic()
    execution = run("Slow", range(200), jobs=2, on_result=interrupt)
    assert execution.interrupted
    assert 1 <= len(execution.cases) < 20
    assert time.monotonic() - began < 10


def test_an_interrupt_does_not_wait_for_a_backend_to_open():
    began = time.monotonic()
    alarm = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    alarm.start()
    execution = run("SlowToOpen", range(200), jobs=2)
    assert execution.interrupted
    assert execution.cases == ()
    assert time.monotonic() - began < 10


def test_a_worker_that_is_closed_before_its_fork_is_not_waited_for():
    began = time.monotonic()
    address = "tests.planted.bad_backends:SlowToOpen"
    server = start_server()._forkserver_pid
    os.kill(server, signal.SIGSTOP)
    process = WorkerProcess(Start.here(address))
    process.send((process.start.environment, Setup(address, Corpus(), None)))
    threading.Timer(0.3, os.kill, (server, signal.SIGCONT)).start()
    process.close()
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("name", ["HangsAlways", "HoldsTheLock"])
def test_nothing_is_left_of_a_parent_that_is_killed(name, processes, tmp_path):
    script = (
        "from tests.pool.test_local import run\n"
        "if __name__ == '__main__':\n"
        f"    run({name!r}, timeout=60)\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", script]
    parent = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        assert eventually(lambda: len(descendants_of(parent.pid)) >= processes)
        time.sleep(processes - 1)
        left = descendants_of(parent.pid)
    finally:
        parent.kill()
        said = parent.communicate()[1]
    assert len(left) >= processes
    assert eventually(lambda: not any(map(is_alive, left)), 5)
    assert not said
    assert not list(tmp_path.iterdir())


def test_where_the_system_has_no_files_in_memory(monkeypatch, tmp_path):
    monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "removed"))
    result = bad_one(run("Abort"))
    assert result.message.startswith("100: died of SIGABRT: terminate called after throwing")
    (tmp_path / "removed").rmdir()


def test_a_backend_that_kills_its_fork_server_ends_no_run():
    run("Good")
    before = set(children_of(os.getpid()))
    result = bad_one(run("KillsItsParent"))
    assert result.verdict == "crashed"
    assert result.message.startswith("100: ended with its fork server")
    assert before - set(children_of(os.getpid()))


@pytest.mark.parametrize("name", ["Missing", "Deadly"])
def test_what_cannot_be_imported_before_costs_nothing(name):
    results = run(name, module="imported").cases
    assert [result.verdict for result in results] == ["pass"] * 3


def test_a_worker_that_waited_and_died_costs_nothing():
    address = "tests.planted.bad_backends:Good"
    start_ahead(address)
    [worker] = eventually(lambda: workers_of(os.getpid()))
    os.kill(worker, signal.SIGKILL)
    assert eventually(waiting[address][0].has_ended)
    execution = run("Good")
    assert {result.verdict for result in execution.cases} == {"pass"}
    assert execution.restarts == 0


def test_a_session_of_a_backend_that_cannot_be_opened_leaves_no_worker():
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(UsageError):
        Session("openvino:nonsense", CORPUS, 20.0, (), print)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_fault_of_the_listener_ends_the_run():
    def complain(result):
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        run("Good", range(200), jobs=2, on_result=complain)
