"""Choose texts for conversions from string."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction

import numpy as np

from convcheck.numerics.format import Float, Format, Int
from convcheck.numerics.number import Texts
from convcheck.vectors.inputs import Binades, binades_of, boundaries_of
from convcheck.vectors.model import Coverage, Tier

_DIGITS = 20  # longer literals are undefined
_HALVES = 2  # boundaries of a binade with one value
# A midpoint with a relative error of 2^-n is a midpoint again in bfloat16, float16 and float32, in
# this order, but not in a more precise one of them.
_OFF = (10, 14, 30)
_FLOAT32 = 23  # mantissa bits
_BINADES = 300  # literals, about; one per binade
_SPELLINGS = (
    "INF", "+INF", "inf", "+inf", "Inf", "-INF", "-inf", "-Inf", "NaN", "nan", "NAN",
    "0", "-0", "+0", "0.0", "-0.0", "1", "-1", "+1", "007", "3.14", "1000", "1e-5", "1E8", "1e+2",
    ".5", "5.", "-.5e1", "100.5", "2.718", "1e400", "-1e400", "1e-400", "-1e-400",
    "Hello World!", "", " 1", "1 ", "1e", "e5", ".", "+", "-", "0x10", "0x1p3", "1_000", "1,5",
    "infinity", "-infinity", "+nan", "-nan", "nan(1)", "1f", "١", "1.0.0", "--1", "True",
    "123456789012345678901", "0.1234567890123456789012",
)  # fmt: skip
_TEXTS = ("", "a", "Hello World!", "1.0", "é", "日本語", "tab\there", "line\nbreak", "x" * 300)


def text_inputs(target: Format, tier: Tier, seed: int) -> tuple[Texts, Coverage]:
    """Return a tier's texts for a destination, and the coverage."""
    texts = list(_TEXTS if not isinstance(target, Float | Int) else _SPELLINGS)
    if isinstance(target, Float):
        texts += _boundary_literals(target, tier, seed)
    elif isinstance(target, Int):
        texts += _integer_literals(target)
    unique = np.array(list(dict.fromkeys(texts)), object)
    return unique, "edge" if tier == "edge" else "sampled"


def few_texts() -> Texts:
    """Return texts for a case without expectations."""
    return np.array(["0", "1", "-2", "3.14", "1e-5", "INF", "NaN", "Hello World!", ""], object)


def _integer_literals(target: Int) -> list[str]:
    ends = {int(target.max) + d for d in (-1, 0, 1)} | {int(target.min) + d for d in (-1, 0, 1)}
    powers = {(1 << k) + d for k in range(0, target.bits, 3) for d in (0, 1)}
    values = sorted({*ends, *powers, *(-p for p in powers), 2, 3, 7, -2, -3, -7})
    return [str(v) for v in values] + [f"+{target.max}"]


def _boundary_literals(target: Float, tier: Tier, seed: int) -> list[str]:
    finer, past, last = boundaries_of(target)
    binade = 1 << finer.mantissa
    one = target.bias * binade
    whole = one + (target.mantissa + 1) * binade  # from here on, midpoints are odd integers
    around = {1, 2, 3, binade, one + 1, one + 3, whole + 1, whole + 3}
    around |= {past - 3, past - 2, past - 1, past}
    rng = np.random.default_rng(seed)
    many = 24 if tier == "edge" else 2000
    random = rng.integers(1, past + (1 << finer.mantissa), many, np.uint64)
    chosen = sorted(around | {int(r) for r in random})
    literals: list[str] = []
    for index, magnitude in enumerate(chosen):
        sign = "-" if index % 2 and target.signed else ""
        near = _literals_near(finer.value(magnitude)) + _beside(finer, magnitude, target)
        literals += [sign + text for text in near]
    literals += _beside_float32(finer, target)
    return literals + _one_a_binade(finer, binades_of(finer, last), rng)


def _one_a_binade(finer: Float, binades: Binades, rng: "np.random.Generator") -> list[str]:
    """Return a literal between boundaries in every nth binade, two if it has one value."""
    stride = -(-len(binades) // _BINADES)
    literals = []
    for index, (start, size) in enumerate(binades[::stride]):
        low = start + int(rng.integers(0, max(size - 2, 1)))
        sign = "-" if index % 2 and finer.signed else ""
        for below in (low, low + 1) if size == _HALVES else (low,):
            value = (finer.value(below) + finer.value(below + 1)) / 2
            literals.append(sign + str(_divide(value, ROUND_FLOOR)))
    return literals


def _literals_near(value: Fraction) -> list[str]:
    below, above = (_divide(value, way) for way in (ROUND_FLOOR, ROUND_CEILING))
    if below == above:
        unit = Decimal(1).scaleb(below.adjusted() - _DIGITS + 1)
        with localcontext(Context(prec=_DIGITS + 1)):
            return [f"{below:f}" if -6 < below.adjusted() < _DIGITS else str(below)] + [
                str(d) for d in (below - unit, below + unit) if len(d.as_tuple().digits) <= _DIGITS
            ]
    return [str(below), str(above)]


def _beside(finer: Float, magnitude: int, target: Float) -> list[str]:
    """Return a literal next to a midpoint that an intermediate type rounds onto it."""
    places = [n for n in _OFF if n > target.mantissa + 2]
    if magnitude % 2 == 0 or not places:
        return []
    lower = magnitude // 2
    off = Fraction(1 if lower % 2 == 0 else -1, 1 << places[lower // 2 % len(places)])
    return [str(_divide(finer.value(magnitude) * (1 + off), ROUND_FLOOR))]


def _beside_float32(finer: Float, target: Float) -> list[str]:
    """Return literals just past a tie of float32, where float64 would hit a boundary."""
    if target.mantissa >= _FLOAT32:
        return []
    literals = []
    one = target.bias << finer.mantissa
    for boundary in map(finer.value, (one, one + 1, one + 3)):
        step = Fraction(2 if boundary >= 2 else 1, 1 << (_FLOAT32 + 1))
        # Below a power of two, values are twice as dense.
        below = step / 2 if boundary == 1 else step
        literals.append(str(_divide(boundary - below, ROUND_FLOOR)))
        literals.append(str(_divide(boundary + step, ROUND_CEILING)))
    return literals


def _divide(value: Fraction, way: str) -> Decimal:
    with localcontext(Context(prec=_DIGITS, rounding=way, Emax=99999, Emin=-99999)):
        return (Decimal(value.numerator) / Decimal(value.denominator)).normalize()
