"""Words of a survey, and differences between its samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from convcheck.judge.answers import ANSWERED
from convcheck.judge.result import Answered, CallExample, Sample

OPEN = frozenset(("undefined", "disputed"))
EVERY_READING = "every reading"
SOME_READING = "one reading or another"  # if a few readings do not explain all calls
NO_READING = "no reading, but: "  # prefix of a law if no reading fits
EXAMPLES = 3  # examples kept of answers without a law


def unlike(samples: Sequence[Sample]) -> list[int]:
    """Return the positions of differing answers to the same inputs, fully answered ones first."""
    arrays = [s for s in samples if isinstance(s, Answered)]
    if len(arrays) < len(samples):
        lists = [cast(tuple[CallExample, ...], s) for s in samples]
        same = range(min(map(len, lists), default=0))
        found = [i for i in same if len({s[i].got for s in lists}) > 1]
        return sorted(found, key=lambda i: any(s[i].got is None for s in lists))
    if not arrays or len({len(s) for s in arrays}) > 1:
        return []
    first, differ = arrays[0], np.zeros(len(arrays[0]), bool)
    silent = np.zeros(len(first), bool)
    for other in arrays:
        quiet = other.state != ANSWERED
        differ |= (other.state != first.state) | (~quiet & np.asarray(other.got != first.got, bool))
        silent |= quiet
    return [*np.flatnonzero(differ & ~silent).tolist(), *np.flatnonzero(differ & silent).tolist()]
