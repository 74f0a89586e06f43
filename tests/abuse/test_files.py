import errno
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from abuse_cases import RUN, Abuse, check_abuse
from command import convcheck, refused
from places import KERNELS, ROOT

CASE = "onnx.Cast-21/bool-to-float32"


READING = (
    (f"{RUN} --known {{}}", 256),
    (f"{RUN} --inputs {{}}", 256),
    ("report {}", 1024),
    ("report r.json --known {}", 256),
    ("report {} s2.json", 1024),
    ("diff {} r.json", 1024),
    ("diff r.json {}", 1024),
    ("known x {}", 1024),
    (f"repro {CASE} --report {{}}", 1024),
    (f"run --backend answers:{{}} {CASE}", 256),
)
ODD = {
    "fifo": "it is a pipe or a device, not a file",
    "/dev/zero": "it is a pipe or a device, not a file",
    "full": "Is a directory",
    "large": "it is larger than the limit of {} MiB",
    "no-such-file": "No such file or directory",
}
FILES = [
    Abuse(command.format(name), 2, f"cannot read {name}: {said.format(most)}")
    for command, most in READING
    for name, said in ODD.items()
]
OTHERS = [
    Abuse(f"{RUN} --resume fifo", 2, "cannot use fifo: it is not a regular file"),
    Abuse(f"{RUN} --resume /dev/zero", 2, "cannot use /dev/zero: it is not a regular file"),
    Abuse(f"{RUN} --resume large", 2, "cannot use large: it is larger than the limit of 1024 MiB"),
    Abuse("generate openvino.Range-4 --out odd", 2, "odd/MANIFEST.json: vector file: cannot be"),
    Abuse("generate --out odd", 2, "odd is not empty, and holds no vectors"),
    Abuse(f"export {CASE} --as json --out odd/export", 2, "is not empty, and holds no earlier"),
]


@pytest.fixture
def odd(folder, tmp_path_factory):
    (folder / "odd" / "export").mkdir(parents=True)
    for name in ("fifo", "odd/MANIFEST.json", "odd/export/convcheck-export.json"):
        os.mkfifo(folder / name)
    large = tmp_path_factory.mktemp("large") / "large"
    with large.open("wb") as file:
        file.truncate(1 << 31)  # sparse: nothing on the disk
    (folder / "large").symlink_to(large)
    return folder


@pytest.fixture(autouse=True)
def _no_waiting():
    before = signal.signal(signal.SIGALRM, _woken)
    signal.alarm(180)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _woken(number, frame):
    raise AssertionError("it waited")


@pytest.mark.parametrize("case", [*FILES, *OTHERS], ids=str)
def test_what_is_no_file_is_not_read(case, odd):
    assert check_abuse(case, odd).stdout == ""


def test_stdin_without_an_end():
    with open("/dev/zero", "rb") as endless:
        done = subprocess.run(
            [sys.executable, "-m", "convcheck", "run", "--backend", "answers:-", CASE],
            stdin=endless, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
    assert done.returncode == 2
    assert "cannot read stdin: it is larger than the limit of 256 MiB" in done.stderr


SPECS = ROOT / "docs" / "examples" / "specs"
HEAD = "op: acme.Odd\nversion: 1\n"
DEEP = 100_000
DEPTH = "nested too deeply"
KEY_OR_DEPTH = f"({DEPTH}|a key has to be a word)"  # newer releases of libyaml count first
TEXTS = [
    ("[" * DEEP, 1, DEPTH),
    ("[" * DEEP + "]" * DEEP, 1, DEPTH),
    ("{" * DEEP, 1, KEY_OR_DEPTH),
    ("{a: " * DEEP, 1, DEPTH),
    ("[{a: " * DEEP, 1, DEPTH),
    ("- " * DEEP, 1, DEPTH),
    ("? " * DEEP, 1, KEY_OR_DEPTH),
    ("\n".join(" " * n + "a:" for n in range(1000)), 22, DEPTH),
    (HEAD + "rules: " + "[" * DEEP, 3, DEPTH),
    (HEAD + "rules: " + "{a: " * DEEP, 3, DEPTH),
    ("[" * DEEP + HEAD, 1, DEPTH),
]


def check_specs(folder, said):
    """Check that a run with a folder of specs ends with one error."""
    done = convcheck("show", "specs", "--specs", folder)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr[-2000:]
    assert re.search(f"{re.escape(folder.name)}/{said}", done.stderr), done.stderr
    assert len(done.stderr.splitlines()) <= 2


@pytest.mark.parametrize("name", ["odd.yaml", "dtypes.yaml"])
@pytest.mark.parametrize(("text", "line", "said"), TEXTS, ids=[row[0][:12] for row in TEXTS])
def test_what_is_nested_is_read_so_deep_and_no_deeper(text, line, said, name, tmp_path):
    (tmp_path / name).write_text(text)
    check_specs(tmp_path, f"{name}:{line}: {said}")


@pytest.mark.parametrize("name", ["odd.yaml", "dtypes.yaml"])
@pytest.mark.parametrize("how", ["fifo", "device", "folder", "large"])
def test_a_spec_that_is_no_file(how, name, tmp_path):
    path = tmp_path / name
    said = "it is a pipe or a device, not a file"
    if how == "fifo":
        os.mkfifo(path)
    elif how == "device":
        path.symlink_to("/dev/zero")
    elif how == "folder":
        path.mkdir()
        said = "Is a directory"
    else:
        path.write_bytes(b"#" * ((1 << 22) + 1))
        said = "it is larger than the limit of 4 MiB"
    check_specs(tmp_path, f"{name}: cannot be read: {said}")


TYPE = "{exponent: 3, mantissa: 4, bias: 3, infinity: yes, nan: ieee, negative_zero: yes}"
BOUNDS = [
    ("bias: 3", "bias: 999999999", "bias is 999999999\n  hint: -2047 to 2047"),
    ("bias: 3", "bias: -2048", "bias is -2048\n  hint: -2047 to 2047"),
    ("bias: 3", f"bias: {'9' * 5000}", "expected a whole number, found '999"),
    ("exponent: 3", "exponent: 12", "exponent is 12\n  hint: 1 to 11"),
    ("exponent: 3", "exponent: 0", "exponent is 0\n  hint: 1 to 11"),
    ("mantissa: 4", "mantissa: 53", "mantissa is 53\n  hint: 0 to 52"),
    ("mantissa: 4", "mantissa: -1", "mantissa is -1\n  hint: 0 to 52"),
    ("mantissa: 4", "mantissa: 0", "ieee NaNs differ in the mantissa, and there is none"),
]


@pytest.mark.parametrize(("old", "new", "said"), BOUNDS, ids=[row[1][:20] for row in BOUNDS])
def test_the_parameters_of_a_format_have_bounds(old, new, said, tmp_path):
    (tmp_path / "dtypes.yaml").write_text(f"floats:\n  wide: {TYPE.replace(old, new)}\n")
    assert f"{tmp_path.name}/dtypes.yaml:2: {said}" in refused("show", "types", "--specs", tmp_path)


@pytest.mark.parametrize("bias", [-2047, 2047])
def test_at_the_bounds_they_are_converted(bias, tmp_path):
    specs = Path(shutil.copytree(SPECS, tmp_path / "specs"))
    path = specs / "dtypes.yaml"
    path.write_text(path.read_text().replace("bias: 3", f"bias: {bias}"))
    spec = specs / "convert-1.yaml"
    spec.write_text(spec.read_text().partition("examples:")[0])
    (specs / "convert-2.yaml").unlink()
    done = convcheck("run", "--backend", "reference", "acme.*", "--specs", specs)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASS" in done.stdout


@pytest.mark.parametrize("name", ["MANIFEST.json", "acme/Convert/float16.json"])
def test_a_pipe_in_the_place_of_vectors(name, tmp_path):
    specs = Path(shutil.copytree(SPECS, tmp_path / "specs"))
    path = specs / "vectors" / name
    asked = ("acme.*", "--specs", specs)
    assert convcheck("generate", *asked, "--out", specs / "vectors").returncode == 0
    path.unlink()
    os.mkfifo(path)
    done = convcheck("run", "--backend", "reference", *asked)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{path}: vector file: cannot be read: it is a pipe or a device" in done.stderr


def chain(folder, length):
    first = (SPECS / "convert-1.yaml").read_text().partition("examples:")[0]
    (folder / "convert-1.yaml").write_text(first)
    (folder / "dtypes.yaml").write_text((SPECS / "dtypes.yaml").read_text())
    for n in range(2, length + 1):
        (folder / f"convert-{n}.yaml").write_text(
            f"op: acme.Convert\nversion: {n}\nextends: convert-{n - 1}\n"
        )


def test_a_chain_of_specs_is_so_long_and_no_longer(tmp_path):
    chain(tmp_path, 101)
    done = convcheck("show", "acme.Convert-101", "--specs", tmp_path)
    assert done.returncode == 0, done.stderr
    chain(tmp_path, 1200)
    check_specs(tmp_path, "convert-102.yaml:3: it extends a chain of more than 100 files")


@pytest.mark.parametrize("command", [
    RUN,
    f"explain {CASE} 1 --backend reference",
    f"backend probe --backend 'process:{sys.executable} {KERNELS / 'cast.py'}' onnx.Cast-21",
], ids=["run", "explain", "probe"])  # fmt: skip
def test_no_temporary_folder_is_needed(command, folder, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/proc/no-such-folder")
    check_abuse(Abuse(command, 0, ""), folder)


UNUSABLE = [(2, "", "No such file or directory"), (74, "full", "No space left on device")]


@pytest.mark.parametrize(("code", "how", "said"), UNUSABLE, ids=["missing", "full"])
@pytest.mark.parametrize("command", [RUN, f"explain {CASE} 1 --backend reference"])
def test_where_files_are_not_in_memory_it_has_to_be_usable(
    command, code, how, said, folder, monkeypatch
):
    def full(**settings):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setattr(tempfile, "tempdir", str(folder) if how else "/proc/no-such-folder")
    if how:
        monkeypatch.setattr(tempfile, "TemporaryFile", full)
    check_abuse(Abuse(command, code, f"no temporary file can be written: {said}"), folder)
