"""Choose the calls of steps around a conversion: inverted lines bring it to boundaries."""

import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import cast

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.codec import decode, decode_magnitudes
from convcheck.numerics.format import Float, Int
from convcheck.numerics.modes import nearest_even
from convcheck.numerics.number import FAR, FINITE, Codes, Numbers, from_fractions, take
from convcheck.numerics.order import at, positions
from convcheck.numerics.rational import of_numbers, subtract
from convcheck.numerics.rounding import round_to, rounded_codes
from convcheck.numerics.words import code_of
from convcheck.rules.body.steps import Steps
from convcheck.rules.model import Case, Spec
from convcheck.semantics.body.steps import target_of
from convcheck.semantics.expected import UNDEFINED, Call
from convcheck.vectors.body.scaled import (
    Asking,
    asking_of,
    brought,
    end_codes,
    inputs_under,
    letters_of,
    next_to,
    numbers_under,
    others_of,
    scaled_calls,
    sets_of,
    shapes_of,
)
from convcheck.vectors.inputs import boundaries_of, in_order, numeric_inputs
from convcheck.vectors.model import Coverage, Tier

# elements of a call
_ELEMENTS: Mapping[Tier, int] = {"edge": 61, "boundary": 1021, "exhaustive": 1021}
_LENGTHS = (1, 2, 3, 7, 17, 33)  # of short calls, cyclic
_SIZES = (2, 3, 3, 5)  # dimensions of several letters
_PAST = Fraction(1, 4)  # of a step, past a boundary


def ranged_calls(asking: Asking, steps: Steps) -> list[Call]:
    """Return a case's calls, one tensor each."""
    fmt = asking.data
    [(_, dims)] = asking.layout.shapes
    sizes = tuple(int(d) if d.isdigit() else size for d, size in zip(dims, _SIZES, strict=False))
    made = []
    for k, words in enumerate(steps.ends):
        ends = np.array([code_of(fmt, word)[0] for word in words], fmt.storage)
        rng = np.random.Generator(np.random.PCG64([asking.seed, k, zlib.crc32(ends.tobytes())]))
        inner = rng.permutation(_between(asking, ends, rng))[: _ELEMENTS[asking.tier] - len(ends)]
        made.append(rng.permutation(np.concatenate([ends, inner])))
    if len(dims) == 1:
        short = [one[: _LENGTHS[k % len(_LENGTHS)]] for k, one in enumerate(made)]
        return [(one,) for one in (*made, *short, made[0][:0])]
    return [(np.resize(one, prod(sizes)).reshape(sizes),) for one in made]


def _between(asking: Asking, ends: Codes, rng: "np.random.Generator") -> Codes:
    compiled = asking.compiled
    first, *others = compiled.due([[ends]])[0][0]
    zero = np.zeros(1, ends.dtype)
    if (first.patterns == UNDEFINED).any():
        return np.concatenate([ends, zero])
    target = cast(Int, compiled.output.format)
    inner = rng.permutation(np.arange(int(target.min), int(target.max)))
    wanted = [Fraction(2 * int(q) + 1, 2) + d for q in inner for d in (0, _PAST)]
    pairs = zip(compiled.steps.others, others, strict=True)
    data, _ = brought(asking, {name: int(one.codes[0]) for name, one in pairs}, wanted)
    near = np.unique(np.concatenate([*next_to(asking, data), zero]))
    low, high = positions(asking.data, ends).tolist()
    at = positions(asking.data, near)
    return cast(Codes, near[(at >= low) & (at <= high)])


Sizes = tuple[int, ...]  # of a layout's letters
Places = NDArray[np.intp]
Mask = NDArray[np.bool_]
WHOLE = -1  # an element for each value
# Odd sizes test tails of kernels, equal ones confused axes.
_EDGE: Mapping[int, tuple[Sizes, ...]] = {
    0: ((),) * 76,
    1: ((WHOLE,), (131,), (97,), (128,), (101,), (64,), (113,), (1,), (3,), (7,), (17,), (0,)),
    2: ((3, 97), (1, 22), (5, 1)),
    3: ((2, 3, 17), (1, 7, 33), (6, 6, 6), (5, 1, 64)),
    4: ((1, 7, 3, 7), (2, 4, 4, 4), (2, 1, 9, 1)),
}
_BOUNDARY = {**_EDGE, 3: ((1, 14, 4681), (6, 6, 6)), 4: ((1, 7, 96, 97), (2, 4, 4, 4))}
_FEW = 9  # values beside an extreme input
_LITTLE = 5  # values of mostly undefined sets
_OPEN = 12  # undefined values of a set
_ROUND = 64  # shift counts modulo 32 or 64 show from here
_TIES, _NEAR = 12, 12  # on and next to midpoints, of each reading


def steps_calls(spec: Spec, case: Case, tier: Tier, seed: int) -> tuple[list[Call], Coverage]:
    """Return a case's calls, a tensor of codes for each input."""
    asking, steps = asking_of(spec, case, tier, seed), spec.body_as(Steps)
    choose = _chosen
    if steps.ends:
        choose = ranged_calls
    elif steps.back or all(line.be for line in steps.lines):
        choose = scaled_calls
    return choose(asking, steps), "edge" if tier == "edge" else "sampled"


def _chosen(asking: Asking, steps: Steps) -> list[Call]:
    much = sets_of(asking, steps.ask, defined=False)
    if asking.compiled.outside:
        sizes = tuple(range(2, 2 + len(letters_of(asking.layout))))
        ones = _Pool(*[np.array([code_of(asking.data, "1")[0]], asking.data.storage)] * 2)
        return [_call(asking, much[:1], [ones], 0, sizes)]
    pools = [_pool(asking, tuple(one.items())) for one in much]
    used = Counter[int]()
    chosen = (_EDGE if asking.tier == "edge" else _BOUNDARY)[len(letters_of(asking.layout))]
    if asking.tier == "edge" and not _is_vector(asking):
        chosen = tuple(sizes for sizes in chosen if sizes != (WHOLE,))
    calls = [_call(asking, much, pools, k, sizes, used) for k, sizes in enumerate(chosen)]
    if asking.tier != "edge" and chosen[0] == (WHOLE,):
        calls = [_call(asking, much, pools, k, (WHOLE,)) for k in range(len(much))] + calls[1:]
    if not _is_vector(asking):
        return calls
    ends = _at_ends(asking, steps.extremes, much[0])
    little = sets_of(asking, steps.ask_little, defined=False)
    few = (_call(asking, [one], pools[:1], 0, (_LITTLE,)) for one in little)
    return [*calls, *_exact(asking, much), *ends, *few]


def _is_vector(asking: Asking) -> bool:
    _, *others = asking.layout.shapes
    one = all(dim == "1" for _, dims in others for dim in dims)
    return one and len(letters_of(asking.layout)) == 1


@dataclass(frozen=True)
class _Pool:
    """Shuffled data. `sharp`: zeros, hard values, and the closest to boundaries."""

    sharp: Codes
    rest: Codes


@lru_cache(maxsize=64)
def _pool(asking: Asking, others: tuple[tuple[str, int], ...]) -> _Pool:
    one, target = dict(others), target_of(asking.compiled.conversion, asking.compiled.case)
    wanted, coverage = numeric_inputs(asking.data, target.format, asking.tier, asking.seed)
    rng = np.random.Generator(np.random.PCG64([asking.seed, zlib.crc32(repr(one).encode())]))
    sharp = _sharp(asking, one, cast(Float, target.format), rng)
    if coverage == "exhaustive":
        return _Pool(sharp, rng.permutation(np.setdiff1d(wanted, sharp)))
    codes = rng.permutation(np.setdiff1d(_undone(asking, one, wanted), sharp))
    undefined = ~_is_defined(asking, one, codes)
    return _Pool(sharp, codes[~undefined | (np.cumsum(undefined) <= _OPEN)])


def _undone(asking: Asking, one: Mapping[str, int], wanted: Codes) -> Codes:
    return asking.compiled.undone(wanted, numbers_under(asking, one, len(wanted)))


def _sharp(
    asking: Asking, one: Mapping[str, int], target: Float, rng: "np.random.Generator"
) -> Codes:
    fmt = cast(Float, asking.data)
    finer, past, _ = boundaries_of(target)
    boundaries = decode_magnitudes(finer, np.arange(past, dtype=np.uint64))
    zero = np.zeros(past, np.int64)
    wanted = [at(fmt, boundaries, zero, np.full(past, sign)) for sign in (False, True)]
    # a 64-bit shift makes these the target's subnormals
    small = Fraction(3, 2) * Fraction(2) ** (_least_normal(target) - _ROUND)
    tiny = rounded_codes(from_fractions([small, -small]), fmt)
    data = _undone(asking, one, np.concatenate([*wanted, tiny]))
    codes = np.unique(np.concatenate(next_to(asking, data, (1, 2))))
    compiled = asking.compiled
    readings = [reading for reading in compiled.steps.readings if not reading.exact]
    runs = [compiled.run(inputs_under(asking, one, codes), reading) for reading in readings]
    reached = [run.values[compiled.conversion.source].numbers for run in runs]
    chosen = [codes[_closest(x, target, finer, rng)] for x in reached]
    zeros = np.array([0, fmt.sign_bit], fmt.storage)  # the first call has both
    kinds = zip(*(_kinds(x, target, finer) for x in reached), strict=True)
    first = [np.flatnonzero(np.logical_and.reduce(masks))[:1] for masks in kinds]
    telling = codes[np.unique(np.concatenate(first))]
    closest = np.setdiff1d(np.concatenate(chosen), np.concatenate([zeros, telling]))
    return np.concatenate([zeros, telling, rng.permutation(closest)])


def _least_normal(fmt: Float) -> int:
    return fmt.lowest_exponent + fmt.mantissa


def _kinds(x: Numbers, target: Float, finer: Float) -> tuple[Mask, ...]:
    """Mask far below subnormals, subnormal ties rounded down, just above 1, above -1, below max."""
    count = _least_normal(target) - x.exponent
    far = (x.kind == FINITE) & (x.significand != 0)
    far &= (count >= _ROUND) & (count <= _ROUND + target.mantissa)
    magnitude, midpoint, off = _from_midpoint(x, target, finer)
    subnormal = midpoint & (magnitude < np.uint64(2 << target.mantissa))
    tie = off.significand == 0
    below = off.sign & ~tie
    down = subnormal & tie & (magnitude % np.uint64(4) == 1) & ~x.sign
    near = subnormal & ~tie
    top = midpoint & (magnitude == np.uint64(2 * target.max_magnitude + 1)) & below
    return far, down, near & ~below & ~x.sign, near & below & x.sign, top


def _closest(x: Numbers, target: Float, finer: Float, rng: "np.random.Generator") -> Places:
    _, midpoint, off = _from_midpoint(x, target, finer)
    ties = np.flatnonzero(midpoint & (off.significand == 0))
    order = np.argsort(np.where(midpoint, off.exponent - x.exponent, FAR), kind="stable")
    near = order[midpoint[order] & (off.significand[order] != 0)][:_NEAR]
    return np.concatenate([rng.permutation(ties)[:_TIES], near])


def _from_midpoint(
    x: Numbers, target: Float, finer: Float
) -> tuple[NDArray[np.uint64], Mask, Numbers]:
    """Return the nearest finer magnitude, whether it is a midpoint, and the unsigned distance."""
    magnitude = round_to(x, finer, nearest_even).magnitude
    inside = (x.kind == FINITE) & (magnitude < np.uint64(2 * target.max_magnitude + 2))
    midpoint = inside & (magnitude % np.uint64(2) == 1)
    positive = Numbers(x.kind, np.zeros(len(x), bool), x.exponent, x.significand)
    middle = decode_magnitudes(finer, np.where(midpoint, magnitude, 0))
    return magnitude, midpoint, subtract(of_numbers(positive), of_numbers(middle)).numbers


def _is_defined(asking: Asking, one: Mapping[str, int], codes: Codes) -> Mask:
    compiled = asking.compiled
    patterns = compiled.finished(compiled.run(inputs_under(asking, one, codes))).patterns
    return np.asarray(patterns != UNDEFINED)


def _call(
    asking: Asking,
    sets: Sequence[Mapping[str, int]],
    pools: Sequence[_Pool],
    k: int,
    sizes: Sizes,
    used: Counter[int] | None = None,
) -> Call:
    """Return the k-th call. `used` counts sharp codes taken from each pool."""
    if sizes == (WHOLE,):
        pool = pools[k % len(pools)]
        sizes = (len(pool.sharp) + len(pool.rest),)
    shapes = shapes_of(asking.layout, sizes)
    turns, tensors = others_of(asking, sets, shapes, k)
    shape = shapes[asking.compiled.names[0]]
    which = np.zeros(shape, np.intp)
    if not asking.compiled.outside and turns:
        which = np.broadcast_to(turns[0], shape)
    taken = Counter[int]() if used is None else used
    codes = np.zeros(which.shape, asking.data.storage)
    for index in np.unique(which):
        here = which == index
        pool, count = pools[index], int(here.sum())
        half = (count + 1 - k // len(pools) % 2) // 2  # a single element alternates
        sharp = min(len(pool.sharp), max(count - len(pool.rest), half))
        chosen = _window(pool.sharp, taken[index], sharp), _window(pool.rest, k * 37, count - sharp)
        codes[here] = in_order(asking.data, np.concatenate(chosen))
        taken[index] += sharp
    return (codes, *tensors)


def _window(codes: Codes, start: int, count: int) -> Codes:
    return codes[(np.arange(count) + start) % len(codes)] if count else codes[:0]


def _only(asking: Asking, one: Mapping[str, int], codes: Codes) -> list[Call]:
    pool = _Pool(codes, codes[:0])
    return [_call(asking, [one], [pool], 0, (len(codes),))] if len(codes) else []


def _exact(asking: Asking, sets: Sequence[Mapping[str, int]]) -> Iterator[Call]:
    fmt = cast(Float, target_of(asking.compiled.conversion, asking.compiled.case).format)
    every = decode(fmt, np.arange(1 << fmt.bits).astype(fmt.storage))
    finite = take(every, np.flatnonzero(every.kind == FINITE))
    values = rounded_codes(finite, cast(Float, asking.data))
    for one in sets:
        data = _undone(asking, one, values)
        kept = data[asking.compiled.exact(inputs_under(asking, one, data))]
        yield from _only(asking, one, in_order(asking.data, kept))


def _at_ends(asking: Asking, names: Sequence[str], first: Mapping[str, int]) -> Iterator[Call]:
    for code in end_codes(asking.data):
        one = {name: code if name in names else other for name, other in first.items()}
        pool = _pool(asking, tuple(one.items()))
        codes = np.concatenate([pool.sharp, pool.rest])
        yield from _only(asking, one, codes[_is_defined(asking, one, codes)][:_FEW])
