"""What is expected of an answer: for each element a pattern, and the row that decided it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from convcheck.errors import Place
from convcheck.numerics.format import Bits
from convcheck.rules.model import Level

# The patterns. Everything but EXACT stands in a vector file as the word given here.
EXACT, ANY_NAN, NEGATIVE_NAN, UNDEFINED, REFUSED = range(5)
PLAIN_TO_X, PLAIN, PARSES_TO_X, PARSES = range(5, 9)
ANY_ZERO = 9
PATTERNS = (
    "exact", "nan", "-nan", "undefined", "refused",
    "plain-to-x", "plain", "parses-to-x", "parses",
    "zero",
)  # fmt: skip


@dataclass(frozen=True)
class Decision:
    """The row that decides an element: rule and row as the spec names them, level and citation.

    `rule` names a chain where one rule hands on to another: 'string-to-float > float-to-float'.
    """

    rule: str
    row: str
    level: Level
    #: The sentence, quoted.
    cite: str
    #: Title and section of the document that is quoted.
    source: str
    place: Place
    #: Names, in order; ('',) where there is only one.
    readings: tuple[str, ...] = ("",)
    #: (rule, row) of every step of the chain.
    trail: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """Rule and row together: 'float-to-float8-saturating / [x] > max'."""
        return f"{self.rule} / {self.row}"


@dataclass(frozen=True)
class Reading:
    """Under one reading: the codes (or texts) and the pattern of each element, shape (n,)."""

    codes: Bits
    #: How each code is compared: an index into PATTERNS.
    patterns: NDArray[np.uint8]


@dataclass(frozen=True)
class Expected:
    """Expectations of n elements.

    `rows` indexes `decisions`. There are as many `readings` as the most disputed decision has;
    an element under a decision with fewer repeats its last one.
    """

    rows: NDArray[np.int16]
    decisions: tuple[Decision, ...]
    readings: tuple[Reading, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, index: NDArray[np.intp] | slice) -> Expected:
        """Return the expectations of some of the elements."""
        readings = tuple(Reading(r.codes[index], r.patterns[index]) for r in self.readings)
        return Expected(self.rows[index], self.decisions, readings)
