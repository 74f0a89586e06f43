"""Keep freed arrays in the heap."""

from __future__ import annotations

import numpy as np

_KEPT = 8 << 20  # bytes; longer than the arrays of a chunk or a block


def keep_heap() -> None:
    """Let glibc keep freed arrays in the heap.

    It unmaps each freed array longer than a threshold, which for 128 KiB costs more than to fill
    it. Freeing one long, untouched array raises the threshold.
    """
    np.empty(_KEPT, np.uint8)
