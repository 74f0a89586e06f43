"""What a backend may do to a run: nothing. A line of the table is a fault of a backend."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from command import convcheck
from places import ROOT

PLANTED = "tests.planted.untyped_backends"
ASKED = ("onnx.Cast-21", "--from", "bool", "--to", "float32")
MOST = 100_000  # bytes of a report of one case


@dataclass(frozen=True)
class Fault:
    """A backend, the exit code and verdict of its only case, and what the report has to say."""

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
    Fault("ReturnsScalar", 1, "fail", '"got": "0x00000000"'),
    Fault("SupportsBool", 1, "error", "support() gave a bool; write: return None where"),
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.backend)
def test_a_fault_of_a_backend_is_in_the_report_and_nowhere_else(
    fault: Fault, tmp_path: Path
) -> None:
    report = tmp_path / "r.json"
    done = convcheck(
        "run", "--backend", f"{PLANTED}:{fault.backend}", *ASKED, "--json", str(report), cwd=ROOT
    )
    assert done.returncode == fault.code, done.stderr
    assert "Traceback" not in done.stderr
    text = report.read_text()
    assert len(text) < MOST
    [case] = json.loads(text)["cases"]
    assert case["verdict"] == fault.verdict
    assert fault.said in json.dumps(json.loads(text), ensure_ascii=False)
