import numpy as np
import pytest
from catalogue import CATALOG, compiled, unlike

from convcheck.numerics.format import Int, Text
from convcheck.rules.cases import cases
from convcheck.rules.find import find_case
from convcheck.semantics.answers_at import run_conversion
from convcheck.semantics.runs import lookup
from convcheck.semantics.segments import Segments, segments
from convcheck.vectors.corpus import CHUNK, is_sampled
from convcheck.vectors.inputs import numeric_inputs
from convcheck.vectors.samples import samples

MANY = 10**7


def conversions():
    for case in (case for spec in CATALOG.specs.values() for case in cases(spec)):
        types = (*case.inputs, *case.outputs)
        texts = any(isinstance(dtype.format, Text) for dtype in types)
        if not (case.whole_calls or case.fixed or case.outside or texts) and len(types) == 2:
            source, target = (dtype.format for dtype in types)
            yield (compiled(case), source, target), case


ALL = {conversion: case for conversion, case in conversions() if not conversion[0].computed}
SAMPLED = {one: case for one, case in ALL.items() if is_sampled(case)}


def wrong(conversion, codes):
    program, source, target = conversion
    codes = codes.astype(source.storage)
    due = run_conversion(*conversion, codes)
    plain = Segments(program, source, target, segments(*conversion)).expected(codes)
    return codes[unlike(lookup(*conversion).expected(codes), due) | unlike(plain, due)]


def of_name(name):
    case = find_case(CATALOG, name, None, None, ())
    source, target = (t[0].format for t in (case.inputs, case.outputs))
    return compiled(case), source, target


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("tier", "first", "step"),
    [*(("edge", part, 40) for part in range(4)), ("boundary", 0, 61),
     pytest.param("edge", 0, 1, marks=SLOW), pytest.param("boundary", 0, 1, marks=SLOW)],
)  # fmt: skip
def test_inputs_of_a_tier(tier, first, step):
    assert len(ALL) > 5000
    for one in list(ALL)[first::step]:
        codes = numeric_inputs(one[1], one[2], tier, 0)[0]
        assert not len(wrong(one, codes)), ALL[one].id


@pytest.mark.parametrize("step", [19, pytest.param(1, marks=SLOW)])
def test_whole_sources_of_16_bits(step):
    for one in [one for one in ALL if one[1].bits == 16][::step]:
        assert not len(wrong(one, np.arange(1 << 16))), ALL[one].id


def wrong_samples(one, number, seed=0):
    firsts = range(0, number, CHUNK)
    return sum(len(wrong(one, samples(one[1], one[2], seed, first, CHUNK))) for first in firsts)


@pytest.mark.parametrize("part", range(2))
def test_samples(part):
    for one in list(SAMPLED)[part::40]:
        assert not wrong_samples(one, CHUNK, seed=part), SAMPLED[one].id


@pytest.mark.slow
@pytest.mark.parametrize("one", SAMPLED, ids=lambda one: SAMPLED[one].id)
def test_very_many_samples(one):
    assert not wrong_samples(one, MANY, seed=1)


@pytest.mark.parametrize("one", list(SAMPLED)[::29], ids=lambda one: SAMPLED[one].id)
def test_the_ends_of_every_binade_and_special_values(one):
    _, source, _ = one
    bits = source.mantissa if not isinstance(source, Int) else 0
    if bits:
        firsts = np.arange(1 << (source.bits - bits), dtype=np.uint64) << np.uint64(bits)
    else:
        firsts = np.uint64(1) << np.arange(source.bits, dtype=np.uint64)
        firsts = np.concatenate([firsts, np.uint64(0) - firsts])
    near = firsts[:, None] + np.arange(-3, 4).astype(np.uint64)
    assert not len(wrong(one, near.reshape(-1)))


@pytest.mark.parametrize("name", ["float8e4m3fn/saturate=1", "float8e8m0/saturate=0/round_mode=up"])
def test_levels_near_every_boundary(name):
    """Values that double rounding changes are separated by exact distance from a boundary."""
    one = of_name(f"onnx.Cast-25/float64-to-{name}")
    powers = np.uint64(1) << np.arange(44, dtype=np.uint64)
    far = np.concatenate([powers, powers + np.uint64(1), powers - np.uint64(1)])
    edges = numeric_inputs(one[1], one[2], "boundary", 0)[0][::5, None]
    codes = np.concatenate([(edges + far).reshape(-1), (edges - far).reshape(-1)])
    assert not len(wrong(one, codes))
