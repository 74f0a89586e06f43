import os
import pty
import select
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner
from command import convcheck, convcheck_process, refused
from living import eventually, lines_in
from report_json import parsed

from convcheck.cli import COMMANDS, group
from convcheck.cli.commands import REMOVED, REMOVED_OPTIONS

PROGRAM = (sys.executable, "-m", "convcheck")
RIGHT, WRONG = "reference", "planted.rounding_backends:Truncating"
ONE = ("onnx.Cast-21", "--from", "float32", "--to", "bfloat16")
HALF = ("onnx.Cast-21", "--from", "float16", "--to", "bfloat16")
SAME = ("onnx.Cast-21", "--case", "uint8-to-uint8")
OTHER = ("onnx.Cast-21", "--from", "bool", "--to", "float32")


GOOD = ("run", "--backend", RIGHT)
TABLE = [
    ((*GOOD, *ONE), 0, "PASS"),
    (("run", "--backend", WRONG, *ONE), 1, "FAIL"),
    (("run", "--backend", WRONG, *HALF, "--level", "normative"), 0, "below"),
    (("run", "--backend", "planted.bad_backends:Segfault", *SAME), 1, "CRASHED"),
    (("run", "--backend", "planted.deviating:Declining", *ONE), 3, "NOTHING"),
    ((*GOOD, "-q", "-v"), 2, "choose one"),
    ((*GOOD, "--backend", WRONG, "-o", "html:-"), 2, "-o html:- works with one --backend only"),
    (("run",), 2, "which backend?"),
    ((*GOOD, "--where", "saturate=9"), 2, "no case"),
    ((*GOOD, "onnx.Cast-21", "--to", "int8", "--where", "saturate=1"), 2,
     "no case matches all of these together"),
    ((*GOOD, "--inputs", "README.md"), 2, "of one type"),
    (("generate", "--out", "/proc/convcheck"), 2, "cannot write"),
    (("generate", "--specs", "docs/examples/specs"), 2, "not for your own specs"),
    (("generate", "onnx.Cast-1", "--out", "/tmp/site-packages/v"), 2,
     "is part of an installation, and not written to"),
    (("generate", "--tier", "boundary"), 2, "which folder?"),
    (("lint", "--specs", "/nonexistent"), 2, "is not a folder"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "code", "said"), TABLE, ids=[row[2] for row in TABLE])
def test_how_it_ends(arguments, code, said):
    done = convcheck(*arguments)
    assert done.returncode == code, done.stdout + done.stderr
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert not done.stdout or code != 2


def test_help_fits_a_screen():
    lines = convcheck("--help").stdout.splitlines()
    assert len(lines) <= 26
    assert max(map(len, lines)) < 80
    assert all(any(f" {name} " in line for line in lines) for name in COMMANDS)


@pytest.mark.parametrize("name", [*COMMANDS, "backend serve", "backend probe", "backend example"])
def test_help_is_short_and_has_one_example(name):
    done = CliRunner().invoke(group, [*name.split(), "--help"], terminal_width=80)
    lines = done.output.splitlines()
    assert done.exit_code == 0
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    assert done.output.count("Example: convcheck ") == 1


@pytest.mark.parametrize("name", REMOVED)
def test_a_command_that_is_gone_names_the_new_one(name):
    assert f"hint: use {REMOVED[name]}\n" in refused(name, "--backend", RIGHT)


@pytest.mark.parametrize("name", REMOVED_OPTIONS)
def test_an_option_that_is_gone_names_the_new_one(name):
    said = refused("run", name, "x", "--backend", RIGHT)
    assert said == f"convcheck: unknown option {name}\n  hint: use {REMOVED_OPTIONS[name]}\n"


@pytest.mark.parametrize(("words", "ours"), [
    (("run", "--backend", "onnxruntime"), "ort"),
    ((*GOOD, "--to", "fp64"), "float64"),
    ((*GOOD, "--to", "F32"), "float32"),
    (("chain", "float64", "bf16", "float16"), "bfloat16"),
])  # fmt: skip
def test_a_name_of_another_tool_is_understood(words, ours):
    assert f"hint: did you mean {ours}?\n" in refused(*words)


BAD = {
    "known.toml": (("run", "--backend", RIGHT, *ONE, "--known"), "[[known]]\ncase = 3\n", ":2"),
    "run.json": (("report",), "{}", "convcheck-run/3"),
    "journal": (("run", "--backend", RIGHT, *ONE, "--resume"), "[]\n", "is not the log of a run"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files(name, tmp_path):
    command, text, said = BAD[name]
    path = tmp_path / name
    path.write_text(text)
    before = path.read_bytes()
    assert said in refused(*command, path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_with_partial_results(number, code, tmp_path):
    report, log = tmp_path / "run.json", tmp_path / "log"
    command = [*PROGRAM, "run", "--backend", "planted.deviating:Diary", "onnx.Cast-21",
               "-o", str(report), "--resume", str(log)]  # fmt: skip
    surroundings, pipe = {**os.environ, "DIARY": str(tmp_path / "diary")}, subprocess.PIPE
    process = subprocess.Popen(command, env=surroundings, stdout=pipe, stderr=pipe, text=True)
    assert eventually(lambda: lines_in(log) > 12)
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == code
    assert "INTERRUPTED" in out
    written = parsed(report.read_text())
    assert written["interrupted"]
    assert written["cases"]


@pytest.mark.parametrize("seconds", [0.0, 0.2, 0.5])
def test_a_signal_at_the_start_ends_a_run(seconds):
    backend = "planted.bad_backends:HangsAlways"
    command = [*PROGRAM, "run", "--backend", backend, *SAME]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode in {130, -signal.SIGINT, 1}, err
    assert process.returncode != 1 or "KeyboardInterrupt" in err
    assert not out or "interrupted" in out.lower()


# Python ignores exceptions in the callback `cb` of an import.
IN_AN_IMPORT = """
def watch(frame, event, argument):
    if frame.f_code.co_name == "cb" and "click" in sys.modules:
        sys.setprofile(None)
        os.kill(os.getpid(), number)
sys.setprofile(watch)
"""
IN_A_LIBRARY = """
from convcheck.rules import load as module
def load(folders, before=module.load):
    try:
        os.kill(os.getpid(), number)
    except KeyboardInterrupt:
        pass
    return before(folders)
module.load = load
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("swallow", [IN_AN_IMPORT, IN_A_LIBRARY])
def test_a_signal_that_is_swallowed_comes_again(number, code, swallow):
    head = f"import os, sys; from convcheck.__main__ import main; number = {number:d}"
    program = f"{head}{swallow}main()"
    command = [sys.executable, "-c", program, "run", "--backend", RIGHT, *SAME]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (code, "", "")


def on_a_terminal(*arguments):
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*PROGRAM, *arguments], stdin=theirs, stdout=theirs, stderr=theirs,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "80"},
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    while select.select([ours], [], [], 60)[0]:
        try:
            piece = os.read(ours, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    process.wait()
    os.close(ours)
    return shown.decode()


def test_progress_and_colour_are_for_terminals():
    shown = on_a_terminal("run", "--backend", RIGHT, *OTHER)
    assert "━" in shown
    assert "\x1b[1;32mPASS" in shown
    without = on_a_terminal("run", "--backend", RIGHT, *OTHER, "--no-progress")
    assert "━" not in without
    assert "\x1b[1;32mPASS" in without
    piped = convcheck("run", "--backend", RIGHT, *OTHER, NO_COLOR="")
    assert "\x1b" not in piped.stdout + piped.stderr


def test_a_terminal_without_utf_8():
    plain = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    done = convcheck_process("run", "--backend", WRONG, *ONE, "--no-progress", **plain)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.isascii()
