from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from places import ROOT
from planted.asking import (
    INT32,
    Log,
    Scripted,
    asked,
    case_of,
    echo,
    vectors_of,
)

from convcheck.ask import placements
from convcheck.ask.elements import ask
from convcheck.backends.protocol import Answer, Outputs
from convcheck.judge.answers import (
    ANSWERED,
    BETWEEN,
    CHUNK,
    EVERYWHERE,
)
from convcheck.numerics.format import Bits
from convcheck.rules.model import Case
from convcheck.semantics.expected import EXACT, UNDEFINED


@pytest.fixture(autouse=True)
def _in_the_repository_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_a_good_backend_answers_everything_the_same_everywhere() -> None:
    answers, log = asked("Good")
    assert (answers.state == ANSWERED).all()
    assert (answers.got == np.arange(128)).all()
    assert answers.messages == {}
    assert (answers.faults, answers.elsewhere, answers.declined) == ((), (), None)
    assert {name for name, _ in log.calls} == set(EVERYWHERE) - {"", "support", "sweep", BETWEEN}
    assert 15 <= len(log.calls) <= 25


@pytest.mark.parametrize("n", [*range(1, 40), 255, 600, 601])
def test_placements_of_every_size(n: int) -> None:
    vectors = vectors_of(case_of(INT32, INT32), range(n))
    log = Log()
    answers = ask(Scripted(echo), vectors, log, {})
    assert (answers.got == np.arange(n)).all()
    assert not answers.faults
    assert not answers.elsewhere
    assert all(len(i) % 2 and (len(i) - n) % 16 for i in log.of("odd tail"))
    lasts = [i[-1] for i in log.of("odd tail")]
    assert len(set(lasts)) == len(lasts) >= min(4, (n - 1) // 2)
    assert {i.ndim for i in log.of("alone")} == ({0, 1} if n > 1 else {0})
    assert all(1 < len(i) < 8 for i in log.of("short"))
    assert [i.shape for i in log.of("empty")] == [(0,)]
    (four,) = log.of("4-D")
    assert four.ndim == 4
    assert n < 4 or min(four.shape[1:3]) > 1


def test_the_ends_are_asked_alone() -> None:
    _, log = asked("Good")
    alone = {int(i.reshape(-1)[0]) for i in log.of("alone")}
    assert {0, 127} <= alone
    assert len(alone) >= 6


@pytest.mark.parametrize("n", [2, 3, 7, 8, 64, 101, 128])
@pytest.mark.parametrize(
    ("name", "where"),
    [("OddLastWrong", "odd tail"), ("ScalarWrong", "alone"), ("TailWrong", "odd tail")],
)
def test_placements_show_what_only_they_can_show(name: str, where: str, n: int) -> None:
    answers, _ = asked(name, vectors_of(case_of(), range(n)))
    wrong_in_bulk = (answers.got != np.arange(n)).any()
    assert wrong_in_bulk or where in {e.placement for e in answers.elsewhere}


def test_a_kernel_for_short_tensors_is_seen() -> None:
    answers, _ = asked("ShortWrong")
    found = {e.placement: e for e in answers.elsewhere}
    assert set(found) == {"alone", "short"}
    assert len(found["short"].index) >= 20
    assert (found["short"].got == (found["short"].index ^ 1)).all()
    assert (answers.got == np.arange(128)).all()


def test_a_kernel_for_four_dimensions_is_seen() -> None:
    answers, _ = asked("FourDimensionalWrong")
    assert {e.placement for e in answers.elsewhere} == {"4-D"}


@pytest.mark.parametrize("judged", range(0, 40, 3))
def test_the_odd_tail_ends_in_what_is_judged(judged: int) -> None:
    patterns = np.full(40, UNDEFINED)
    patterns[judged] = EXACT
    _, log = asked("Good", vectors_of(case_of(), range(40), patterns))
    assert log.of("odd tail")[0][-1] == judged
    assert judged in {int(i.reshape(-1)[0]) for i in log.of("alone")}


def test_large_sets_are_asked_in_chunks() -> None:
    n = 2 * CHUNK + 1000
    log = Log()
    answers = ask(Scripted(echo), vectors_of(case_of(INT32, INT32), range(n)), log, {})
    assert (answers.got == np.arange(n)).all()
    assert [len(i) for i in log.of("bulk")] == [CHUNK, CHUNK, 1000]
    assert max(i.size for _, i in log.calls) == CHUNK
    tails = log.of("odd tail")
    assert {int(i.min()) < CHUNK // 2 for i in tails} == {True, False}
    assert len(log.calls) < 30


def test_several_inputs_move_together() -> None:
    def same(case: Case, inputs: Sequence[Bits]) -> Answer:
        assert (inputs[0] == inputs[1]).all()
        return echo(case, inputs)

    answers = ask(Scripted(same), vectors_of(case_of(arity=2), range(50)), Log(), {})
    assert (answers.state == ANSWERED).all()


def test_an_adapter_may_write_into_its_inputs() -> None:
    def spoil(case: Case, inputs: Sequence[Bits]) -> Answer:
        answer = Outputs((inputs[0].copy(),), (case.outputs[0].name,))
        inputs[0][...] = 0
        return answer

    answers = ask(Scripted(spoil), vectors_of(case_of(), range(50)), Log(), {})
    assert (answers.got == np.arange(50)).all()
    assert not answers.elsewhere


def test_samples_are_spread_and_irregular() -> None:
    pool = np.arange(600)
    sample = placements.irregular_sample(pool, 27)
    assert len(sample) == 27
    assert np.diff(sample).max() < 60
    assert all(len(set((sample % period).tolist())) == period for period in (2, 3, 4, 5))
