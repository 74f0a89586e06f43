"""Choose the calls of type promotions; the first case with a result type tests values."""

import zlib
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import prod

import numpy as np

from convcheck.numerics.format import Bool, Float, Int, Numeric, Text, text_of_format
from convcheck.numerics.number import Codes, from_fractions
from convcheck.numerics.order import at, signed, special_codes
from convcheck.rules.model import Attributes, Case, Spec
from convcheck.semantics.body.matrix import Conversion, FoundCell, conversion, find, plain_codes
from convcheck.semantics.expected import Call
from convcheck.vectors.inputs import numeric_inputs
from convcheck.vectors.model import Coverage, Tier

_RANDOM = 1
_AT_EDGE = 10  # values per row, for a tensor
_OF_SCALAR, _OF_ROUNDED = 3, 6  # calls per row, and if it rounds
_OPEN = 2  # values per undefined row
_MORE = 32  # factor in other tiers

Row = tuple[str, str]
Groups = dict[Row, Codes]


def matrix_calls(spec: Spec, case: Case, tier: Tier, seed: int) -> tuple[list[Call], Coverage]:
    """Return a case's calls: one for the type, then values if it tests them."""
    layout = next(one for one in spec.layouts if case.layout in ("", one.name))
    shapes = [dims for _, dims in layout.shapes]
    plain = [plain_codes(t.format) for t in case.inputs]
    # as few elements as shapes allow; a tensor of one is a tensor
    calls = [_call(shapes, [c[-_least(s) :] for c, s in zip(plain, shapes, strict=True)], -1)]
    found = find(spec, case.inputs, case.ranks, case.attributes)
    if not _asks_values(spec, case, found):
        return calls, "edge"
    conversions = [conversion(spec, t, found.target) for t in case.inputs]
    groups = [_groups(each, tier, seed) for each in conversions]
    more = 1 if tier == "edge" else _MORE
    for row in dict.fromkeys([*groups[0], *groups[1]]):
        codes = [g.get(row, p) for g, p in zip(groups, plain, strict=True)]
        sides = zip(groups, conversions, shapes, strict=True)
        turns = 1  # a scalar holds one value
        for group, each, shape in sides:
            if row in group and not shape:
                most = (_OF_ROUNDED if _rounds(each) else _OF_SCALAR) * more
                turns = max(turns, min(len(group[row]), most))
        calls += [_call(shapes, codes, turn) for turn in range(turns)]
    free = [any(not d.isdigit() for d in dims) for dims in shapes]
    if any(free):
        codes = [c[:0] if is_free else c for c, is_free in zip(plain, free, strict=True)]
        calls.append(_call(shapes, codes, 0))
    return calls, "edge"


def _rounds(each: Conversion) -> bool:
    source, target = each.source.format, each.target.format
    if not isinstance(target, Float) or isinstance(source, Text):
        return False
    if not isinstance(source, Float):
        return source.bits > target.mantissa
    return source.mantissa > target.mantissa or source.value(1) < target.value(1)


def _call(shapes: Sequence[tuple[str, ...]], codes: Sequence[Codes], turn: int) -> Call:
    return tuple(
        _tensor(dims, c) if dims else np.array(c[turn % len(c)])
        for dims, c in zip(shapes, codes, strict=True)
    )


def _tensor(dims: tuple[str, ...], codes: Codes) -> Codes:
    letters = [d for d in dims if not d.isdigit()]
    lengths = dict.fromkeys(letters, 1)
    if letters:
        lengths[letters[0]] = -(-len(codes) // _least(dims))
    return np.resize(codes, [int(d) if d.isdigit() else lengths[d] for d in dims])


def _least(dims: tuple[str, ...]) -> int:
    return prod(int(d) for d in dims if d.isdigit())


def _asks_values(spec: Spec, case: Case, found: FoundCell) -> bool:
    if not found.certain:
        return False
    for attributes in _combinations(spec):
        if attributes == case.attributes:
            return True
        other = find(spec, case.inputs, case.ranks, attributes)
        if other.certain and other.target == found.target:
            return False
    return True  # the spec does not enumerate this case


@lru_cache(maxsize=4)
def _combinations(spec: Spec) -> tuple[Attributes, ...]:
    names = [attribute.name for attribute in spec.attributes]
    values = product(*(attribute.values for attribute in spec.attributes))
    return tuple(tuple(zip(names, each, strict=True)) for each in values)


@lru_cache(maxsize=1024)
def _groups(each: Conversion, tier: Tier, seed: int) -> Groups:
    codes = _candidates(each, tier, seed)
    codes = codes[~np.isin(codes, plain_codes(each.source.format))]
    rows = each.run(codes).rows
    most = _AT_EDGE if tier == "edge" else _AT_EDGE * _MORE
    groups: Groups = {}
    for row in np.unique(rows):
        decision = each.program.decisions[row]
        some = _OPEN if decision.level == "undefined" and tier == "edge" else most
        groups[decision.rule, decision.row] = codes[rows == row][:some]
    return groups


def _candidates(each: Conversion, tier: Tier, seed: int) -> Codes:
    source, target = each.source.format, each.target.format
    assert isinstance(source, Float | Int | Bool)  # noqa: S101  a matrix has no texts
    assert isinstance(target, Float | Int | Bool)  # noqa: S101
    pair = zlib.crc32(f"{text_of_format(source)} {text_of_format(target)}".encode())
    rng = np.random.Generator(np.random.PCG64([seed, pair]))
    negative_zero = source.sign_bit if isinstance(source, Float) else 0
    tiny = [negative_zero | 1] if isinstance(source, Float) else []
    parts = [
        _ends(source, target),
        np.array(tiny, source.storage),
        _sharp(source, target),
        _ties(source, target),
        np.array([negative_zero], source.storage),
        special_codes(source)[::-1],  # negative ones first
    ]
    if tier != "edge":
        parts.append(numeric_inputs(source, target, "edge", seed)[0])
    top = (1 << source.bits) - 1
    parts.append(rng.integers(0, top, _RANDOM, np.uint64, endpoint=True).astype(source.storage))
    codes: Codes = np.concatenate(parts)
    return codes[np.sort(np.unique(codes, return_index=True)[1])]


def _ends(source: Numeric, target: Numeric) -> Codes:
    """Return codes at the ends of an integer target's range that convert to different values."""
    if not isinstance(target, Int) or (target.max >= source.max and target.min <= source.min):
        return np.empty(0, source.storage)
    ends = np.array([int(target.max) - source.signed, -int(target.min)], np.uint64)
    return signed(source, ends, np.array([False, True]))


def _ties(source: Numeric, target: Numeric) -> Codes:
    """Return codes at and next to ties of a float target; intermediate types lose high steps."""
    if not isinstance(target, Float) or source == target:
        return np.empty(0, source.storage)
    half = Fraction(1, 2 << target.mantissa)  # half an ulp at 1
    high = min(source.max.numerator.bit_length() - 2, target.highest_exponent - 1)
    low = Fraction(1) if isinstance(source, Float) else Fraction(2 << target.mantissa)
    ties = [base * (1 + k * half) for base in (low, Fraction(2) ** high) for k in (1, 3)]
    ties += [target.value(1) * k / 2 for k in (1, 3)]
    # steps from each tie
    turns = [(0, 0, 1, -1, 0, 0), (1, -1, 0, 0, 1, -1), (-1, 1, -1, 1, -1, 1)]
    places = np.cumsum([tie <= source.max for tie in ties]) - 1  # of those within reach
    parts = [
        _at(source, ties, steps, (places % 2 == turn % 2).tolist())
        for turn, steps in enumerate(turns)
    ]
    return np.concatenate(parts)


def _sharp(source: Numeric, target: Numeric) -> Codes:
    """Return codes that discriminate well alone, past ties and in far binades."""
    if source == target or isinstance(target, Bool):
        return np.empty(0, source.storage)
    if isinstance(target, Int):
        power = [Fraction(2) ** (min(source.bits, target.bits) // 2)]
        return _at(source, power, [0], [False])
    half, least = Fraction(1, 2 << target.mantissa), target.value(1) / 2
    top = min(source.max.numerator.bit_length() - 1, target.highest_exponent)
    past = [(1 + half) * Fraction(2) ** top, (2 - half) * Fraction(2) ** (top - 1)]
    if isinstance(source, Float) and source.mantissa <= target.mantissa:
        past = [least, 3 * least]  # its only ties
    low = [least, least, 3 * least / 2**64] if isinstance(source, Float) else []
    return _at(source, past + low, [1, 0, 0, 1, 0], [False, True, False, False, False])


def _at(
    source: Numeric, numbers: Sequence[Fraction], steps: Sequence[int], negative: Sequence[bool]
) -> Codes:
    room = [i for i, number in enumerate(numbers) if number <= source.max]
    signs = np.array([negative[i] and source.signed for i in room], bool)
    offsets = np.array([steps[i] for i in room], np.int64)
    return at(source, from_fractions([numbers[i] for i in room]), offsets, signs)
