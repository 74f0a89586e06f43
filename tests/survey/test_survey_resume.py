import json
import os
import signal
import subprocess
import sys

from command import convcheck
from living import eventually
from report_json import held_log

REFUSING = "tests.planted.free_backends:Refusing"
SELECTION = (
    "onnx.Cast-21", "onnx.Range-11", "--case", "onnx.Cast-21/float16-to-*int*",
    "--case", "onnx.Cast-21/string-to-int8", "--case", "onnx.Range-11/*", "--timeout", "120",
)  # fmt: skip
ASK = ("run", "--open", "--backend", REFUSING, "--backend", "planted.deviating:Diary", *SELECTION)


def kept(journal):
    if not journal.exists():
        return set()
    lines = journal.read_text(encoding="utf-8").splitlines(keepends=True)[1:]
    whole = (json.loads(line) for line in lines if line.endswith("\n"))
    return {line["case"]["case"]["id"] for line in whole if "case" in line}


def test_an_interrupted_survey_goes_on(tmp_path):
    resume, report, diary = (tmp_path / name for name in ("kept", "s.json", "diary.txt"))
    options = ("--resume", str(resume), "-o", str(report), "--jobs", "1")
    process = subprocess.Popen(
        [sys.executable, "-m", "convcheck", *ASK, *options],
        env={**os.environ, "DIARY": str(diary), "DIARY_HALTS": "5"},
        text=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    journals = [tmp_path / "kept.1", tmp_path / "kept.2"]
    assert eventually(lambda: len(kept(journals[1])) > 2, 120)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"the same command continues from {journals[1]}" in said
    before = [kept(journal) for journal in journals]
    assert len(before[0]) > len(before[1]) >= 3
    asked = diary.read_text().splitlines()
    done = convcheck(*ASK, *options, DIARY=str(diary))
    assert done.returncode == 0, done.stderr
    assert f"{len(before[0])} of {len(before[0])} cases are done" in done.stderr
    assert not before[1] & set(diary.read_text().splitlines()[len(asked) :])
    assert not any(journal.exists() for journal in journals)
    whole = tmp_path / "whole.json"
    convcheck(*ASK, "-o", whole, DIARY=str(tmp_path / "other.txt"))
    assert report.read_bytes() == whole.read_bytes()
    one, _ = held_log(whole.read_text())
    assert {"Range" in case["case"]["id"] for case in one["cases"] if "rows" in case} == {
        False,
        True,
    }


def test_a_journal_is_of_one_command(tmp_path):
    one = ("--backend", REFUSING, "onnx.Cast-21", "--case", "onnx.Cast-21/float16-to-int8")
    assert convcheck("run", "--open", *one, "-o", tmp_path / "s.json").returncode == 0
    head, *_ = (tmp_path / "s.json").read_text().splitlines(keepends=True)
    (tmp_path / "kept").write_text(head)
    done = convcheck("run", *one, "--no-causes", "--resume", tmp_path / "kept")
    assert (done.returncode, "its survey is true, not false" in done.stderr) == (2, True)
