"""The places of elements that the elements of the first input meet, also by mistake."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

NONE = -1  # the place of what is not there, which is read as 0
Places = NDArray[np.intp]


def met(places: Places, shape: tuple[int, ...], along: tuple[int, int] | None = None) -> Places:
    """Return the place that each element meets, along an axis or broadcast. Raises ValueError."""
    if along and places.ndim and places.shape != shape:
        return met_along(places, shape, *along)
    return np.broadcast_to(places, shape)


def met_along(index: Places, shape: tuple[int, ...], axis: int, block: int) -> Places:
    """Return the place that each element meets along an axis or in blocks. Raises ValueError."""
    if not -len(shape) <= axis < len(shape):
        raise ValueError("no such axis")
    if index.ndim == 1 and not block:
        ends = [1] * len(shape)
        ends[axis] = index.size
        return np.broadcast_to(index.reshape(ends), shape)
    if not block or index.ndim != len(shape):
        raise ValueError("neither one nor all dimensions")
    several = np.repeat(index, block, axis)
    if not 0 <= several.shape[axis] - shape[axis] < block:
        raise ValueError("too few blocks, or too many")
    several = several.take(np.arange(shape[axis]), axis)
    return np.broadcast_to(several, shape)


# How an element at `j` of an axis finds one of `count` by mistake, of which each is there `block`
# times.
_IN_BLOCKS: Mapping[str, Callable[[Places, int, int], Places]] = {
    "next": lambda j, count, block: (
        (j // block - 1) % count
    ),  # the one before, of the first the last
    "interleaved": lambda j, count, block: j % count,  # elements of blocks in turns
    # what is left over behind whole blocks meets what the last whole one does
    "whole-blocks": lambda j, count, block: np.minimum(j // block, max(len(j) // block - 1, 0)),
    # blocks of equal sizes, as the shapes have it
    "even-blocks": lambda j, count, block: np.minimum(j // max(len(j) // count, 1), count - 1),
}
_IN_VECTORS: Mapping[str, Callable[[int], int]] = {
    "axis-1": lambda axis: 1,
    "axis-before": lambda axis: axis - 1 if axis < 0 else axis,
}


def met_wrongly(word: str, places: Places, shape: tuple[int, ...], axis: int, block: int) -> Places:
    """Return the place that each element meets by a mistake, one of MEETINGS."""
    if word == "first":  # all meet the first element
        return np.broadcast_to(places.reshape(-1)[0], shape)
    if block and word == "no-blocks" and len(shape) == 1:
        # an element meets the one at its own place, behind the last one none
        return np.concatenate([places, np.full(shape, NONE)])[: shape[0]]
    if block:
        j, count = np.arange(shape[axis]), places.shape[axis]
        at = _IN_BLOCKS[word](j, count, block) if word in _IN_BLOCKS else j // block
        return np.asarray(places.take(at, axis))
    if word == "in-memory":  # from element to element, whatever the axis
        return np.resize(places, shape)
    places = np.roll(places, 1) if word == "next" else places
    axis = _IN_VECTORS[word](axis) if word in _IN_VECTORS else axis
    ends = [1] * len(shape)
    ends[axis] = shape[axis]
    return np.broadcast_to(np.resize(places, shape[axis]).reshape(ends), shape)
