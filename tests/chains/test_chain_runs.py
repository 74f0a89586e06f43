"""`convcheck run --chains` finds and names an optimiser that changes chains, and no other."""

import re
from collections import Counter

import pytest
from command import convcheck, report_at

PLANTED = "tests.planted.chained"
FUSES = f"{PLANTED}:Fuses"
SMALL = ("onnx.Cast-21", "--from", "uint8", "--to", "int16")


def ask(backend, *more, columns="80"):
    return convcheck("run", "--chains", "--no-progress", "--backend", backend, *more,
                     COLUMNS=columns)  # fmt: skip


def report(backend, path, *more):
    done = ask(backend, *more, "-o", path)
    assert not done.stderr, done.stderr
    return done.returncode, report_at(path)


@pytest.fixture(scope="module")
def fused(tmp_path_factory):
    path = tmp_path_factory.mktemp("fused") / "report.json"
    assert report(FUSES, path, *SMALL)[0] == 1
    return path


def causes(found):
    failing = [case for case in found["cases"] if case["verdict"] == "fail"]
    return Counter(tuple(case["diagnosis"]["fits"][0]) for case in failing)


def test_who_makes_every_cast_passes(tmp_path):
    code, found = report(f"{PLANTED}:Faithful", tmp_path / "report.json", *SMALL)
    assert code == 0
    assert {case["verdict"] for case in found["cases"]} == {"pass"}
    settings = {tuple(case["setting"].items()) for case in found["cases"]}
    assert len(settings) == 8
    assert len(found["cases"]) == 8 * len({tuple(case["middles"]) for case in found["cases"]})


def test_a_cast_that_is_left_out_is_a_finding_with_its_cause(fused):
    found = report_at(fused)
    for case in found["cases"]:
        left_out = (case["setting"]["optimisation"], case["setting"]["middle"]) == ("all", "hidden")
        assert case["verdict"] == ("fail" if left_out else "pass"), case["id"]
    assert all(len(fits) == 1 for fits in causes(found))
    [one] = [case for case in found["cases"] if case["verdict"] == "fail"
             and case["middles"] == ["int8"] and case["setting"]["input"] == "fed"]  # fmt: skip
    assert one["diagnosis"]["fits"][0] == ["leaves-out-middles"]
    assert one["diagnosis"]["answers"] == one["checked"]


def test_an_optimiser_that_drops_a_cast_and_the_one_back_has_one_cause(tmp_path):
    """A → B → A is dropped, and A → B → C → A: one rule, reported with every chain that it
    drops.
    """
    there_and_back = ("--case", "*/int64-to-*-to-int64/optimisation=all/input=fed/middle=hidden")
    code, found = report(FUSES, tmp_path / "report.json", "onnx.Cast-21", *there_and_back)
    assert code == 1
    middles = {"-to-".join(case["middles"]) for case in found["cases"]}
    assert len(middles) == len(found["cases"]) > 13
    [cause] = found["causes"]
    assert len(cause["cases"]) == len(middles)
    said = " ".join(convcheck("report", tmp_path / "report.json", "-v").stdout.split())
    [listed] = re.findall("onnx.Cast-21: int64 via (.*) to int64, optimisation=all", said)
    assert set(listed.split(", ")) == middles


@pytest.mark.parametrize(("backend", "case", "cause"), [
    ("Adds", "float64-to-float32-to-bfloat16/*", "adds-float16"),
    ("Reorders", "int64-to-bool-to-int8-to-float64/*", "reorders"),
])  # fmt: skip
def test_casts_that_are_added_or_moved_are_named(backend, case, cause, tmp_path):
    code, found = report(
        f"{PLANTED}:{backend}", tmp_path / "report.json", "onnx.Cast-21", "--case", case
    )
    assert code == 1
    assert causes(found) == {(cause,): 8}


@pytest.mark.parametrize(
    ("backend", "explained"),
    [("FusesWrongly", {("leaves-out-middles", "by-its-own-casts"): 2}), ("FusesOtherwise", {})],
)
def test_a_cast_made_instead_may_be_wrong_itself(backend, explained, tmp_path):
    """The backend runs that cast alone, which must give every answer of the graph."""
    narrow = ("--case", "*/uint8-to-int8-to-int16/*/middle=hidden")
    code, found = report(f"{PLANTED}:{backend}", tmp_path / "report.json", *SMALL, *narrow)
    assert code == 1
    failing = [case for case in found["cases"] if case["verdict"] == "fail"]
    assert len(failing) == 2
    fits = (case["diagnosis"].get("fits", []) for case in failing)
    assert Counter(tuple(one[0]) for one in fits if one) == explained


def test_of_a_runtime_with_a_wrong_kernel_nothing_is_judged():
    done = ask(f"{PLANTED}:Misrounds", "onnx.Cast-21", "--case", "float64-to-float32-to-int8/*")
    assert done.returncode == 3, done.stdout


def test_of_a_wrong_kernel_for_constants_nothing_is_judged(tmp_path):
    """Each cast is asked alone with the same input as in the graph."""
    code, found = report(f"{PLANTED}:Misfolds", tmp_path / "report.json", "onnx.Cast-21",
                         "--case", "float64-to-float32-to-float16/*")  # fmt: skip
    assert code == 0
    verdicts = {(case["setting"]["input"], case["verdict"]) for case in found["cases"]}
    assert verdicts == {("fed", "pass"), ("constant", "undefined")}


def test_a_death_costs_its_own_case(tmp_path):
    cases = ("--case", "uint8-to-int*-to-int16/optimisation=off/input=fed/middle=hidden")
    code, found = report(f"{PLANTED}:Dies", tmp_path / "report.json", *SMALL, *cases)
    assert code == 1
    verdicts = {case["middles"][0]: case["verdict"] for case in found["cases"]}
    assert verdicts == {"int8": "crashed", "int4": "pass"}


def test_shards_and_a_merge_are_the_run(fused, tmp_path):
    merged, parts = tmp_path / "merged.json", [tmp_path / "1.json", tmp_path / "2.json"]
    for n, part in enumerate(parts, 1):
        report(FUSES, part, *SMALL, "--shard", f"{n}/2")
    assert convcheck("report", *parts, "-o", merged, "--quiet").returncode == 1
    assert report_at(merged)["cases"] == report_at(fused)["cases"]


def test_an_interrupted_run_goes_on(fused, tmp_path):
    journal, out = ("--resume", tmp_path / "journal"), tmp_path / "report.json"
    assert ask(FUSES, *SMALL, "--fail-fast", *journal).returncode == 1
    assert ask(FUSES, *SMALL, *journal, "-o", out).returncode == 1
    assert report_at(out)["cases"] == report_at(fused)["cases"]


def test_a_list_of_known_failures_excuses_chains(fused, tmp_path):
    known = tmp_path / "known.toml"
    done = convcheck("known", known, fused)
    assert done.returncode == 0, done.stderr
    again = ask(FUSES, *SMALL, "--known", known)
    assert again.returncode == 0, again.stdout


def test_who_takes_no_graphs_is_asked_cast_by_cast(tmp_path):
    code, found = report(f"{PLANTED}:Single", tmp_path / "report.json", *SMALL)
    assert code == 0
    assert found["cases"]
    assert all("setting" not in case for case in found["cases"])


@pytest.mark.parametrize(("options", "said"), [
    (("--consistency",), "--consistency does not go with --chains"),
    (("--tier", "exhaustive"), "--chains has no tier exhaustive"),
    (("--backend", "torch"), "--chains works with one --backend"),
    (("onnx.Range-27",), "no chain is made of them"),
])  # fmt: skip
def test_what_does_not_go_with_chains_is_said(options, said):
    done = ask(f"{PLANTED}:Single", *options)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("level", "verdict"), [("all", "fail"), ("all-and-cast-chains", "tolerated")]
)
def test_what_onnx_runtime_says_that_it_leaves_out_is_recorded(level, verdict, tmp_path):
    """With the option that eliminates chains of casts it removes all; without it, some."""
    name = f"float64-to-float32-to-int8/optimisation={level}/input=fed/middle=hidden"
    _, found = report("ort", tmp_path / "report.json", "onnx.Cast-21", "--case", name)
    assert [case["verdict"] for case in found["cases"]] == [verdict]


@pytest.mark.parametrize(
    ("how", "reading"),
    [("input=fed/middle=hidden", "float32 in the place of float16"),
     ("input=constant/middle=hidden", "cast by cast")],
)  # fmt: skip
def test_what_openvino_holds_in_float32_is_recorded(how, reading, tmp_path):
    name = f"openvino.Convert-1/float64-to-float16-to-bfloat16/{how}"
    out = tmp_path / "report.json"
    _, found = report("openvino", out, "openvino.Convert-1", "--case", name)
    [case] = found["cases"]
    [group] = [one for one in case["groups"] if one["verdict"] != "undefined"]
    assert (group["verdict"], group["reading"]) == ("tolerated", reading)


@pytest.mark.parametrize("command", ["explain", "repro"])
def test_commands_for_one_cast_name_the_one_for_chains(command):
    name = "onnx.Cast-21/uint8-to-int8-to-int16/optimisation=all/input=fed/middle=hidden"
    done = convcheck(command, name, *(["0x80"] if command == "explain" else ["--backend", "ort"]))
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert "is a chain of casts hint: convcheck chain uint8 int8 int16 --spec onnx.Cast-21" in said
