import pytest
from command import convcheck, refused, report_at
from drawn import in_junit, in_markdown, printed
from report_runs import ELSE, TABLE, TRUNCATED, answered, case, group, run

from convcheck.documents.encode import text
from convcheck.records import replace
from convcheck.report.document import Document

TRUNCATING = "tests.planted.rounding_backends:Truncating"
ONE = case("onnx.Cast-19", "float32", "bfloat16")
OTHER = case("onnx.Cast-21", "float64", "float16")


def ids(result):
    return [finding.id for finding in Document(result).findings]


def test_it_is_that_of_the_same_failure_in_another_run():
    few = replace(TRUNCATED, count=1, ranges=(), examples=(), digest="f" * 32)
    first, second = ids(run(answered(ONE, TRUNCATED))), ids(run(answered(OTHER, few)))
    assert first == second == ["ea9d4294"]  # it must not change from version to version
    others = [
        replace(TRUNCATED, kind="one ulp too large in magnitude"),
        replace(TRUNCATED, decision=TABLE),
        replace(TRUNCATED, placement="odd tail"),
    ]
    made = [*first, *(ids(run(answered(ONE, other)))[0] for other in others)]
    assert len(set(made)) == len(made)


def test_the_command_that_explains_asks_the_backend_again():
    result = run(answered(ONE, TRUNCATED))
    named = replace(result, backend=replace(result.backend, address="process:./mine -x"))
    command = "convcheck explain --backend 'process:./mine -x' onnx.Cast-19/float32-to-bfloat16"
    for page in (printed(named), in_markdown(named), in_junit(named)):
        assert command in " ".join(page.replace("\\\n", " ").split())


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("id") / "run.json"
    done = convcheck(
        "run", "--backend", TRUNCATING, "onnx.Cast-21", "--from", "float32", "--to", "bfloat16",
        "--to", "float16", "-o", path,
    )  # fmt: skip
    assert done.returncode == 1
    assert f"convcheck explain --backend {TRUNCATING}" in done.stdout
    return path


def named_in(report):
    cases = report_at(report)["cases"]
    groups = (group for case in cases for group in case["groups"])
    return list(dict.fromkeys(group["finding"] for group in groups if "finding" in group))


def test_report_shows_one_finding(report):
    first, *others = named_in(report)
    assert others
    done = convcheck("report", report, "--finding", first)
    assert done.returncode == 1
    assert first in done.stdout
    assert [one for one in others if one in done.stdout] == []
    assert convcheck("report", report, "--finding", first[:5].upper()).stdout == done.stdout
    said = refused("report", report, "--finding", "zz")
    assert "--finding zz names no finding of this run" in said


def test_report_takes_the_selectors_of_a_run(report, tmp_path):
    done = convcheck("report", report, "onnx.Cast-21", "--to", "bfloat16")
    assert "float32-to-bfloat16" in done.stdout
    assert "float32-to-float16" not in done.stdout
    assert "1 of 1 case fails" in convcheck("report", report, "--case", "*-to-float16").stdout
    for choice in (("--from", "int8"), ("onnx.Cast-13",)):
        refused("report", report, *choice)
    strict = convcheck("report", report, "--level", "normative", "-v").stdout
    assert "gate: normative" in strict
    assert "below the gate" in strict
    refused("report", report, "--to", "bfloat16", "-o", tmp_path / "part.json")
    assert not (tmp_path / "part.json").exists()


def test_explain_and_repro_take_it(report):
    first, *_ = named_in(report)
    done = convcheck("explain", "--report", report, "--finding", first, "--backend", TRUNCATING)
    assert done.returncode == 1
    assert "onnx.Cast-21/float32-to-" in done.stdout
    made = convcheck("repro", first, "--report", report, "--as", "c")
    assert made.returncode == 0
    assert "onnx.Cast-21/float32-to-" in made.stdout
    refused("explain", "--finding", first)


def test_nothing_is_cut_where_there_is_no_terminal(tmp_path):
    words = "no kernel for this pair of types " * 30
    kinds = [group(ELSE, "fail", f"kind {i} of wrongness, {words}") for i in range(40)]
    path = tmp_path / "run.json"
    path.write_text(text(run(answered(ONE, *kinds))))
    done = convcheck("report", path, "-q")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert len(lines) == 41
    said = [f"{ONE.id}: kind {i} of wrongness, {words.strip()}" for i in range(40)]
    assert [one for one in said if one not in done.stdout] == []
    assert "…" not in done.stdout
    empty = tmp_path / "none.json"
    empty.write_text(text(run(answered(ONE, group(ELSE, "pass")))))
    changed = convcheck("diff", empty, path)
    assert changed.stdout.count("NEW") == 40
    assert "…" not in changed.stdout
