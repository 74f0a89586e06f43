import numpy as np
import pytest
from catalogue import CATALOG
from planted.asking import (
    BAD,
    BOOL,
    INT4,
    INT8,
    INT32,
    TEXT,
    Log,
    Scripted,
    asked,
    case_of,
    echo,
    vectors_of,
)

from convcheck.ask.case import Siblings
from convcheck.ask.elements import ask
from convcheck.backends.protocol import Declined, Outputs, Refused
from convcheck.judge.answers import (
    ANSWERED,
    CRASHED,
    EVERYWHERE,
    NOT_ASKED,
    REFUSED,
    Answers,
    Avoid,
    Fault,
)
from convcheck.rules.cases import cases
from convcheck.vectors.generate import vector_set


def test_a_refusing_element_is_found():
    answers, log = asked("RefusesOne")
    assert np.flatnonzero(answers.state == REFUSED).tolist() == [BAD]
    assert answers.messages == {BAD: "not this one"}
    assert (np.delete(answers.got, BAD) == np.delete(np.arange(128), BAD)).all()
    assert not answers.faults
    # refusals are in the second half, which is not asked if the first half is answered
    assert [len(i) for i in log.of("bulk")] == [128, 64, 32, 16, 8, *[1] * 8, 8, 16]


def test_what_was_refused_before_is_asked_alone_at_once():
    """One of two suspects is refused here, and one element that is not a suspect."""

    def refuse(case, inputs):
        return Refused("no") if np.isin(inputs[0], [5, 77]).any() else echo(case, inputs)

    vectors, log, siblings = vectors_of(case_of(), range(128)), Log(), Siblings()
    assert not len(siblings.refused(vectors))
    before = np.full(128, ANSWERED, np.uint8)
    before[[5, 9]] = REFUSED
    siblings.add(vectors, Answers(np.arange(128), before, {}))
    suspected = siblings.refused(vectors)
    assert not len(siblings.refused(vectors_of(case_of(), range(127))))
    answers = ask(Scripted(refuse), vectors, log, {}, suspected=suspected)
    assert suspected.tolist() == [5, 9]
    assert np.flatnonzero(answers.state == REFUSED).tolist() == [5, 77]
    sizes = [len(index) for index in log.of("bulk")]
    assert sizes[:2] == [128, 126]
    assert sizes[-2:] == [1, 1]


def test_many_refusals_are_not_all_looked_up():
    def refuse(case, inputs):
        return Refused("no")

    log = Log()
    answers = ask(Scripted(refuse), vectors_of(case_of(INT32, INT32), range(5000)), log, {})
    assert (answers.state == REFUSED).all()
    assert len(log.calls) < 400
    assert "in a call with" in answers.messages[4999]
    assert answers.messages[0] == "no"


def test_texts_come_back():
    texts = [str(x) for x in range(40)]
    case = case_of(TEXT, TEXT)
    answers = ask(Scripted(echo), vectors_of(case, texts), Log(), {})
    assert answers.got.tolist() == texts
    assert not answers.elsewhere

    def of_bytes(case, inputs):
        return Outputs((np.full(inputs[0].shape, b"x", object),), (case.outputs[0].name,))

    answers = ask(Scripted(of_bytes), vectors_of(case, texts), Log(), {})
    assert {f.kind for f in answers.faults} == {"not a code of the type"}
    assert (answers.state == NOT_ASKED).all()


def test_a_placement_that_is_refused_is_a_fault():
    answers, _ = asked("RefusesScalars")
    assert (answers.state == ANSWERED).all()
    assert answers.faults == (Fault("refused", "alone", "rank 0", 0),)


def test_declined():
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


@pytest.mark.parametrize(("name", "kind"), [
    ("TwoOutputs", "wrong number of outputs"),
    ("WrongType", "wrong type"),
    ("WrongDtype", "wrong type"),
])  # fmt: skip
def test_malformed_answers(name, kind):
    answers, _ = asked(name)
    assert (answers.state == NOT_ASKED).all()
    assert [f.kind for f in answers.faults if f.placement == "bulk"] == [kind]
    assert len(answers.faults) <= 8


def test_wrong_shapes():
    answers, _ = asked("WrongShape")
    assert Fault("wrong shape", "bulk", "(127,), not (128,)", 0) in answers.faults
    assert (answers.state == ANSWERED).sum() >= 6
    answers, _ = asked("Flattened")
    assert {f.placement for f in answers.faults} == {"alone", "2-D", "3-D", "4-D"}
    assert (answers.state == ANSWERED).all()


@pytest.mark.parametrize(
    ("fmt", "name", "bad"), [(BOOL, "BoolTwo", BAD), (INT4, "Good", 16)], ids=["bool", "int4"]
)
def test_bits_outside_the_format(fmt, name, bad):
    answers, _ = asked(name, vectors_of(case_of(INT8, fmt), range(128)))
    fault = next(f for f in answers.faults if f.placement == "bulk")
    assert (fault.kind, fault.index) == ("not a code of the type", bad)
    assert hex(2 if fmt is BOOL else 16) in fault.message
    assert answers.state[bad] == NOT_ASKED
    assert answers.state[bad - 1] == ANSWERED


def test_what_the_adapter_raises_is_not_an_answer():
    with pytest.raises(ValueError, match="a fault of the adapter"):
        asked("Raises")


def test_what_is_to_be_skipped_is_not_asked():
    answers, log = asked("Good", _5="died", _6="died")
    assert np.flatnonzero(answers.state == CRASHED).tolist() == [5, 6]
    assert answers.messages == {5: "died", 6: "died"}
    assert not any(np.isin([5, 6], index).any() for _, index in log.calls)


def test_what_is_to_be_avoided_is_not_asked():
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


def test_a_backend_that_was_not_asked_in_bulk_is_known_from_elsewhere():
    answers, _ = asked("Good", None, Avoid((), frozenset({"bulk"})))
    assert (answers.state == ANSWERED).all()
    assert not answers.elsewhere


def test_when_a_case_is_declined_no_other_answer_is_on_its_way():
    """Otherwise a late answer is taken for the next case's."""
    at_once = []

    class Ahead(Scripted):
        def answers(self, case, questions):
            at_once.append(len(list(questions)))
            return iter([Declined("no kernel")] * at_once[-1])

    avoid = Avoid((), frozenset({"bulk"}))
    answers = ask(Ahead(echo), vectors_of(case_of(INT8, INT8), range(128)), Log(), {}, avoid)
    assert answers.declined == Declined("no kernel")
    assert at_once == [1]


def test_a_placement_may_refuse_what_is_undefined():
    spec = CATALOG.specs["onnx.Cast-25"]
    case = next(c for c in cases(spec) if c.name == "string-to-bool")

    def no_scalars(case, inputs):
        if not inputs[0].shape:
            return Refused("no scalars here")
        return Outputs((np.zeros(inputs[0].shape, np.uint8),), ("bool",))

    answers = ask(Scripted(no_scalars), vector_set(spec, case, "edge"), Log(), {})
    assert [fault.kind for fault in answers.faults] == []
