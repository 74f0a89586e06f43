"""The heap of a process that judges."""

from __future__ import annotations

import numpy as np

_KEPT = 8 << 20  # bytes; the arrays of a chunk or a block are shorter


def keep_heap() -> None:
    """Let freed arrays stay in the heap, where glibc is the allocator.

    It asks the system for new pages for every array that is longer than the longest it has seen
    freed, and gives them back with it: for arrays of 128 KiB that takes longer than to fill them.
    So one is freed here that nobody has touched, and that has no pages.
    """
    np.empty(_KEPT, np.uint8)
