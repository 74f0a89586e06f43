"""What a chart says of the codes of a wide source is what the evaluator says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from catalogue import CATALOG, compiled
from numpy.typing import NDArray

from convcheck.numerics.codes import Codes
from convcheck.numerics.format import Int, Numeric
from convcheck.rules.cases import cases
from convcheck.rules.find import find_case
from convcheck.rules.load import load
from convcheck.rules.model import Case
from convcheck.semantics import chart as module
from convcheck.semantics.chart import WIDEST, Chart, chart_of
from convcheck.semantics.evaluate import run_program
from convcheck.semantics.expected import Expected
from convcheck.semantics.program import Program, compile_case
from convcheck.vectors.inputs import numeric_inputs
from convcheck.vectors.samples import samples
from convcheck.vectors.span import CHUNK, is_sampled
from specs import wrapping, write_spec

SPECS = ("onnx.Cast-28", "pypto.cast")
MANY = 10**8
WRAPS = "float32-to-int16/mode"  # with satmode=OFF, or by default


def formats(case: Case) -> tuple[Numeric, Numeric]:
    source, target = (cast(Numeric, t[0].format) for t in (case.inputs, case.outputs))
    return source, target


def charted() -> Iterator[Case]:
    """The cases of the newest specs that samples are judged by a chart of, each program once."""
    met = set()
    every = (c for name, s in CATALOG.specs.items() if name.startswith(SPECS) for c in cases(s))
    for case in (c for c in every if is_sampled(c)):
        key = (compiled(case), *formats(case))
        if key[2].bits <= WIDEST and key not in met:
            met.add(key)
            yield case


CHARTED = tuple(charted())
FIRST = tuple({(c.inputs[0].name, c.outputs[0].name): c for c in reversed(CHARTED)}.values())


def chart(case: Case) -> Chart:
    found = chart_of(compiled(case), *formats(case))
    assert found is not None
    return found


def unlike(found: Expected, due: Expected) -> NDArray[np.bool_]:
    """Where expectations differ."""
    wrong = found.rows != due.rows
    for one, other in zip(found.readings, due.readings, strict=True):
        wrong |= (one.codes != other.codes) | (one.patterns != other.patterns)
    return wrong


def held(by: Chart, case: Case, program: Program, codes: Codes) -> int:
    """Hold a chart to the evaluator; give the number of codes of which it says something else.

    It says something of all, unless floats wrap round.
    """
    found = by.expected.take(by.slots(codes))
    unknown = found.rows < 0
    assert not unknown.any() or WRAPS in case.id
    return int((unlike(found, run_program(program, case, codes)) & ~unknown).sum())


def wrong_samples(case: Case, number: int, seed: int = 0) -> int:
    return sum(
        held(chart(case), case, compiled(case), samples(*formats(case), seed, first, CHUNK))
        for first in range(0, number, CHUNK)
    )


def test_there_are_charts_of_every_pair() -> None:
    pairs = {(c.inputs[0].name, c.outputs[0].name) for c in CHARTED}
    assert {source for source, _ in pairs} == {
        "float64", "float32", "int64", "uint64", "int32", "uint32"
    }  # fmt: skip
    assert len(pairs) > 100


@pytest.mark.parametrize("part", range(4))
def test_a_chart_is_what_the_evaluator_says(part: int) -> None:
    """And no code is left to be evaluated, and charts are small."""
    for case in CHARTED[part::12]:
        assert not wrong_samples(case, CHUNK, seed=part), case.id
        found = chart(case)
        arrays = [a for r in found.expected.readings for a in (r.codes, r.patterns)]
        assert sum(a.nbytes for a in (*arrays, found.expected.rows, found.binades)) < 5 << 20


@pytest.mark.parametrize("name", [
    "onnx.Cast-25/float64-to-float16", "onnx.Cast-25/float64-to-float8e4m3fn/saturate=0",
    "onnx.Cast-25/float64-to-int4", "onnx.Cast-25/int64-to-bfloat16",
    "onnx.Cast-25/int64-to-int16", "onnx.Cast-25/uint64-to-uint8",
    "pypto.cast-0.2/float32-to-int16/mode=CAST_NONE/satmode=OFF",  # the low bits of a float tell
])  # fmt: skip
def test_a_chart_is_what_the_evaluator_says_of_more(name: str) -> None:
    case = find_case(CATALOG, name, None, None, ())
    assert not wrong_samples(case, 1 << 20)


@pytest.mark.slow
@pytest.mark.parametrize("case", CHARTED, ids=lambda case: case.id)
def test_a_chart_is_what_the_evaluator_says_of_very_many(case: Case) -> None:
    """Of every pair of types; of further rules for it, a tenth as many."""
    number = MANY if case in FIRST else MANY // 10
    assert not wrong_samples(case, number, seed=1)


@pytest.mark.parametrize("name", [
    "float64-to-float16", "float64-to-float8e5m2/saturate=0", "float64-to-uint8",
    "int64-to-float16", "float64-to-float8e8m0/saturate=1/round_mode=up", "int64-to-int8",
])  # fmt: skip
def test_every_boundary_of_a_narrow_destination(name: str) -> None:
    case = find_case(CATALOG, f"onnx.Cast-25/{name}", None, None, ())
    codes = numeric_inputs(*formats(case), "boundary", 0)[0]
    assert len(codes) > 1000
    assert not held(chart(case), case, compiled(case), codes)


@pytest.mark.parametrize("case", CHARTED[::17], ids=lambda case: case.id)
def test_the_ends_of_every_binade_and_special_values(case: Case) -> None:
    source, _ = formats(case)
    bits = source.mantissa if not isinstance(source, Int) else 0  # type: ignore[union-attr]
    if bits:
        firsts = np.arange(1 << (source.bits - bits), dtype=np.uint64) << np.uint64(bits)
    else:
        firsts = np.uint64(1) << np.arange(source.bits, dtype=np.uint64)
        firsts = np.concatenate([firsts, np.uint64(0) - firsts])
    near = firsts[:, None] + np.arange(-3, 4).astype(np.uint64)
    codes = near.reshape(-1).astype(source.storage)
    assert not held(chart(case), case, compiled(case), codes)


# The proof can fail ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [
    "float64-to-float16", "float64-to-float8e4m3fn/saturate=1", "float64-to-uint8",
    "int64-to-float16", "int64-to-int8",
])  # fmt: skip
def test_a_chart_with_a_bit_too_few_is_found_out(name: str) -> None:
    case = find_case(CATALOG, f"onnx.Cast-25/{name}", None, None, ())
    whole = chart(case)
    depth = (whole.binades & np.uint64(255)).astype(np.int64)
    deepest = int(np.argmax(depth))
    binades = whole.binades.copy()
    binades[deepest] -= np.uint64(1)
    less = replace(whole, binades=binades)
    codes = numeric_inputs(*formats(case), "boundary", 0)[0]
    assert held(less, case, compiled(case), codes)


def test_what_is_looked_at_of_a_tile_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its end, tiles in which a boundary is pass for even ones."""
    case = find_case(CATALOG, "onnx.Cast-25/float64-to-float16", None, None, ())
    offsets = module._offsets
    monkeypatch.setattr(module, "_offsets", lambda size, powers: offsets(size, powers)[:, :2])
    made = module._Making(compiled(case), *formats(case)).chart()
    codes = numeric_inputs(*formats(case), "boundary", 0)[0]
    assert held(made, case, compiled(case), codes)


@pytest.mark.parametrize("more", [-1, 1])
def test_levels_apart_one_bit_too_early_or_too_late_are_found_out(more: int) -> None:
    """Values that two roundings change are told apart by the exact distance from a boundary."""
    case = find_case(CATALOG, "onnx.Cast-25/float64-to-float8e4m3fn/saturate=1", None, None, ())
    whole = chart(case)
    if whole.near is None:
        pytest.fail("no level is told apart")
    near = whole.near << np.uint64(1) if more > 0 else whole.near >> np.uint64(1)
    sides = near_boundaries(case)
    assert not held(whole, case, compiled(case), sides)
    assert held(replace(whole, near=near), case, compiled(case), sides)


def near_boundaries(case: Case) -> Codes:
    """Every boundary, and codes as far from it as each power of two, and one more or less."""
    powers = np.uint64(1) << np.arange(44, dtype=np.uint64)
    far = np.concatenate([powers, powers + np.uint64(1), powers - np.uint64(1)])
    edges = numeric_inputs(*formats(case), "boundary", 0)[0][::5, None]
    return np.concatenate([(edges + far).reshape(-1), (edges - far).reshape(-1)])


def test_results_that_wrap_are_found_by_their_low_bits_or_evaluated(tmp_path: Path) -> None:
    """Of floats that wrap round, both ends of a binade have one code where others lie between."""
    catalog = load([write_spec(tmp_path / "specs", wrapping())])
    case = find_case(catalog, "acme.Convert-1", "float32", "int8", ())
    program = compile_case(catalog.specs[case.spec], case)
    found = chart_of(program, *formats(case))
    assert found is not None
    codes = np.arange(0x42000000, 0x4F000000, 301).astype(np.uint32)
    slots = found.slots(codes)
    known = found.expected.rows[slots] >= 0
    assert known.any()
    assert not known.all()
    assert not held(found, case, program, codes[known])


def test_wide_destinations_have_no_chart() -> None:
    case = find_case(CATALOG, "onnx.Cast-25/float64-to-float32", None, None, ())
    assert chart_of(compiled(case), *formats(case)) is None
