"""`convcheck run` reports the causes of failures, however the run is divided."""

import re

import pytest
from command import convcheck, refused, report_at, run_shards
from places import ROOT
from report_json import held_log, parsed, render

TRUNCATING = "tests.planted.rounding_backends:Truncating"
CHOICE = ("onnx.Cast-21", "--from", "float32", "--to", "float16", "--to", "bfloat16")
RUN = ("run", "--backend", TRUNCATING, *CHOICE)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "run.json"
    done = convcheck(*RUN, "-o", out, COLUMNS="80", cwd=ROOT)
    assert done.returncode == 1, done.stderr
    return done.stdout, out


def test_a_cause_stands_before_what_it_explains(whole):
    lines = whole[0].splitlines()
    assert "4 of 4 cases fail; 1 cause explains 4 of them, every answer of each" in lines
    [title] = [line for line in lines if line.startswith("A  truncates")]
    assert title.split()[2:5] == ["(truncates)", "4", "cases"]
    assert "FAIL" not in "\n".join(lines[:-1])
    assert any(line.split()[:2] == ["float32", "A"] for line in lines)


def test_the_report_has_the_cause_of_each_case(whole):
    found = report_at(whole[1])
    held_log(whole[1].read_text())
    [cause] = found["causes"]
    assert [one["name"] for one in cause["together"]] == ["truncates"]
    assert cause["explained"] == sum(c["answers"] for c in cause["cases"])
    assert [c["case"] for c in cause["cases"]] == [case["id"] for case in found["cases"]]
    assert all(["truncates"] in case["diagnosis"]["fits"] for case in found["cases"])
    assert "truncates" in [one["name"] for one in found["catalogue"]]


def test_without_causes_the_report_has_findings(tmp_path):
    out = tmp_path / "run.json"
    done = convcheck(*RUN, "--no-causes", "-o", out)
    assert "explain" not in done.stdout.replace("convcheck explain", "")
    assert "\nFAIL  onnx.Cast-21/float32-to-" in done.stdout
    found = report_at(out)
    assert "causes" not in found
    assert all("diagnosis" not in case for case in found["cases"])


FAULT = "the search for causes failed, a fault of convcheck: KeyError: 'planted'"


def test_a_fault_of_the_search_costs_no_verdict(whole, tmp_path):
    out = tmp_path / "run.json"
    planted = ("run", "--backend", "tests.planted.rounding_backends:NoSearch", *CHOICE)
    done = convcheck(*planted, "-o", out, COLUMNS="200")
    assert done.returncode == 1, done.stderr
    said = " ".join(done.stdout.split())
    assert said.count("the search for causes failed") == 1
    assert f"note: onnx.Cast-21/float32-to-float16: {FAULT}" in said
    assert "(and 3 more)" in said
    found, due = (report_at(path) for path in (out, whole[1]))
    held_log(out.read_text())
    assert [case["groups"] for case in found["cases"]] == [case["groups"] for case in due["cases"]]
    assert all(case["diagnosis"]["fault"].startswith("KeyError") for case in found["cases"])


def test_verbose_has_both(whole):
    done = convcheck("report", whole[1], "-v")
    assert "\nA  truncates" in done.stdout
    assert re.search(r"\n +[0-9]+ cases?  [0-9a-f]{8}  ", done.stdout)  # a line for each finding


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    return run_shards(tmp_path_factory.mktemp("shards"), 2, *RUN[1:], codes=(1,))


def test_shards_and_resuming(whole, shards, tmp_path):
    merged, resumed, journal = (tmp_path / n for n in ("merged.json", "resumed.json", "journal"))
    assert convcheck("report", *shards, "-o", merged).returncode == 1
    assert merged.read_bytes() == whole[1].read_bytes()
    convcheck(*RUN, "--maxfail", "1", "--resume", journal, "-o", tmp_path / "part.json")
    convcheck(*RUN, "--resume", journal, "-o", resumed)
    assert resumed.read_bytes() == whole[1].read_bytes()


def test_shards_and_a_list(whole, shards, tmp_path):
    known = tmp_path / "known.toml"
    listed = convcheck("known", known, whole[1])
    assert listed.returncode == 0, listed.stderr
    text = known.read_text()
    assert text.count("[[known]]") == text.count('cause = "truncates"') == 1
    merge = ("report", *shards, "--known", known)
    assert convcheck(*merge).returncode == 0
    [part, _] = [convcheck("report", shard, "--known", known) for shard in shards]
    assert part.returncode == 0
    assert "1 entry of" in " ".join(part.stdout.split())
    known.write_text(text.replace('"truncates"', '"ties-away"'))
    other = convcheck(*merge)
    assert other.returncode == 1
    assert "no case fails like this now (4 failing differently)" in " ".join(other.stdout.split())
    known.write_text(text.replace('"truncates"', '"trancates"'))
    assert "did you mean truncates" in refused(*merge)


def test_a_report_of_an_unknown_cause_is_damaged(whole, tmp_path):
    path = tmp_path / "damaged.json"
    path.write_text(render(parsed(whole[1].read_text()) | {"catalogue": []}))
    assert "it does not say what the cause" in refused("report", path)


def test_what_explains_a_doubted_case_is_not_looked_for_again(tmp_path):
    diary, out = tmp_path / "diary", tmp_path / "r.json"
    case = "onnx.Cast-21/float32-to-float8e4m3fn/saturate=1"
    asked = ("onnx.Cast-21", "--case", "float32-to-float8e4m3fn/saturate=[01]", "--jobs", "1")
    planted = ("run", "--backend", "tests.planted.searched:Searched", *asked, "-o", out)
    done = convcheck(*planted, DIARY=str(diary))
    assert done.returncode == 1, done.stderr
    lines = [line.split() for line in diary.read_text().splitlines()]
    assert len({process for process, what, of in lines if (what, of) == ("answers", case)}) == 2
    assert [of for _, what, of in lines if what == "searches"] == [case]
    [cause] = parsed(out.read_text())["causes"]
    assert [one["case"] for one in cause["cases"]] == [case]


def test_an_earlier_version_is_told(tmp_path):
    """Infinities alone tell: NaN in float8e4m3fnuz up to version 23, then the largest number."""
    out = tmp_path / "r.json"
    asked = ("onnx.Cast-24", "--from", "float32", "--to", "float8e4m3fnuz", "-o", out)
    convcheck("run", "--backend", "tests.planted.deviating:Cast23", *asked)
    [cause] = report_at(out)["causes"]
    names = [one["name"] for fit in (cause["together"], *cause["others"]) for one in fit]
    assert "as-version-23" in names
    said = {case["case"].rpartition("/")[2] for case in cause["cases"]}
    assert said == {"saturate=1", "saturate=default"}
