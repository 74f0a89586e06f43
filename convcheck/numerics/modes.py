"""The rounding modes: one function each, on what is kept and dropped.

A mode decides whether the kept magnitude goes up by one, from the sign, the last kept bit, the
first dropped bit and whether any later dropped bit is set (IEEE 754-2019, 4.3; the names of the
modes that IEEE 754 lacks are those of the standards that ask for them). Each is an expression of
bits, and holds of masks as of the integers 0 and 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]
    Mode = Callable[[Mask, Mask, Mask, Mask], Mask]


def nearest_even(sign: Mask, last: Mask, first: Mask, later: Mask) -> Mask:
    """To nearest, ties to even (roundTiesToEven)."""
    return first & (later | last)


def nearest_away(sign: Mask, last: Mask, first: Mask, later: Mask) -> Mask:
    """To nearest, ties away from zero (roundTiesToAway)."""
    return first


def nearest_up(sign: Mask, last: Mask, first: Mask, later: Mask) -> Mask:
    """To nearest, ties towards plus infinity."""
    return first & (later | ~sign)


def nearest_toward_zero(sign: Mask, last: Mask, first: Mask, later: Mask) -> Mask:
    """To nearest, ties toward zero."""
    return first & later


def toward_zero(sign: Mask, last: Mask, first: Mask, later: Mask) -> Mask:
    """Toward zero (roundTowardZero)."""
    return first & ~first


def away(sign: Mask, last: Mask, first: Mask, later: Mask) -> Mask:
    """Away from zero."""
    return first | later


def floor(sign: Mask, last: Mask, first: Mask, later: Mask) -> Mask:
    """Towards minus infinity (roundTowardNegative)."""
    return (first | later) & sign


def ceiling(sign: Mask, last: Mask, first: Mask, later: Mask) -> Mask:
    """Towards plus infinity (roundTowardPositive)."""
    return (first | later) & ~sign


def odd(sign: Mask, last: Mask, first: Mask, later: Mask) -> Mask:
    """To the odd neighbour where inexact."""
    return (first | later) & ~last


def half_of_last(sign: Mask, last: Mask, first: Mask, later: Mask) -> Mask:
    """By adding half of the last kept bit, then cutting: what has an even last bit is cut."""
    return first & last


NEAREST = "nearest-even"  # the default of binary formats (IEEE 754-2019, 4.3.3)
#: The modes, by the names that specs give them.
MODES: Mapping[str, Mode] = {
    "nearest-even": nearest_even,
    "nearest-away": nearest_away,
    "nearest-up": nearest_up,
    "nearest-toward-zero": nearest_toward_zero,
    "toward-zero": toward_zero,
    "away": away,
    "floor": floor,
    "ceil": ceiling,
    "odd": odd,
    "half-of-last": half_of_last,
}
