import pytest
from command import convcheck

PLANTED = "tests.planted.untyped_backends"
# command line, exit code, message
LINES = (
    ("run --backend reference onnx.Cast-21 --timeout nan", 2, "nan is not a number of seconds"),
    ("run --backend reference onnx.Cast-21 --timeout inf", 2, "0.1<=x<=86400"),
    ("run --backend reference onnx.Cast-21 --timeout 1e99", 2, "0.1<=x<=86400"),
    ("run --open --backend reference onnx.Cast-21 --timeout nan", 2, "not a number of seconds"),
    ("explain onnx.Cast-21/bool-to-float32 1 --timeout inf", 2, "0.1<=x<=86400"),
    (f"repro onnx.Cast-21/float64-to-float16 --backend ort {'9' * 5000}", 2, "no finding"),
    (f"backend serve {PLANTED}:CannotStart", 4, "could not be started: "),
    (f"backend serve {PLANTED}:ExitsAtStart", 4, "could not be started: "),
    ("backend probe --backend process:./not-there onnx.Cast-21", 4, "not-there"),
)


@pytest.mark.parametrize(("line", "code", "said"), LINES, ids=lambda value: str(value)[:60])
def test_a_bad_option_is_one_error(line, code, said, tmp_path):
    done = convcheck(*line.split())
    assert done.returncode == code, done.stderr[-2000:]
    assert said in done.stdout + done.stderr
    assert "fault of convcheck" not in done.stderr


def test_a_command_that_is_ended_from_within_is_no_success(monkeypatch):
    def ends(*arguments):
        raise SystemExit(0)

    monkeypatch.setattr("convcheck.cli.read.show_command", ends)
    assert convcheck("show", "backends").returncode == 70
