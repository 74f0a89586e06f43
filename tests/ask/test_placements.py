import re
import time
from dataclasses import replace

import numpy as np
import pytest
from places import ROOT
from planted.asking import INT32, Log, Scripted, asked, case_of, echo, vectors_of

from convcheck.ask import elements
from convcheck.ask.elements import ask
from convcheck.backends.protocol import LIMIT_VARIABLE, TIMEOUT_VARIABLE, Outputs
from convcheck.judge.answers import (
    ANOTHER,
    ANSWERED,
    BETWEEN,
    CHUNK,
    EVERYWHERE,
    FIRST,
    LARGE_CALLS,
    LARGEST,
    MANY_CALLS,
    OTHERS,
    TELLING,
    Avoid,
)

# malformed, not for every case, or without vectors
RARE = (
    "", "support", ANOTHER, TELLING, *LARGE_CALLS, MANY_CALLS, OTHERS, "sweep",
    BETWEEN,
)  # fmt: skip


def test_a_good_backend_answers_everything_the_same_everywhere():
    answers, log = asked("Good")
    assert (answers.state == ANSWERED).all()
    assert (answers.got == np.arange(128)).all()
    assert answers.messages == {}
    assert (answers.faults, answers.elsewhere, answers.declined) == ((), (), None)
    assert {name for name, _ in log.calls} == set(EVERYWHERE) - set(RARE)
    assert 15 <= len(log.calls) <= 25


def thorough(backend, vectors, avoid=None):
    log = Log()
    return ask(backend, vectors, log, {}, avoid, lambda answered: bool(len(answered))), log


def test_no_call_is_larger_than_an_output_may_be(monkeypatch):
    monkeypatch.setenv(LIMIT_VARIABLE, "3000")
    _, log = thorough(Scripted(echo), vectors_of(case_of(), range(5)))
    assert [len(log.of(placement)) for placement in LARGE_CALLS] == [1, 0]


def test_a_backend_that_is_slow_is_asked_one_large_call(monkeypatch):
    monkeypatch.setenv(TIMEOUT_VARIABLE, "4")

    def slow(case, inputs):
        time.sleep(0.05 if inputs[0].size > 1024 else 0)
        return echo(case, inputs)

    _, log = thorough(Scripted(slow), vectors_of(case_of(), range(5)))
    assert [len(log.of(placement)) for placement in (*LARGE_CALLS, MANY_CALLS)] == [1, 0, 0]


def test_elements_that_kill_together_stand_in_none_of_many_calls_together(monkeypatch):
    monkeypatch.setattr(elements, "_PATIENCE", 60.0)
    vectors = vectors_of(case_of(), range(9))
    _, log = thorough(Scripted(echo), vectors, Avoid(((2, 5),)))
    assert {frozenset(i.tolist()) & {2, 5} for i in log.of(MANY_CALLS)} == {
        frozenset((2,)), frozenset((5,)),
    }  # fmt: skip


@pytest.mark.parametrize("n", [2, 3, 7, 8, 64, 101, 128])
@pytest.mark.parametrize(
    ("name", "where"),
    [("OddLastWrong", "odd tail"), ("ScalarWrong", "alone"), ("TailWrong", "odd tail")],
)
def test_placements_show_what_only_they_can_show(name, where, n):
    answers, _ = asked(name, vectors_of(case_of(), range(n)))
    wrong_in_bulk = (answers.got != np.arange(n)).any()
    assert wrong_in_bulk or where in {e.placement for e in answers.elsewhere}


def test_a_kernel_for_short_tensors_is_seen():
    answers, _ = asked("ShortWrong")
    found = {e.placement: e for e in answers.elsewhere}
    assert set(found) == {"alone", "short"}
    assert len(found["short"].index) >= 20
    assert (found["short"].got == (found["short"].index ^ 1)).all()
    assert (answers.got == np.arange(128)).all()


def test_a_kernel_for_four_dimensions_is_seen():
    answers, _ = asked("FourDimensionalWrong")
    assert {e.placement for e in answers.elsewhere} == {"4-D"}


@pytest.mark.parametrize("of", ["first", "inner", "last", "every"])
def test_a_kernel_that_drops_dimensions_of_1_gives_a_wrong_shape(of):
    def squeezed(case, inputs):
        shape = inputs[0].shape
        places = {"first": [0], "inner": [*range(1, len(shape) - 1)], "last": [len(shape) - 1]}
        drops = places.get(of, range(len(shape))) if inputs[0].size > 1 else ()
        kept = [n for i, n in enumerate(shape) if n != 1 or i not in drops]
        return Outputs((inputs[0].copy().reshape(kept),), (case.outputs[0].name,))

    plain = case_of(INT32, INT32)
    for case in (plain, replace(plain, inputs=(INT32, INT32), bound=True)):
        answers = ask(Scripted(squeezed), vectors_of(case, range(50)), Log(), {})
        ranks = {"first": {2}, "inner": {3, 4}, "last": {4}, "every": {2, 3, 4}}[of]
        faults = {(f.kind, f.placement) for f in answers.faults}
        assert faults == {("wrong shape", f"{rank}-D") for rank in ranks}


def test_large_sets_are_asked_in_chunks():
    n = 2 * CHUNK + 1000
    log = Log()
    answers = ask(Scripted(echo), vectors_of(case_of(INT32, INT32), range(n)), log, {})
    assert (answers.got == np.arange(n)).all()
    assert [len(i) for i in log.of("bulk")] == [CHUNK, CHUNK, 1000]
    assert max(i.size for _, i in log.calls) == CHUNK
    tails = log.of("odd tail")
    assert {int(i.min()) < CHUNK // 2 for i in tails} == {True, False}
    assert len(log.calls) < 30


def test_several_inputs_move_together():
    def same(case, inputs):
        assert (inputs[0] == inputs[1]).all()
        return echo(case, inputs)

    answers = ask(Scripted(same), vectors_of(case_of(arity=2), range(50)), Log(), {})
    assert (answers.state == ANSWERED).all()


def test_an_adapter_may_write_into_its_inputs():
    def spoil(case, inputs):
        answer = Outputs((inputs[0].copy(),), (case.outputs[0].name,))
        inputs[0][...] = 0
        return answer

    answers = ask(Scripted(spoil), vectors_of(case_of(), range(50)), Log(), {})
    assert (answers.got == np.arange(50)).all()
    assert not answers.elsewhere


def test_the_docs_have_every_placement():
    text = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")
    table = text.partition("## Placements")[2].partition("\n## ")[0]
    named = re.findall(r"`([^`]+)`", "\n".join(re.findall(r"^\| (`.*?) \|", table, re.M)))
    inner = {BETWEEN, "support", ANOTHER, TELLING, "sweep"}
    assert named == [p for p in sorted(FIRST, key=RARE.__contains__) if p not in inner]
    assert f"of up to {LARGEST:,} elements" in (ROOT / "docs" / "backends.md").read_text()
