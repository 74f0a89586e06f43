from copy import deepcopy

import pytest
from command import convcheck, report_at, run_shards
from report_json import parsed, render

ARGUMENTS = ("--backend", "ml_dtypes", "onnx.Cast-21", "--case", "onnx.Cast-21/float64-to-int8",
             "--tier", "boundary", "--samples", 200_000)  # fmt: skip
WRONG = ("--backend", "tests.planted.sweeping:WrongOnSample", *ARGUMENTS[2:], "--seed", "7")


@pytest.fixture(scope="module")
def halves(tmp_path_factory):
    paths = run_shards(tmp_path_factory.mktemp("halves"), 2, *WRONG, codes=(0, 1))
    return [parsed(path.read_text()) for path in paths]


def merged(folder, documents):
    paths = [folder / f"h{n}.json" for n in range(len(documents))]
    for path, document in zip(paths, documents, strict=True):
        path.write_text(render(document))
    done = convcheck("report", *paths)
    return done.returncode, done.stderr


def test_both_halves_make_the_run(tmp_path, halves):
    assert merged(tmp_path, halves) == (1, "")


EDITS = {
    "no parts": lambda d: d.pop("parts"),
    "parts of nothing": lambda d: d.update(parts=[]),
    "no cases": lambda d: d.update(cases=[]),
    "no tally": lambda d: d["parts"][0].update(tally=None),
    "swept": lambda d: d["parts"][0].update(sampled=False),
    "more inputs": lambda d: d["parts"][0].update(codes=10**15),
    "fewer inputs": lambda d: d["parts"][0].update(codes=10),
    "more units": lambda d: d["parts"][0].update(units=10**9),
    "another's consistency": lambda d: d.update(consistency=True),
    "ended early": lambda d: d.update(ended_early=True),
    "shard of text": lambda d: d["shard"].update(of="2"),
    "shard of nothing": lambda d: d["shard"].update(of=0),
    "shard of very many": lambda d: d["shard"].update(of=10**10),
    "shard of a list": lambda d: d["shard"].update(index=[1]),
    "coverage": lambda d: d["cases"][0].update(coverage="all"),
    "interrupted": lambda d: d.update(interrupted=""),
}


def test_samples_are_not_taken_for_a_sweep(tmp_path, halves):
    documents = deepcopy(halves)
    for document in documents:
        document["parts"][0].update(sampled=False)
    assert merged(tmp_path, documents)[0] == 2


@pytest.mark.parametrize("name", EDITS)
def test_a_half_that_is_none_is_refused(tmp_path, halves, name):
    documents = deepcopy(halves)
    EDITS[name](documents[len(name) % 2])
    code, said = merged(tmp_path, documents)
    assert (code, "Traceback" in said) == (2, False), said


def test_a_report_of_a_shard_keeps_its_parts(tmp_path, halves):
    path, again = tmp_path / "half.json", tmp_path / "again.json"
    path.write_text(render(halves[0]))
    convcheck("report", path, "-o", again)
    assert parsed(again.read_text())["parts"] == halves[0]["parts"]


def test_a_single_shard_is_merged(tmp_path):
    path, out = tmp_path / "1.json", tmp_path / "out.json"
    whole = tmp_path / "whole.json"
    assert convcheck("run", *ARGUMENTS, "--shard", "1/1", "-o", path).returncode == 0
    assert convcheck("run", *ARGUMENTS, "-o", whole).returncode == 0
    assert convcheck("report", path, "-o", out).returncode == 0
    assert out.read_bytes() == whole.read_bytes()


def test_what_was_judged_and_is_declined_fails_the_merged_run_too(tmp_path):
    known = tmp_path / "known.toml"
    known.write_text('[[judged]]\ncase = ["onnx.Cast-21/float64-to-int8"]\n')
    options = ("--backend", "tests.planted.sweeping:Unsupported", *ARGUMENTS[2:])
    assert convcheck("run", *options, "--known", known).returncode == 1
    paths = run_shards(tmp_path, 2, *options, codes=[3])
    done = convcheck("report", *paths, "--known", known)
    assert (done.returncode, "VANISHED" in done.stdout) == (1, True), done.stdout


def test_what_does_not_fail_the_run_does_not_end_it(tmp_path):
    """ONNX Runtime fails below the gate in the first of these cases, and above in none."""
    out = tmp_path / "out.json"
    select = ("--backend", "ort", "onnx.Cast-21", "--from", "float64", "--to", "int8", "--to",
              "bool", "--level", "normative")  # fmt: skip
    whole = convcheck("run", *select)
    done = convcheck("run", *select, "--fail-fast", "-j", "1", "-o", out)
    report = report_at(out)
    assert whole.returncode == done.returncode
    assert report["ended_early"] == (len(report["cases"]) < 2)
    assert (done.returncode == 1) or not report["ended_early"]


def test_a_run_that_was_ended_says_so_and_makes_no_list(tmp_path):
    out = tmp_path / "out.json"
    done = convcheck("run", "--backend", "ort", "onnx.Cast-21", "--from", "float32", "--fail-fast",
                     "-j", "1", "-o", out)  # fmt: skip
    assert (done.returncode, "ended early, results are partial" in done.stdout) == (1, True)
    assert parsed(out.read_text())["ended_early"]
    listed = convcheck("known", tmp_path / "known.toml", out)
    assert (listed.returncode, "a part of a run" in listed.stderr) == (2, True)
