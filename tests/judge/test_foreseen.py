"""What is known of an answer beforehand is what is found out where it is judged by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
import pytest
from catalogue import CATALOG, compiled

from convcheck.judge.answers import ANSWERED, Answers
from convcheck.judge.elements import tally_of_elements
from convcheck.judge.foreseen import sorts_of
from convcheck.judge.kinds import errors_of, kinds_of
from convcheck.judge.matching import matching
from convcheck.judge.scattered import Comparing, _Summed
from convcheck.numerics.codes import Codes
from convcheck.numerics.format import Float, Numeric
from convcheck.numerics.order import positions
from convcheck.rules.find import find_case
from convcheck.rules.model import Case
from convcheck.semantics.chart import Chart, Slots, chart_of
from convcheck.semantics.evaluate import run_program
from convcheck.semantics.expected import ANY_NAN, UNDEFINED, Reading
from convcheck.vectors.form import form_decision
from convcheck.vectors.model import VectorSet
from convcheck.vectors.samples import samples
from convcheck.vectors.span import CHUNK

NAMES = (
    "float64-to-int4", "float64-to-uint2", "float64-to-int8", "float64-to-float16",
    "float64-to-float8e4m3fn/saturate=0", "float64-to-float8e8m0/saturate=0/round_mode=nearest",
    "int64-to-float8e5m2/saturate=0", "float64-to-float8e5m2fnuz/saturate=0",
)  # fmt: skip


def case_of(name: str) -> Case:
    return find_case(CATALOG, f"onnx.Cast-25/{name}", None, None, ())


def formats(case: Case) -> tuple[Numeric, Numeric]:
    source, target = (cast(Numeric, t[0].format) for t in (case.inputs, case.outputs))
    return source, target


def charted(case: Case) -> Chart:
    found = chart_of(compiled(case), *formats(case))
    assert found is not None
    return found


def at(reading: Reading, slots: Slots) -> Reading:
    return Reading(cast(Codes, reading.codes)[slots], reading.patterns[slots])


@pytest.mark.parametrize("name", NAMES)
def test_a_sort_says_how_an_answer_fares(name: str) -> None:
    """Of each sort a few slots are held to what judges single answers."""
    case = case_of(name)
    (source, target), chart = formats(case), charted(case)
    sorts = sorts_of(chart)
    for answer in sorts.answers:
        for number, sort in enumerate(sorts.sorts):
            slots = np.flatnonzero(answer.numbers == number)[::7]
            got = answer.codes[slots]
            assert (chart.expected.rows[slots] == sort.row).all()
            for reading, pattern in enumerate(sort.patterns):
                due = at(chart.expected.readings[reading], slots)
                kind, error = sort.ways[reading] if sort.ways else ("", 0.0)
                assert (due.patterns == pattern).all()
                right = matching(due, got, target, source, got)
                assert (right == (kind == "")).all()
                if kind:
                    assert (kinds_of(target, due.codes, due.patterns, got) == kind).all()
                    assert (errors_of(target, due.codes, got) == error).all()
                assert (pattern == UNDEFINED) == sort.is_free


def left(name: str, answers: Callable[[Chart, Slots], Codes]) -> int:
    """Judge a chunk; give how many answers are judged by themselves.

    What comes of it is held to what comes of judging all of them so.
    """
    case = case_of(name)
    (source, target), chart, program = formats(case), charted(case), compiled(case)
    form = form_decision(CATALOG.specs[case.spec])
    codes = samples(source, target, 1, 0, CHUNK)
    got = answers(chart, chart.slots(codes))
    comparing = Comparing(case, program, form, chart)
    comparing.chunk(codes, got)
    number, found = comparing.left.size, comparing.tally()
    expected = run_program(program, case, codes)
    vectors = VectorSet(case, (codes,), expected, "sampled", form)
    state = np.full(len(got), ANSWERED, np.uint8)
    due = tally_of_elements(vectors, Answers(got, state, {}), None)
    assert (found.asked, found.entries) == (due.asked, due.entries)
    return number


@pytest.mark.parametrize("name", ["float64-to-int4", "float64-to-uint2"])
@pytest.mark.parametrize("reading", [0, 1])
def test_what_a_reading_expects_is_not_judged_by_itself(name: str, reading: int) -> None:
    def expected(chart: Chart, slots: Slots) -> Codes:
        return cast(Codes, chart.expected.readings[reading].codes)[slots]

    assert not left(name, expected)


def test_a_nan_of_the_other_sign_is_not_judged_by_itself() -> None:
    name = "float64-to-float8e4m3fn/saturate=0"
    sign = cast(Float, formats(case_of(name))[1]).sign_bit

    def other(chart: Chart, slots: Slots) -> Codes:
        due = at(chart.expected.readings[0], slots)
        flips = np.where(due.patterns == ANY_NAN, sign, 0)
        return cast(Codes, due.codes) ^ flips.astype(np.uint8)

    assert not left(name, other)
    assert left(name, lambda chart, slots: other(chart, slots) ^ (slots % 2).astype(np.uint8)) > 999


def test_what_is_free_is_not_judged_by_itself() -> None:
    def otherwise(chart: Chart, slots: Slots) -> Codes:
        due = at(chart.expected.readings[0], slots)
        return np.where(due.patterns == UNDEFINED, slots % 256, due.codes).astype(np.uint8)

    assert not left("float64-to-int8", otherwise)


@pytest.mark.parametrize("most", [0.0, 1.0])
def test_the_lowest_code_is_found(most: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all sorts at once, or of one after the other; at both ends of all positions, too."""
    monkeypatch.setattr("convcheck.judge.scattered._MOST", most)
    case = case_of("float64-to-int4")
    source, sorts = formats(case)[0], sorts_of(charted(case))
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 1 << 64, 40_000, np.uint64)
    codes[::5_000] = (1 << 63) - 1, (1 << 64) - 1, 0, 1 << 63, 1, 1 << 52, 7, (1 << 63) + 7
    numbers = rng.integers(sorts.counted, sorts.unknown + 1, len(codes)).astype(np.uint8)
    numbers[numbers == sorts.counted] = sorts.unknown  # of this sort, only one code comes:
    numbers[0] = sorts.counted  # that of the last position
    got, summed = rng.integers(0, 16, len(codes)).astype(np.uint8), _Summed(source, 1, sorts)
    for part in np.array_split(np.arange(len(codes)), 3):
        summed.add(numbers[part], codes[part], got[part])
    list(summed.tallies(charted(case), compiled(case)))
    places = positions(source, codes)
    for number in range(sorts.counted, sorts.unknown):
        (here,) = (numbers == number).nonzero()
        least = here[np.argmin(places[here])] if len(here) else -1
        due = (int(places[least]), int(codes[least]), int(got[least])) if len(here) else None
        assert summed.lowest.get(number) == due
        assert summed.counts[number] == len(here)
