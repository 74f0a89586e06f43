import subprocess
import sys

from convcheck.cli.outputs import Work, announce, duration


class Clock:
    """A fake clock, which advances while waiting and does scheduled work."""

    def __init__(self, work, rate, ends):
        self.work, self.rate, self.ends, self.time = work, rate, ends, 0.0

    def now(self):
        return self.time

    def wait(self, timeout):
        self.time = min(self.time + timeout, self.ends)
        self.work.done = int(self.time * self.rate)
        return self.time == self.ends


def told(work, rate, ends, capsys):
    clock = Clock(work, rate, ends)
    announce(work, clock, clock.now)
    out, err = capsys.readouterr()
    assert out == ""
    return str(err).splitlines()


def test_after_10_seconds_and_then_every_30(capsys):
    work = Work("ort", 1300, "case", begun=0.0)
    assert told(work, 3.0, 100.0, capsys) == [
        "ort: 30 of 1,300 cases after 10 s, about 7 min left",
        "ort: 120 of 1,300 cases after 40 s, about 7 min left",
        "ort: 210 of 1,300 cases after 70 s, about 6 min left",
    ]


def test_what_takes_less_is_silent(capsys):
    assert told(Work("ort", 5, "case", begun=0.0), 1.0, 9.9, capsys) == []


def test_before_anything_is_done_nobody_knows_what_is_left():
    assert Work("x", 1, "case", begun=0.0).line(40.0) == "x: 0 of 1 case after 40 s"
    work = Work("x", 256, "part", begun=0.0, done=64, failing=2)
    said = "x: 64 of 256 parts after 1 h 0 min, 2 failing, about 3 h 0 min left"
    assert work.line(3600.0) == said


def test_a_name_from_outside_is_not_obeyed(capsys):
    [line] = told(Work("\x1b[31m::error::x", 1, "case", begun=0.0), 0.0, 20.0, capsys)
    assert line.startswith("\\x1b[31m")


def test_times_in_words():
    said = [duration(seconds) for seconds in (0.4, 40, 100, 720, 12_000)]
    assert said == ["0 s", "40 s", "2 min", "12 min", "3 h 20 min"]


IMPATIENT = """
from convcheck.cli import outputs
outputs.FIRST = outputs.EVERY = 0.1
from convcheck.__main__ import main
if __name__ == "__main__":
    main()
"""
SLOW = "planted.deviating:Slow"
ASKED = ("run", "--backend", SLOW, "onnx.Cast-21", "--from", "int8", "--to", "int32")


def impatient(folder, *arguments):
    (folder / "main.py").write_text(IMPATIENT)
    return subprocess.run(
        [sys.executable, "main.py", *arguments], cwd=folder, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip


def test_a_run_in_a_log_says_how_far_it_is(tmp_path):
    done = impatient(tmp_path, *ASKED, "-o", "-")
    assert done.returncode == 0, done.stderr
    assert f"{SLOW}: 0 of 1 case after 0 s\n" in done.stderr
    assert done.stdout.startswith("{")
    assert "after" not in done.stdout
    for silenced in ((*ASKED, "--no-progress"), ("--no-progress", *ASKED)):
        silent = impatient(tmp_path, *silenced, "-o", "-")
        assert " after " not in silent.stderr
