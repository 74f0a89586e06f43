import json
from itertools import pairwise
from pathlib import Path

import pytest
from catalogue import CATALOG
from planted.sweeping import DiesOnce
from sweeps import swept_in_worker

from convcheck.ask.jobs import Apart, Job
from convcheck.ask.stream import ask_span
from convcheck.documents.encode import Writing
from convcheck.documents.report import encoded
from convcheck.plan.units import Gathering, Unit, part_of
from convcheck.records import replace
from convcheck.rules.find import find_case
from convcheck.vectors.corpus import CHUNK, Span, open_corpus

CORPUS = open_corpus(CATALOG, "exhaustive", 0, Path("none"))
CHUNKS = 6
COUNT = CHUNKS * CHUNK
NEVER = -1
# int8 ends at 128, 0x43000000, with varying undefined answers beyond
FIRSTS = (0x42FD0000, 0xC2FD0000, 0x7F7D0000)


def case_of():
    return find_case(CATALOG, "onnx.Cast-21", "float32", "int8", ())


@pytest.fixture(autouse=True)
def _here(monkeypatch, tmp_path):
    monkeypatch.setenv("DIES_AT", str(NEVER))
    monkeypatch.setenv("DIED", str(tmp_path / "died"))


def asked(span, *apart):
    job = Job(0, case_of(), span=span, apart=tuple(Apart(CHUNK * n) for n in apart))
    program, form = CORPUS.conversion(case_of())
    return ask_span(DiesOnce(), job, span, program, form, lambda *call: None)


def result(first, tallies):
    gathering = Gathering([Unit(case_of(), Span(first, COUNT), COUNT)], CORPUS.conversion)
    for tally in tallies:
        gathering.add(part_of(Unit(case_of(), Span(first, COUNT), COUNT), tally))
    (found,) = gathering.results()
    return found


def document(found, *left_out):
    groups = tuple(group for group in found.groups if group not in left_out)
    cut = replace(found, groups=groups, verdict="pass", coverage="edge")
    return encoded(Writing().case(cut)).decode()


@pytest.mark.parametrize("first", FIRSTS)
def test_cut_into_shards_or_asked_apart(first):
    whole = document(result(first, [asked(Span(first, COUNT))]))
    assert {g.get("verdict") for g in json.loads(whole)["groups"]} >= {"undefined"}
    for cuts in ((0, 1, 2, 3, 4, 5, 6), (0, 3, 6), (0, 5, 6), (0, 1, 3, 6)):
        spans = [Span(first + a * CHUNK, (b - a) * CHUNK) for a, b in pairwise(cuts)]
        assert document(result(first, [asked(span) for span in spans[::-1]])) == whole
    for apart in ((0,), (2,), (5,), (1, 2, 4), tuple(range(CHUNKS))):
        assert document(result(first, [asked(Span(first, COUNT), *apart)])) == whole


@pytest.mark.parametrize("third", range(3))
@pytest.mark.parametrize("first", FIRSTS)
def test_with_a_worker_killed_in_each_third(first, third, monkeypatch):
    whole = document(result(first, [asked(Span(first, COUNT))]))
    monkeypatch.setenv("DIES_AT", str(first + (2 * third + 1) * CHUNK + 7))
    unit = Unit(case_of(), Span(first, COUNT), COUNT)
    killed, _ = swept_in_worker("DiesOnce", [unit], CORPUS)
    (death,) = (group for group in killed.groups if group.verdict == "crashed")
    assert "not reproduced when the chunk was sent alone" in death.kind
    assert document(killed, death) == whole
