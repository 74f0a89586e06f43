"""The Python API of two functions."""

import pytest

from convcheck import open_log, run
from convcheck.documents.encode import text
from convcheck.errors import UsageError
from convcheck.files import write_text


def test_run_returns_results():
    ran = run("ort", "onnx.Cast-21/float64-to-float16", "onnx.Cast-21/float32-to-bool", jobs=1)
    assert {case.case.name: case.verdict for case in ran.cases} == {
        "float64-to-float16": "fail",
        "float32-to-bool": "pass",
    }
    assert ran.outcome == "fail"
    assert [cause.name for cause in ran.causes] == ["through-float32"]


def test_a_log_is_opened(tmp_path):
    ran = run("reference", "onnx.Cast-21/float64-to-float16", causes=False)
    write_text(text(ran), str(tmp_path / "run.jsonl"))
    [read] = open_log(tmp_path / "run.jsonl")
    assert (read.outcome, [case.verdict for case in read.cases]) == ("pass", ["pass"])


def test_mistakes_are_errors(tmp_path):
    with pytest.raises(UsageError, match="no spec matches"):
        run("reference", "onnx.Cast-99")
    with pytest.raises(UsageError, match="unknown backend"):
        run("nothing:Here", "onnx.Cast-21")
    with pytest.raises(UsageError):
        open_log(tmp_path / "none.jsonl")
