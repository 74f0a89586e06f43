"""Infer a tensor's possible values, never too few: constants, or bounds by operators."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from convcheck.models.graph import ModelNode, Scope, constant_tensor, distinct_codes
from convcheck.numerics.codec import decode
from convcheck.numerics.format import Bool, Float, Int, Numeric, Text
from convcheck.numerics.number import FINITE, Bits
from convcheck.rules.model import DType

_DEPTH = 64  # nodes to go back
_SAME_VALUES = frozenset(
    ("Identity", "Reshape", "Squeeze", "Unsqueeze", "Transpose", "Flatten", "Slice", "Gather",
     "GatherElements", "GatherND", "Split", "Expand", "Tile", "DepthToSpace", "SpaceToDepth",
     "ReverseSequence")
)  # fmt: skip
_ANY_OF: Mapping[str, slice] = {"Concat": slice(None), "Where": slice(1, 3)}
_BOUNDS: Mapping[str, tuple[float, float]] = {
    "Shape": (0, math.inf), "Size": (0, math.inf), "NonZero": (0, math.inf),
    "ArgMax": (0, math.inf), "ArgMin": (0, math.inf), "Relu": (0, math.inf),
    "Abs": (0, math.inf), "Sqrt": (0, math.inf), "Exp": (0, math.inf), "Softplus": (0, math.inf),
    "Sigmoid": (0, 1), "HardSigmoid": (0, 1), "Softmax": (0, 1), "Tanh": (-1, 1), "Erf": (-1, 1),
    "Sin": (-1, 1), "Cos": (-1, 1), "Sign": (-1, 1),
}  # fmt: skip
_WRAPS = frozenset(("Abs",))  # their lowest integer maps to itself


@dataclass(frozen=True)
class KnownValues:
    """The possible values of a tensor."""

    low: float = -math.inf
    high: float = math.inf
    codes: Bits | None = None  # all possible codes, or texts
    why: str = ""  # the source in a word, or ''

    @property
    def is_bounded(self) -> bool:
        """Whether anything is known."""
        return self.codes is not None or self.low > -math.inf or self.high < math.inf


ANYTHING = KnownValues()


def known_values(scope: Scope, name: str, depth: int = 0) -> KnownValues:
    """Return the possible values. Cached; a cycle gives no knowledge."""
    at = scope.holder(name)
    if at is None or depth > _DEPTH:
        return ANYTHING
    if name not in at.found:
        at.found[name] = ANYTHING
        at.found[name] = _known(at, name, depth)
    found: KnownValues = at.found[name]
    return found


def _known(at: Scope, name: str, depth: int) -> KnownValues:
    dtype = at.types.get(name)
    if name in at.constants and dtype is not None:
        tensor = constant_tensor(at, name)
        if tensor is None:
            return ANYTHING
        return KnownValues(codes=distinct_codes(tensor), why="constant")
    maker = at.makers.get(name)
    return ANYTHING if maker is None else _made(maker, dtype, depth)


def _made(node: ModelNode, dtype: DType | None, depth: int) -> KnownValues:
    if node.domain:
        return ANYTHING
    if node.op in _SAME_VALUES:
        return known_values(node.scope, node.inputs[0], depth + 1)
    if node.op in _ANY_OF:
        parts = [known_values(node.scope, one, depth + 1) for one in node.inputs[_ANY_OF[node.op]]]
        return _union(parts)
    if node.op == "Clip":
        return _clipped(node, dtype, depth)
    is_whole = dtype is None or isinstance(dtype.format, Int)
    if node.op in _BOUNDS and not (node.op in _WRAPS and is_whole):
        low, high = _BOUNDS[node.op]
        return KnownValues(low, high, why=node.op)
    return ANYTHING


def _union(parts: list[KnownValues]) -> KnownValues:
    if not parts:
        return ANYTHING
    codes = [one.codes for one in parts if one.codes is not None]
    if len(codes) == len(parts):
        return KnownValues(codes=np.unique(np.concatenate(codes)), why="constant")
    if codes:  # they do not form an interval
        return ANYTHING
    why = ", ".join(dict.fromkeys(one.why for one in parts))
    return KnownValues(min(p.low for p in parts), max(p.high for p in parts), why=why)


def _clipped(node: ModelNode, dtype: DType | None, depth: int) -> KnownValues:
    ends = [-math.inf, math.inf]
    for at, attribute in enumerate(("min", "max")):
        given = node.attributes.get(attribute)
        if isinstance(given, int | float):
            ends[at] = float(given)
        name = node.inputs[at + 1] if len(node.inputs) > at + 1 else ""
        told = known_values(node.scope, name, depth + 1).codes if name else None
        if told is not None and len(told) == 1 and dtype and not isinstance(dtype.format, Text):
            ends[at] = float(values_of(dtype.format, told)[0])
    low, high = ends
    bounded = low <= high and not (math.isnan(low) or math.isnan(high))
    found = KnownValues(low, high, why=node.op) if bounded else ANYTHING
    return found if found.is_bounded else replace(found, why="")


def values_of(fmt: Numeric, codes: Bits) -> NDArray[np.float64]:
    """Round codes to float64 (monotone), NaN for NaN."""
    found = decode(fmt, np.asarray(codes, fmt.storage))
    with np.errstate(over="ignore"):
        scale = np.clip(found.exponent - 63, -2000, 2000)
        size = np.ldexp(found.significand.astype(np.float64), scale)
    size[found.kind == 1] = np.inf
    size[found.kind == 2] = np.nan
    return np.where(found.sign, -size, size)


def ends_of_codes(fmt: Numeric, codes: Bits) -> tuple[int, int]:
    """Return the codes of least and greatest number; NaN wins."""
    values = values_of(fmt, codes)
    return int(codes[values.argmin()]), int(codes[values.argmax()])


def may_occur(fmt: Numeric, codes: Bits, known: KnownValues) -> NDArray[np.bool_]:
    """Mask possible codes: always NaN, infinity on an unbounded side."""
    values = values_of(fmt, codes)
    if known.codes is not None:
        return np.isin(codes, known.codes)
    return np.isnan(values) | ((values >= known.low) & (values <= known.high))


def ends_of(fmt: Numeric, known: KnownValues) -> Bits:
    """Return codes at the ends, and around zero."""
    if isinstance(fmt, Bool):
        return np.array([0, 1], fmt.storage)
    if not isinstance(fmt, Float):
        low, high = (int(end) for end in (fmt.min, fmt.max))
        low = max(low, math.ceil(known.low)) if known.low > -math.inf else low
        high = min(high, math.floor(known.high)) if known.high < math.inf else high
        near = [n for n in (low, high, -1, 0, 1) if low <= n <= high]
        return np.array([n & fmt.mask for n in dict.fromkeys(near)], np.uint64).astype(fmt.storage)
    magnitudes = [0, 1, *(_at_most(fmt, abs(end)) for end in (known.low, known.high))]
    signs = (0, fmt.sign_bit) if fmt.signed else (0,)
    codes = [m | sign for m in dict.fromkeys(magnitudes) for sign in signs]
    every = np.array(codes, np.uint64).astype(fmt.storage)
    finite = decode(fmt, every).kind == FINITE
    kept: Bits = every[finite & may_occur(fmt, every, known)]
    return kept


def _at_most(fmt: Float, size: float) -> int:
    low, high = 0, fmt.max_magnitude
    while low < high:
        middle = (low + high + 1) // 2
        if values_of(fmt, np.array([middle], fmt.storage))[0] <= size:
            low = middle
        else:
            high = middle - 1
    return low


def holds_all(source: Numeric, target: Numeric, known: KnownValues) -> bool:
    """Return whether a destination has every possible finite number, by its parameters."""
    if isinstance(target, Float) and not target.zero:
        return source == target
    if isinstance(source, Bool):
        return True
    if isinstance(source, Float):
        signs = target.signed or not source.signed
        return isinstance(target, Float) and target.has_all(source) and signs
    if isinstance(target, Bool):
        return False
    low, high = max(float(source.min), known.low), min(float(source.max), known.high)
    if isinstance(target, Float):
        most = min(2.0 ** (target.mantissa + 1), float(target.max))
        return target.signed and max(-low, high) <= most
    return (float(target.min) <= low and high <= float(target.max) and source.bits <= 53) or (
        int(target.min) <= int(source.min) and int(source.max) <= int(target.max)
    )  # fmt: skip
