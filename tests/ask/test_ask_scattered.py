"""Samples that are judged by a chart come to what they come to where each is evaluated."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from catalogue import CATALOG, compiled
from numpy.typing import NDArray
from planted.swept import Change, Swept, Unbound

from convcheck.ask import span as module
from convcheck.ask.jobs import Job
from convcheck.ask.scattered import chart_for
from convcheck.ask.span import ask_span
from convcheck.backends.protocol import Answer, Backend, Bound, Declined, Outputs, Refused
from convcheck.judge.tally import Tally
from convcheck.numerics.codes import Bits, Codes
from convcheck.rules.find import find_case
from convcheck.rules.model import Case
from convcheck.semantics.expected import EXACT, REFUSED
from convcheck.vectors.form import form_decision
from convcheck.vectors.span import CHUNK, Span

SPAN = Span(3 * CHUNK, 2 * CHUNK + 4321, seed=5)
NAMES = (
    "float64-to-float8e4m3fn/saturate=0",
    "float64-to-float16",
    "float64-to-int4",
    "float64-to-int16",
    "float64-to-float8e8m0/saturate=0/round_mode=nearest",
    "float32-to-float8e5m2/saturate=1",
    "int64-to-int8",
    "int64-to-bfloat16",
    "uint64-to-float8e8m0/saturate=0/round_mode=up",
)


def case_of(name: str) -> Case:
    return find_case(CATALOG, f"onnx.Cast-25/{name}", None, None, ())


def asked(backend: Backend, case: Case) -> Tally:
    """Ask the span, each chunk of which is told of before."""
    told: set[int] = set()

    def note(placement: str, index: NDArray[np.intp]) -> bool:
        told.add(int(index.reshape(-1)[0]))
        return placement != "bulk"

    form = form_decision(CATALOG.specs[case.spec])
    tally = ask_span(backend, Job(0, case, span=SPAN), SPAN, compiled(case), form, note)
    assert told >= set(range(0, SPAN.count, CHUNK))
    return tally


def held(make: Callable[[], Backend], case: Case, monkeypatch: pytest.MonkeyPatch) -> Tally:
    """Hold the tally by a chart to that of samples that are evaluated."""
    assert chart_for(case, compiled(case), SPAN) is not None
    found = asked(make(), case)
    with monkeypatch.context() as patch:
        patch.setattr(module, "chart_for", lambda *arguments: None)
        assert asked(make(), case) == found
    return found


def off_by_one(codes: Codes, out: Codes) -> None:
    out[codes % 3 == 0] ^= out.dtype.type(1)


def far_off(codes: Codes, out: Codes) -> None:
    out[codes % 7 == 0] = 0
    out[codes % 11 == 0] = out.max()


def another_nan(codes: Codes, out: Codes) -> None:
    """Of one byte: NaNs have the other sign, or are what they are not."""
    out[out == out.max()] ^= out.dtype.type(1 << (8 * out.itemsize - 1))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("change", [None, off_by_one, far_off, another_nan])
def test_the_tally_is_the_same(
    name: str, change: Change | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = case_of(name)
    program = compiled(case)
    make = (lambda: Swept(program, change)) if change else (lambda: Swept(program))
    tally = held(make, case, monkeypatch)
    assert tally.faults or sum(tally.asked.values()) == SPAN.count
    if change is off_by_one:
        assert sum(e.count for k, e in tally.entries.items() if k.sort == "fail") > SPAN.count // 9


class Once:
    """Says something else to its second call, or to each that is long."""

    def __init__(self, says: Answer, always: bool) -> None:
        self.says, self.always, self.calls = says, always, 0

    def __call__(self, codes: Codes) -> Answer | None:
        self.calls += 1
        here = len(codes) > 10_000 if self.always else self.calls == 2
        return self.says if here else None


SAYS = (
    Refused("not these"),
    Declined("not today"),
    Outputs((np.zeros(3, np.uint16),), ("float16",)),
    Outputs((np.zeros(CHUNK, np.uint16),), ("bfloat16",)),
)


@pytest.mark.parametrize("says", SAYS, ids=lambda says: type(says).__name__)
def test_what_is_not_answered_is_the_same(says: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    case = case_of("float64-to-float16")

    def make() -> Backend:
        return Unbound(compiled(case), Once(says, always=True))

    with monkeypatch.context() as patch:
        patch.setattr(module, "chart_for", lambda *arguments: None)
        evaluated = asked(make(), case)
    assert asked(make(), case) == evaluated


@pytest.mark.parametrize("says", SAYS[2:], ids=lambda says: type(says).__name__)
def test_what_is_not_answered_once_is_told(says: Answer) -> None:
    case = case_of("float64-to-float16")
    tally = asked(Unbound(compiled(case), Once(says, always=False)), case)
    (fault,) = tally.faults
    assert "not when it was asked again" in fault.examples[0].message  # type: ignore[union-attr]
    assert sum(tally.asked.values()) == SPAN.count


def test_answers_that_are_no_codes_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    case = case_of("float64-to-int4")

    def stranger(codes: Codes, out: Codes) -> None:
        out[codes % 1000 == 0] = 77

    tally = held(lambda: Swept(compiled(case), stranger), case, monkeypatch)
    assert [fault.kind for fault in tally.faults] == ["not a code of the type"]


class Writes(Swept):
    """Writes into its input."""

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        answer = super().answer(case, inputs)
        inputs[0][:] = 0
        return answer

    def bind(self, case: Case, codes: Codes, out: Codes) -> Bound:
        def call() -> None:
            out[:] = self.right(case, codes)
            codes[:] = 0

        return call


def test_what_is_written_into_the_input_is_nothing_to_us(monkeypatch: pytest.MonkeyPatch) -> None:
    case = case_of("float64-to-float16")
    tally = held(lambda: Writes(compiled(case)), case, monkeypatch)
    assert not any(key.sort == "fail" for key in tally.entries)


class Idle(Swept):
    """Fills its buffer once."""

    def bind(self, case: Case, codes: Codes, out: Codes) -> Bound:
        calls = iter([self.right])

        def call() -> None:
            for right in calls:
                out[:] = right(case, codes)

        return call


def test_what_is_left_in_the_buffer_is_no_answer() -> None:
    case = case_of("float64-to-float16")
    tally = asked(Idle(compiled(case)), case)
    wrong = sum(entry.count for key, entry in tally.entries.items() if key.sort == "fail")
    assert wrong > 0.9 * CHUNK


def test_few_samples_and_wide_destinations_are_evaluated() -> None:
    narrow, wide = case_of("float64-to-float16"), case_of("float64-to-float32")
    assert chart_for(narrow, compiled(narrow), Span(0, CHUNK, seed=0)) is None
    assert chart_for(wide, compiled(wide), SPAN) is None


def test_what_is_to_be_refused_is_asked_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    case = case_of("float64-to-float16")
    found = chart_for(case, compiled(case), SPAN)
    assert found is not None
    found.expected.readings[0].patterns[-1] = REFUSED
    monkeypatch.setattr("convcheck.ask.scattered.chart_of", lambda *arguments: found)
    assert chart_for(case, compiled(case), SPAN) is None
    found.expected.readings[0].patterns[-1] = EXACT
    assert chart_for(case, compiled(case), SPAN) is found
