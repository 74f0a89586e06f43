from contextlib import closing

import numpy as np
import pytest
from catalogue import CATALOG
from repro_scripts import run_one

from convcheck.ask.case import Siblings
from convcheck.ask.jobs import Job
from convcheck.errors import UsageError
from convcheck.judge.answers import ANSWERED, OTHERS, Answers
from convcheck.judge.result import FAILURES, BackendInfo
from convcheck.plan.runner import Done, ask_one_input, run
from convcheck.plan.units import units
from convcheck.pool.lane import Restarts
from convcheck.pool.local import in_batches
from convcheck.pool.messages import Setup
from convcheck.records import replace
from convcheck.report.draw.console import plain_lines
from convcheck.report.draw.explain import answer_blocks
from convcheck.reproduce.emit.c import c
from convcheck.reproduce.emit.onnx import files_of_witness
from convcheck.reproduce.emit.python import python
from convcheck.reproduce.witness import ask_case, smallest
from convcheck.rules.cases import cases
from convcheck.rules.load import data_dir
from convcheck.vectors.corpus import open_corpus

CAST = CATALOG.specs["onnx.Cast-21"]
CASES = [c for c in cases(CAST) if c.name.startswith("float32-to-float8e4m3fn/")]
CORPUS = open_corpus(CATALOG, "edge", 0, data_dir("vectors"))
BACKENDS = "tests.planted.deviating"


def results(name, asked=CASES):
    setup = Setup(f"{BACKENDS}:{name}", CORPUS, None, 30.0)
    with closing(run(setup, units(asked, lambda case: ()), 1)) as events:
        heard = list(events)
    assert not any(isinstance(event, Restarts) for event in heard)
    found = {e.unit.case.id: e.part.vectors for e in heard if isinstance(e, Done)}
    return [result for case in asked if (result := found[case.id])]


def placements(result):
    return {group.placement for group in result.groups if group.verdict in FAILURES}


def test_a_cache_that_does_not_tell_attributes_apart_shows():
    """The first case is cached. The first later one with a different right answer shows it."""
    first, second, *_ = results("CoarseCache")
    assert (first.verdict, second.verdict) == ("pass", "fail")
    assert placements(second) == {OTHERS}


def test_a_cache_shows_beside_another_operator_of_the_same_types():
    questions = {case.question for case in CASES}
    like = [c for c in cases(CATALOG.specs["onnx.CastLike-21"]) if c.question in questions]
    found = results("CoarseCache", [*CASES, *like])
    shows = {result.case.op for result in found if OTHERS in placements(result)}
    assert shows == {"onnx.Cast", "onnx.CastLike"}


def test_what_is_due_of_both_is_no_doubt():
    """An omitted attribute equals its default, so that no difference is expected."""
    one, other = (CORPUS.vectors(case) for case in (CASES[1], CASES[2]))
    siblings = Siblings()
    for vectors in (one, other):
        got = np.zeros_like(one.expected.readings[0].codes)
        siblings.add(vectors, Answers(got, np.full(len(got), ANSWERED, np.uint8), {}))
    assert siblings.doubt is None


def test_what_ignores_an_attribute_is_wrong_in_any_process():
    found = [placements(result) for result in results("AttributeIgnored")]
    assert {""} in found
    assert OTHERS not in set().union(*found)


def test_one_input_is_asked_after_other_attributes_too():
    vectors = CORPUS.vectors(CASES[1])
    info, result = ask_one_input(f"{BACKENDS}:CoarseCache", vectors, 30.0, CATALOG)
    said = "\n".join(plain_lines(answer_blocks(info, result), 100))
    assert "as expected" in said
    assert 'WRONG: NaN instead of a number, in placement "after other attributes"' in said


def test_what_needs_other_attributes_is_a_call_after_one_with_these():
    found = ask_case(f"{BACKENDS}:CoarseCache", CAST, CORPUS.vectors(CASES[1]), 30.0)
    witness = smallest(found, found.groups[0])
    assert witness.before == CASES[0]
    assert [strip.shape for strip in witness.inputs] == [(1,)]
    assert "the process ran the same inputs with saturate=0 before." in c(witness, {})
    with pytest.raises(UsageError, match="an ONNX test has one model"):
        list(files_of_witness(witness))
    script = python(replace(witness, backend=BackendInfo("ort", "")), {})
    models = ("MODEL = ", "saturate: int = 1", "BEFORE = ", "saturate: int = 0", "ask(before=True)")
    order = [script.index(part) for part in models]
    assert order == sorted(order)


@pytest.mark.parametrize(
    ("address", "module", "due"), [("ort", "onnxruntime", 0), ("openvino", "openvino", 1)]
)
def test_a_script_that_asks_something_else_before_runs(address, module, due, tmp_path):
    """It exits 0 on a runtime that distinguishes attributes, and 1 on one that ignores
    `saturate`.
    """
    pytest.importorskip(module)
    found = ask_case(f"{BACKENDS}:CoarseCache", CAST, CORPUS.vectors(CASES[1]), 30.0)
    witness = replace(smallest(found, found.groups[0]), backend=BackendInfo(address, ""))
    path = tmp_path / "repro.py"
    path.write_text(python(witness, {}))
    code, said = run_one(path)
    assert code == due, said


def test_what_does_not_come_back_is_said():
    found = ask_case(f"{BACKENDS}:CoarseCache", CAST, CORPUS.vectors(CASES[1]), 30.0)
    right = replace(found, address="reference")
    with pytest.raises(UsageError, match="reference does not show it again"):
        smallest(right, found.groups[0])


@pytest.mark.parametrize("lanes", [1, 2, 7])
@pytest.mark.parametrize("target", ["", "-to-float8", "float32-to-float8e8m0"])
def test_what_differs_in_attributes_is_in_one_batch(lanes, target):
    specs = (CATALOG.specs[name] for name in ("onnx.Cast-24", "onnx.Cast-25"))
    asked = [case for spec in specs for case in cases(spec) if target in case.name]
    plan = units(asked, lambda case: ())
    jobs = [Job(n, unit.case, later=unit.later) for n, unit in enumerate(plan)]
    batches = in_batches(jobs, lanes, 8)
    assert sorted(job.position for batch in batches for job in batch) == list(range(len(jobs)))
    where = {}
    for n, batch in enumerate(batches):
        for job in batch:
            where.setdefault(job.case.question.partition("/")[0], set()).add(n)
    assert {len(found) for found in where.values()} == {1}
    first = batches[0][0].case.question
    order = [job.case.spec for job in batches[0] if job.case.question == first]
    assert order == ["onnx.Cast-25", "onnx.Cast-24"]
