import numpy as np
import pytest
from catalogue import CATALOG
from planted import inconsistent
from planted.asking import INT8, INT32, Log, case_of, vectors_of

from convcheck.ask.again import ElementsAgain
from convcheck.ask.elements import ask
from convcheck.backends.onnx.runtime import OnnxRuntime
from convcheck.backends.torch import Torch
from convcheck.errors import UsageError
from convcheck.judge.answers import AGAIN, CHUNK, EVERYWHERE, PLACEMENTS, Avoid, Fault
from convcheck.judge.result import case_verdict, gates
from convcheck.records import replace
from convcheck.rules.cases import cases
from convcheck.semantics.expected import EXACT, UNDEFINED


def vectors(count=120, undefined=100, dtype=INT8):
    """Codes from 0 on. Those from `undefined` on have no expected value."""
    patterns = [EXACT if i < undefined else UNDEFINED for i in range(count)]
    case = case_of(dtype, dtype)
    return vectors_of(case, range(count), patterns, np.arange(count).astype(dtype.format.storage))


def found(backend, of=None):
    of = of or vectors()
    log = Log()
    groups = ElementsAgain(of, ask(backend, of, log, {}), backend, log).groups()
    assert set(AGAIN) <= {name for name, _ in log.calls} <= set(PLACEMENTS)
    return groups


def test_what_is_always_the_same_has_no_finding():
    assert found(inconsistent.Steady()) == ()
    assert found(inconsistent.Steady(), vectors(CHUNK + 5000, CHUNK, INT32)) == ()


@pytest.mark.parametrize("count", [1, 2, 3, 4, 16, 17, 34, 66])
def test_small_sets_can_be_asked_in_other_ways(count):
    assert found(inconsistent.Steady(), vectors(count)) == ()


def test_what_is_random_is_hardly_laid_to_a_way():
    """A random answer may be right twice by chance."""
    groups = found(inconsistent.ByChance())
    counts = {group.kind: group.count for group in groups}
    assert counts.pop("differs from call to call") > 3 * sum(counts.values())


LENGTH, POSITION, LUCK = "length-dependent", "position-dependent", "differs from call to call"


@pytest.mark.parametrize(("name", "kinds"), [
    ("OddTail", {POSITION, LENGTH}),
    ("UndefinedByPlace", {LENGTH}),
    ("ByThreads", {"threads-dependent"}),
    ("ByOptimisation", {"optimisation-dependent"}),
    ("ByAlignment", {"alignment-dependent"}),
    ("ByLuck", {LUCK}),  # a difference on repetition is not attributed to the placement
    ("LuckInPieces", {LUCK}),
    ("RefusesPieces", {f"{LENGTH}: refused"}),
])  # fmt: skip
def test_what_depends_on_something_fails_at_every_level(name, kinds):
    groups = found(getattr(inconsistent, name)())
    assert {group.kind for group in groups} == kinds
    assert all(gates(group, "normative") for group in groups)
    assert case_verdict(groups) == "inconsistent"
    for group in groups:
        shown = group.examples[0]
        assert (shown.got is None) == group.kind.endswith("refused")
        assert shown.expected != shown.got
        assert f" gives 0x{shown.expected:02x}, " in shown.message
        assert (group.placement or "once more") in shown.message


def test_the_undefined_answers_that_depend_on_the_place_are_counted():
    [pieces] = [g for g in found(inconsistent.UndefinedByPlace()) if g.kind == LENGTH]
    assert (pieces.count, pieces.ranges) == (20, ((100, 119),))
    other = found(inconsistent.UndefinedByPlace(), vectors(121, 100))
    assert {group.kind for group in other} == {POSITION, LENGTH}


def test_a_backend_that_asks_to_be_replaced_is_asked_no_more():
    backend, of = inconsistent.Spoils(), vectors(40)
    answers = ask(inconsistent.Steady(), of, Log(), {})
    assert ElementsAgain(of, answers, backend, Log()).groups() == ()
    assert backend.calls == 4


def test_in_a_large_set_each_row_has_its_share():
    of = vectors(2 * CHUNK, 2 * CHUNK - 10, INT32)
    rows = np.zeros(len(of), np.int16)
    rows[-10:] = 1
    decisions = (of.form, replace(of.form, row="out of range", level="undefined"))
    of = replace(of, expected=replace(of.expected, rows=rows, decisions=decisions))
    log = Log()
    answers = ask(inconsistent.Steady(), of, Log(), {})
    assert ElementsAgain(of, answers, inconsistent.Steady(), log).groups() == ()
    asked = log.of("again")[0]
    assert len(asked) <= CHUNK
    assert set(range(2 * CHUNK - 10, 2 * CHUNK)) <= set(asked.tolist())
    assert (np.diff(asked) > 0).all()
    assert all(index.size <= CHUNK for _, index in log.calls)


def test_what_killed_a_worker_is_avoided():
    of, log = vectors(), Log()
    backend = inconsistent.OddTail()
    answers = ask(backend, of, Log(), {})
    avoid = Avoid(placements=frozenset(("other place",)))
    ElementsAgain(of, answers, backend, log, avoid).groups()
    assert {name for name, _ in log.calls} == {"again", "other options"}
    log = Log()
    ElementsAgain(of, answers, backend, log, Avoid(together=((3, 5),))).groups()
    assert not [index for _, index in log.calls if {3, 5} <= set(index.tolist())]
    given_up = Avoid(placements=EVERYWHERE, faults=(Fault("crashed", "bulk", "died", 0),))
    assert ElementsAgain(of, answers, backend, log, given_up).groups() == ()


def test_onnx_runtime_takes_its_options():
    backend = OnnxRuntime()
    other = backend.configured({"threads": "2", "optimisation": "all"})
    assert backend.version.endswith("optimisation off, 1 thread")
    assert other.version.endswith("optimisation all, 2 threads")
    assert backend.configured({"optimisation": "all", "threads": "2"}) is other
    with pytest.raises(UsageError, match="no option 'colour'"):
        backend.configured({"colour": "red"})
    with pytest.raises(UsageError, match="no value '3'"):
        backend.configured({"threads": "3"})


def test_torch_takes_threads():
    import torch

    backend = Torch()
    other = backend.configured({"threads": "2"})
    cast = next(c for c in cases(CATALOG.specs["onnx.Cast-21"]) if other.support(c) is None)
    codes = np.zeros(3, cast.inputs[0].format.storage)
    for each, count in ((other, 2), (backend, 1)):
        each.answer(cast, [codes])
        assert torch.get_num_threads() == count
    assert (backend.version[-8:], other.version[-9:]) == ("1 thread", "2 threads")
    with pytest.raises(UsageError, match="no value '3'"):
        backend.configured({"threads": "3"})
