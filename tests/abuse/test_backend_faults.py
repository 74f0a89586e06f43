import json
import sys
import tempfile
import time
from dataclasses import dataclass

import pytest
from command import convcheck, report_at, told
from living import is_alive
from places import ROOT
from report_json import parsed

PLANTED = "tests.planted.untyped_backends"
ASKED = ("onnx.Cast-21", "--from", "bool", "--to", "float32")
MOST = 100_000


@dataclass(frozen=True)
class Fault:
    """A backend, the exit code and verdict of its only case, and the report's expected text."""

    backend: str
    code: int
    verdict: str
    said: str


TEXT = "for a message, not a text; write: return"
FAULTS = (
    Fault("RefusesWithBomb", 1, "error", f"Bomb {TEXT} Refused(str(error))"),
    Fault("DeclinesWithBomb", 1, "error", f"Bomb {TEXT} Declined(str(error))"),
    Fault("NamedByBomb", 1, "fail", "Bomb object at"),
    Fault("WritesIntoThePipe", 1, "crashed", "wrote into the pipe of its worker"),
    Fault("RefusesWithNone", 1, "error", f"Refused has None {TEXT} Refused(str(error))"),
    Fault("DeclinesWithObject", 1, "error", f"a object {TEXT} Declined(str(error))"),
    Fault("RaisesMuch", 1, "error", "… (cut, of 47,000,"),
    Fault("RefusesAtLength", 1, "refused", "… (cut, of 47,000,000 characters)"),
    Fault("LongName", 1, "fail", "… (cut, of 5,000,000 characters)"),
    Fault("ReturnsArray", 1, "error", "write: return Outputs((result,), (case.outputs[0].name,))"),
    Fault("ReturnsNothing", 1, "error", "the answer is None; write: return Outputs("),
    Fault("ReturnsFloat", 1, "error", "a numpy.float32, not an array of codes; write: return "),
    Fault("ReturnsScalar", 1, "fail", '"got": ["0x00000000", "0"]'),
    Fault("Floods", 1, "refused", "a log of 0 bytes"),
    Fault("SupportsBool", 1, "error", "support() gave a bool; write: return None where"),
)


ADAPTERS = ("ReturnsArray", "ReturnsNothing", "ReturnsFloat", "ReturnsScalar", "RefusesWithNone",
            "RefusesAtLength")  # fmt: skip
SERVE = f"process:{sys.executable} -m convcheck backend serve {PLANTED}:"
ASKED_OF = [
    *((f"{PLANTED}:", fault) for fault in FAULTS),
    *((SERVE, fault) for fault in FAULTS if fault.backend in ADAPTERS),
]


@pytest.mark.parametrize(
    ("where", "fault"), ASKED_OF, ids=lambda one: one.backend if isinstance(one, Fault) else one[:7]
)
def test_a_fault_of_a_backend_is_in_the_report_and_nowhere_else(where, fault, tmp_path):
    report = tmp_path / "r.json"
    done = convcheck("run", "--backend", f"{where}{fault.backend}", *ASKED, "-o", str(report))
    assert done.returncode == fault.code, done.stderr
    assert "Traceback" not in done.stderr
    text = report.read_text()
    assert len(text) < MOST
    [case] = told(parsed(text))["cases"]
    assert case["verdict"] == fault.verdict
    assert fault.said in json.dumps(parsed(text), ensure_ascii=False)


TO_TEXT = ("onnx.Cast-23", "--from", "float4e2m1", "--to", "string")
PROGRAM = f"process:{sys.executable} {ROOT / 'tests/planted/longwinded.py'}"
MUCH = "… (cut, of 5,000,000 characters)"
LONG = (
    Fault(f"{PLANTED}:LongText", 1, "fail", f'{"x" * 2_000} {MUCH}"'),
    Fault(f"{PLANTED}:ManyTexts", 1, "fail", "… (cut, of 40,004 characters)"),
    Fault(f"{PLANTED}:LongOption", 1, "inconsistent", "… (cut, of "),
    Fault(f"{PROGRAM} name", 0, "tolerated", "… (cut, of 5,000,002 characters)"),
    Fault(f"{PROGRAM} text", 1, "fail", MUCH),
    Fault(f"{PROGRAM} type", 1, "error", "… (cut, of "),
    Fault(f"{PROGRAM} refused", 1, "refused", MUCH),
    Fault(f"{PROGRAM} declined", 3, "unsupported", MUCH),
    Fault(f"{PROGRAM} error", 1, "error", MUCH),
    Fault(f"{PROGRAM} stderr", 1, "crashed", "exited with status 3: xxx"),
)


@pytest.mark.parametrize("fault", LONG, ids=lambda fault: fault.backend[-12:])
def test_what_is_said_at_length_is_cut_in_every_format(fault, tmp_path):
    reports = [tmp_path / name for name in ("r.json", "r.md", "r.html", "r.xml")]
    done = convcheck(
        "run", "--backend", fault.backend, *TO_TEXT, "--consistency",
        *(word for path in reports for word in ("-o", path)),
    )  # fmt: skip
    assert done.returncode == fault.code, done.stderr
    assert "Traceback" not in done.stderr
    assert all(path.stat().st_size < 2 * MOST for path in reports)
    assert len(done.stdout) + len(done.stderr) < MOST
    [case] = (found := report_at(reports[0]))["cases"]
    assert case["verdict"] == fault.verdict
    assert fault.said in json.dumps(found, ensure_ascii=False)


@pytest.mark.parametrize(("command", "what", "code"), [
    ("run", "hello", 4), ("backend probe", "hello", 1), ("backend probe", "type", 1)
])  # fmt: skip
def test_a_long_greeting_is_cut(command, what, code):
    done = convcheck(*command.split(), "--backend", f"{PROGRAM} {what}", *TO_TEXT[:1])
    assert done.returncode == code, done.stdout + done.stderr
    assert "…" in done.stdout + done.stderr
    assert len(done.stdout) + len(done.stderr) < MOST


# outcomes in the backend's case, bool to float32; other cases are asked as usual
BEYOND = {"Honest": "fail", "LowersLimits": "fail", "LowersRecursion": "fail",
          "RemovesTemporaryFolder": "crashed"}  # fmt: skip


@pytest.mark.parametrize("backend", BEYOND)
def test_a_backend_does_not_reach_beyond_its_case(backend, tmp_path, monkeypatch):
    folder, report = tmp_path / "temporary", tmp_path / "r.json"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    done = convcheck(
        "run", "--backend", f"{PLANTED}:{backend}", "onnx.Cast-21", "--from", "bool",
        "--to", "float32", "--to", "float16", "--to", "int8", "--jobs", "1",
        "-o", str(report), TMPDIR=str(folder), CONVCHECK_TEST_FOLDER=str(folder),
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    verdicts = {c["id"]: c["verdict"] for c in report_at(report)["cases"]}
    names = ("bool-to-float32", "bool-to-float16", "bool-to-int8")
    assert [verdicts[f"onnx.Cast-21/{name}"] for name in names] == [BEYOND[backend], "fail", "fail"]
    assert not folder.exists() or not list(folder.iterdir())


LEFT = {"LeavesProcesses": 1, "LeavesAndDies": 1, "LeavesAndHangs": 1, "LeavesAndExits": 4}


@pytest.mark.parametrize("backend", LEFT)
def test_nothing_that_a_backend_starts_outlives_the_run(backend, tmp_path):
    left, began = tmp_path / "left", time.monotonic()
    done = convcheck(
        "run", "--backend", f"{PLANTED}:{backend}", *ASKED, "--timeout", "1",
        CONVCHECK_TEST_LEFT=str(left),
    )  # fmt: skip
    assert done.returncode == LEFT[backend], done.stderr
    processes = [int(line) for line in left.read_text().split()]
    assert len(processes) > 1
    assert not any(map(is_alive, processes))
    assert time.monotonic() - began < 60


SLOW = {
    f"{PLANTED}:Slow": " were tested",
    f"process:{sys.executable} {ROOT / 'tests/planted/dripping.py'}": "no answer within 1 s",
}


@pytest.mark.parametrize("backend", SLOW, ids=["in-time", "byte-by-byte"])
def test_a_case_has_no_more_than_its_time(backend, tmp_path):
    report, began = tmp_path / "r.json", time.monotonic()
    done = convcheck(
        "run", "--backend", backend, "onnx.Cast-21", "--from", "float16", "--to", "float32",
        "--timeout", "1", "--jobs", "1", "-o", str(report),
    )  # fmt: skip
    assert time.monotonic() - began < 30
    assert done.returncode == 1, done.stderr
    [case] = report_at(report)["cases"]
    assert case["verdict"] == "crashed"
    said = json.dumps(case)
    assert "case aborted after 8 s (8 times --timeout)" in said
    assert SLOW[backend] in said


def test_the_rest_of_a_message_is_not_waited_for(monkeypatch):
    monkeypatch.setattr("convcheck.pool.process.GOING_ON", 1)
    done = convcheck("run", "--backend", f"{PLANTED}:BeginsAMessage", *ASKED)
    assert done.returncode == 1, done.stderr
    assert "did not finish a message within 1 s" in done.stdout
