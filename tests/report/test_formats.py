import subprocess
import sys
from pathlib import Path

import pytest
from drawn import html_text
from report_runs import failing

from convcheck.documents.encode import write
from convcheck.report.formats import FORMATS

DRAWER = """
def render(document, command=""):
    lines = [document.verdict, *(f"{one.label}: {one.line}" for one in document.findings)]
    return "\\n".join(lines) + "\\n"
"""
LINE = 'FORMATS["brief"] = ReportFormat("brief", "brief")'
RUN = f"""
import sys
from convcheck.report.formats import FORMATS, ReportFormat
{LINE}
from convcheck.__main__ import main
main()
"""


def with_brief(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "brief.py").write_text(DRAWER)
    (folder / "run.py").write_text(RUN)
    command = [sys.executable, str(folder / "run.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_another_format_is_an_option_and_is_written(tmp_path: Path) -> None:
    write(failing(), str(tmp_path / "run.json"))
    done = with_brief(
        tmp_path, "report", str(tmp_path / "run.json"), "-o", f"brief:{tmp_path / 'out'}", "-q"
    )
    assert done.returncode == 1, done.stderr
    first, *lines = (tmp_path / "out").read_text().splitlines()
    assert first == "FAIL"
    assert "FAIL: one ulp too small in magnitude: float-to-float / else" in lines


def test_another_format_goes_to_stdout(tmp_path: Path) -> None:
    write(failing(), str(tmp_path / "run.json"))
    done = with_brief(tmp_path, "report", str(tmp_path / "run.json"), "-o", "brief:-", "-q")
    assert done.stdout.startswith("FAIL\nFAIL: ")
    assert "of 22 cases" in done.stderr


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_draws(name: str) -> None:
    from convcheck.report.document import Document

    run = failing()
    drawn = FORMATS[name].draw(run, Document(run), "convcheck run")
    if name == "html":
        drawn = html_text(run)
    assert "one ulp too small in magnitude" in drawn
