"""The rounding modes as functions of kept and dropped bits.

A mode decides whether the kept magnitude goes up by one, from the sign, the last kept bit, the
first dropped bit, and whether any later dropped bit is set (IEEE 754-2019, 4.3). Modes outside IEEE
754 are named as in their standards. The functions work on masks and on the integers 0 and 1.
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
    """To the odd neighbour if inexact."""
    return (first | later) & ~last


def half_of_last(sign: Mask, last: Mask, first: Mask, later: Mask) -> Mask:
    """Add half of the last kept bit, then truncate: an even last bit truncates."""
    return first & last


NEAREST = "nearest-even"  # the default of binary formats (IEEE 754-2019, 4.3.3)
#: by the names in specs
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
