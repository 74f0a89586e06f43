"""Choose numbers at the destination's boundaries and next to them, and texts of them."""

import zlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.codec import decode_magnitudes
from convcheck.numerics.format import Float, Format, Int, Numeric, Text, text_of_format
from convcheck.numerics.number import Codes, Numbers, Texts, from_fractions, is_negative, normalised
from convcheck.numerics.order import around, at, each_once, order_key, signed, special_codes, top
from convcheck.vectors.model import Coverage, Tier

Binades = list[tuple[int, int]]  # (first magnitude, number of magnitudes)
BEYOND = 2  # binades past max


def boundaries_of(target: Float) -> tuple[Float, int, int]:
    """Return the boundaries' format, its magnitude past max, and the grid's last."""
    finer = replace(target, mantissa=target.mantissa + 1, nan="none", infinity=False)
    past = (target.max_magnitude + 1) << 1
    return finer, past, min(past + (BEYOND << finer.mantissa), 2**64 - 1)


def binades_of(finer: Float, last: int) -> Binades:
    """Return (first magnitude, number of magnitudes) of each binade."""
    size = 1 << finer.mantissa
    normal = [(start, size) for start in range(size if finer.zero else 0, last, size)]
    subnormal = [(1 << k, 1 << k) for k in range(finer.mantissa)] if finer.zero else []
    return subnormal + normal


def within_reach(source: Numeric, finer: Float, binades: Binades) -> Binades:
    """Return binades in which the source has values."""
    least = source.value(int(source.zero)) if isinstance(source, Float) else Fraction(1)
    most = max(source.max, -source.min)

    def beginning(binade: tuple[int, int]) -> Fraction:
        return finer.value(binade[0])

    first = max(bisect_right(binades, least, key=beginning) - 1, 0)
    return binades[first : max(bisect_right(binades, most, key=beginning), first + 1)]


_MANY = 512  # binades, more than a 32-bit source has
_WINDOW = 4  # adjacent binades outside the range, at most one without a value
_NEAR_ENDS = 64  # binades; counts modulo 64 show within
_STEP = 13  # odd, with small multiples far from powers of two
MOST = 900  # vectors of a case

U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]
Mask = NDArray[np.bool_]


def left_out(source: Numeric, target: Format, asked: Codes, rng: "np.random.Generator") -> Codes:
    """Return codes that complete the coverage of exponents.

    Then one of two adjacent binades has a value that is no power of two; outside the destination's
    range, three of four, in both signs. Binades of integers are their lengths. Of very many, every
    13th is tested far from the range: every residue modulo a power of two occurs.
    """
    if isinstance(source, Float):
        binades = [one for one in binades_of(source, source.max_magnitude) if one[1] > 1]
    else:
        binades = [(1 << k, 1 << k) for k in range(1, source.bits - source.signed)]
    every = np.array(binades, np.uint64)
    beyond = _beyond_range(source, target, len(every))
    there = [_there(source, asked, every, sign) for sign in (False, True)[: 1 + source.signed]]
    room = MOST - len(each_once(asked))
    steps = range(_STEP, _MANY, 2) if room >= 0 else ()  # otherwise none fits
    tried = (_missing(beyond, there, step) for step in steps)
    fitting = (turns for turns in tried if sum(map(np.count_nonzero, turns)) <= room)
    found = [np.empty(0, source.storage)]
    for negative, turns in enumerate(next(fitting, _missing(beyond, there, _MANY))):
        missing = every[turns]
        magnitudes = missing[:, 0] + rng.integers(1, missing[:, 1], dtype=np.uint64)
        found.append(signed(source, magnitudes, np.full(len(missing), bool(negative))))
    return np.concatenate(found)


def _missing(beyond: I64, there: Sequence[Mask], step: int) -> list[Mask]:
    far = ((beyond > _NEAR_ENDS) | (beyond <= 0)) & (len(beyond) > _MANY)
    inside = (beyond <= 0) & np.any(there, axis=0)
    every = np.arange(len(beyond)) % (2 * step)
    found = [far & ~here & ~inside & (every == step * s) for s, here in enumerate(there)]
    for place, sign in _gaps(np.transpose([here | far for here in there]), beyond > 0):
        found[sign][place] = True
    return found


def _beyond_range(source: Numeric, target: Format, count: int) -> I64:
    """Return binades' distances from the destination's range, 0 or less inside."""
    low, high = 0, 0
    if isinstance(target, Float):
        low, high = target.lowest_exponent, target.highest_exponent
    elif isinstance(target, Int):
        high = target.bits
    first = source.lowest_exponent if isinstance(source, Float) else 0
    exponents = first + 1 + np.arange(count)
    return np.maximum(low - exponents, exponents - high)


def _there(source: Numeric, codes: Codes, binades: U64, negative: bool) -> Mask:
    wide = codes.astype(np.uint64)
    if isinstance(source, Float):
        magnitude, minus = wide & np.uint64(source.magnitude_mask), is_negative(source, codes)
    else:
        minus = wide > np.uint64(int(source.max))
        magnitude = np.where(minus, (np.uint64(0) - wide) & np.uint64(source.mask), wide)
    here = magnitude[minus == negative]
    at = np.searchsorted(binades[:, 0], here, side="right") - 1
    found = np.zeros(len(binades), bool)
    start, size = binades[at].T
    found[at[(at >= 0) & (here > start) & (here < start + size)]] = True
    return found


def _gaps(there: Mask, outside: Mask) -> Iterator[tuple[int, int]]:
    """Yield binade and sign to fill: every second empty one, outside three of four."""
    last_empty, missing = -_WINDOW, np.zeros(there.shape[1], np.int64)
    for place, here in enumerate(there):
        missing = np.where(here | ~outside[place], 0, missing + 1)
        fill = missing.max() >= _WINDOW
        if not here.any() and not fill:
            fill = place - last_empty < (_WINDOW if outside[place] else 2)
            last_empty = last_empty if fill else place
        if fill:
            sign = int(missing.argmax()) if outside[place] else place // 2 % len(missing)
            missing[sign] = 0
            yield place, sign


def only_dropped(source: Numeric, target: Format) -> Codes:
    """Return ties (and normal values) with one bit changed, for each dropped bit."""
    found = [np.empty(0, source.storage)]
    for turn, low in enumerate(_places(source, target)):
        ties = [] if isinstance(target, Int) and turn == 0 else [(low + 1, True), (low + 3, False)]
        for magnitude, above in [*ties, *[(low, True)][turn:]]:
            found.append(_with_one_bit(source, target, magnitude, above, turn))
    return np.concatenate(found)


def _places(source: Numeric, target: Format) -> Iterator[int]:
    """Yield a boundary, a multiple of four, in a normal and a subnormal binade."""
    if isinstance(target, Int):
        yield from (4, 0)
    elif isinstance(target, Float):
        finer, past, _ = boundaries_of(target)
        normal = [b for b in binades_of(finer, past) if b[1] == 1 << finer.mantissa]
        binades = within_reach(source, finer, normal)
        if isinstance(source, Float):
            start, size = binades[len(binades) // 2]
        else:
            start, size = [one for one in binades if finer.value(one[0]) <= source.max][-1]
        yield (start + size // 3 - 1) // 4 * 4
        if finer.zero:
            yield 4 if size >= 8 else 0


def _with_one_bit(source: Numeric, target: Format, magnitude: int, above: bool, turn: int) -> Codes:
    exact, half = Fraction(magnitude, 2), Fraction(1, 2)
    if isinstance(target, Float):
        finer, even = boundaries_of(target)[0], magnitude - magnitude % 2
        exact, half = finer.value(magnitude), finer.value(even + 1) - finer.value(even)
    least = 0  # exponent of the source's last bit
    if isinstance(source, Float):
        least = max(_exponent(exact) - source.mantissa, source.lowest_exponent)
    room = _exponent(half) - least
    if room <= 0:
        return np.empty(0, source.storage)
    bits = np.uint64(1) << np.arange(room, dtype=np.uint64)
    whole = np.uint64(exact / Fraction(2) ** least)
    exponent, significand = normalised(whole + bits if above else whole - bits, least)
    blank = np.zeros(room, np.uint8)
    numbers = Numbers(blank, blank.astype(bool), exponent, significand)
    negative = (np.arange(room) + magnitude // 2 + turn) % 2 == 1
    signed = not isinstance(target, Text) and target.signed
    return at(source, numbers, np.zeros(room, np.int64), negative & signed)


def _exponent(exact: Fraction) -> int:
    return exact.numerator.bit_length() - exact.denominator.bit_length()


_BUDGET = 240  # edge inputs from binades, about
_STRIDDEN = 48  # binades with a single probe each
_VERY_MANY, _NEAR = 512, 64  # binades, and those next to 1
_OUTSIDE = 150  # inputs outside the range, at most
_HALVES = 2  # boundaries of a binade with one value
_LEAST_BETWEEN = Fraction(1, 2**24)  # an intermediate type decides from here
_SMALL = 8  # bits of an exhaustive source
_CARRIED = 24  # random codes of kept bits
_WHOLE = 16  # bits of one exhaustive from the boundary tier on

# Probes in a binade of the finer format: (offset of the boundary, source ulps from it). Odd offsets
# are midpoints. Directed rounding shows next to a value (0).
_PROBES = (
    (1, 0), (3, 0), (1, 1), (3, -1), (-1, 0), (1, -1),
    (3, 1), (0, 1), (2, 0), (-1, -1), (0, -1), (0, 0),
)  # fmt: skip


def numeric_inputs(
    source: Numeric, target: Format, tier: Tier, seed: int
) -> tuple[Codes, Coverage]:
    """Return a tier's codes, sorted by value, and their coverage."""
    cached = _few_inputs if tier == "edge" else _many_inputs
    return cached(source, target, tier, seed)


def few_inputs(source: Numeric) -> Codes:
    """Return special values, for a case without expectations."""
    return in_order(source, np.unique(special_codes(source)))


def carried_inputs(source: Numeric, seed: int) -> tuple[Codes, Coverage]:
    """Return edge inputs that tell all bits apart, if kept."""
    if source.bits <= _SMALL:
        return numeric_inputs(source, source, "edge", seed)
    rng = np.random.Generator(np.random.PCG64([seed]))
    random = rng.integers(0, (1 << source.bits) - 1, _CARRIED, np.uint64, endpoint=True)
    codes = np.concatenate([special_codes(source), random.astype(source.storage)])
    return in_order(source, each_once(codes)), "edge"


def chosen_inputs(source: Numeric, target: Format, tier: Tier, seed: int) -> tuple[Codes, Coverage]:
    """Compute `numeric_inputs` without the cache."""
    if source.bits <= (_SMALL if tier == "edge" else _WHOLE):
        return in_order(source, np.arange(1 << source.bits, dtype=source.storage)), "exhaustive"
    pair = zlib.crc32(f"{text_of_format(source)} {text_of_format(target)}".encode())
    rng = np.random.Generator(np.random.PCG64([seed, pair]))
    edge = tier == "edge"
    chosen = [special_codes(source)]
    if isinstance(target, Float):
        chosen.append((_edge_of_float if edge else _all_of_float)(source, target, rng))
    elif isinstance(target, Int) and isinstance(source, Float):
        chosen.append((_edge_of_integer if edge else _all_of_integer)(source, target))
    elif isinstance(target, Int) and isinstance(source, Int):
        chosen.append(_residues(source, target, edge, rng))
    if isinstance(target, Int):
        chosen.append(_lengths(source, target))
    chosen += [only_dropped(source, target), (_sample if edge else _powers)(source, rng)]
    if isinstance(target, Float) or (isinstance(source, Float) and isinstance(target, Int)):
        chosen.append(_powers_within(source, target, np.concatenate(chosen)))
    chosen.append(left_out(source, target, np.concatenate(chosen), rng))
    codes = in_order(source, each_once(np.concatenate(chosen)))
    return codes, "edge" if edge else beyond_edge(target)


# Versions share inputs. An edge set takes some kilobytes.
_few_inputs, _many_inputs = (lru_cache(maxsize=n)(chosen_inputs) for n in (1024, 64))


def beyond_edge(target: Format) -> Coverage:
    """Return the coverage of the boundary tier for a wide source."""
    narrow = not isinstance(target, Text) and target.bits <= _WHOLE
    return "boundary-complete" if narrow else "sampled"


def in_order(fmt: Numeric, codes: Codes) -> Codes:
    """Sort codes by value; NaNs go to the ends."""
    return codes[np.argsort(order_key(fmt, codes), kind="stable")]


def _alternating(n: int) -> NDArray[np.bool_]:
    return np.asarray(np.arange(n) % 2 == 1)


def _all_powers(source: Numeric) -> U64:
    if not isinstance(source, Float):
        return np.uint64(1) << np.arange(source.bits - source.signed, dtype=np.uint64)
    normal = np.arange(1 << source.exponent, dtype=np.uint64) << np.uint64(source.mantissa)
    subnormal = np.uint64(1) << np.arange(source.mantissa, dtype=np.uint64)
    return np.concatenate([subnormal, normal])


def _powers(source: Numeric, rng: "np.random.Generator") -> Codes:
    powers = _all_powers(source)
    near = np.concatenate([powers, powers + np.uint64(1), powers - np.uint64(1)])
    random = rng.integers(0, top(source), 4096, np.uint64, endpoint=True)
    inside = np.minimum(np.unique(np.concatenate([near, random])), np.uint64(top(source)))
    return np.concatenate([signed(source, inside, np.full(len(inside), s)) for s in (False, True)])


def _sample(source: Numeric, rng: "np.random.Generator") -> Codes:
    powers = _all_powers(source)
    powers = powers[:: max(1, len(powers) // 24)]
    turn = np.array([0, 1, 0, -1])[np.arange(len(powers)) % 4].astype(np.uint64)
    random = rng.integers(0, top(source), 4, np.uint64, endpoint=True)
    inside = np.minimum(np.concatenate([powers + turn, random]), np.uint64(top(source)))
    return signed(source, inside, _alternating(len(inside)))


def _powers_within(source: Numeric, target: Float | Int, asked: Codes) -> Codes:
    low, high = -2, target.bits - 1 - target.signed
    if isinstance(target, Float):
        low, high = target.lowest_exponent, target.highest_exponent
    least, most = 0, source.bits - 1 - source.signed
    if isinstance(source, Float):
        least, most = source.lowest_exponent, source.highest_exponent
    exponents = np.arange(max(low, least), min(high, most) + 1)
    outside = most - least + 1 - len(exponents)
    if len(exponents) > _VERY_MANY:
        exponents = exponents[np.abs(exponents) <= _NEAR]
    exponents = exponents[np.argsort(np.abs(exponents), kind="stable")]
    powers = from_fractions([Fraction(2) ** int(k) for k in exponents])
    exact, negative = np.zeros(len(powers), np.int64), (exponents % 2 == 1) & target.signed
    one = at(source, powers, exact, negative)
    room = MOST - len(each_once(np.concatenate([asked, one]))) - min(outside, _OUTSIDE)
    other = at(source, powers, exact, ~negative & target.signed)[: max(room, 0)]
    return np.concatenate([one, other])


def _all_of_float(source: Numeric, target: Float, rng: "np.random.Generator") -> Codes:
    finer, past, last = boundaries_of(target)
    if target.bits <= _WHOLE:
        magnitudes = np.arange(last + 1, dtype=np.uint64)
    else:
        chosen = [past + d for d in range(-6, 6)]
        for start, size in binades_of(finer, last):
            random = (int(r) for r in rng.integers(0, size, 4))
            chosen += [start + offset % size for offset, _ in _PROBES]
            chosen += [start + offset for offset in random]
        magnitudes = np.unique(np.array(chosen, np.uint64))
    return around(source, decode_magnitudes(finer, magnitudes))


def _edge_of_float(source: Numeric, target: Float, rng: "np.random.Generator") -> Codes:
    """Return rotating probes in every reachable binade, within the budget, all in landmarks."""
    finer, past, last = boundaries_of(target)
    every = binades_of(finer, last)
    notable = {every[index] for index in _notable(every, finer)}
    binades = within_reach(source, finer, every)
    each = min(max(_BUDGET // len(binades), 1), len(_PROBES))
    stride = max(1, len(binades) // _STRIDDEN)
    chosen: list[tuple[int, int, bool]] = []
    for index, (start, size) in enumerate(binades):
        turn = index // stride
        turns = range(turn * each, turn * each + each) if index % stride == 0 else range(0)
        if (start, size) in notable:
            turns = range(index * len(_PROBES), (index + 1) * len(_PROBES))
        for cycle, number in (divmod(turn, len(_PROBES)) for turn in turns):
            offset, ulps = _PROBES[number]
            chosen.append((start + offset % size, ulps, (cycle + number) % 2 == 1))
        # just past the only midpoint, where alone an intermediate type may fail
        if size == _HALVES and (turns or finer.value(start) == _LEAST_BETWEEN):
            chosen.append((start + 1, 1, turn % 2 == 1))
    around_max = [(past + d, ulps, s) for d in range(-3, 3) for ulps in (-1, 0, 1) for s in (0, 1)]
    magnitudes, offsets, signs = zip(*chosen, *around_max, strict=True)
    numbers = decode_magnitudes(finer, np.array(magnitudes, np.uint64))
    negative = np.array(signs, bool) & target.signed
    probed = at(source, numbers, np.array(offsets, np.int64), negative)
    # the middles of the smallest gaps between boundaries
    finest = replace(finer, mantissa=finer.mantissa + 1)
    middles = decode_magnitudes(finest, np.array([1, 3], np.uint64))
    signs_of_middles = _alternating(2) & target.signed
    return np.concatenate([probed, at(source, middles, np.zeros(2, np.int64), signs_of_middles)])


def _notable(binades: Binades, finer: Float) -> set[int]:
    normal = finer.mantissa if finer.zero else 0  # index of the first normal binade
    one = normal + finer.bias - finer.zero
    count = len(binades)
    found = {0, 1, 2, normal, count - 3, count - 2, count - 1}
    return found | {one} if 0 <= one < count else found


def _all_of_integer(source: Float, target: Int) -> Codes:
    if target.bits > _WHOLE:
        return _edge_of_integer(source, target)
    top = int(max(target.max, -target.min)) + 2
    exponent, significand = normalised(np.arange(2 * top + 1, dtype=np.uint64), -1)
    zeros = np.zeros(len(exponent), np.uint8)
    return around(source, Numbers(zeros, zeros.astype(bool), exponent, significand))


def _edge_of_integer(source: Float, target: Int) -> Codes:
    half = Fraction(1, 2)
    ends = [target.max + k * half for k in range(-2, 3)]
    ends += [-target.min + k * half for k in range(-2, 3)]
    full = sorted({abs(v) for v in [*ends, *(k * half for k in range(8))]})
    powers = from_fractions([Fraction(2**k) for k in range(source.mantissa, target.bits + 2)])
    turns = np.array([0, -1, 1])[np.arange(len(powers)) % 3]
    between = at(source, powers, turns, _alternating(len(powers)))
    return np.concatenate([around(source, from_fractions(full)), between])


def _lengths(source: Numeric, target: Int) -> Codes:
    """Return integers of every length: first two, one next to the middle, last."""
    precise = source.mantissa + 1 if isinstance(source, Float) else source.bits - source.signed
    length = np.repeat(np.arange(precise, dtype=np.uint64), 4)
    integers = np.array(
        [form for one in (1 << k for k in range(precise))
         for form in (one, one | 1, one | one >> 1 | 1, 2 * one - 1)], np.uint64
    )  # fmt: skip
    negative = (np.arange(len(length)) + length.astype(np.int64)) % 2 == 1
    if not isinstance(source, Float):
        return signed(source, integers, negative & target.signed)
    room = np.uint64(precise - 1) - length
    ones = (np.uint64(1) << room) - np.uint64(1)
    fraction = np.where(length % np.uint64(2) == 0, ones, ones ^ (ones >> np.uint64(1)))
    exponent, significand = normalised(
        np.concatenate([integers << room, (integers << room) | fraction]), 0
    )
    kind = np.zeros(len(exponent), np.uint8)
    exponent -= np.tile(room.view(np.int64), 2)
    numbers = Numbers(kind, kind.astype(bool), exponent, significand)
    signs = np.concatenate([negative, ~negative]) & target.signed
    return at(source, numbers, np.zeros(len(signs), np.int64), signs)


def _residues(source: Int, target: Int, edge: bool, rng: "np.random.Generator") -> Codes:
    if source.bits <= target.bits:
        return np.empty(0, source.storage)
    border = 1 << (target.bits - 1)
    wanted = {0, 1, border - 1, border, border + 1, 2 * border - 2, 2 * border - 1, border // 3}
    if not edge and target.bits <= _WHOLE:
        low = np.arange(2 * border, dtype=np.uint64)
    else:
        low = np.array(sorted(w & (2 * border - 1) for w in wanted), np.uint64)
    space = source.bits - target.bits
    ones = (1 << space) - 1
    high = [0, 1, 2, ones, ones - 1, 1 << (space - 1), ones // 3]
    high += [int(h) for h in rng.integers(0, ones, 4, np.uint64, endpoint=True)]
    high = high if len(low) < 1024 else [0, ones, high[-1]]
    shifted = np.array(sorted(set(high)), np.uint64) << np.uint64(target.bits)
    return (shifted[:, None] | low[None, :]).ravel().astype(source.storage)


_DIGITS = 20  # longer literals are undefined
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
