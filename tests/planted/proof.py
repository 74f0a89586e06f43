"""Inputs that show a bug in any case that can, made without the edge vectors."""

import zlib
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import cache

import numpy as np
from catalogue import CATALOG, CORPUS, compiled

from convcheck.numerics.codec import decode_magnitudes
from convcheck.numerics.format import Float, Int, Text, text_of_format
from convcheck.numerics.number import Numbers, normalised
from convcheck.numerics.order import around, special_codes
from convcheck.records import replace
from convcheck.rules.cases import cases
from convcheck.semantics.evaluate import evaluate
from convcheck.semantics.expected import REFUSED
from convcheck.vectors.generate import form_decision
from convcheck.vectors.model import VectorSet

NARROW = 16  # sources up to this width are used whole
BOUNDARIES, RANDOM, TEXTS, PRINTS = 3000, 5000, 400, 300
SPELLINGS = (
    "INF", "+INF", "-INF", "inf", "Inf", "+inf", "-inf", "NaN", "nan", "NAN", "0", "-0", "+0",
    "0.0", "-0.0", "-0e5", "007", ".5", "-.5", "5.", "1e400", "-1e400", "1e-400", "-1e-400",
    "2.718", "Hello World!", "", " 1", "é", "a日本語b", "tab\there",
)  # fmt: skip


# Cases ------------------------------------------------------------------------------------------


@cache
def all_cases(version):
    spec = CATALOG.specs[f"onnx.Cast-{version}"]
    return tuple(
        case for case in cases(spec) if compiled(case).entries[0].steps[0].pattern != REFUSED
    )


def most_cases():
    return [*all_cases(25), *(c for c in all_cases(28) if "float6e" in c.name)]


# Rich inputs ------------------------------------------------------------------------------------


@cache
def rich_inputs(source, target):
    pair = f"{text_of_format(source)} {text_of_format(target)}"
    rng = np.random.default_rng(zlib.crc32(pair.encode()))
    if isinstance(source, Text):
        return np.array(list(dict.fromkeys(_texts(target, rng))), object)
    if isinstance(target, Text):
        return np.concatenate([special_codes(source), _random(source, rng)[:PRINTS]])
    if source.bits <= NARROW:
        return np.arange(1 << source.bits).astype(source.storage)
    parts = (special_codes(source), _random(source, rng), *_boundaries(source, target, rng))
    return np.unique(np.concatenate(parts))


def _texts(target, rng):
    """Return spellings, decimals of every size, integers, and neighbours of boundaries."""
    yield from SPELLINGS
    for exponent in range(-330, 330, 3):
        yield f"-{rng.random():.9f}e{exponent}"
        yield f"{rng.integers(1, 10**18)}e{exponent}"
    for bits in range(70):
        whole = int(rng.integers(0, 1 << 62)) % (1 << bits) + (1 << bits)
        yield from (str(whole | 1), str(-whole), str(whole + 1), f"+{whole}")
    if isinstance(target, Float):
        finer, magnitudes = _grid(target, rng)
        for magnitude in rng.permutation(magnitudes)[:TEXTS]:
            yield from _digits(finer.value(int(magnitude)))
        for past in range(-3, 4):
            yield from _digits(finer.value(2 * target.max_magnitude + past))


def _digits(value):
    """Return the twenty-digit decimals next to a value, or also next to one ulp more."""
    for sign, way in (("", ROUND_FLOOR), ("-", ROUND_FLOOR), ("", ROUND_CEILING)):
        context = Context(prec=20, rounding=way, Emax=9999, Emin=-9999)
        yield sign + str(context.divide(Decimal(value.numerator), Decimal(value.denominator)))


def _random(source, rng):
    codes = rng.integers(0, 1 << source.bits, RANDOM, np.uint64)
    if isinstance(source, Int):
        codes >>= rng.integers(0, source.bits, RANDOM, np.uint64)
        codes = np.where(rng.random(RANDOM) < 0.5, codes, ~codes & np.uint64(source.mask))
    return codes.astype(source.storage)


def _boundaries(source, target, rng):
    if isinstance(target, Float):
        yield around(source, decode_magnitudes(*_grid(target, rng)))
    elif isinstance(target, Int):
        shifts = rng.integers(max(62 - target.bits, 0), 64, BOUNDARIES, np.uint64)
        halves = rng.integers(0, 1 << 64, BOUNDARIES, np.uint64) >> shifts
        ends = np.array([target.max, -target.min], object) * 2
        near = [int(end) + d for end in ends for d in range(-4, 5) if 0 <= end + d < 1 << 64]
        exponent, significand = normalised(np.append(halves, np.array(near, np.uint64)), -1)
        blank = np.zeros(len(exponent), np.uint8)
        yield around(source, Numbers(blank, blank.astype(bool), exponent, significand))


def _grid(target, rng):
    """Return boundaries: the format with one more mantissa bit."""
    finer = replace(target, mantissa=target.mantissa + 1, nan="none", infinity=False)
    past = (target.max_magnitude + 1) << 1
    last = min(past + (2 << finer.mantissa), (1 << 64) - 1)
    low = np.arange(64, dtype=np.uint64)
    spread = rng.integers(0, last, BOUNDARIES, np.uint64)
    subnormal = spread >> rng.integers(0, 64, BOUNDARIES, np.uint64)
    if last <= 2 * BOUNDARIES:
        spread = np.arange(last, dtype=np.uint64)
    near = np.uint64(max(past - 32, 0)) + low
    chosen = np.unique(np.concatenate([low, near, spread, subnormal]))
    return finer, chosen[(chosen > 0) & (chosen <= np.uint64(last))]


# Vectors ----------------------------------------------------------------------------------------


@cache
def edge(case):
    return CORPUS.vectors(case)


def only(case, bits):
    spec = CATALOG.specs[case.spec]
    return VectorSet(case, (bits,), evaluate(spec, case, bits), "sampled", form_decision(spec))
