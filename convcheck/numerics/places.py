"""Codes -> where each stands among some: of thousands at once, in any order."""

from __future__ import annotations

from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.codes import Bits, Codes

NARROW = 16  # bits of a type that has a table of all its codes
# Primes: one by which some hundred codes leave different remainders is mostly among the first.
_PRIMES = (65521, 131071, 262139, 524287, 1048573)


class Places:
    """Codes, each once, in order, and where they stand.

    A code is looked up by its remainder, where those are all different: a binary search in an order
    that no processor foresees takes ten times as long.
    """

    def __init__(self, codes: NDArray[Any]) -> None:
        """Take codes of shape (n,), of which there is one at least."""
        self.codes = codes

    def of(self, bits: Bits) -> NDArray[np.intp] | None:
        """Return where codes stand, in their shape; None where one is not among these."""
        if bits.dtype != self.codes.dtype:
            return None
        if self._table is None:
            found = np.minimum(np.searchsorted(self.codes, bits), len(self.codes) - 1)
        else:
            found = self._table[_remainders(cast(Codes, bits), len(self._table))]
        return found if np.array_equal(self.codes[found], bits) else None

    @cached_property
    def _table(self) -> NDArray[np.intp] | None:
        """Remainder -> place; None where no modulus that is tried tells all codes apart."""
        kind, bits = self.codes.dtype.kind, 8 * self.codes.dtype.itemsize
        for modulus in () if kind != "u" else _PRIMES if bits > NARROW else (1 << bits,):
            remainders = _remainders(cast(Codes, self.codes), modulus)
            table = np.zeros(modulus, np.intp)
            table[remainders] = np.arange(len(self.codes))
            if np.array_equal(table[remainders], np.arange(len(self.codes))):
                return table
        return None


def _remainders(codes: Codes, modulus: int) -> Codes:
    """Return codes modulo a number; those of narrow types as they are, which are below it."""
    if 8 * codes.dtype.itemsize <= NARROW:
        return codes
    found: Codes = codes % codes.dtype.type(modulus)
    return found
