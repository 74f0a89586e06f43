"""Inputs that only set a type. Their values and shapes vary from call to call."""

from __future__ import annotations

from functools import lru_cache
from math import prod

import numpy as np

from convcheck.judge.answers import Index
from convcheck.numerics.codes import Bits
from convcheck.numerics.format import Bool, Format, Text
from convcheck.numerics.neighbours import special_codes
from convcheck.rules.model import DType

SHAPES: tuple[tuple[int, ...], ...] = ((1,), (), (3,), (0,), (2, 2))


def companion(dtype: DType, index: Index, count: int) -> Bits:
    """Return a tensor of the type, deterministic in the elements (of `count`) and their shape."""
    shape = shape_for(index, count)
    turn = index.size + (int(index.reshape(-1)[0]) if index.size else 0)
    return _codes(dtype.format, turn, shape).copy()


@lru_cache(maxsize=4096)
def _codes(fmt: Format, turn: int, shape: tuple[int, ...]) -> Bits:
    size = prod(shape)
    if isinstance(fmt, Text):
        texts = np.empty(size, object)
        texts[:] = [str(turn + i) for i in range(size)]
        return texts.reshape(shape)
    codes = (
        np.arange(2, dtype=np.uint8) if isinstance(fmt, Bool) else np.asarray(special_codes(fmt))
    )
    return codes[(turn + np.arange(size)) % len(codes)].astype(fmt.storage).reshape(shape)


def shape_for(index: Index, count: int) -> tuple[int, ...]:
    """Choose a shape that would show if it were used or broadcast, by kind of call.

    In every other case, many elements meet a scalar.
    """
    if index.ndim == 0:
        return (1,)
    if index.ndim > 1:
        return (0,)
    if index.size == 1:
        return (2, 2)
    return () if bool(index.size) == bool(count % 2) else (3,)
