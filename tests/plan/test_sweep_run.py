import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from catalogue import CATALOG
from command import convcheck, report_at, run_shards
from living import eventually, lines_in
from places import ROOT
from planted.sweeping import DEADLY, WRONG
from sweeps import swept_in_worker

from convcheck.plan.units import Unit
from convcheck.rules.find import find_case
from convcheck.vectors.corpus import CHUNK, Span, open_corpus

CORPUS = open_corpus(CATALOG, "exhaustive", 0, Path("none"))
CASE = find_case(CATALOG, "onnx.Cast-21/float32-to-bfloat16", None, None, ())
COUNT = 4 * CHUNK
SELECT = ("--backend", "ort", "onnx.Cast-21", "--case", "onnx.Cast-21/float32-to-bool",
          "--tier", "exhaustive")  # fmt: skip


def swept(name, first, timeout=20.0):
    unit = Unit(CASE, Span(first // COUNT * COUNT, COUNT), COUNT)
    return swept_in_worker(name, [unit], CORPUS, timeout)


@pytest.mark.parametrize(("name", "verdict", "said"), [
    ("Crashes", "crashed", "died of SIGSEGV"),
    ("Hangs", "crashed", "no answer within 2.5 s (--timeout SECONDS allows more)"),
    ("Refuses", "refused", "not this one"),
])  # fmt: skip
def test_one_bad_pattern_costs_itself_only(name, verdict, said):
    result, restarts = swept(name, DEADLY, 2.5 if name == "Hangs" else 20.0)
    bad = [group for group in result.groups if group.verdict != "pass"]
    assert [(g.verdict, g.count, g.ranges) for g in bad] == [(verdict, 1, ((DEADLY, DEADLY),))]
    assert said in bad[0].kind + bad[0].examples[0].message
    assert result.checked == COUNT
    assert (restarts > 0) == (verdict == "crashed")


@pytest.mark.parametrize(("name", "verdict", "said"), [
    ("BoundCrashes", "crashed", "not reproduced when the chunk was sent alone"),
    ("BoundRefuses", "refused", "not this chunk; not reproduced when sent again"),
    ("BoundMalformed", "fail", "not reproduced when sent again"),
])  # fmt: skip
def test_what_does_not_come_again_is_not_forgotten(name, verdict, said):
    result, _ = swept(name, DEADLY)
    (bad,) = (group for group in result.groups if group.verdict != "pass")
    assert (result.verdict, bad.placement) == (verdict, "bulk")
    assert said in bad.kind + bad.examples[0].message
    chunk = DEADLY // CHUNK * CHUNK
    assert bad.examples[0].inputs[0] == chunk


# int8 ends at 128, 0x43000000, with varying undefined answers beyond
@pytest.mark.parametrize(("first", "third"), [(0x42FD0000, 0), (0xC2FD0000, 1), (0x7F7D0000, 2)])
def test_a_death_in_any_third_changes_nothing_else(first, third, tmp_path, monkeypatch):
    case = find_case(CATALOG, "onnx.Cast-21/float32-to-int8", None, None, ())
    unit, found = Unit(case, Span(first, 6 * CHUNK), 6 * CHUNK), []
    monkeypatch.setenv("DIED", str(tmp_path / "died"))
    for dies_at in (-1, first + (2 * third + 1) * CHUNK + 7):
        monkeypatch.setenv("DIES_AT", str(dies_at))
        found.append(swept_in_worker("DiesOnce", [unit], CORPUS)[0])
    whole, killed = found
    (death,) = (group for group in killed.groups if group.verdict == "crashed")
    assert "not reproduced when the chunk was sent alone" in death.kind
    assert [group for group in killed.groups if group is not death] == list(whole.groups)


def test_what_hangs_before_its_first_call_is_found():
    result, _ = swept("HangsWhileBinding", DEADLY, 1.5)
    assert result.verdict == "crashed"
    assert all("no answer within 1.5 s" in g.kind for g in result.groups)


def test_two_bad_patterns_of_a_chunk_cost_themselves_only():
    result, restarts = swept("RefusesAndCrashes", DEADLY)
    bad = [group for group in result.groups if group.verdict != "pass"]
    found = {(g.verdict, g.count, g.ranges) for g in bad}
    crash = DEADLY + 40_000
    assert found == {
        ("refused", 1, ((DEADLY, DEADLY),)), ("crashed", 1, ((crash, crash),)),
    }  # fmt: skip
    assert (result.checked, restarts < 20) == (COUNT, True)


def test_what_is_not_known_to_be_refused_alone_is_counted_apart():
    result, _ = swept("RefusesMany", DEADLY)
    counts = {g.kind: g.count for g in result.groups if g.verdict == "refused"}
    assert set(counts) == {"refused", "refused with others"}
    assert counts["refused"] < COUNT // 100 < sum(counts.values())


def test_a_death_is_not_forgotten_where_the_backend_then_declines(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    monkeypatch.chdir(tmp_path)
    result, _ = swept("Lost", DEADLY)
    assert result.verdict == "crashed"


def test_what_a_backend_does_not_support_is_not_swept():
    result, _ = swept("Unsupported", DEADLY)
    assert (result.verdict, result.groups) == ("unsupported", ())


def test_a_case_that_always_kills_is_given_up(monkeypatch):
    monkeypatch.setattr("convcheck.pool.lane.MOST_OF_CASE", 12)
    plan = [Unit(CASE, Span(n * COUNT, COUNT), 8 * COUNT) for n in range(8)]
    result, restarts = swept_in_worker("AlwaysCrashes", plan, CORPUS)
    assert (result.verdict, restarts) == ("crashed", 12)
    assert any("gave up after 12 restarts" in e.message for g in result.groups for e in g.examples)


def test_one_wrong_pattern_is_found_where_it_is():
    wrong, _ = swept("WrongOnce", WRONG)
    elsewhere, _ = swept("WrongOnce", DEADLY)
    (group,) = (group for group in wrong.groups if group.verdict == "fail")
    assert (group.count, group.ranges) == (1, ((WRONG, WRONG),))
    assert (wrong.verdict, elsewhere.verdict) == ("fail", "pass")


def test_shards_of_one_case_add_up(tmp_path):
    whole, merged = tmp_path / "whole.json", tmp_path / "merged.json"
    assert convcheck("run", *SELECT, "-o", whole).returncode == 0
    shards = run_shards(tmp_path, 3, *SELECT)
    (part,) = report_at(shards[1])["cases"]
    assert (part["coverage"], part["checked"] < 2**31) == ("partial", True)
    assert convcheck("report", *shards[::-1], "-o", merged).returncode == 0
    assert merged.read_bytes() == whole.read_bytes()
    (case,) = report_at(whole)["cases"]
    assert (case["coverage"], case["checked"]) == ("exhaustive", 2**32)


def test_an_interrupted_sweep_goes_on(tmp_path):
    journal, whole = tmp_path / "journal", tmp_path / "whole.json"
    command = [sys.executable, "-m", "convcheck", "run", *SELECT, "--resume", str(journal)]
    run = subprocess.Popen([*command, "-j", "1"], stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    assert eventually(lambda: lines_in(journal) > 4)
    os.kill(run.pid, signal.SIGINT)
    _, said = run.communicate(timeout=60)
    assert (run.returncode, b"continues from" in said) == (130, True)
    done = convcheck("run", *SELECT, "--resume", journal, "-o", whole)
    assert "of 257 parts are done" in done.stderr
    (case,) = report_at(whole)["cases"]
    assert (done.returncode, case["coverage"], case["checked"]) == (0, "exhaustive", 2**32)
    assert not journal.exists()


def test_64_bits_are_refused():
    asked = ("run", "--backend", "reference", "onnx.Cast-21", "--tier", "exhaustive")
    done = convcheck(*asked, "--to", "int8", "--from", "int64", "--from", "float64")
    assert done.returncode == 2
    assert "no machine asks all 2^64 bit patterns of float64, int64" in done.stderr
    assert "boundary asks every rounding boundary" in done.stderr
    done = convcheck(*asked, "--to", "int8", "--from", "int64", "--from", "bool")
    assert done.returncode == 0
    assert "left out: 1 case; no machine asks all 2^64 bit patterns of int64" in done.stderr
