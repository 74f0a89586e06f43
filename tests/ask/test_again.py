from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from catalogue import CATALOG
from command import check_golden
from drawn import print_report
from planted import inconsistent
from planted.asking import INT8, INT32, Log, case_of, vectors_of
from report_json import document
from report_runs import ELSE, answered, case, passed, run
from rich.console import Console

from convcheck.ask import again_elements
from convcheck.ask.again import consistent
from convcheck.ask.again_elements import LARGE, ElementsAgain
from convcheck.ask.elements import ask
from convcheck.backends.onnx.runtime import OnnxRuntime
from convcheck.backends.protocol import TIMEOUT_VARIABLE, Backend
from convcheck.backends.torch import Torch
from convcheck.errors import UsageError
from convcheck.judge.answers import AGAIN, CHUNK, EVERYWHERE, PLACEMENTS, Avoid, Fault
from convcheck.judge.result import Example, Group, RunResult, case_verdict, gates
from convcheck.records import replace
from convcheck.rules.cases import cases
from convcheck.semantics.expected import EXACT, UNDEFINED
from convcheck.vectors.model import VectorSet


def vectors(count: int = 120, undefined: int = 100, dtype: Any = INT8) -> VectorSet:
    """Codes from 0 on; what the standard says of those from `undefined` on is nothing."""
    patterns = [EXACT if i < undefined else UNDEFINED for i in range(count)]
    case = case_of(dtype, dtype)
    return vectors_of(case, range(count), patterns, np.arange(count).astype(dtype.format.storage))


def found(backend: Backend, of: VectorSet | None = None) -> tuple[Group, ...]:
    of = of or vectors()
    log = Log()
    groups = consistent(ElementsAgain(of, ask(backend, of, log, {})), backend, log)
    assert set(AGAIN) <= {name for name, _ in log.calls} <= set(PLACEMENTS)
    return groups


def test_what_is_always_the_same_has_no_finding() -> None:
    assert found(inconsistent.Steady()) == ()
    assert found(inconsistent.Steady(), vectors(CHUNK + 5000, CHUNK, INT32)) == ()


@pytest.mark.parametrize("count", [1, 2, 3, 4, 16, 17, 34, 66])
def test_small_sets_can_be_asked_in_other_ways(count: int) -> None:
    assert found(inconsistent.Steady(), vectors(count)) == ()


def test_what_is_random_is_hardly_laid_to_a_way() -> None:
    """One that is right by chance, twice, can be."""
    groups = found(inconsistent.ByChance())
    counts = {group.kind: group.count for group in groups}
    assert counts.pop("differs from call to call") > 3 * sum(counts.values())


def kinds(groups: tuple[Group, ...]) -> set[str]:
    return {group.kind for group in groups}


def example(group: Group) -> Example:
    first = group.examples[0]
    assert isinstance(first, Example)
    return first


def test_a_wrong_odd_tail_is_found_with_both_answers() -> None:
    groups = found(inconsistent.OddTail())
    assert kinds(groups) == {"position-dependent", "length-dependent"}
    (last,) = [g for g in groups if g.kind == "length-dependent" and g.count > 1]
    assert last.verdict == "inconsistent"
    shown = example(last)
    assert isinstance(shown.expected, int)
    assert shown.got == shown.expected ^ 1
    assert shown.inputs == (shown.expected,)
    assert shown.message.startswith(f"bulk gives 0x{shown.expected:02x}, ")
    assert shown.message.endswith(f" gives 0x{shown.got:02x}")


def test_undefined_answers_that_depend_on_the_place_fail_at_every_level() -> None:
    groups = found(inconsistent.UndefinedByPlace())
    assert "length-dependent" in kinds(groups)
    everything = {g.kind: g for g in groups}
    pieces = everything["length-dependent"]
    assert pieces.count == 20
    assert pieces.ranges == ((100, 119),)
    assert all(gates(group, "normative") for group in groups)
    assert case_verdict(groups) == "inconsistent"


def test_the_rotation_that_shows_it_is_named() -> None:
    groups = found(inconsistent.UndefinedByPlace(), vectors(121, 100))
    shown = [example(g).message for g in groups if g.kind == "position-dependent"]
    assert "bulk gives 0x00, rotated by 1 gives 0x78" in shown


def test_an_answer_that_depends_on_threads() -> None:
    (group,) = found(inconsistent.ByThreads())
    assert (group.kind, group.placement) == ("threads-dependent", "threads 2")
    assert example(group).message.startswith("threads 1 gives 0x")
    assert ", threads 2 gives 0x" in example(group).message


def test_an_answer_that_depends_on_the_optimisation() -> None:
    (group,) = found(inconsistent.ByOptimisation())
    assert group.kind == "optimisation-dependent"
    assert example(group) == Example(
        (5,), 5, 4, "optimisation off gives 0x05, optimisation all gives 0x04"
    )


def test_an_answer_that_depends_on_the_alignment() -> None:
    (group,) = found(inconsistent.ByAlignment())
    assert group.kind == "alignment-dependent"
    assert example(group).message == "bulk gives 0x07, 3 elements into the buffer gives 0x06"


def test_what_is_not_the_same_twice_is_not_laid_to_the_place() -> None:
    assert kinds(found(inconsistent.ByLuck())) == {"differs from call to call"}


def test_what_one_way_does_not_give_twice_is_not_laid_to_it() -> None:
    """Both answers that are shown were given in that way."""
    (group,) = found(inconsistent.LuckInPieces())
    assert group.kind == "differs from call to call"
    shown = example(group)
    assert isinstance(shown.got, int)
    assert shown.expected == shown.got ^ 1
    assert shown.message == (
        f"in pieces of 33 gives 0x{shown.expected:02x}, "
        f"in pieces of 33 once more gives 0x{shown.got:02x}"
    )


def test_a_refusal_in_another_way_is_a_finding() -> None:
    (group,) = found(inconsistent.RefusesPieces())
    assert group.kind == "length-dependent: refused"
    shown = example(group)
    assert shown.got is None
    assert shown.message == (
        f"bulk gives 0x{shown.expected:02x}, in pieces of 33 gives nothing: thirty-three of them"
    )


def test_a_backend_that_is_slow_is_not_asked_so_much_that_it_seems_to_hang(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its clock is its own: on a busy machine, calls would take longer than it says."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(clock, "monotonic", lambda: clock.now, raising=False)
    monkeypatch.setattr(clock, "sleep", lambda s: vars(clock).update(now=clock.now + s), False)
    monkeypatch.setattr(again_elements, "time", clock)
    monkeypatch.setattr(inconsistent, "time", clock)
    monkeypatch.setenv(TIMEOUT_VARIABLE, "1")
    monkeypatch.setattr(inconsistent.Slow, "longest", 0)
    assert found(inconsistent.Slow(), vectors(40)) == ()
    assert 40 < inconsistent.Slow.longest < LARGE / 13  # which would take the whole second


def test_a_backend_that_asks_to_be_replaced_is_asked_no_more() -> None:
    backend, of = inconsistent.Spoils(), vectors(40)
    answers = ask(inconsistent.Steady(), of, Log(), {})
    assert consistent(ElementsAgain(of, answers), backend, Log()) == ()
    assert backend.calls == 4


def test_in_a_large_set_each_row_has_its_share() -> None:
    of = vectors(2 * CHUNK, 2 * CHUNK - 10, INT32)
    rows = np.zeros(len(of), np.int16)
    rows[-10:] = 1
    decisions = (of.form, replace(of.form, row="out of range", level="undefined"))
    of = replace(of, expected=replace(of.expected, rows=rows, decisions=decisions))
    log = Log()
    answers = ask(inconsistent.Steady(), of, Log(), {})
    assert consistent(ElementsAgain(of, answers), inconsistent.Steady(), log) == ()
    asked = log.of("again")[0]
    assert len(asked) <= CHUNK
    assert set(range(2 * CHUNK - 10, 2 * CHUNK)) <= set(asked.tolist())
    assert (np.diff(asked) > 0).all()
    assert all(index.size <= CHUNK for _, index in log.calls)  # as many as a note holds


def test_what_killed_a_worker_is_avoided() -> None:
    of, log = vectors(), Log()
    backend = inconsistent.OddTail()
    answers = ask(backend, of, Log(), {})
    avoid = Avoid(placements=frozenset(("other place",)))
    consistent(ElementsAgain(of, answers), backend, log, avoid)
    assert {name for name, _ in log.calls} == {"again", "other options"}
    log = Log()
    consistent(ElementsAgain(of, answers), backend, log, Avoid(together=((3, 5),)))
    assert not [index for _, index in log.calls if {3, 5} <= set(index.tolist())]
    given_up = Avoid(placements=EVERYWHERE, faults=(Fault("crashed", "bulk", "died", 0),))
    assert consistent(ElementsAgain(of, answers), backend, log, given_up) == ()


def inconsistent_run() -> RunResult:
    """A failing group, an undefined answer by place, and a refusal with two threads."""
    by = replace(ELSE, row="x > max", level="undefined", rule="float-to-integer")
    said = "bulk gives 0x80000000, rotated by 3 gives 0x00000000"
    place = Group(
        by, "inconsistent", "position-dependent", 4, 9, f"{1:032x}", placement="rotated by 3",
        ranges=((0x4F800000, 0x7F800000),),
        examples=(Example((0x4F800000,), 0x80000000, 0, said),),
    )  # fmt: skip
    threads = Group(
        ELSE, "inconsistent", "threads-dependent: refused", 9, 9, f"{2:032x}",
        placement="threads 2",
        examples=(
            Example((0x3F800000,), 1, None, "threads 1 gives 0x01, threads 2 gives nothing: no"),
        ),
    )  # fmt: skip
    return run(
        answered(case("onnx.Cast-21", "float32", "uint32"), place),
        answered(case("onnx.Cast-21", "float32", "int8"), threads),
        passed(case("onnx.Cast-21", "float32", "float16")),
        level="normative",
    )


def test_the_report_shows_both_ways() -> None:
    out = io.StringIO()
    print_report(inconsistent_run(), Console(file=out, width=80, color_system=None), False)
    check_golden("report-inconsistent-80.txt", out.getvalue())


def test_what_is_inconsistent_fails_a_run_at_every_level() -> None:
    result = inconsistent_run()
    assert result.outcome == "fail"
    assert document(result)["summary"]["gated"] == 2


def test_onnx_runtime_takes_its_options() -> None:
    backend = OnnxRuntime()
    other = backend.configured({"threads": "2", "optimisation": "all"})
    assert backend.version.endswith("optimisation off, 1 thread")
    assert other.version.endswith("optimisation all, 2 threads")
    assert backend.configured({"optimisation": "all", "threads": "2"}) is other
    with pytest.raises(UsageError, match="no option 'colour'"):
        backend.configured({"colour": "red"})
    with pytest.raises(UsageError, match="no value '3'"):
        backend.configured({"threads": "3"})


def test_torch_takes_threads() -> None:
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
