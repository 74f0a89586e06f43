"""The limits of a worker process, which a backend may lower under the cases that come after."""

from __future__ import annotations

import contextlib
import resource
import sys

_ALL = tuple(number for name, number in vars(resource).items() if name.startswith("RLIMIT_"))


class Limits:
    """The limits as they are when it is made."""

    def __init__(self) -> None:
        self._recursion = sys.getrecursionlimit()
        self._pairs = list(map(resource.getrlimit, _ALL))
        self._soft = {number: _soft(number) for number in _ALL}

    def were_lowered(self) -> bool:
        """Return whether one is lower now, and put back those that can be."""
        changed = list(map(resource.getrlimit, _ALL)) != self._pairs
        lowered = [n for n in _ALL if _soft(n) < self._soft[n]] if changed else []
        for number in lowered:
            hard = resource.getrlimit(number)[1]
            with contextlib.suppress(ValueError, OSError):  # the hard limit was lowered, too
                resource.setrlimit(number, (_back(self._soft[number]), hard))
        shallower = sys.getrecursionlimit() < self._recursion
        if shallower:
            sys.setrecursionlimit(self._recursion)
        return bool(lowered) or shallower


def _soft(number: int) -> float:
    """Return a soft limit as a number that can be compared."""
    soft = resource.getrlimit(number)[0]
    return float("inf") if soft == resource.RLIM_INFINITY else soft


def _back(soft: float) -> int:
    return resource.RLIM_INFINITY if soft == float("inf") else int(soft)
