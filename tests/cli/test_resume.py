import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from command import convcheck, refused
from living import eventually

from convcheck.documents.journal import Journal, open_journal
from convcheck.errors import UsageError
from convcheck.judge.result import BackendInfo, RunResult

SELECTION = ("onnx.Cast-21", "--to", "float8e4m3fn")
BACKEND = "planted.deviating:Diary"
MINE = BackendInfo("mine", "1", "mine")
RUN = RunResult(MINE, "edge", "disputed", (), ())


def arguments(journal, report):
    options = ("--resume", journal, "-o", report, "--jobs", "2", "-q")
    return ["run", "--backend", BACKEND, *SELECTION, *map(str, options)]


def started(journal):
    """Start a run, with its report and its diary beside the journal."""
    folder, quiet = journal.parent, subprocess.DEVNULL
    command = [sys.executable, "-m", "convcheck", *arguments(journal, folder / "run.json")]
    surroundings = {**os.environ, "DIARY": str(folder / "diary.txt")}
    return subprocess.Popen(command, env=surroundings, stdout=quiet, stderr=quiet)


def done_in(journal):
    if not journal.exists():
        return set()
    lines = journal.read_text(encoding="utf-8").splitlines(keepends=True)
    cases = (json.loads(line).get("case") for line in lines[1:] if line.endswith("\n"))
    return {case["case"]["id"] for case in cases if case}


def test_a_killed_run_goes_on(tmp_path):
    journal, report, diary = (tmp_path / n for n in ("run.journal", "run.json", "diary.txt"))
    known = []
    for more in (2, 5, 1):
        process = started(journal)
        wanted = len(done_in(journal)) + more
        assert eventually(lambda n=wanted, p=process: len(done_in(journal)) >= n or p.poll())
        process.send_signal(signal.SIGKILL)
        process.wait()
        known.append(done_in(journal))
        time.sleep(0.5)  # until its workers have noticed and ended
        with diary.open("a") as file:
            file.write(f"killed {len(known)}\n")
    assert not report.exists()
    last = convcheck(*arguments(journal, report), DIARY=str(diary))
    assert last.returncode == 0, last.stderr
    assert not journal.exists()
    asked_once(diary, known)
    whole = tmp_path / "whole.json"
    words = ("run", "--backend", BACKEND, *SELECTION, "-o", whole)
    convcheck(*words, DIARY=str(tmp_path / "other.txt"))
    assert report.read_text() == whole.read_text()


def asked_once(diary, known):
    runs = [Counter()]
    for line in diary.read_text().splitlines():
        if line.startswith("killed"):
            runs.append(Counter())
        else:
            runs[-1][line] += 1
    for before, later in zip(known, runs[1:], strict=True):
        assert not before & later.keys()
    for run in runs:
        assert set(run.values()) <= {1}


@pytest.fixture
def journal(tmp_path):
    path = tmp_path / "run.journal"
    process = started(path)
    assert eventually(lambda: done_in(path))
    process.kill()
    process.wait()
    return path


def opened(path):
    return open_journal(str(path), RUN, {}, [])


def test_a_file_that_is_no_journal_stays(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("a line without an end")
    with pytest.raises(UsageError, match="is not the log of a run"):
        opened(path)
    assert path.read_text() == "a line without an end"
    with pytest.raises(UsageError, match="it is not a regular file"):
        opened(Path("/dev/null"))
    path.write_text("[" * 100_000 + "\n")
    with pytest.raises(UsageError, match="is not the log of a run"):
        opened(path)


def test_a_journal_whose_first_line_was_cut_short_begins_anew(tmp_path):
    path = tmp_path / "run.journal"
    for cut in ("", '{"form', '{"format":"convcheck-run/3","convch'):
        path.write_text(cut)
        opened(path).file.close()
        assert path.read_text() == ""


def test_a_journal_is_of_one_run_at_a_time(tmp_path):
    path = tmp_path / "run.journal"
    first = opened(path)
    with pytest.raises(UsageError, match=r"another run is writing .*run.journal"):
        opened(path)
    first.name(MINE)
    first.file.close()
    again = opened(path)
    assert again.backend == MINE
    again.remove()
    assert not path.exists()


def test_a_journal_on_a_full_disk(tmp_path):
    file = Path("/dev/full").open("w")  # noqa: SIM115 — closing it is an error, too
    with pytest.raises(UsageError, match="No space left"):
        Journal(tmp_path / "run.journal", file, RUN).name(MINE)
    with contextlib.suppress(OSError):
        file.close()


def test_a_journal_that_is_not_this_runs(journal, tmp_path):
    report, text = tmp_path / "run.json", journal.read_text()
    diary = str(tmp_path / "diary.txt")
    not_this = partial(refused, *arguments(journal, report), DIARY=diary)
    assert 'its tier is "edge", not "boundary"' in not_this("--tier", "boundary")
    assert "is of another run" in not_this("--from", "float64")
    assert "its shard is null, not {" in not_this("--shard", "1/2")
    journal.write_text(text + '{"id": 1}\n' + "cut sh")
    assert f"{journal}:{text.count(chr(10)) + 1}: not a line of this run" in not_this()
    journal.write_text("hello\n")
    assert "is not the log of a run" in not_this()
    journal.write_text("{hello\n")
    assert "is not the log of a run" in not_this()
    journal.write_text(text.replace('"name":"diary"', '"name":"another"'))
    assert "has results of another 1, and this is diary 1" in not_this()
    assert not report.exists()
