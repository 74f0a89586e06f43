from collections.abc import Iterator
from typing import cast

import numpy as np
import pytest
from catalogue import CATALOG, compiled, unlike

from convcheck.numerics.format import Int, Numeric, Text
from convcheck.numerics.number import Codes
from convcheck.rules.cases import cases
from convcheck.rules.find import find_case
from convcheck.rules.model import Case
from convcheck.semantics.answers_at import run_conversion
from convcheck.semantics.program import Program
from convcheck.semantics.runs import lookup
from convcheck.semantics.segments import Segments, segments
from convcheck.vectors.corpus import CHUNK, is_sampled
from convcheck.vectors.inputs import numeric_inputs
from convcheck.vectors.samples import samples

Conversion = tuple[Program, Numeric, Numeric]
MANY = 10**7


def conversions() -> Iterator[tuple[Conversion, Case]]:
    for case in (case for spec in CATALOG.specs.values() for case in cases(spec)):
        types = (*case.inputs, *case.outputs)
        texts = any(isinstance(dtype.format, Text) for dtype in types)
        if not (case.whole_calls or case.fixed or case.outside or texts) and len(types) == 2:
            source, target = (cast(Numeric, dtype.format) for dtype in types)
            yield (compiled(case), source, target), case


ALL = {conversion: case for conversion, case in conversions() if not conversion[0].computed}
SAMPLED = {one: case for one, case in ALL.items() if is_sampled(case)}


def wrong(conversion: Conversion, codes: Codes) -> Codes:
    program, source, target = conversion
    codes = codes.astype(source.storage)
    due = run_conversion(*conversion, codes)
    plain = Segments(program, source, target, segments(*conversion)).expected(codes)
    return codes[unlike(lookup(*conversion).expected(codes), due) | unlike(plain, due)]


def of_name(name: str) -> Conversion:
    case = find_case(CATALOG, name, None, None, ())
    source, target = (cast(Numeric, t[0].format) for t in (case.inputs, case.outputs))
    return compiled(case), source, target


def held(chosen: list[Conversion], tier: str) -> None:
    for one in chosen:
        codes = numeric_inputs(one[1], one[2], tier, 0)[0]  # type: ignore[arg-type]
        assert not len(wrong(one, codes)), ALL[one].id


@pytest.mark.parametrize("part", range(4))
def test_edge_inputs(part: int) -> None:
    assert len(ALL) > 5000
    held(list(ALL)[part::40], "edge")


def test_boundary_inputs() -> None:
    held(list(ALL)[::61], "boundary")


@pytest.mark.slow
@pytest.mark.parametrize("tier", ["edge", "boundary"])
def test_inputs_of_every_conversion(tier: str) -> None:
    held(list(ALL), tier)


def of_16_bits() -> list[Conversion]:
    return [one for one in ALL if one[1].bits == 16]


def test_whole_sources_of_16_bits() -> None:
    for one in of_16_bits()[::19]:
        assert not len(wrong(one, np.arange(1 << 16))), ALL[one].id


@pytest.mark.slow
def test_all_whole_sources_of_16_bits() -> None:
    for one in of_16_bits():
        assert not len(wrong(one, np.arange(1 << 16))), ALL[one].id


def wrong_samples(one: Conversion, number: int, seed: int = 0) -> int:
    firsts = range(0, number, CHUNK)
    return sum(len(wrong(one, samples(one[1], one[2], seed, first, CHUNK))) for first in firsts)


@pytest.mark.parametrize("part", range(2))
def test_samples(part: int) -> None:
    for one in list(SAMPLED)[part::40]:
        assert not wrong_samples(one, CHUNK, seed=part), SAMPLED[one].id


@pytest.mark.slow
@pytest.mark.parametrize("one", SAMPLED, ids=lambda one: SAMPLED[one].id)
def test_very_many_samples(one: Conversion) -> None:
    assert not wrong_samples(one, MANY, seed=1)


@pytest.mark.parametrize("one", list(SAMPLED)[::29], ids=lambda one: SAMPLED[one].id)
def test_the_ends_of_every_binade_and_special_values(one: Conversion) -> None:
    _, source, _ = one
    bits = source.mantissa if not isinstance(source, Int) else 0  # type: ignore[union-attr]
    if bits:
        firsts = np.arange(1 << (source.bits - bits), dtype=np.uint64) << np.uint64(bits)
    else:
        firsts = np.uint64(1) << np.arange(source.bits, dtype=np.uint64)
        firsts = np.concatenate([firsts, np.uint64(0) - firsts])
    near = firsts[:, None] + np.arange(-3, 4).astype(np.uint64)
    assert not len(wrong(one, near.reshape(-1)))


@pytest.mark.parametrize("name", ["float8e4m3fn/saturate=1", "float8e8m0/saturate=0/round_mode=up"])
def test_levels_near_every_boundary(name: str) -> None:
    """Values that double rounding changes are separated by exact distance from a boundary."""
    one = of_name(f"onnx.Cast-25/float64-to-{name}")
    powers = np.uint64(1) << np.arange(44, dtype=np.uint64)
    far = np.concatenate([powers, powers + np.uint64(1), powers - np.uint64(1)])
    edges = numeric_inputs(one[1], one[2], "boundary", 0)[0][::5, None]
    codes = np.concatenate([(edges + far).reshape(-1), (edges - far).reshape(-1)])
    assert not len(wrong(one, codes))
