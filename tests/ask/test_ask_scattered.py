"""Samples that are looked up by segments come to what they come to if each is evaluated."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from catalogue import CATALOG, compiled
from numpy.typing import NDArray
from planted.swept import Change, Swept

from convcheck.ask import isolated
from convcheck.ask.isolated import chunk_vectors
from convcheck.ask.jobs import Job
from convcheck.ask.span import ask_span
from convcheck.backends.protocol import Answer, Backend, Bound
from convcheck.judge.result import Tally
from convcheck.numerics.codes import Bits, Codes
from convcheck.rules.find import find_case
from convcheck.rules.model import Case
from convcheck.semantics.expected import Decision
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


def form_of(case: Case) -> Decision:
    return form_decision(CATALOG.specs[case.spec])


def asked(backend: Backend, case: Case) -> Tally:
    """Ask the span, each chunk of which is told of before."""
    told: set[int] = set()

    def note(placement: str, index: NDArray[np.intp]) -> bool:
        told.add(int(index.reshape(-1)[0]))
        return placement != "bulk"

    tally = ask_span(backend, Job(0, case, span=SPAN), SPAN, compiled(case), form_of(case), note)
    assert told >= set(range(0, SPAN.count, CHUNK))
    return tally


def held(make: Callable[[], Backend], case: Case, monkeypatch: pytest.MonkeyPatch) -> Tally:
    """Hold the tally to that of samples that are evaluated."""
    found = asked(make(), case)
    with monkeypatch.context() as patch:
        patch.setattr(isolated, "CHUNK", SPAN.count)
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
    asked_of = chunk_vectors(case, program, form_of(case), SPAN.first, SPAN.count, SPAN.seed)
    rows, counts = np.unique(asked_of.expected.rows, return_counts=True)
    assert tally.faults or tally.asked == dict(zip(rows, counts, strict=True))
    if change is off_by_one:
        assert sum(e.count for k, e in tally.entries if k.sort == "fail") > SPAN.count // 9


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
    assert not any(key.sort == "fail" for key, _ in tally.entries)
