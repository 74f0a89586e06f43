"""What elements of a tensor the elements of the first input meet; word -> what they do by mistake.

A mistake takes the places of the tensor's elements, the shape of the first input, the axis and how
often an element is repeated along it, 0 for a vector; and gives a place for each element of that
shape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from convcheck.rules.call_edits import MEETINGS

NONE = -1  # the place of what is not there, which is read as 0
Places = NDArray[np.intp]
Meeting = Callable[[Places, tuple[int, ...], int, int], Places]


def met(places: Places, shape: tuple[int, ...], along: tuple[int, int] | None = None) -> Places:
    """Return what each element of a tensor of a shape meets of another: along an axis and in blocks
    of a size where these are given, else as numpy broadcasts. Raises ValueError where they do not
    meet.
    """
    if along and places.ndim and places.shape != shape:
        return met_along(places, shape, *along)
    return np.broadcast_to(places, shape)


def met_along(index: Places, shape: tuple[int, ...], axis: int, block: int) -> Places:
    """Return what each element of a tensor of a shape meets of a vector that goes along an axis,
    or of a tensor each element of which is there `block` times. Raises ValueError where they do
    not meet.
    """
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


def _first(places: Places, shape: tuple[int, ...], axis: int, block: int) -> Places:
    return np.broadcast_to(places.reshape(-1)[0], shape)


def _next(places: Places, shape: tuple[int, ...], axis: int, block: int) -> Places:
    """The element before the right one, of the first the last."""
    along = axis if block else 0
    return _spread(np.roll(places, 1, along), shape, axis, block)


def _in_memory(places: Places, shape: tuple[int, ...], axis: int, block: int) -> Places:
    return np.resize(places, shape) if not block else _spread(places, shape, axis, block)


def _axis_before(places: Places, shape: tuple[int, ...], axis: int, block: int) -> Places:
    if block or axis >= 0:
        return _spread(places, shape, axis, block)
    return _along(places, shape, axis - 1)


def _axis_1(places: Places, shape: tuple[int, ...], axis: int, block: int) -> Places:
    return _along(places, shape, 1) if not block else _spread(places, shape, axis, block)


def _interleaved(places: Places, shape: tuple[int, ...], axis: int, block: int) -> Places:
    if not block:
        return _spread(places, shape, axis, block)
    found: Places = places.take(np.arange(shape[axis]) % places.shape[axis], axis)
    return found


def _whole_blocks(places: Places, shape: tuple[int, ...], axis: int, block: int) -> Places:
    """What is left over behind whole blocks meets what the last whole one does."""
    if not block:
        return _spread(places, shape, axis, block)
    last = max(shape[axis] // block - 1, 0)
    found: Places = places.take(np.minimum(np.arange(shape[axis]) // block, last), axis)
    return found


def _even_blocks(places: Places, shape: tuple[int, ...], axis: int, block: int) -> Places:
    """The size of a block is what the shapes say, rounded down."""
    if not block:
        return _spread(places, shape, axis, block)
    count = places.shape[axis]
    size = max(shape[axis] // count, 1)
    found: Places = places.take(np.minimum(np.arange(shape[axis]) // size, count - 1), axis)
    return found


def _no_blocks(places: Places, shape: tuple[int, ...], axis: int, block: int) -> Places:
    """An element of a vector meets the one at its own place, behind the last one none."""
    if not block or len(shape) != 1:
        return _spread(places, shape, axis, block)
    return np.concatenate([places, np.full(shape, NONE)])[: shape[0]]


def _along(places: Places, shape: tuple[int, ...], axis: int) -> Places:
    """Along an axis, again from the first where there are too few."""
    ends = [1] * len(shape)
    ends[axis] = shape[axis]
    return np.broadcast_to(np.resize(places, shape[axis]).reshape(ends), shape)


def _spread(places: Places, shape: tuple[int, ...], axis: int, block: int) -> Places:
    """As it is right."""
    if not block:
        return _along(places, shape, axis)
    return np.repeat(places, block, axis).take(np.arange(shape[axis]), axis)


WRONGLY: Mapping[str, Meeting] = dict(
    zip(
        MEETINGS,
        (_first, _next, _in_memory, _axis_1, _axis_before, _interleaved, _whole_blocks,
         _even_blocks, _no_blocks),
        strict=True,
    )
)  # fmt: skip
