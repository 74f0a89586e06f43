import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from command import convcheck
from living import children_of, eventually, marked, parent_of
from places import ROOT
from planted.asking import INT8
from planted.bad_backends import BAD, HangsOnOne
from planted.float19 import in_folder
from planted.identity import Corpus, SlowCorpus, case, judge
from report_json import several

from convcheck.ask.jobs import Job
from convcheck.errors import ConvcheckError, UnavailableError, UsageError
from convcheck.judge.result import BackendInfo
from convcheck.plan.runner import execute
from convcheck.pool import dask as cluster
from convcheck.pool.dask import on_cluster
from convcheck.pool.lane import Reported, Restarts
from convcheck.pool.messages import Setup
from convcheck.records import replace

pytest.importorskip("distributed")
MARK = "CONVCHECK_TEST_CLUSTER"
FOLDER = f"{MARK}_FOLDER"


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    from distributed import LocalCluster

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        patch.setenv(MARK, str(os.getpid()))
        patch.setenv(FOLDER, str(tmp_path_factory.mktemp("hanging")))
        made = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
        with made:
            yield made


@pytest.fixture
def url(local):
    """Its address. In the end no child processes of its workers may be left."""
    yield local.scheduler_address.replace("tcp://", "dask://")
    assert eventually(lambda: not programs()), programs()


def programs():
    mine = children_of(os.getpid())
    kept = {each for worker in mine for each in (worker, *children_of(worker))}
    return [number for number in marked(MARK, str(os.getpid())) if number not in kept]


def planted(name, corpus=None):
    return Setup(f"tests.planted.bad_backends:{name}", corpus or Corpus(), judge)


def jobs(count):
    asked = (replace(case(n), inputs=(replace(INT8, name=f"type{n}"),)) for n in range(count))
    return [Job(number, one) for number, one in enumerate(asked)]


def here(setup, asked):
    execution = execute(
        setup.address, [job.case for job in asked], setup.corpus, judge=setup.judge,
        jobs=1, timeout=20.0, on_result=lambda result: None,
    )  # fmt: skip
    return dict(enumerate(execution.cases)), execution.backend, execution.restarts


def there(reports):
    first, *rest, last = reports
    assert isinstance(first, BackendInfo)
    assert isinstance(last, Restarts)
    results = [report for report in rest if isinstance(report, Reported)]
    assert len(results) == len(rest) == len({report.position for report in results})
    results.sort(key=lambda report: report.position)
    return {r.position: r.result for r in results}, first, last.count


# what is run, its exit code, and a part of its first log
RUNS = {
    "a runtime": (
        "--backend ort onnx.Cast-21 --from float64 --to float16 --to int8",
        1, lambda run: run["summary"]["verdicts"]["fail"] == 1,
    ),
    "a cache that shows after other attributes": (
        "--backend tests.planted.deviating:CoarseCache onnx.Cast-21 "
        "--from float32 --to float8e4m3fn",
        1, lambda run: {"pass": 1, "fail": 2}.items() <= run["summary"]["verdicts"].items(),
    ),
    "a part of a sweep, and its cause": (
        "--backend tests.planted.rounding_backends:Truncating acme.Convert-1 --specs SPECS "
        "--tier exhaustive --to bfloat16",
        1, lambda run: [(c["together"][0]["name"], c["explained"]) for c in run["causes"]]
        == [("truncates", 2**19)],
    ),
    "a survey": (
        "--open --backend tests.planted.free_backends:Refusing --backend reference onnx.Cast-21 "
        "--from float16 --to int8 --to int16",
        0, lambda run: any(row["digest"] for case in run["cases"] for row in case.get("rows", ())),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_the_log_is_that_of_a_run_on_this_machine(name, url, tmp_path):
    words, code, shows = RUNS[name]
    asked = words.replace("SPECS", str(in_folder(tmp_path))).split()
    for place, executor in {"here": ("--jobs", "1"), "there": ("--executor", url)}.items():
        done = convcheck("run", *asked, *executor, "-o", f"jsonl:{tmp_path / place}")
        assert done.returncode == code, done.stderr
    here, there = (several((tmp_path / place).read_text()) for place in ("here", "there"))
    for one, other in zip(here, there, strict=True):
        assert one.pop("environment").keys() == other.pop("environment").keys()
    assert here == there
    assert shows(here[0])


def test_a_backend_that_dies_costs_the_cluster_no_worker(url, local):
    before = set(local.scheduler.workers)
    found = there(on_cluster(url, planted("Segfault"), jobs(3), 20.0))
    assert found == here(planted("Segfault"), jobs(3))
    assert found[0][1].verdict == "crashed"
    assert set(local.scheduler.workers) == before


def test_a_worker_that_is_killed_has_its_batch_asked_elsewhere(url, local):
    setup = planted("Good", SlowCorpus())
    reports = on_cluster(url, setup, jobs(5), 20.0)
    first = next(reports)
    assert eventually(lambda: len(programs()) >= 2)
    before = set(programs())
    os.kill(local.workers[0].pid, signal.SIGKILL)

    def rest():
        yield first
        yield from reports

    found = there(rest())
    assert list(found[0]) == list(range(5))
    assert {r.verdict for r in found[0].values()} == {"pass"}
    assert not before & set(programs())


class Hangs(HangsOnOne):
    def misbehave(self, array):
        if BAD in array:
            Path(os.environ[FOLDER], str(os.getpid())).touch()
        super().misbehave(array)


def hanging():
    return {int(file.name) for file in Path(os.environ[FOLDER]).iterdir()} & set(programs())


def test_what_hangs_ends_with_its_worker_and_when_nobody_waits(url, local):
    setup = Setup("tests.pool.test_dask:Hangs", Corpus(), judge)
    with closing(on_cluster(url, setup, jobs(2), 60.0)) as reports:
        assert isinstance(next(reports), BackendInfo)
        assert isinstance(next(reports), Reported)
        assert eventually(lambda: bool(hanging()))
        before = set(programs())
        for nanny in list(local.workers.values()):
            os.kill(nanny.pid, signal.SIGKILL)
        assert eventually(lambda: not before & set(programs()), 4.0)
        assert eventually(lambda: bool(hanging()))
    assert eventually(lambda: not programs(), 5.0)


class KillsTheWorker:
    name, version = "deadly", "1"

    def __init__(self):
        os.kill(parent_of(os.getppid()), signal.SIGKILL)
        time.sleep(60)


def test_work_that_kills_every_worker_ends_the_run(url, local, monkeypatch):
    monkeypatch.setattr(local.scheduler, "allowed_failures", 0)
    setup = Setup("tests.pool.test_dask:KillsTheWorker", Corpus(), judge)
    with pytest.raises(UnavailableError, match="keep dying"):
        list(on_cluster(url, setup, jobs(1), 20.0))


@pytest.mark.parametrize("name", ["tests.planted.bad_backends:CannotOpen", "nothing-of-the-kind"])
def test_a_backend_that_cannot_be_opened_is_the_error_that_it_is_here(url, name):
    setup = Setup(name, Corpus(), judge)
    with pytest.raises(ConvcheckError) as expected:
        here(setup, jobs(1))
    with pytest.raises(ConvcheckError) as found:
        list(on_cluster(url, setup, jobs(1), 20.0))
    assert type(found.value) is type(expected.value)
    assert found.value.message == expected.value.message
    assert "cluster's worker tcp://" in found.value.hint


def one(url):
    return next(on_cluster(url, planted("Good"), jobs(1), 20.0))


@pytest.mark.parametrize(
    "address",
    ["dask://", "dask://host", "dask://host:x", "dask://host:0", "dask://host:99999", "dask://:1",
     "tcp://host:1", "host:1", "dask://host:1/path", "dask://me@host:1", "dask://[::1:1"],
)  # fmt: skip
def test_an_address_that_is_none(address):
    with pytest.raises(UsageError, match="not the address of a Dask cluster") as error:
        one(address)
    assert "dask://HOST:PORT" in error.value.hint


def test_nobody_listens(monkeypatch, capfd):
    monkeypatch.setattr(cluster, "CONNECTING", 0.5)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(UnavailableError, match=f"no Dask scheduler answers at .*{port}") as error:
        one(f"dask://127.0.0.1:{port}")
    assert "`dask scheduler` starts one" in error.value.hint
    assert capfd.readouterr() == ("", "")


def test_dask_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UnavailableError) as error:
        one("dask://127.0.0.1:1")
    assert error.value.hint == "in a checkout of convcheck: pip install '.[dask]'"


def test_a_cluster_without_workers(monkeypatch, tmp_path):
    monkeypatch.setattr(cluster, "LONELY", 0.2)
    found = tmp_path / "scheduler.json"
    options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", found)
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", *map(str, options)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as alone:
        try:
            assert eventually(lambda: found.exists() and found.read_text().endswith("}"), 60)
            address = json.loads(found.read_text())["address"]
            with pytest.raises(UnavailableError, match="has no worker") as error:
                one(address.replace("tcp://", "dask://"))
        finally:
            alone.terminate()
    assert error.value.hint.startswith("start workers: dask worker 127.0.0.1:")
