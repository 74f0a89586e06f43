"""The expectation of elements: a pattern each, and the row that decides it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from convcheck.errors import Place
from convcheck.numerics.codes import Bits
from convcheck.rules.model import Cite, Level, Spec

# The patterns. Vector files use these words, except for EXACT.
EXACT, ANY_NAN, NEGATIVE_NAN, UNDEFINED, REFUSED = range(5)
PLAIN_TO_X, PLAIN, PARSES_TO_X, PARSES = range(5, 9)
ANY_ZERO = 9
PATTERNS = (
    "exact", "nan", "-nan", "undefined", "refused",
    "plain-to-x", "plain", "parses-to-x", "parses",
    "zero",
)  # fmt: skip


@dataclass(frozen=True)
class Quotation:
    """A citation of a row, or of a part of it."""

    #: The quoted sentence.
    text: str
    #: Title and section of the document.
    document: str
    #: A reading, or the length or elements of a sequence; '' for the whole row.
    of: str = ""
    #: Our English translation of a foreign sentence, else ''.
    gloss: str = ""


@dataclass(frozen=True)
class Decision:
    """The row that decides an element, with level and citation.

    `rule` names the chain if rules delegate: 'string-to-float > float-to-float'.
    """

    rule: str
    row: str
    level: Level
    #: The quoted sentence.
    cite: str
    #: Title and section of the document.
    source: str
    place: Place
    #: Names, in order; ('',) for a single one.
    readings: tuple[str, ...] = ("",)
    #: (rule, row) of every step of the chain.
    trail: tuple[tuple[str, str], ...] = ()
    #: The citations of the row's parts, in place of the sentence; empty if it covers the whole row.
    quotations: tuple[Quotation, ...] = ()
    #: The row in words, if the sentence covers several rows, else ''.
    row_in_words: str = ""
    #: Our English translation of a foreign sentence, else ''.
    gloss: str = ""

    def __hash__(self) -> int:  # equal rule and row are rare among different decisions
        return hash((self.rule, self.row))

    @property
    def name(self) -> str:
        """Rule and row: 'float-to-float8-saturating / [x] > max'."""
        return f"{self.rule} / {self.row}"

    @property
    def sentences(self) -> tuple[Quotation, ...]:
        """The citations, each sentence once with all parts that rest on it."""
        found: dict[Quotation, list[str]] = {}
        for one in self.quotations or (Quotation(self.cite, self.source, "", self.gloss),):
            found.setdefault(replace(one, of=""), []).append(one.of)
        return tuple(
            replace(one, of="; ".join(filter(None, parts))) for one, parts in found.items()
        )


def decision_of(
    spec: Spec,
    names: tuple[str, str],
    level: Level,
    cite: Cite,
    place: Place,
    readings: tuple[str, ...] = ("",),
    cites: Iterable[tuple[str, Cite]] = (),
    row_in_words: str = "",
) -> Decision:
    """Return the decision of a row; `names` are rule and label, `cites` are those of its parts."""
    quotations = (
        Quotation(one.text, spec.document_of(one), name, one.gloss) for name, one in cites
    )
    return Decision(
        *names, level, cite.text, spec.document_of(cite), place, readings, (names,),
        tuple(dict.fromkeys(quotations)), row_in_words, cite.gloss,
    )  # fmt: skip


@dataclass(frozen=True)
class Reading:
    """The codes (or texts) and patterns under one reading, shape (n,)."""

    codes: Bits
    #: index into PATTERNS
    patterns: NDArray[np.uint8]


@dataclass(frozen=True)
class Expected:
    """The expectations of n elements.

    `rows` indexes `decisions`. The number of `readings` is the largest of all decisions; elements
    with fewer repeat their last one.
    """

    rows: NDArray[np.int16]
    decisions: tuple[Decision, ...]
    readings: tuple[Reading, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, index: NDArray[np.intp] | slice) -> Expected:
        """Return the expectations of some elements."""
        readings = tuple(Reading(r.codes[index], r.patterns[index]) for r in self.readings)
        return Expected(self.rows[index], self.decisions, readings)

    def put(self, index: NDArray[np.intp], others: Expected) -> None:
        """Replace the expectations of some elements."""
        self.rows[index] = others.rows
        for reading, other in zip(self.readings, others.readings, strict=True):
            reading.codes[index], reading.patterns[index] = other.codes, other.patterns


def end_to_end(parts: Sequence[Expected]) -> Expected:
    """Concatenate expectations."""
    if len(parts) == 1:
        return parts[0]
    readings = (
        Reading(*map(np.concatenate, zip(*((r.codes, r.patterns) for r in several), strict=True)))
        for several in zip(*(part.readings for part in parts), strict=True)
    )
    rows = np.concatenate([part.rows for part in parts])
    return Expected(rows, parts[0].decisions, tuple(readings))
