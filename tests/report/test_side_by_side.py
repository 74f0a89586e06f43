"""Several backends in one run: reports built by hand with golden files, and real runs."""

import re

import pytest
from command import check_golden, convcheck
from drawn import drawn
from report_json import held_log
from report_runs import RUNS, TRUNCATED, answered, case, passed, run

from convcheck.judge.result import BackendInfo
from convcheck.plan.runner import Turn
from convcheck.records import replace
from convcheck.report.document import Document
from convcheck.report.draw.side_by_side import side_by_side_page
from convcheck.report.matrix import short_names

TRUNCATING = "tests.planted.rounding_backends:Truncating"
ABSENT = "tests.planted.free_backends:Absent"


def by(name, result):
    info = BackendInfo(name, f"{name} 1.2")
    return Turn(name, replace(result, backend=info))


def few(*groups):
    return run(answered(case("onnx.Cast-19", "float32", "bfloat16"), *groups),
               passed(case("onnx.Cast-19", "float32", "float16")))  # fmt: skip


def of(**runs):
    return [by(name.replace("_", "-"), RUNS[run]()) for name, run in runs.items()]


SIDES = {
    "pass": of(one="all_pass", other="all_pass"),
    "mixed": [*of(good="all_pass", bad="failing", many_kinds="kinds"),
              Turn("gone", None, "no such library\n  hint: install it")],
    "shared": of(one="failing", other="failing"),
    "part": [*of(one="failing"), by("other", few(TRUNCATED)), *of(none="nothing")],
}  # fmt: skip


def shown(sides, width=80, verbose=False):
    return drawn(side_by_side_page(sides, verbose), width)


@pytest.mark.parametrize("name", ["side-mixed-80", "side-part-80"])
def test_terminal_golden(name):
    check_golden(f"{name}.txt", shown(SIDES[name.split("-")[1]]))


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", SIDES)
def test_each_side_has_its_verdict_and_its_findings(name, width):
    text = shown(SIDES[name], width)
    assert max(map(len, text.splitlines())) <= width
    for side in SIDES[name]:
        if side.run:
            made = Document(side.run)
            due = rf"^{side.address} +{made.verdict}  {re.escape(made.reasons[0].split()[0])} "
            assert re.search(due, text, re.MULTILINE)
            assert all(one.id in text for one in made.findings if one.gated)


def test_a_shared_finding_is_shown_once_with_the_names_of_those_that_have_it():
    text = shown(SIDES["shared"])
    assert text.count("      one ulp too small in magnitude") == 2
    assert text.count("one, other") == 4
    part = shown(SIDES["part"])
    assert "one, other" in part
    assert "other: 312 of 980 in 1 case: onnx.Cast-19/float32-to-bfloat16" in part


def test_findings_of_another_kind_are_not_put_together():
    larger = replace(TRUNCATED, kind="one ulp too large in magnitude")
    text = shown([by("one", few(TRUNCATED)), by("other", few(larger))])
    assert text.count("FAIL  onnx.Cast-19") == 2
    assert "one, other" not in text


def test_a_cell_has_a_symbol_for_each_backend():
    good = run(*(passed(c.case) for c in few().cases))
    lines = shown([by("one", few(TRUNCATED)), by("other", good)]).splitlines()
    assert [line.split()[1:] for line in lines if line.startswith("  float32")] == [["F.", ".."]]


def test_causes_that_backends_share_stand_first():
    other = RUNS["explained"]()
    cases = [one for one in other.cases if one.diagnosis and len(one.diagnosis.fits) > 1]
    swapped = [
        replace(one, diagnosis=replace(d, fits=d.fits[1:])) for one in cases if (d := one.diagnosis)
    ]
    runs = [RUNS["explained"](), replace(other, cases=tuple(swapped))]
    runs = [
        replace(run, backend=BackendInfo(name, "1", name))
        for name, run in zip(("one", "other"), runs, strict=True)
    ]
    sides = [Turn(run.backend.name, run) for run in runs]
    lines = shown(sides, verbose=True).splitlines()
    at = lines.index("3 causes, and the cases that each explains in each backend:")
    heads, *counts = [line.split()[:2] for line in lines[at + 1 : at + 5]]
    assert heads == ["one", "other"]
    assert counts == [["4", "4"], ["1", "0"], ["1", "0"]]


def test_short_names():
    assert short_names(["ort", "openvino:const", "a.b:Bad"]) == ["ort", "openvino:const", "Bad"]
    assert short_names(["a.b:Bad", "a.c:Bad"]) == ["a.b:Bad", "a.c:Bad"]


SMALL = ("onnx.Cast-21", "--from", "float16", "--to", "float8e5m2")


def test_a_run_of_several_backends(tmp_path):
    both = ("--backend", "reference", "--backend", TRUNCATING)
    done = convcheck("run", *both, *SMALL, "-o", tmp_path / "r.json")
    assert done.returncode == 1, done.stderr
    assert done.stderr == ""
    assert "Truncating  FAIL" in done.stdout
    assert "reference   PASS" in done.stdout
    logs = held_log((tmp_path / "r.json").read_text())
    assert [log["summary"]["gated"] > 0 for log in logs] == [False, True]
    convcheck("run", "--backend", "reference", *SMALL, "-o", tmp_path / "one.json")
    assert logs[:1] == held_log((tmp_path / "one.json").read_text())
    again = convcheck("report", tmp_path / "r.json")
    assert (again.returncode, again.stdout) == (1, done.stdout)


def test_one_that_cannot_be_started_does_not_keep_the_others_from_it(tmp_path):
    path = tmp_path / "r.json"
    good = ("--backend", ABSENT, "--backend", "reference")
    done = convcheck("run", *good, *SMALL, "-o", path)
    assert done.returncode == 4
    assert "no such runtime here" in done.stdout
    assert "Absent     NOT STARTED" in done.stdout
    assert "reference  PASS" in done.stdout
    [failed] = [log for log in held_log(path.read_text()) if "error" in log]
    assert failed["backend"]["address"] == ABSENT
    assert failed["error"].startswith("no such runtime here")
    bad = convcheck("run", *good, "--backend", TRUNCATING, *SMALL)
    assert bad.returncode == 1
    none = convcheck("run", "--backend", ABSENT, "--backend", "no.such:Thing", *SMALL)
    assert none.returncode == 4
    assert "Traceback" not in none.stderr


def test_a_backend_of_which_nothing_is_judged_is_no_pass():
    both = ("--backend", "reference", "--backend", "ort")
    done = convcheck("run", *both, "onnx.Cast-28", "--from", "float32", "--to", "float6")
    assert done.returncode == 3
    assert "NOTHING JUDGED" in done.stdout


def test_the_same_backend_twice_is_one():
    once = convcheck("run", "--backend", "reference", *SMALL)
    twice = convcheck("run", "--backend", "reference", "--backend", "reference", *SMALL)
    assert twice.stdout == once.stdout
    assert "a symbol each" not in twice.stdout


def test_fail_fast_ends_with_the_first_backend_that_fails():
    both = ("--backend", TRUNCATING, "--backend", "reference")
    done = convcheck("run", *both, *SMALL, "--fail-fast")
    assert done.returncode == 1
    assert "reference" not in done.stdout
