"""Choose the calls of steps that reduce a tensor to its minimum and maximum.

The spec names ranges. For each range, the elements are the inputs that bring the last line to a
boundary of the output, and their neighbours. The two ends stand at varying indices, since kernels
search vector lanes and remainders separately.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from fractions import Fraction
from math import prod
from typing import cast

import numpy as np

from convcheck.numerics.codes import Codes
from convcheck.numerics.format import Int
from convcheck.numerics.order import positions
from convcheck.numerics.words import code_of
from convcheck.rules.body.steps import Steps
from convcheck.semantics.expected import UNDEFINED
from convcheck.semantics.expected_calls import Call
from convcheck.vectors.body.scaled import Asking, brought, next_to
from convcheck.vectors.model import Tier

# elements of a call
_ELEMENTS: Mapping[Tier, int] = {"edge": 61, "boundary": 1021, "exhaustive": 1021}
_LENGTHS = (1, 2, 3, 7, 17, 33)  # lengths of short calls, cyclic
_SIZES = (2, 3, 3, 5)  # dimensions of a layout with several letters
_PAST = Fraction(1, 4)  # of a step, past a boundary


def ranged_calls(asking: Asking, steps: Steps) -> list[Call]:
    """Return the calls of a case, one tensor each. Deterministic."""
    fmt = asking.data
    ranges = [tuple(code_of(fmt, word)[0] for word in words) for words in steps.ends]
    [(_, dims)] = asking.layout.shapes
    sizes = tuple(int(d) if d.isdigit() else size for d, size in zip(dims, _SIZES, strict=False))
    made = [_tensor(asking, np.array(ends, fmt.storage), k) for k, ends in enumerate(ranges)]
    if len(dims) == 1:
        short = [one[: _LENGTHS[k % len(_LENGTHS)]] for k, one in enumerate(made)]
        return [(one,) for one in (*made, *short, made[0][:0])]
    return [(np.resize(one, prod(sizes)).reshape(sizes),) for one in made]


def _tensor(asking: Asking, ends: Codes, k: int) -> Codes:
    rng = np.random.Generator(np.random.PCG64([asking.seed, k, zlib.crc32(ends.tobytes())]))
    codes = rng.permutation(_between(asking, ends, rng))[: _ELEMENTS[asking.tier] - len(ends)]
    return cast(Codes, rng.permutation(np.concatenate([ends, codes])))


def _between(asking: Asking, ends: Codes, rng: np.random.Generator) -> Codes:
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
