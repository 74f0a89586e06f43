from pathlib import Path

import pytest
from catalogue import CATALOG
from command import convcheck, report_at, run_shards
from planted.sweeping import DEADLY_SAMPLE, SEED, WRONG_SAMPLE
from sweeps import swept_in_worker

from convcheck.plan.units import Unit
from convcheck.rules.find import find_case
from convcheck.vectors.corpus import CHUNK, SAMPLED_SPAN, open_corpus, sample_spans
from convcheck.vectors.samples import samples

CORPUS = open_corpus(CATALOG, "boundary", SEED, Path("none"))
NUMBER = 3 * CHUNK + 100
CASE = find_case(CATALOG, "onnx.Cast-21", "float64", "int8", ())
SELECT = ("--backend", "ml_dtypes", "onnx.Cast-21", "--case", "onnx.Cast-21/float64-to-int8",
          "--tier", "boundary", "--samples", SAMPLED_SPAN + 5)  # fmt: skip


def asked(name):
    (span,) = sample_spans(NUMBER, SEED)
    return swept_in_worker(name, [Unit(CASE, span, NUMBER, sampled=True)], CORPUS)[0]


def test_the_planted_inputs_are_samples():
    source = CASE.inputs[0].format
    found = samples(source, CASE.outputs[0].format, SEED, 0, NUMBER).tolist()
    assert found.count(WRONG_SAMPLE) == found.count(DEADLY_SAMPLE) == 1
    # and not in the first call
    assert min(found.index(WRONG_SAMPLE), found.index(DEADLY_SAMPLE)) > CHUNK


@pytest.mark.parametrize(("name", "verdict"), [
    ("WrongOnSample", "fail"), ("RefusesSample", "refused"), ("CrashesOnSample", "crashed"),
])  # fmt: skip
def test_one_bad_sample_costs_itself_only(name, verdict):
    result = asked(name)
    bad = [g for g in result.groups if g.verdict not in ("pass", "undefined")]
    assert [(g.verdict, g.count) for g in bad] == [(verdict, 1)]
    assert result.checked == NUMBER
    due = WRONG_SAMPLE if verdict == "fail" else DEADLY_SAMPLE
    assert all(e.inputs == (due,) for g in bad for e in g.examples)


def test_what_is_declined_late_is_not_lost():
    result = asked("DeclinesLate")
    assert (result.verdict, result.coverage) == ("refused", "partial")
    assert any(g.kind.startswith("declined ") for g in result.groups)


def report(path, *options):
    done = convcheck("run", *SELECT, *options, "-o", path)
    assert done.returncode == 0, done.stderr
    return report_at(path)


def test_samples_come_again_and_shards_add_up(tmp_path):
    whole = report(tmp_path / "whole.json")
    (case,) = whole["cases"]
    assert case["checked"] > SAMPLED_SPAN + 5
    assert case["coverage"] == "boundary-complete"
    assert f"{SAMPLED_SPAN + 5:,} samples of 1 case, seed 0" in whole["notes"]
    report(tmp_path / "again.json", "-j", "1")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "whole.json").read_bytes()
    other = report(tmp_path / "other.json", "--seed", 1)
    assert other["corpora"] != whole["corpora"]
    shards = run_shards(tmp_path, 2, *SELECT)
    assert [report_at(path)["cases"][0]["coverage"] for path in shards] == ["partial"] * 2
    merged = tmp_path / "merged.json"
    assert convcheck("report", *shards, "-o", merged).returncode == 0
    assert merged.read_bytes() == (tmp_path / "whole.json").read_bytes()


def test_what_was_not_asked_for_consistency_is_said(tmp_path):
    found = report(tmp_path / "r.json", "--samples", "10", "--consistency")
    assert found["notes"] == [
        "10 samples of 1 case, seed 0",
        "consistency was checked on the vectors of 1 case, not on their spans",
    ]
    assert found["consistency"]


@pytest.mark.parametrize(("options", "said"), [
    (("--tier", "edge"), "--samples does not go with --tier edge"),
    (("--tier", "exhaustive"), "--samples does not go with --tier exhaustive"),
    (("--samples", "-1"), "--samples -1: not a count from 0 to 1,000,000,000,000"),
    (("--samples", "many"), "--samples many: not a count"),
])  # fmt: skip
def test_samples_that_make_no_sense(options, said):
    done = convcheck("run", *SELECT, *options)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
