import os
import resource
import stat
import subprocess
import sys

import pytest
from abuse_cases import ONE, RUN, Abuse, check_abuse, contents
from command import convcheck

CASE = "onnx.Cast-21/bool-to-float32"


REFUSED = [
    Abuse(f"{RUN} --known k.toml -o jsonl:k.toml", 2, "would overwrite --known, k.toml"),
    Abuse(f"{RUN} --known k.toml -o jsonl:./full/../k.toml", 2, "would overwrite --known"),
    Abuse(f"{RUN} --inputs inputs -o html:inputs", 2, "would overwrite --inputs"),
    Abuse(f"{RUN} --resume x -o jsonl:x", 2, "go to one file"),
    Abuse(f"{RUN} --resume k.toml --known k.toml", 2, "--resume would overwrite --known"),
    Abuse(f"{RUN} -o jsonl:x -o html:./x", 2, "go to one file"),
    Abuse(f"{RUN} -o r.json -o html:link.json", 2, "go to one file"),
    Abuse(f"{RUN} -o - -o md:-", 2, "go to one file"),
    Abuse(f"{RUN} -o jsonl:full", 2, "it is a folder"),
    Abuse(f"{RUN} -o jsonl:loop", 2, "cannot write loop"),
    Abuse(f"{RUN} -o jsonl:{'x' * 300}", 2, "cannot write xxx"),
    Abuse(f"{RUN} -o jsonl:no/such/x", 2, "cannot write no/such/x"),
    Abuse(f"{RUN} -o jsonl:inputs/x", 2, "cannot write inputs/x"),
    Abuse("report r.json -o html:r.json", 2, "would overwrite the report"),
    Abuse("report r.json -o link.json", 2, "would overwrite the report"),
    Abuse("report link.json -o hard.json", 2, "would overwrite the report"),
    Abuse("report r.json --known k.toml -o jsonl:k.toml", 2, "would overwrite --known"),
    Abuse("report s1.json s2.json -o s2.json", 2, "would overwrite the report"),
    Abuse("diff r.json failing.json -o r.json", 2, "would overwrite OLD"),
    Abuse("diff r.json failing.json -o ./failing.json", 2, "would overwrite NEW"),
    Abuse("known link.json r.json", 2, "already exists"),
    Abuse(
        f"run --backend answers:answers {CASE} -o jsonl:answers", 2, "would overwrite the answers"
    ),
    Abuse(f"repro {CASE} --report r.json --out r.json", 2, "--out would overwrite --report"),
    Abuse(f"run --open --backend reference {ONE} --resume x -o jsonl:x.1", 2, "go to one file"),
    Abuse(f"export {CASE} --as text --out loop", 2, "cannot write loop"),
    Abuse("generate onnx.Cast-1 --out full", 2, "full is not empty, and holds no vectors"),
    Abuse("generate onnx.Cast-1 --out inputs", 2, "inputs is not a folder"),
    Abuse("export onnx.Cast-1 --as json --out full", 2, "full is not empty"),
    Abuse(f"{RUN} -o ''", 2, "-o is empty"),
    Abuse(f"{RUN} --executor ''", 2, "--executor is empty"),
    Abuse(f"{RUN} --resume=", 2, "--resume is empty"),
    Abuse(f"{RUN} --known ''", 2, "--known is empty"),
    Abuse(f"{RUN} --case ''", 2, "--case is empty"),
    Abuse("repro 3f2a91c4 --report ''", 2, "--report is empty"),
]


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_refused_before_anything_is_asked(case, folder):
    assert check_abuse(case, folder).stdout == ""


WRITTEN = [
    Abuse(f"{RUN} -o jsonl:/dev/null -o html:/dev/null", 0, "PASS"),
    Abuse(f"{RUN} -o jsonl:link", 0, "PASS", ("link",)),
    Abuse("report r.json -o other.json", 0, "PASS", ("other.json",)),
    Abuse(f"explain {CASE} 1", 0, "1"),
]


@pytest.mark.parametrize("case", WRITTEN, ids=str)
def test_what_is_well(case, folder):
    check_abuse(case, folder)


PRINTING = [
    (f"{RUN} -o jsonl:x", ("x",)),
    (f"{RUN} -q -o jsonl:x -o html:y", ("x", "y")),
    (f"{RUN} -o github: -o jsonl:x", ("x",)),
    (f"{RUN} -o - -o html:y", ("y",)),
    (f"run --backend reference --backend planted.rounding_backends:Truncating {ONE} -o jsonl:x",
     ("x",)),
    ("report r.json -o xml:x", ("x",)),
    ("report s1.json s2.json -o jsonl:x", ("x",)),
    ("diff r.json failing.json -o json:x", ("x",)),
    (f"run --open --backend reference {ONE} -o jsonl:x", ("x",)),
    (f"run --backend answers:answers {CASE} -o jsonl:x", ("x",)),
    ("generate onnx.Cast-1 --check", ()),
    ("show types", ()), ("show cases onnx.Cast-1", ()), ("show onnx.Cast-1", ()),
    (f"explain {CASE} 1", ()), (f"export {CASE} --as text", ()), ("lint onnx.Cast-1", ()),
    ("run --help", ()), (f"run --dry-run {ONE}", ()),
]  # fmt: skip


@pytest.fixture
def full():
    with open("/dev/full", "w", encoding="utf-8") as stream:
        yield stream


@pytest.fixture
def closed():
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w", encoding="utf-8") as stream:
        yield stream


@pytest.mark.parametrize(("command", "written"), PRINTING, ids=[row[0] for row in PRINTING])
def test_a_full_device_on_stdout(command, written, folder, full):
    check_abuse(Abuse(command, 74, "No space left on device", written), folder, full)


@pytest.mark.parametrize(("command", "written"), PRINTING, ids=[row[0] for row in PRINTING])
def test_nobody_reads_stdout(command, written, folder, closed):
    check_abuse(Abuse(command, 141, "", written), folder, closed)


def test_a_pipe_is_closed_while_the_report_is_written(folder):
    command = f"'{sys.executable}' -m convcheck {RUN} -o jsonl:x | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (141, b"")
    whole = [sys.executable, "-m", "convcheck", *RUN.split(), "-o", "jsonl:y"]
    subprocess.run(whole, cwd=folder, capture_output=True, check=True)
    assert (folder / "x").read_bytes() == (folder / "y").read_bytes()


FULL = [
    Abuse(f"{RUN} -o jsonl:/dev/full -o html:y", 74, "cannot write /dev/full: No space", ("y",)),
    Abuse(f"{RUN} -o html:/dev/full -o jsonl:y", 74, "PASS", ("y",)),
    Abuse("report r.json -o html:/dev/full -o xml:y", 74, "cannot write /dev/full", ("y",)),
    Abuse("diff r.json failing.json -o json:/dev/full", 74, "cannot write /dev/full"),
    Abuse("known /dev/full failing.json", 74, "cannot write /dev/full"),
    Abuse(f"export {CASE} --as text --out /dev/full", 74, "cannot write /dev/full"),
    Abuse(f"run --open --backend reference {ONE} -o jsonl:/dev/full", 74, "cannot write /dev/full"),
]


@pytest.mark.parametrize("case", FULL, ids=str)
def test_one_report_cannot_be_written(case, folder):
    check_abuse(case, folder)


@pytest.mark.parametrize(("umask", "mode"), [(0o077, 0o600), (0o022, 0o644), (0o002, 0o664)])
def test_file_modes_follow_the_umask(umask, mode, folder):
    before = os.umask(umask)
    try:
        assert convcheck("report", "r.json", "-o", "jsonl:x", cwd=folder).returncode == 0
    finally:
        os.umask(before)
    assert stat.S_IMODE((folder / "x").stat().st_mode) == mode


LIMITS = [
    ("files open", resource.RLIMIT_NOFILE, 8, RUN, 74, "Too many open files"),
    ("size of a file", resource.RLIMIT_FSIZE, 64, "report r.json -o jsonl:x", 74, "File too large"),
]


@pytest.mark.parametrize(
    ("limit", "most", "command", "code", "said"), [row[1:] for row in LIMITS],
    ids=[row[0] for row in LIMITS],
)  # fmt: skip
def test_limits(limit, most, command, code, said, folder):
    before = contents(folder)
    done = subprocess.run(
        [sys.executable, "-m", "convcheck", *command.split()], cwd=folder, capture_output=True,
        text=True, check=False, preexec_fn=lambda: resource.setrlimit(limit, (most, most)),
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert contents(folder) == before


def test_the_working_folder_is_gone(tmp_path):
    shell = f"mkdir gone && cd gone && rmdir ../gone && '{sys.executable}' -m convcheck show types"
    done = subprocess.run(
        ["bash", "-c", shell], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": ":".join(filter(None, sys.path))},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert "the working folder is gone" in done.stderr
    assert "Traceback" not in done.stderr
