"""Choose the calls of scaling steps: for each set of other inputs, data at rounding boundaries of
the output and next to them. Only the simplest layouts test all.
"""

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import cast

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.codec import decode
from convcheck.numerics.format import Float, Format, Numeric
from convcheck.numerics.modes import MODES
from convcheck.numerics.number import FINITE, Bits, Codes, Numbers, from_fractions
from convcheck.numerics.order import signed, special_codes
from convcheck.numerics.rational import (
    Rational,
    of_fractions,
    of_numbers,
    subtract,
    take,
    to_fraction,
)
from convcheck.numerics.rounding import round_to
from convcheck.numerics.words import OutsideFormatError, code_of
from convcheck.rules.body.steps import Steps, Words
from convcheck.rules.model import Case, Layout, Spec
from convcheck.semantics.body.steps import CompiledSteps, compile_steps, layout_of
from convcheck.semantics.evaluate import can_fix
from convcheck.semantics.expected import UNDEFINED, Call
from convcheck.semantics.program import Meaning
from convcheck.vectors.inputs import boundaries_of, in_order, numeric_inputs
from convcheck.vectors.model import Coverage, Tier

Mask = NDArray[np.bool_]
Set = Mapping[str, int]  # input after the first -> its code
# random boundaries of each set; random codes if nothing is converted
_SOME: Mapping[Tier, int] = {"edge": 3, "boundary": 1 << 12, "exhaustive": 1 << 12}
_CODES: Mapping[Tier, int] = {"edge": 12, "boundary": 1 << 12, "exhaustive": 1 << 12}
_SHARP = 2  # closest values on each side of a boundary, for even and odd each
_HALF = 0.5  # ulp; closer values are rounded onto the boundary
_ENDS = 3  # inputs with different readings: closest to a boundary, and farthest
_COARSE = 6  # least mantissa bits of a division
_LOOKED_AT = 1 << 9  # boundaries that are searched
_OPEN, _APART = 1, 8  # values of a set: undefined; with different readings
_ALL = 16  # bits of a fully searched first input
_FINE = 20  # extra bits of the distance from a tie
_SHORT = 5  # bits of integers searched times every power of two, for ties
_TIMES = 4  # calls per set of single values
_LITTLE = 3  # values of mostly undefined sets
_TURNS = 5  # calls of several values
_OF_ENDS = 3  # of those at the ends of ranges
_SHIFTED = (30, 33)  # exponents at which a 32-bit shift fails
_SIZES = (3, 2, 5, 2)  # of letters
_WITH_1 = (1, 3, 1, 2)
_LANES = 8  # of a kernel's vector
_BYTE = 8
_UNEVEN = 0x8123456789ABCDEF
_FEW = 8  # values beside an extreme input
_FAR = 31  # exponent of the limit of machine integers


@dataclass(frozen=True)
class Asking:
    """A case to choose data for. Equal instances get equal data."""

    meaning: Meaning
    tier: Tier
    seed: int
    compiled: CompiledSteps = field(compare=False)
    layout: Layout = field(compare=False)

    def format_of(self, name: str) -> Numeric:
        """Return the format of an input."""
        return cast(Numeric, self.compiled.types[name].format)

    @property
    def data(self) -> Numeric:
        """The format of the first input."""
        return cast(Numeric, self.compiled.data.format)


def asking_of(spec: Spec, case: Case, tier: Tier, seed: int) -> Asking:
    """Return a case's parameters."""
    compiled = compile_steps(spec, case)
    return Asking(compiled.meaning, tier, seed, compiled, layout_of(spec, case))


@dataclass(frozen=True)
class _Pool:
    agreed: Codes  # every reading agrees
    sharp: Codes  # agreed, on or closest to a boundary
    apart: Codes  # the readings differ
    ends: Codes  # agreed, at the ends of both ranges


def fixed_cases(spec: Spec, case: Case) -> Iterator[Case]:
    """Yield a case as conversions of its first input, under each set of others."""
    if not can_fix(spec, case):
        return
    asking = asking_of(spec, case, "edge", 0)
    if asking.compiled.outside:
        return
    for words in _words(asking, spec.body_as(Steps).ask):
        yield replace(case, fixed=words)


def fixed_inputs(spec: Spec, case: Case, tier: Tier, seed: int) -> tuple[Codes, Coverage]:
    """Return a first input's codes with fixed others, sorted by value."""
    asking = asking_of(spec, case.call, tier, seed)
    if tier == "exhaustive":
        every = np.arange(1 << asking.data.bits).astype(asking.data.storage)
        return in_order(asking.data, every), "exhaustive"
    one = tuple((name, code_of(asking.format_of(name), word)[0]) for name, word in case.fixed)
    pool = _pool(asking, one)
    codes = np.unique(np.concatenate([pool.agreed, pool.apart]))
    return in_order(asking.data, codes), "edge" if tier == "edge" else "sampled"


def codes_under(spec: Spec, case: Case, others: Mapping[str, int]) -> Codes:
    """Return a first input's sorted codes for fixed others, none if all is undefined."""
    asking = asking_of(spec, case.call, "edge", 0)
    if _is_open(asking, others):
        return np.zeros(0, asking.data.storage)
    pool = _pool(asking, tuple(others.items()))
    return in_order(asking.data, np.unique(np.concatenate([pool.agreed, pool.apart])))


def scaled_calls(asking: Asking, steps: Steps) -> list[Call]:
    """Return a case's calls, a tensor of codes for each input."""
    sets = sets_of(asking, steps.ask)
    if asking.compiled.outside:
        one = np.array([code_of(asking.data, "1")[0]], asking.data.storage)
        return [_call(asking, sets[:1], [_only(one)], 0, (1,) * 4)]
    pools = [_pool(asking, tuple(one.items())) for one in sets]
    extremes = {
        tuple(one.items()): _pool(asking, tuple(one.items()))
        for one in _extremes(asking, steps.extremes, sets)
    }
    letters = letters_of(asking.layout)
    if any(dims for _, dims in asking.layout.shapes[1:]) or len(letters) != 1:
        rank = asking.compiled.case.ranks[0]
        times = _TURNS if letters else max(len(sets), _TURNS) * (1 if rank else _TIMES)
        for words, pool in extremes.items() if rank else ():
            if len(pool.agreed):
                sets, pools = [*sets, dict(words)], [*pools, pool]
        calls = [_call(asking, sets, pools, k, _SIZES) for k in range(times)]
        if letters and rank > 1:
            calls.append(_call(asking, sets, pools, 0, _WITH_1))
        if rank and steps.back is not None:
            # rotated differently, because few are used
            starts = [i * len(pool.ends) // len(pools) for i, pool in enumerate(pools)]
            rolled = (np.roll(p.ends, -start) for p, start in zip(pools, starts, strict=True))
            ends = list(map(_only, rolled))
            calls += [_call(asking, sets, ends, k, _SIZES) for k in range(_OF_ENDS)]
        if letters and steps.back is not None:
            # in a kernel of groups, an overflow shows in one only
            largest = [_only(_largest(asking, pool.agreed)) for pool in pools]
            calls.append(_call(asking, sets, largest, 0, _SIZES))
        return calls
    asked = list(zip(sets, pools, strict=True))
    calls = [_whole(asking, one, pool.agreed) for one, pool in asked]
    calls += [_whole(asking, one, pool.apart) for one, pool in asked if len(pool.apart)]
    for words, pool in extremes.items():
        data = pool.apart
        if len(pool.agreed):
            data = np.append(_some(pool, _FEW - 2, 0), pool.agreed[[0, -1]])
        calls.append(_whole(asking, dict(words), data))
    little = sets_of(asking, steps.ask_little, defined=False)
    calls += [_whole(asking, one, pools[0].agreed[:_LITTLE]) for one in little]
    return [*calls, _whole(asking, sets[0], pools[0].agreed[:0])]


def _extremes(asking: Asking, names: Sequence[str], sets: Sequence[Set]) -> list[Set]:
    codes = {
        name: [c for c in end_codes(asking.format_of(name))
               if not _is_open(asking, {**sets[0], name: c})]
        for name in names if name in sets[0]
    }  # fmt: skip
    turns = max((len(some) for some in codes.values()), default=0)
    # in pairs: four equal limits discriminate little
    offsets = {name: i // 2 for i, (name, some) in enumerate(codes.items()) if some}
    found = [
        {**sets[0], **{n: codes[n][(k + off) % len(codes[n])] for n, off in offsets.items()}}
        for k in range(turns)
    ]
    return [one for one in found if one not in sets]


def end_codes(fmt: Numeric) -> list[int]:
    """Return codes at a type's ends, and one whose bytes all differ."""
    uneven = [_UNEVEN >> 64 - fmt.bits] if fmt.bits > _BYTE else []
    if isinstance(fmt, Float):
        return [0, 1, fmt.max_magnitude, *(code & ~fmt.sign_bit for code in uneven)]
    return [int(fmt.min) & fmt.mask, int(fmt.max), *uneven]


def _only(codes: Codes) -> _Pool:
    return _Pool(codes, codes, codes[:0], codes)


def _largest(asking: Asking, codes: Codes) -> Codes:
    x = decode(asking.data, codes)
    place = int(np.argmax(np.where(x.kind == FINITE, _as_floats(x), -np.inf)))
    return codes[place : place + 1]


def letters_of(layout: Layout) -> list[str]:
    """Return a layout's letters, in order."""
    dims = (dim for _, shape in layout.shapes for dim in shape)
    return list(dict.fromkeys(dim for dim in dims if dim.isalpha()))


def sets_of(asking: Asking, asked: Sequence[Words], *, defined: bool = True) -> list[Set]:
    """Return distinct sets of other inputs, `defined` ones by default."""
    return [_codes_of(asking, words) for words in _words(asking, asked, defined=defined)]


def _words(asking: Asking, asked: Sequence[Words], *, defined: bool = True) -> list[Words]:
    found: dict[tuple[int, ...], Words] = {}
    for words in asked:
        given = dict(words)
        kept = tuple((name, given[name]) for name in asking.compiled.names[1:] if name in given)
        try:
            one = _codes_of(asking, kept)
        except OutsideFormatError:
            continue
        if not (defined and _is_open(asking, one)):
            found.setdefault(tuple(one.values()), kept)
    return list(found.values())


def _codes_of(asking: Asking, words: Words) -> Set:
    return {name: code_of(asking.format_of(name), word)[0] for name, word in words}


def _is_open(asking: Asking, one: Set) -> bool:
    ones = np.array([code_of(asking.data, "1")[0]], asking.data.storage)
    compiled = asking.compiled
    values = compiled.decoded([inputs_under(asking, one, ones)])
    return bool(compiled.begun(compiled.steps.readings[0], values).undefined[0])


def inputs_under(asking: Asking, one: Set, data: Codes) -> list[Bits]:
    """Return a call's inputs: data, and one code of each other input."""
    others = (np.array(code, asking.format_of(name).storage) for name, code in one.items())
    return [data, *others]


@lru_cache(maxsize=1 << 11)  # layouts and versions share them
def _pool(asking: Asking, others: tuple[tuple[str, int], ...]) -> _Pool:
    one = dict(others)
    rng = np.random.Generator(np.random.PCG64([asking.seed, zlib.crc32(repr(one).encode())]))
    ends = special_codes(asking.data).astype(asking.data.storage)
    if asking.compiled.steps.back is None:
        every = 1 << asking.data.bits
        random = rng.choice(every, min(_CODES[asking.tier], every), replace=False)
        codes: Codes = random.astype(asking.data.storage)
        sharp, chosen = _sharp_results(asking, one, rng)
    elif asking.compiled.steps.back_of:
        codes = np.unique(_at_steps(asking, one, rng))
        sharp, chosen = rng.permutation(codes), codes[:0]
    else:
        wanted = [*_boundaries(asking.compiled.output.format, rng, _SOME[asking.tier])]
        wanted += [2**_FAR * (1 + Fraction(d, 1 << 20)) for d in (-1, 3)]
        codes = np.concatenate(next_to(asking, brought(asking, one, wanted)[0]))
        sharp, chosen = _sharp(asking, one, rng)
        ends = np.append(ends, brought(asking, one, _ends(asking.compiled.output.format))[0])
    codes = np.unique(np.concatenate([codes, sharp, ends]))
    apart, open_ = _apart(asking, one, codes)
    agreed = codes[~apart & (~open_ | (np.cumsum(open_) <= _OPEN))]
    if not len(chosen):
        chosen = rng.permutation(codes[apart])[:_APART]
    kept = sharp[np.isin(sharp, agreed)]
    return _Pool(
        in_order(asking.data, agreed),
        kept if len(kept) else agreed,
        in_order(asking.data, np.unique(chosen)),
        agreed[np.isin(agreed, ends)],
    )


def _apart(asking: Asking, one: Set, codes: Codes) -> tuple[Mask, Mask]:
    due, _ = asking.compiled.due([inputs_under(asking, one, codes)])
    [first, *others] = [outputs[0] for outputs in due]
    apart = np.zeros(len(codes), bool)
    for other in others:
        apart |= (other.codes != first.codes) | (other.patterns != first.patterns)
    return apart, first.patterns == UNDEFINED


def _at_steps(asking: Asking, one: Set, rng: "np.random.Generator") -> Codes:
    compiled, fmt = asking.compiled, asking.data
    ends = compiled.thresholds(numbers_under(asking, one, 1))
    at = compiled.run(inputs_under(asking, one, ends)).values[compiled.steps.back_of]
    found = [*next_to(asking, ends), special_codes(fmt).astype(fmt.storage)]
    if (at.kind == FINITE).all():
        low, high = sorted(int(to_fraction(at, i)) for i in (0, -1))
        some = rng.integers(low, high, _SOME[asking.tier]).tolist()
        chosen = {low, low + 1, (low + high) // 2, high - 2, high - 1, *some}
        whole = sorted(k for k in chosen if low <= k < high)
        halves, _ = brought(asking, one, [Fraction(2 * k + 1, 2) for k in whole])
        steps, _ = brought(asking, one, [Fraction(k) for k in whole[1:3]])
        found += [*next_to(asking, halves), steps]
    return np.concatenate(found)


def brought(asking: Asking, one: Set, wanted: list[Fraction]) -> tuple[Codes, Rational]:
    """Return data that bring the last line to numbers, with exact values."""
    return asking.compiled.brought(of_fractions(wanted), numbers_under(asking, one, len(wanted)))


def numbers_under(asking: Asking, one: Set, n: int) -> dict[str, Rational]:
    """Return the values of a set, each n times."""
    formats = {name: asking.format_of(name) for name in one}
    return {
        name: of_numbers(decode(formats[name], np.full(n, code, formats[name].storage)))
        for name, code in one.items()
    }


def next_to(asking: Asking, data: Codes, far: Sequence[int] = (1,)) -> list[Codes]:
    """Return codes and their neighbours."""
    mask = data.dtype.type((1 << asking.data.bits) - 1)
    steps = [data.dtype.type(d) for d in far]
    return [data, *((data + d) & mask for d in steps), *((data - d) & mask for d in steps)]


def _sharp(asking: Asking, one: Set, rng: "np.random.Generator") -> tuple[Codes, Codes]:
    """Return agreed data closest to boundaries, in ulps of the first line, and some apart."""
    wanted = _inner(asking.compiled.output.format, rng)
    data, exact = brought(asking, one, wanted)
    finer = asking.data.mantissa - _COARSE if isinstance(asking.data, Float) else 0
    around = next_to(asking, data, [1, *(1 << k for k in range(1, finer, 2))])
    codes, places = np.concatenate(around), np.tile(np.arange(len(data)), len(around))
    x, boundary = of_numbers(decode(asking.data, codes)), take(exact, places)
    off = _as_floats(subtract(x, boundary).numbers)
    size = np.abs(_as_floats(boundary.numbers))
    apart, open_ = _apart(asking, one, codes)
    share = np.divide(off, size, out=np.zeros(len(off)), where=size > 0)
    share[open_ | (x.kind != FINITE)] = 0
    ties = np.flatnonzero(~open_ & ~apart & (off == 0) & (size > 0))
    coarse = np.frexp(np.abs([float(one) for one in wanted]))[0][places]
    ties = ties[np.unique(-coarse[ties], return_index=True)[1]]
    ulps = np.abs(share) * _ulps_of_first(asking, one, codes)
    order = np.argsort(ulps, kind="stable")
    order = order[share[order] != 0]
    agreed = order[~apart[order]]
    differing = order[apart[order]]
    if isinstance(asking.data, Float):  # more than sign and exponent differ
        significands = codes[differing] & codes.dtype.type((1 << asking.data.mantissa) - 1)
        differing = differing[np.sort(np.unique(significands, return_index=True)[1])]
    onto = ulps[agreed] <= _HALF
    output = cast(Numeric, asking.compiled.output.format)
    below = round_to(from_fractions(wanted), output, MODES["toward-zero"]).magnitude
    odd = (below % 2 == 1)[places]
    parts = [
        part[odd[part] == is_odd] for part in (agreed[~onto], agreed[onto]) for is_odd in (0, 1)
    ]
    sides = [part[side] for part in parts for side in (share[part] > 0, share[part] < 0)]
    sides += [ties[k::4] for k in range(4)]
    closest = differing[np.argsort(np.abs(share[differing]), kind="stable")]
    ends = [closest[:_ENDS], differing[:_ENDS], differing[-_ENDS:]]
    return codes[_by_turns(sides, rng)], codes[np.concatenate(ends)]


def _ulps_of_first(asking: Asking, one: Set, codes: Codes) -> NDArray[np.float64]:
    compiled = asking.compiled
    types = [compiled.arithmetic(reading) for reading in compiled.steps.readings]
    bits = min((t.format.mantissa for t in types if t and isinstance(t.format, Float)), default=63)
    run = compiled.run(inputs_under(asking, one, codes), compiled.plainest)
    first = run.values[compiled.lines[0].name]
    return np.ldexp(first.numbers.significand.astype(np.float64), bits - 63)


def _sharp_results(asking: Asking, one: Set, rng: "np.random.Generator") -> tuple[Codes, Codes]:
    """Return data whose last line is closest to a tie, and some with different readings."""
    compiled, fmt = asking.compiled, asking.compiled.output.format
    codes = np.unique(_candidates(asking))
    run = compiled.run(inputs_under(asking, one, codes), compiled.plainest)
    x = run.values[compiled.lines[-1].name].numbers
    assert isinstance(fmt, Float)  # noqa: S101
    finer = replace(fmt, mantissa=fmt.mantissa + _FINE, nan="none", infinity=False)
    place = round_to(x, finer, MODES["odd"]).magnitude
    apart, open_ = _apart(asking, one, codes)
    inside = (x.kind == FINITE) & (place >> np.uint64(_FINE) < np.uint64(fmt.max_magnitude))
    agreed = inside & ~apart & ~open_
    off = (place % np.uint64(1 << _FINE)).astype(np.int64) - (1 << _FINE - 1)
    odd = (place >> np.uint64(_FINE)) % np.uint64(2) == 1
    order = rng.permutation(len(codes))
    order = order[np.argsort(np.abs(off[order]), kind="stable")]
    tie = off == 0
    near = np.abs(off) < 1 << _FINE - 2
    # off a tie, only the parity that rounds it the other way discriminates
    sides = [tie & odd, tie & ~odd, near & (off > 0) & ~odd, near & (off < 0) & odd]
    kept = _by_turns([order[(side & agreed)[order]] for side in sides], rng)
    return codes[kept], codes[rng.permutation(np.flatnonzero(apart))[:_APART]]


def _by_turns(sides: Sequence[NDArray[np.intp]], rng: "np.random.Generator") -> NDArray[np.intp]:
    shuffled = [sides[i] for i in rng.permutation(len(sides))]
    return np.concatenate([side[i : i + 1] for i in range(_SHARP) for side in shuffled])


def _candidates(asking: Asking) -> Codes:
    data = asking.data
    if data.bits <= _ALL:
        return np.arange(1 << data.bits).astype(data.storage)
    asked, _ = numeric_inputs(data, asking.compiled.output.format, asking.tier, asking.seed)
    short = np.arange(1, 1 << _SHORT, 2, dtype=np.uint64)
    places = np.arange(data.bits - _SHORT, dtype=np.uint64)
    magnitudes = (short[:, None] << places).ravel()
    return np.concatenate(
        [asked, *(signed(data, magnitudes, np.full(magnitudes.size, s)) for s in (False, True))]
    )


def _as_floats(x: Numbers) -> NDArray[np.float64]:
    with np.errstate(over="ignore", under="ignore"):
        size = np.ldexp(x.significand.astype(np.float64), np.clip(x.exponent, -2000, 2000))
    return np.where(x.sign, -size, size)


def _midpoints(fmt: Format, chosen: Iterable[int]) -> list[Fraction]:
    if isinstance(fmt, Float):
        values = [boundaries_of(fmt)[0].value(one) for one in chosen]
        return [*values, *(-value for value in values)]
    return [Fraction(2 * q + 1, 2) for q in chosen]


def _inner(fmt: Format, rng: "np.random.Generator") -> list[Fraction]:
    if isinstance(fmt, Float):
        _, past, _ = boundaries_of(fmt)
        return _midpoints(fmt, rng.permutation(np.arange(1, past, 2))[:_LOOKED_AT].tolist())
    low, high = int(cast(Numeric, fmt).min), int(cast(Numeric, fmt).max)
    if high - low < _LOOKED_AT:
        return _midpoints(fmt, range(low, high))
    near = range(max(low, -_LOOKED_AT // 8), _LOOKED_AT // 8)  # ties of narrow data as well
    return _midpoints(fmt, [*near, *rng.integers(low, high, _LOOKED_AT - len(near)).tolist()])


def _boundaries(fmt: Format, rng: "np.random.Generator", some: int) -> list[Fraction]:
    if isinstance(fmt, Float):
        _, past, _ = boundaries_of(fmt)
        inner = rng.permutation(np.arange(1, past, 2))[:some].tolist()
        chosen = {1, 3, past - 3, *range(past - 1, past + 3), *inner}
        return [*_midpoints(fmt, sorted(chosen)), 2 * fmt.value(fmt.max_magnitude)]
    low, high = int(cast(Numeric, fmt).min), int(cast(Numeric, fmt).max)
    inner = rng.integers(low, high, some).tolist() if some < high - low else range(low, high)
    whole = {low - 1, low, -1, 0, 1, high - 1, high, *inner}
    return [*_midpoints(fmt, sorted(whole)), Fraction(2 * high), Fraction(4 * low)]


def _ends(fmt: Format) -> list[Fraction]:
    if isinstance(fmt, Float):
        finer, past, _ = boundaries_of(fmt)
        lost = [finer.value(1) / 2**k for k in _SHIFTED]
        inside = _midpoints(fmt, (1, 3, past - 3, *range(past - 1, past + 3)))
        return [*inside, *lost, *(-value for value in lost)]
    low, high = int(cast(Numeric, fmt).min), int(cast(Numeric, fmt).max)
    return _midpoints(fmt, (low - 1, low, high - 1, high))


def _whole(asking: Asking, one: Set, data: Codes) -> Call:
    """Return a call of no multiple of a kernel's lanes; below a byte, the largest is last."""
    if len(data) and cast(Numeric, asking.compiled.output.format).bits < _BYTE:
        data = np.append(data, np.repeat(_largest(asking, data), 1 + len(data) % 2))
    elif len(data) and len(data) % _LANES == 0:
        data = np.append(data, data[len(data) // 3])
    return tuple(inputs_under(asking, one, data))


def _call(
    asking: Asking, sets: Sequence[Set], pools: Sequence[_Pool], k: int, sizes: Sequence[int]
) -> Call:
    shapes = shapes_of(asking.layout, sizes)
    first, second, *_ = asking.compiled.names
    count = prod(shapes[second])
    turns, tensors = others_of(asking, sets, shapes, k * (count if count < len(sets) else 1))
    which = asking.compiled.met(turns[0], shapes[first])
    codes = np.zeros(which.shape, asking.data.storage)
    turn = k if which.size > 1 else k // len(pools)
    for index in np.unique(which):
        here = which == index
        codes[here] = _some(pools[index], int(here.sum()), turn)
    return (codes, *tensors)


def shapes_of(layout: Layout, sizes: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """Return each input's shape, given sizes of letters."""
    letters = dict(zip(letters_of(layout), sizes, strict=False))
    return {n: tuple(int(letters.get(d, d)) for d in dims) for n, dims in layout.shapes}


def others_of(
    asking: Asking, sets: Sequence[Set], shapes: Mapping[str, tuple[int, ...]], begin: int
) -> tuple[list[NDArray[np.intp]], list[Bits]]:
    """Return set index and code of each element of other inputs."""
    turns, tensors = [], []
    for name in asking.compiled.names[1:]:
        turn = ((np.arange(prod(shapes[name])) + begin) % len(sets)).reshape(shapes[name])
        codes = [sets[i][name] for i in turn.reshape(-1).tolist()]
        tensors.append(np.array(codes, asking.format_of(name).storage).reshape(shapes[name]))
        turns.append(turn)
    return turns, tensors


def _some(pool: _Pool, count: int, turn: int) -> Codes:
    n = turn * count + np.arange(count)
    sharp = pool.sharp[(n - n // 3) % len(pool.sharp)]
    # coprime to most lengths: samples evenly
    agreed = pool.agreed[n * 37 % len(pool.agreed)]
    return np.where(n % 3 == 2, agreed, sharp)
