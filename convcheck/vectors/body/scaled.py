"""Which calls are worth asking of steps of which the spec says what brings the last line to a
value, or which convert nothing: of what is scaled.

The values worth asking follow from those that the spec names for the other inputs: for codes of
the output, the data that bring the last line to a boundary, and their neighbours. They are asked
in the simplest layouts; other layouts are asked few values, a set of the other inputs an element.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import cast

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.codec import decode
from convcheck.numerics.codes import Bits, Codes
from convcheck.numerics.format import Float, Format, Numeric
from convcheck.numerics.modes import MODES
from convcheck.numerics.neighbours import signed, special_codes
from convcheck.numerics.number import FINITE, Numbers, from_fractions
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
from convcheck.semantics.body.fixed_steps import can_fix
from convcheck.semantics.body.steps import CompiledSteps, compile_steps, layout_of
from convcheck.semantics.expected import UNDEFINED
from convcheck.semantics.expected_calls import Call
from convcheck.semantics.program import Meaning
from convcheck.vectors.binades import boundaries_of
from convcheck.vectors.inputs import in_order, numeric_inputs
from convcheck.vectors.model import Coverage, Tier

Mask = NDArray[np.bool_]
Set = Mapping[str, int]  # input after the first -> a code of its type
# boundaries of each set that are chosen at random; codes of one, where nothing is converted
_SOME: Mapping[Tier, int] = {"edge": 3, "boundary": 1 << 12, "exhaustive": 1 << 12}
_CODES: Mapping[Tier, int] = {"edge": 12, "boundary": 1 << 12, "exhaustive": 1 << 12}
_SHARP = 2  # values closest to a boundary above an even and an odd value, on each side of it
_HALF = 0.5  # of the last place: what is closer to a boundary is rounded onto it
_ENDS = 3  # values on which readings differ, closest to a boundary and farthest from it
_COARSE = 6  # bits of mantissa that the type of a division has at least
_LOOKED_AT = 1 << 9  # boundaries among which they are looked for
_OPEN, _APART = 1, 8  # values of a set that are undefined; at random, on which readings differ
_ALL = 16  # bits of a first input of which every code is looked at
_FINE = 20  # bits after the last one of a result, by which it is told how close to a tie it is
_SHORT = 5  # bits of whole numbers that are looked at with every power of two: their products tie
_TIMES = 4  # calls of one value under each set, where each input has one
_LITTLE = 3  # values asked where little is defined
_TURNS = 5  # calls of a layout that has several values of an input
_OF_ENDS = 3  # calls of such a layout of what is about the ends of ranges
_SHIFTED = (30, 33)  # powers of two by which a shift of a 32-bit significand loses it, or wraps
_SIZES = (3, 2, 5, 2)  # of the letters of a layout that has several values of an input
_WITH_1 = (1, 3, 1, 2)  # likewise, in a call that has dimensions of 1
_LANES = 8  # elements of a vector of a kernel
_BYTE = 8  # bits
_UNEVEN = 0x8123456789ABCDEF
_FEW = 8  # values asked under codes at the ends of a type
_FAR = (31,)  # powers of two near which a machine's integers end


@dataclass(frozen=True)
class Asking:
    """What is asked; of two that are equal the same data is worth asking."""

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
    """Return what is asked of a case."""
    compiled = compile_steps(spec, case)
    return Asking(compiled.meaning, tier, seed, compiled, layout_of(spec, case))


@dataclass(frozen=True)
class _Pool:
    """Data worth asking under a set, in order."""

    #: Of which every reading says the same.
    agreed: Codes
    #: Those of them that bring the last line on a boundary, or closest to one, these first.
    sharp: Codes
    #: On which readings differ.
    apart: Codes
    #: Of what all say the same of: what is about the ends of the ranges of both types.
    ends: Codes


def scaled_calls(spec: Spec, case: Case, tier: Tier, seed: int) -> tuple[list[Call], Coverage]:
    """Return the calls of a case: a tensor of codes for each input in the question.

    The same arguments give the same calls everywhere.
    """
    asking = asking_of(spec, case, tier, seed)
    return _chosen(asking, spec.body_as(Steps)), "edge" if tier == "edge" else "sampled"


def fixed_cases(spec: Spec, case: Case) -> Iterator[Case]:
    """Yield a case of whole calls as conversions of its first input: under each set of values of
    the others that the spec names; nothing of a case that is none under any.
    """
    if not can_fix(spec, case):
        return
    asking = asking_of(spec, case, "edge", 0)
    if asking.compiled.outside:
        return
    for words in _words(asking, spec.body_as(Steps).ask):
        yield replace(case, fixed=words)


def fixed_inputs(spec: Spec, case: Case, tier: Tier, seed: int) -> tuple[Codes, Coverage]:
    """Return the codes worth asking of a conversion of a first input, in the order of values; all
    of a narrow one in the exhaustive tier.
    """
    asking = asking_of(spec, case.call, tier, seed)
    if tier == "exhaustive":
        every = np.arange(1 << asking.data.bits).astype(asking.data.storage)
        return in_order(asking.data, every), "exhaustive"
    one = tuple((name, code_of(asking.format_of(name), word)[0]) for name, word in case.fixed)
    pool = _pool(asking, one)
    codes = np.unique(np.concatenate([pool.agreed, pool.apart]))
    return in_order(asking.data, codes), "edge" if tier == "edge" else "sampled"


def codes_under(spec: Spec, case: Case, others: Mapping[str, int]) -> Codes:
    """Return the codes of a first input that are worth asking where the other inputs have these
    codes, by name; none where all is undefined then.
    """
    asking = asking_of(spec, case.call, "edge", 0)
    if _is_open(asking, others):
        return np.zeros(0, asking.data.storage)
    pool = _pool(asking, tuple(others.items()))
    return in_order(asking.data, np.unique(np.concatenate([pool.agreed, pool.apart])))


def _chosen(asking: Asking, steps: Steps) -> list[Call]:
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
            ends = _shared_out([pool.ends for pool in pools])
            calls += [_call(asking, sets, ends, k, _SIZES) for k in range(_OF_ENDS)]
        if letters and steps.back is not None:
            calls.append(_call(asking, sets, _beyond(asking, pools), 0, _SIZES))
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
    """Return the first set with other codes of some inputs: the ends of each one's type."""
    codes = {
        name: [c for c in end_codes(asking.format_of(name))
               if not _is_open(asking, {**sets[0], name: c})]
        for name in names if name in sets[0]
    }  # fmt: skip
    turns = max((len(some) for some in codes.values()), default=0)
    # two by two: four limits that are equal tell little
    offsets = {name: i // 2 for i, (name, some) in enumerate(codes.items()) if some}
    found = [
        {**sets[0], **{n: codes[n][(k + off) % len(codes[n])] for n, off in offsets.items()}}
        for k in range(turns)
    ]
    return [one for one in found if one not in sets]


def end_codes(fmt: Numeric) -> list[int]:
    """Return the two least codes of a type that are not negative, or the least, the greatest, and
    one in which no byte is like another.
    """
    uneven = [_UNEVEN >> 64 - fmt.bits] if fmt.bits > _BYTE else []
    if isinstance(fmt, Float):
        return [0, 1, fmt.max_magnitude, *(code & ~fmt.sign_bit for code in uneven)]
    return [int(fmt.min) & fmt.mask, int(fmt.max), *uneven]


def _beyond(asking: Asking, pools: Sequence[_Pool]) -> list[_Pool]:
    """Return of each pool the largest number: some kernels treat elements apart by their places,
    and what one of them does beyond the range shows wherever it is.
    """
    return [_only(_largest(asking, pool.agreed)) for pool in pools]


def _shared_out(codes: Sequence[Codes]) -> list[_Pool]:
    """Return a pool of each set's codes, begun where the others do not: few of them are taken."""
    shares = ((i * len(one) // len(codes), one) for i, one in enumerate(codes))
    return [_only(np.roll(one, -start)) for start, one in shares]


def _only(codes: Codes) -> _Pool:
    """Return the pool of nothing but some codes."""
    return _Pool(codes, codes, codes[:0], codes)


def _largest(asking: Asking, codes: Codes) -> Codes:
    """Return the code of the largest number, alone."""
    x = decode(asking.data, codes)
    place = int(np.argmax(np.where(x.kind == FINITE, _as_floats(x), -np.inf)))
    return codes[place : place + 1]


def letters_of(layout: Layout) -> list[str]:
    """Return the letters of a layout, in order."""
    dims = (dim for _, shape in layout.shapes for dim in shape)
    return list(dict.fromkeys(dim for dim in dims if dim.isalpha()))


def sets_of(asking: Asking, asked: Sequence[Words], *, defined: bool = True) -> list[Set]:
    """Return the distinct sets of codes of the other inputs that are in the question, and that
    their types hold; where `defined`, those under which something is.
    """
    return [_codes_of(asking, words) for words in _words(asking, asked, defined=defined)]


def _words(asking: Asking, asked: Sequence[Words], *, defined: bool = True) -> list[Words]:
    """Return these sets in words, in the order of the inputs."""
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
    """Return the codes of a set. Raises OutsideFormatError for what a type does not hold."""
    return {name: code_of(asking.format_of(name), word)[0] for name, word in words}


def _is_open(asking: Asking, one: Set) -> bool:
    """Return whether a set leaves everything undefined."""
    ones = np.array([code_of(asking.data, "1")[0]], asking.data.storage)
    compiled = asking.compiled
    values = compiled.decoded([inputs_under(asking, one, ones)])
    return bool(compiled.begun(compiled.steps.readings[0], values).undefined[0])


def inputs_under(asking: Asking, one: Set, data: Codes) -> list[Bits]:
    """Return data with one code of each other input."""
    others = (np.array(code, asking.format_of(name).storage) for name, code in one.items())
    return [data, *others]


# The data to ask under a set of the other inputs ---------------------------------------------


@lru_cache(maxsize=1 << 11)  # layouts and versions share them
def _pool(asking: Asking, others: tuple[tuple[str, int], ...]) -> _Pool:
    one = dict(others)
    rng = np.random.Generator(np.random.PCG64([asking.seed, zlib.crc32(repr(one).encode())]))
    ends = special_codes(asking.data).astype(asking.data.storage)
    if asking.compiled.steps.back is None:
        codes = _codes(asking.data, rng, _CODES[asking.tier])
        sharp, chosen = _sharp_results(asking, one, rng)
    elif asking.compiled.steps.back_of:
        codes = np.unique(_at_steps(asking, one, rng))
        sharp, chosen = rng.permutation(codes), codes[:0]
    else:
        codes = _at_boundaries(asking, one, rng)
        sharp, chosen = _sharp(asking, one, rng)
        ends = np.append(ends, _brought(asking, one, _ends(asking.compiled.output.format))[0])
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
    """Return of which data readings differ, and of which nothing is expected."""
    due, _ = asking.compiled.due([inputs_under(asking, one, codes)])
    [(first, patterns), *others] = [outputs[0] for outputs in due]
    apart = np.zeros(len(codes), bool)
    for other, its in others:
        apart |= (other != first) | (its != patterns)
    return apart, patterns == UNDEFINED


def _codes(fmt: Numeric, rng: np.random.Generator, count: int) -> Codes:
    """Choose codes of a format: what is special of it, and others at random."""
    some = min(count, 1 << fmt.bits)
    chosen = rng.choice(1 << fmt.bits, some, replace=False)
    ends = special_codes(fmt) if fmt.bits > 2 else np.arange(4)
    return np.concatenate([ends.astype(np.uint64), chosen.astype(np.uint64)]).astype(fmt.storage)


def _at_boundaries(asking: Asking, one: Set, rng: np.random.Generator) -> Codes:
    """Return the data that bring the last line to boundaries of the output, and next to them."""
    wanted = [*_boundaries(asking.compiled.output.format, rng, _SOME[asking.tier])]
    wanted += [Fraction(2) ** k * (1 + Fraction(d, 1 << 20)) for k in _FAR for d in (-1, 3)]
    data, _ = _brought(asking, one, wanted)
    return np.concatenate([*_next_to(asking, data), special_codes(asking.data).astype(data.dtype)])


def _at_steps(asking: Asking, one: Set, rng: np.random.Generator) -> Codes:
    """Return the data at which branches part, and between them those that bring the line that the
    spec names half-way between whole numbers, and to some of these; and what is next to them.
    """
    compiled, fmt = asking.compiled, asking.data
    ends = compiled.thresholds(numbers_under(asking, one, 1))
    at = compiled.run(inputs_under(asking, one, ends)).values[compiled.steps.back_of]
    found = [*_next_to(asking, ends), special_codes(fmt).astype(fmt.storage)]
    if (at.kind == FINITE).all():
        low, high = sorted(int(to_fraction(at, i)) for i in (0, -1))
        some = rng.integers(low, high, _SOME[asking.tier]).tolist()
        chosen = {low, low + 1, (low + high) // 2, high - 2, high - 1, *some}
        whole = sorted(k for k in chosen if low <= k < high)
        halves, _ = _brought(asking, one, [Fraction(2 * k + 1, 2) for k in whole])
        steps, _ = _brought(asking, one, [Fraction(k) for k in whole[1:3]])
        found += [*_next_to(asking, halves), steps]
    return np.concatenate(found)


def _brought(asking: Asking, one: Set, wanted: list[Fraction]) -> tuple[Codes, Rational]:
    """Return the data that bring the last line to values, rounded and as they are."""
    return asking.compiled.brought(of_fractions(wanted), numbers_under(asking, one, len(wanted)))


def numbers_under(asking: Asking, one: Set, n: int) -> dict[str, Rational]:
    """Return the values of a set, n times each."""
    formats = {name: asking.format_of(name) for name in one}
    return {
        name: of_numbers(decode(formats[name], np.full(n, code, formats[name].storage)))
        for name, code in one.items()
    }


def _next_to(asking: Asking, data: Codes, far: Sequence[int] = (1,)) -> list[Codes]:
    """Return codes, and those that are so many above and below them."""
    mask = data.dtype.type((1 << asking.data.bits) - 1)
    steps = [data.dtype.type(d) for d in far]
    return [data, *((data + d) & mask for d in steps), *((data - d) & mask for d in steps)]


def _sharp(asking: Asking, one: Set, rng: np.random.Generator) -> tuple[Codes, Codes]:
    """Return the data closest to boundaries, above and below, of which all readings say the same,
    in units of the last place of the first line: there a division that is a little off shows. So it
    does on ties with a large significand, each with another one, where its type is coarse. And of
    those on which readings differ the closest and the farthest, so that a type between those of two
    readings shows.
    """
    wanted = _inner(asking.compiled.output.format, rng)
    data, exact = _brought(asking, one, wanted)
    finer = asking.data.mantissa - _COARSE if isinstance(asking.data, Float) else 0
    around = _next_to(asking, data, [1, *(1 << k for k in range(1, finer, 2))])
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
    differing = _of_other_numbers(asking.data, codes, order[apart[order]])
    onto = ulps[agreed] <= _HALF
    odd = _is_odd_below(asking, wanted)[places]
    parts = [
        part[odd[part] == is_odd] for part in (agreed[~onto], agreed[onto]) for is_odd in (0, 1)
    ]
    sides = [part[side] for part in parts for side in (share[part] > 0, share[part] < 0)]
    sides += [ties[k::4] for k in range(4)]
    closest = differing[np.argsort(np.abs(share[differing]), kind="stable")]
    ends = [closest[:_ENDS], differing[:_ENDS], differing[-_ENDS:]]
    return codes[_by_turns(sides, rng)], codes[np.concatenate(ends)]


def _of_other_numbers(fmt: Numeric, codes: Codes, index: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return of some codes, in order, those that differ in more than the sign and the exponent."""
    if not isinstance(fmt, Float):
        return index
    significands = codes[index] & codes.dtype.type((1 << fmt.mantissa) - 1)
    firsts: NDArray[np.intp] = np.unique(significands, return_index=True)[1]
    return index.take(np.sort(firsts))


def _is_odd_below(asking: Asking, boundaries: list[Fraction]) -> Mask:
    """Return of which boundaries the value of the output next to them, towards zero, is odd: to
    that one a tie is not rounded.
    """
    fmt = cast(Numeric, asking.compiled.output.format)
    below = round_to(from_fractions(boundaries), fmt, MODES["toward-zero"]).magnitude
    return np.asarray(below % 2 == 1)


def _ulps_of_first(asking: Asking, one: Set, codes: Codes) -> NDArray[np.float64]:
    """Return what the first line gives in units of its last place, in the coarsest type in which a
    reading calculates; in very small ones where all are exact.
    """
    compiled = asking.compiled
    types = [compiled.arithmetic(reading) for reading in compiled.steps.readings]
    bits = min((t.format.mantissa for t in types if t and isinstance(t.format, Float)), default=63)
    run = compiled.run(inputs_under(asking, one, codes), compiled.plainest)
    first = run.values[compiled.lines[0].name]
    return np.ldexp(first.numbers.significand.astype(np.float64), bits - 63)


def _sharp_results(asking: Asking, one: Set, rng: np.random.Generator) -> tuple[Codes, Codes]:
    """Return the data, where nothing is converted, of which the last line is a tie of the output,
    to an even value below and above it, or closest to one; and some on which readings differ.
    """
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
    # beside a tie, only the parity that would round the tie itself the other way tells
    sides = [tie & odd, tie & ~odd, near & (off > 0) & ~odd, near & (off < 0) & odd]
    kept = _by_turns([order[(side & agreed)[order]] for side in sides], rng)
    return codes[kept], codes[rng.permutation(np.flatnonzero(apart))[:_APART]]


def _by_turns(sides: Sequence[NDArray[np.intp]], rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the first places of each side, side by side in turns."""
    shuffled = [sides[i] for i in rng.permutation(len(sides))]
    return np.concatenate([side[i : i + 1] for i in range(_SHARP) for side in shuffled])


def _candidates(asking: Asking) -> Codes:
    """Return codes of a first input among which such data is looked for: all of them, or of a wide
    type what is worth asking of a conversion to the output, and short numbers.
    """
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
    """Return numbers as they are about: their sizes are compared."""
    with np.errstate(over="ignore", under="ignore"):
        size = np.ldexp(x.significand.astype(np.float64), np.clip(x.exponent, -2000, 2000))
    return np.where(x.sign, -size, size)


def _inner(fmt: Format, rng: np.random.Generator) -> list[Fraction]:
    """Return boundaries within a type's range, so many at random where there are more."""
    if isinstance(fmt, Float):
        finer, past, _ = boundaries_of(fmt)
        halves = rng.permutation(np.arange(1, past, 2))[:_LOOKED_AT].tolist()
        values = [finer.value(int(half)) for half in halves]
        return [*values, *(-value for value in values)]
    low, high = int(cast(Numeric, fmt).min), int(cast(Numeric, fmt).max)
    if high - low < _LOOKED_AT:
        some = list(range(low, high))
    else:  # those about zero are ties of data of few bits, too
        near = range(max(low, -_LOOKED_AT // 8), _LOOKED_AT // 8)
        some = [*near, *rng.integers(low, high, _LOOKED_AT - len(near)).tolist()]
    return [Fraction(2 * q + 1, 2) for q in some]


def _boundaries(fmt: Format, rng: np.random.Generator, some: int) -> list[Fraction]:
    """Return the ends of a type's range, boundaries about zero, and others at random."""
    if isinstance(fmt, Float):
        finer, past, _ = boundaries_of(fmt)
        halves = np.arange(1, past, 2)
        inner = rng.permutation(halves)[:some].tolist()
        chosen = {1, 3, past - 3, *range(past - 1, past + 3), *inner}
        values = [finer.value(int(one)) for one in sorted(chosen)]
        return [*values, *(-value for value in values), 2 * fmt.value(fmt.max_magnitude)]
    low, high = int(cast(Numeric, fmt).min), int(cast(Numeric, fmt).max)
    inner = rng.integers(low, high, some).tolist() if some < high - low else range(low, high)
    whole = {low - 1, low, -1, 0, 1, high - 1, high, *inner}
    return [*(Fraction(2 * q + 1, 2) for q in sorted(whole)), Fraction(2 * high), Fraction(4 * low)]


def _ends(fmt: Format) -> list[Fraction]:
    """Return the boundaries at the ends of a type's range, and what a shift of a significand to the
    place of a subnormal loses.
    """
    if isinstance(fmt, Float):
        finer, past, _ = boundaries_of(fmt)
        values = [finer.value(one) for one in (1, 3, past - 3, *range(past - 1, past + 3))]
        values += [finer.value(1) / 2**k for k in _SHIFTED]
        return [*values, *(-value for value in values)]
    low, high = int(cast(Numeric, fmt).min), int(cast(Numeric, fmt).max)
    return [Fraction(2 * q + 1, 2) for q in (low - 1, low, high - 1, high)]


# Tensors -------------------------------------------------------------------------------------


def _whole(asking: Asking, one: Set, data: Codes) -> Call:
    """Ask data under one set, of a layout with one element of each other input; not as many as fill
    the vectors of a kernel. In the last byte of an output of less than a byte the largest number
    is alone: some kernels treat what fills no byte apart.
    """
    if len(data) and cast(Numeric, asking.compiled.output.format).bits < _BYTE:
        data = np.append(data, np.repeat(_largest(asking, data), 1 + len(data) % 2))
    elif len(data) and len(data) % _LANES == 0:
        data = np.append(data, data[len(data) // 3])
    return tuple(inputs_under(asking, one, data))


def _call(
    asking: Asking, sets: Sequence[Set], pools: Sequence[_Pool], k: int, sizes: Sequence[int]
) -> Call:
    """Make the k-th call: the other inputs have the sets in turn, from where the call before
    stopped, or where each has all of them, one further; and the data are of the pool of the set
    that they meet.
    """
    shapes = shapes_of(asking.layout, sizes)
    first, second, *_ = asking.compiled.names
    count = prod(shapes[second])
    turns, tensors = others_of(asking, sets, shapes, k * (count if count < len(sets) else 1))
    which = asking.compiled.met(turns[0], shapes[first])
    return (_filled(asking, which, pools, k), *tensors)


def shapes_of(layout: Layout, sizes: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """Return the shape of each input of a layout whose letters have sizes."""
    letters = dict(zip(letters_of(layout), sizes, strict=False))
    return {n: tuple(int(letters.get(d, d)) for d in dims) for n, dims in layout.shapes}


def others_of(
    asking: Asking, sets: Sequence[Set], shapes: Mapping[str, tuple[int, ...]], begin: int
) -> tuple[list[NDArray[np.intp]], list[Bits]]:
    """Return which set each element of each other input has, in turn from one on, and its codes."""
    turns, tensors = [], []
    for name in asking.compiled.names[1:]:
        turn = ((np.arange(prod(shapes[name])) + begin) % len(sets)).reshape(shapes[name])
        codes = [sets[i][name] for i in turn.reshape(-1).tolist()]
        tensors.append(np.array(codes, asking.format_of(name).storage).reshape(shapes[name]))
        turns.append(turn)
    return turns, tensors


def _filled(asking: Asking, which: NDArray[np.intp], pools: Sequence[_Pool], k: int) -> Codes:
    """Fill a tensor of which each element says the pool that it is from."""
    codes = np.zeros(which.shape, asking.data.storage)
    turn = k if which.size > 1 else k // len(pools)
    for index in np.unique(which):
        here = which == index
        codes[here] = _some(pools[index], int(here.sum()), turn)
    return codes


def _some(pool: _Pool, count: int, turn: int) -> Codes:
    """Take what is sharp, going on where the turn before stopped, but for every third element."""
    n = turn * count + np.arange(count)
    sharp = pool.sharp[(n - n // 3) % len(pool.sharp)]
    # by a step that has no divisor in common with most lengths, so that a sample is spread
    agreed = pool.agreed[n * 37 % len(pool.agreed)]
    return np.where(n % 3 == 2, agreed, sharp)
