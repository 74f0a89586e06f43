"""A report that is read back is the run that it was written of."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from catalogue import CATALOG
from command import convcheck
from places import GOLDEN
from report_json import document, masked, render
from report_runs import FORMATS, REST, RUNS, dtype

from convcheck.errors import Place, UsageError
from convcheck.judge.result import Excuse, Problem, RunResult, Shard
from convcheck.report.json.decode import read, report_of, run_of
from convcheck.rules.model import Attributes

TYPES = {name: dtype(name) for name in FORMATS}


@pytest.mark.parametrize("name", RUNS)
def test_what_is_read_back_is_written_the_same(name: str, tmp_path: Path) -> None:
    result = RUNS[name]()
    text = render(document(result))
    (tmp_path / "run.json").write_text(text)
    again = read(str(tmp_path / "run.json"), TYPES)
    assert render(document(again)) == text
    assert [case.case.id for case in again.cases] == [case.case.id for case in result.cases]


def test_excuses_problems_and_shards_are_read_back() -> None:
    excuse = Excuse("known", "it truncates", "https://example.org/1", Place("known.toml", 3))
    problem = Problem("stale", Place("known.toml", 9), "it passes now", "")
    result = RUNS["failing"]()
    first = result.cases[0]
    groups = (replace(first.groups[0], excuse=excuse), *first.groups[1:])
    result = replace(
        result, known="known.toml", problems=(problem,), shard=Shard(3, 16, "beef"), restarts=2,
        cases=(replace(first, groups=groups), *result.cases[1:]),
    )  # fmt: skip
    again = run_of(report_of(json.loads(render(document(result)))), TYPES)
    assert (again.problems, again.shard) == ((problem,), result.shard)
    assert (again.restarts, again.known) == (2, "known.toml")
    assert again.cases[0].groups[0].excuse == excuse
    assert not again.cases[0].gates(again.level)


def test_a_real_report_is_read_back(tmp_path: Path) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    done = convcheck(
        "run", "--backend", "reference", "--json", first, "--case", "*float8*",
        "onnx.CastLike-19", "openvino.FakeConvert-*", "openvino.Range-4", "onnx.Range-11",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr

    again: RunResult = read(str(first), CATALOG.types.types)
    second.write_text(render(document(again)))
    assert second.read_text() == first.read_text()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "is not a convcheck-report/2"),
        ('{"format": "convcheck-reports/2"}', "but a convcheck-reports/2"),
        ('{"format": "convcheck-report/2"}', "is a damaged report: Object missing required field"),
    ],
)
def test_what_is_no_report_is_an_error(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(text)
    with pytest.raises(UsageError) as error:
        read(str(path), TYPES)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("cases", 0, "verdict"), "PASS", "'PASS'"),
        (("cases", 0, "checked"), "3", "got `str`"),
        (("cases", 0, "message"), None, "got `null`"),
        (("cases", 0, "groups", 0, "level"), "norm", "'norm'"),
        (("cases", 0, "groups", 0, "count"), None, "got `null`"),
        (("cases", 0, "groups", 0, "examples", 0, "asked"), "twice", "'twice'"),
        (("summary", "level"), [], "got `array`"),
        (("backend", "name"), 1, "got `int`"),
        (("restarts",), -1, ">= 0"),
        (("interrupted",), 1, "got `int`"),
        (("environment", "cpu", "features"), [1], "got `int`"),
        (("colour",), "red", "unknown field `colour`"),
    ],
)
def test_a_damaged_report_is_an_error_with_the_path(
    path: tuple[str | int, ...], value: object, said: str, tmp_path: Path
) -> None:
    found = document(RUNS["failing"]())
    part = found = json.loads(json.dumps(found))
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    (tmp_path / "run.json").write_text(json.dumps(found))
    with pytest.raises(UsageError) as error:
        read(str(tmp_path / "run.json"), TYPES)
    assert "is a damaged report" in str(error.value)
    assert said in str(error.value)
    named = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    assert named in str(error.value) or "colour" in said or "features" in named


@pytest.mark.parametrize("name", ["report-1-failing", "report-1-calls"])
def test_a_report_of_the_version_before_is_read(name: str) -> None:
    """The files were written by convcheck 0.1.0, and are not to be made anew."""
    before = json.loads((GOLDEN / f"{name}.json").read_text())
    assert before["format"] == "convcheck-report/1"
    again = run_of(report_of(masked(before)), TYPES)
    assert masked(document(again)) == masked(document(as_it_was(RUNS[name.split("-")[2]]())))


def as_it_was(result: RunResult) -> RunResult:
    """Return a run as the file has it: what is right is in no group, and some cases have one id."""
    cases = (
        replace(
            one,
            case=replace(one.case, attributes=without_kind(one.case.attributes)),
            groups=tuple(group for group in one.groups if group.decision != REST),
        )
        for one in result.cases
    )
    return replace(result, cases=tuple(cases))


def without_kind(attributes: Attributes) -> Attributes:
    return tuple(one for one in attributes if one[0] != "kind")


def test_a_report_of_other_types_is_an_error() -> None:
    found = json.loads(render(document(RUNS["failing"]())))
    with pytest.raises(UsageError, match="float8e4m3fn"):
        run_of(report_of(found), {n: t for n, t in TYPES.items() if n != "float8e4m3fn"})


def test_a_group_is_read_for_the_types_of_its_case(tmp_path: Path) -> None:
    """Groups that are alike are read once, of each type: 0x3f808001 is no code of float16."""
    written = render(document(RUNS["failing"]()))
    assert "0x3f808001" in written
    (tmp_path / "run.json").write_text(written)
    read(str(tmp_path / "run.json"), TYPES)
    (tmp_path / "other.json").write_text(written.replace("float32", "float16"))
    with pytest.raises(UsageError, match="0x3f808001 is not a code of its type"):
        read(str(tmp_path / "other.json"), TYPES)


def test_a_report_is_read_the_same_without_the_quicker_parser(tmp_path: Path) -> None:
    """msgspec takes no half of a surrogate pair, and so leaves such a report to json."""
    result = RUNS["failing"]()
    path = tmp_path / "run.json"
    path.write_text(render(document(replace(result, notes=("plain",)))))
    quick = read(str(path), TYPES)
    path.write_text(path.read_text().replace('"plain"', '"\\ud800"'))
    assert read(str(path), TYPES) == replace(quick, notes=("\ud800",))
