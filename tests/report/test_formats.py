import subprocess
import sys

from report_runs import RUNS

from convcheck.documents.encode import text

DRAWER = """
def render(document, command=""):
    lines = [document.verdict, *(f"{one.label}: {one.line}" for one in document.findings)]
    return "\\n".join(lines) + "\\n"
"""
RUN = """
from convcheck.report import FORMATS
FORMATS["brief"] = "brief"
from convcheck.__main__ import main
main()
"""


def test_another_format_is_an_option_and_is_written(tmp_path):
    (tmp_path / "run.json").write_text(text(RUNS["failing"]()))
    (tmp_path / "brief.py").write_text(DRAWER)
    (tmp_path / "run.py").write_text(RUN)
    words = ("run.py", "report", "run.json", "-o", "brief:out", "-o", "brief:-", "-q")
    done = subprocess.run(
        [sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "of 22 cases" in done.stderr) == (1, True), done.stderr
    assert done.stdout == (tmp_path / "out").read_text()
    first, *lines = done.stdout.splitlines()
    assert first == "FAIL"
    assert "FAIL: one ulp too small in magnitude: float-to-float / else" in lines
