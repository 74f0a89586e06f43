from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from convcheck.backends.protocol import Answer, Declined, Outputs, Refused, open_backend
from convcheck.errors import Place
from convcheck.numerics.format import Bits, Bool, Int, Text
from convcheck.run import placements
from convcheck.run.answers import (
    ANSWERED,
    CHUNK,
    CRASHED,
    EVERYWHERE,
    NOT_ASKED,
    REFUSED,
    Answers,
    Avoid,
    Fault,
    Index,
)
from convcheck.run.ask import ask
from convcheck.semantics.expected import EXACT, UNDEFINED, Decision, Expected, Reading
from convcheck.semantics.expected import REFUSED as TO_REFUSE
from convcheck.spec.model import Case, DType
from convcheck.vectors.model import VectorSet

PLACE = Place("test", 1)
INT8 = DType("int8", Int(8, True), (), PLACE)
INT4 = DType("int4", Int(4, True), (), PLACE)
INT32 = DType("int32", Int(32, True), (), PLACE)
BOOL = DType("bool", Bool(), (), PLACE)
TEXT = DType("string", Text(), (), PLACE)
DECISION = Decision("rule", "row", "normative", "cite", "source", PLACE)
BAD = 100


def case_of(source: DType = INT8, target: DType = INT8, arity: int = 1) -> Case:
    return Case("test.Cast-1", "test.Cast", 1, (source,) * arity, (target,), ())


def vectors_of(
    case: Case, inputs: Sequence[Any], patterns: Sequence[int] | int = EXACT, out: Any = None
) -> VectorSet:
    codes: Bits = np.array(inputs, case.inputs[0].format.storage)
    given = np.zeros(len(codes), case.outputs[0].format.storage) if out is None else out
    filled = np.full(len(codes), patterns, np.uint8)
    rows = np.zeros(len(codes), np.int16)
    expected = Expected(rows, (DECISION,), (Reading(given, filled),))
    return VectorSet(case, (codes,) * len(case.inputs), expected, "sampled", DECISION)


class Log:
    def __init__(self) -> None:
        self.calls: list[tuple[str, Index]] = []

    def __call__(self, placement: str, index: Index) -> None:
        self.calls.append((placement, index.copy()))

    def of(self, placement: str) -> list[Index]:
        return [index for name, index in self.calls if name == placement]


class Scripted:
    """A backend made of a function of the inputs."""

    name, version = "scripted", "1"

    def __init__(self, reply: Callable[[Case, Sequence[Bits]], Answer]) -> None:
        self.reply = reply

    def support(self, case: Case) -> Declined | None:
        return None

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        return self.reply(case, inputs)


def echo(case: Case, inputs: Sequence[Bits]) -> Answer:
    return Outputs((inputs[0],), (case.outputs[0].name,))


def asked(
    name: str, vectors: VectorSet | None = None, avoid: Avoid | None = None, **skip: str
) -> tuple[Answers, Log]:
    log = Log()
    backend = open_backend(f"tests.planted.bad_backends:{name}")
    vectors = vectors or vectors_of(case_of(), range(128))
    return ask(backend, vectors, log, {int(k[1:]): v for k, v in skip.items()}, avoid), log


@pytest.fixture(autouse=True)
def _in_the_repository_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parent.parent)


def test_a_good_backend_answers_everything_the_same_everywhere() -> None:
    answers, log = asked("Good")
    assert (answers.state == ANSWERED).all()
    assert (answers.got == np.arange(128)).all()
    assert answers.messages == {}
    assert (answers.faults, answers.elsewhere, answers.declined) == ((), (), None)
    assert {name for name, _ in log.calls} == set(EVERYWHERE) - {"", "support"}
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


def test_a_refusing_element_is_found() -> None:
    answers, log = asked("RefusesOne")
    assert np.flatnonzero(answers.state == REFUSED).tolist() == [BAD]
    assert answers.messages == {BAD: "not this one"}
    assert (np.delete(answers.got, BAD) == np.delete(np.arange(128), BAD)).all()
    assert not answers.faults
    assert len(log.of("bulk")) < 25


def test_everything_refused_costs_little_more_than_a_call_an_element() -> None:
    answers, log = asked("RefusesAll")
    assert (answers.state == REFUSED).all()
    assert set(answers.messages.values()) == {"no"}
    assert len(log.of("bulk")) < 1.5 * 128
    assert not {"odd tail", "short", "4-D", "empty"} & {name for name, _ in log.calls}


def test_many_refusals_are_not_all_looked_up() -> None:
    def refuse(case: Case, inputs: Sequence[Bits]) -> Answer:
        return Refused("no")

    log = Log()
    answers = ask(Scripted(refuse), vectors_of(case_of(INT32, INT32), range(5000)), log, {})
    assert (answers.state == REFUSED).all()
    assert len(log.calls) < 400
    assert "asked with" in answers.messages[4999]
    assert answers.messages[0] == "no"


def test_a_case_to_be_refused_is_not_bisected() -> None:
    answers, log = asked("RefusesAll", vectors_of(case_of(), range(128), TO_REFUSE))
    assert (answers.state == REFUSED).all()
    assert len(log.of("bulk")) == 1


def test_elements_to_be_refused_do_not_spoil_the_bulk() -> None:
    patterns = np.where(np.arange(128) == BAD, TO_REFUSE, EXACT)
    answers, log = asked("RefusesOne", vectors_of(case_of(), range(128), patterns))
    assert [len(i) for i in log.of("bulk")] == [127, 1]
    assert answers.state[BAD] == REFUSED


def test_undefined_texts_do_not_spoil_the_bulk() -> None:
    def parse(case: Case, inputs: Sequence[Bits]) -> Answer:
        try:
            numbers = [int(text) for text in inputs[0].reshape(-1)]
        except ValueError as error:
            return Refused(str(error))
        codes = np.array(numbers, np.uint8).reshape(inputs[0].shape)
        return Outputs((codes,), (case.outputs[0].name,))

    texts = [*map(str, range(20)), "", "0x", "30", "one"]
    patterns = [EXACT] * 20 + [UNDEFINED] * 4
    log = Log()
    answers = ask(Scripted(parse), vectors_of(case_of(TEXT, INT8), texts, patterns), log, {})
    assert [len(i) for i in log.of("bulk")] == [20, 4, 1, 1, 1, 1]
    assert answers.state.tolist() == [ANSWERED] * 20 + [REFUSED, REFUSED, ANSWERED, REFUSED]
    assert answers.got[22] == 30
    assert not answers.faults


def test_texts_come_back() -> None:
    texts = [str(x) for x in range(40)]
    case = case_of(TEXT, TEXT)
    answers = ask(Scripted(echo), vectors_of(case, texts), Log(), {})
    assert answers.got.tolist() == texts
    assert not answers.elsewhere

    def of_bytes(case: Case, inputs: Sequence[Bits]) -> Answer:
        return Outputs((np.full(inputs[0].shape, b"x", object),), (case.outputs[0].name,))

    answers = ask(Scripted(of_bytes), vectors_of(case, texts), Log(), {})
    assert {f.kind for f in answers.faults} == {"not a code of the type"}
    assert (answers.state == NOT_ASKED).all()


def test_a_placement_that_is_refused_is_a_fault() -> None:
    answers, _ = asked("RefusesScalars")
    assert (answers.state == ANSWERED).all()
    assert answers.faults == (Fault("refused", "alone", "rank 0", 0),)


def test_declined() -> None:
    answers, log = asked("DeclinesCase")
    assert answers.declined == Declined("cannot ask that", missing=True)
    assert (answers.state == NOT_ASKED).all()
    assert not log.calls
    answers, log = asked("DeclinesAnswer")
    assert answers.declined == Declined("no kernel", missing=True)
    assert len(log.calls) == 1
    answers, _ = asked("DeclinesLater")
    assert answers.declined is None
    assert answers.faults == (Fault("refused", "4-D", "changed my mind", 0),)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("TwoOutputs", "wrong number of outputs"),
        ("WrongType", "wrong type"),
        ("WrongDtype", "wrong type"),
        ("Garbage", "wrong type"),
        ("GarbageArray", "wrong type"),
    ],
)
def test_malformed_answers(name: str, kind: str) -> None:
    answers, _ = asked(name)
    assert (answers.state == NOT_ASKED).all()
    assert [f.kind for f in answers.faults if f.placement == "bulk"] == [kind]
    assert len(answers.faults) <= 6


def test_wrong_shapes() -> None:
    answers, _ = asked("WrongShape")
    assert Fault("wrong shape", "bulk", "(127,), not (128,)", 0) in answers.faults
    assert (answers.state == ANSWERED).sum() >= 6  # those asked alone
    answers, _ = asked("Flattened")
    assert {f.placement for f in answers.faults} == {"alone", "4-D"}
    assert (answers.state == ANSWERED).all()


@pytest.mark.parametrize(
    ("fmt", "name", "bad"), [(BOOL, "BoolTwo", BAD), (INT4, "Good", 16)], ids=["bool", "int4"]
)
def test_bits_outside_the_format(fmt: DType, name: str, bad: int) -> None:
    answers, _ = asked(name, vectors_of(case_of(INT8, fmt), range(128)))
    fault = next(f for f in answers.faults if f.placement == "bulk")
    assert (fault.kind, fault.index) == ("not a code of the type", bad)
    assert hex(2 if fmt is BOOL else 16) in fault.message
    assert answers.state[bad] == NOT_ASKED
    assert answers.state[bad - 1] == ANSWERED


def test_what_the_adapter_raises_is_not_an_answer() -> None:
    with pytest.raises(ValueError, match="a fault of the adapter"):
        asked("Raises")


def test_what_is_to_be_skipped_is_not_asked() -> None:
    answers, log = asked("Good", _5="died", _6="died")
    assert np.flatnonzero(answers.state == CRASHED).tolist() == [5, 6]
    assert answers.messages == {5: "died", 6: "died"}
    assert not any(np.isin([5, 6], index).any() for _, index in log.calls)


def test_what_is_to_be_avoided_is_not_asked() -> None:
    fault = Fault("crashed", "bulk", "needs 2 inputs together", 5)
    avoid = Avoid(((5, 60),), frozenset({"4-D"}), (fault,))
    answers, log = asked("Good", None, avoid)
    assert (answers.state == ANSWERED).all()
    assert answers.faults == (fault,)
    assert not log.of("4-D")
    assert not any(np.isin([5, 60], index).all() for _, index in log.calls)
    answers, log = asked("Good", None, Avoid((), EVERYWHERE, (fault,)))
    assert (answers.state == NOT_ASKED).all()
    assert not log.calls


def test_a_backend_that_was_not_asked_in_bulk_is_known_from_elsewhere() -> None:
    answers, _ = asked("Good", None, Avoid((), frozenset({"bulk"})))
    assert (answers.state == ANSWERED).all()
    assert not answers.elsewhere


def test_samples_are_spread_and_irregular() -> None:
    pool = np.arange(600)
    sample = placements.spread(pool, 27)
    assert len(sample) == 27
    assert np.diff(sample).max() < 60
    assert all(len(set((sample % period).tolist())) == period for period in (2, 3, 4, 5))
