import pytest
from command import refused
from places import GOLDEN
from report_json import damaged, document, render
from report_runs import FORMATS, RUNS, dtype

from convcheck.documents.decode import read
from convcheck.documents.encode import text as text_of
from convcheck.errors import UsageError
from convcheck.records import replace
from convcheck.report.document import Document

TYPES = {name: dtype(name) for name in FORMATS}


def back(text, folder):
    path = folder / "run.json"
    path.write_text(text)
    return read(str(path), TYPES)


@pytest.mark.parametrize("name", RUNS)
def test_what_is_read_back_is_written_the_same(name, tmp_path):
    result = replace(RUNS[name](), restarts=2)
    text = render(document(result))
    assert '"restarts"' in text
    again = back(text, tmp_path)
    assert render(document(again)) == text
    assert [case.case.id for case in again.cases] == [case.case.id for case in result.cases]


@pytest.mark.parametrize("cut", [1, 40])
def test_a_log_without_an_end_is_a_run_that_was_not_finished(cut, tmp_path):
    *lines, last, _ = text_of(RUNS["explained"]()).splitlines(keepends=True)
    again, whole = back("".join(lines) + last[:-cut], tmp_path), RUNS["explained"]().cases
    assert again.interrupted
    names = [case.case.id for case in again.cases]
    assert names == [case.case.id for case in whole][: len(whole) - (cut > 1)]
    assert Document(again).verdict == "FAIL"


@pytest.mark.parametrize(("text", "said"), [
    ("", "is not JSON"),
    ("[" * 100_000, "is not a convcheck-run/3"),
    ("[]", "is not a convcheck-run/3"),
    ('{"format": "convcheck-runs/3"}', "but a convcheck-runs/3"),
    ('{"format":"convcheck-run/3"}', "a damaged report: Object missing required field"),
    ('{"format": "convcheck-report/2", "cases": []}', "run again with this version"),
])  # fmt: skip
def test_what_is_no_report_is_an_error(text, said, tmp_path):
    with pytest.raises(UsageError) as error:
        back(text, tmp_path)
    assert said in str(error.value)


@pytest.mark.parametrize(("path", "value", "said"), [
    (("cases", 0, "verdict"), "PASS", "'PASS'"),
    (("cases", 0, "checked"), "3", "got `str`"),
    (("cases", 0, "message"), None, "got `null`"),
    (("cases", 0, "groups", 0, "rule"), 999, "rule 999 is none of"),
    (("cases", 0, "groups", 0, "rule"), -1, "rule -1 is none of"),
    (("cases", 0, "groups", 0, "examples", 0, "inputs", 0), ["x", "1"], "x"),
    (("cases", 0, "groups", 0, "count"), None, "got `null`"),
    (("cases", 0, "groups", 0, "examples", 0, "asked"), "twice", "'twice'"),
    (("level",), [], "got `array`"),
    (("backend", "name"), 1, "got `int`"),
    (("restarts",), -1, ">= 0"),
    (("interrupted",), 1, "got `int`"),
    (("environment", "cpu", "features"), [1], "got `int`"),
    (("colour",), "red", "unknown field `colour`"),
])  # fmt: skip
def test_a_damaged_report_is_an_error_with_the_path(path, value, said, tmp_path):
    found = damaged(document(RUNS["failing"]()), path, value)
    with pytest.raises(UsageError) as error:
        back(render(found), tmp_path)
    assert "a damaged report" in str(error.value)
    assert said in str(error.value)
    within = ("case", *path[2:]) if path[0] == "cases" else path
    named = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in within)
    assert named in str(error.value) or "colour" in said or "features" in named


@pytest.mark.parametrize("name", ["report-1-failing", "report-1-calls"])
def test_a_report_of_an_earlier_version_is_refused(name):
    """The files are by convcheck 0.1.0. Do not regenerate them."""
    said = refused("report", GOLDEN / f"{name}.json")
    assert "convcheck-report/1, which an earlier version of convcheck wrote" in said
    assert "run again with this version" in said


def test_a_report_of_other_types_is_an_error(tmp_path):
    (tmp_path / "run.json").write_text(render(document(RUNS["failing"]())))
    others = {n: t for n, t in TYPES.items() if n != "float8e4m3fn"}
    with pytest.raises(UsageError, match="float8e4m3fn"):
        read(str(tmp_path / "run.json"), others)


def test_a_group_is_read_for_the_types_of_its_case(tmp_path):
    """Equal groups are read once per type: 0x3f808001 is not a code of float16."""
    written = render(document(RUNS["failing"]()))
    assert "0x3f808001" in written
    back(written, tmp_path)
    with pytest.raises(UsageError, match="0x3f808001 is not a code of its type"):
        back(written.replace("float32", "float16"), tmp_path)
