"""What is expected of an answer: for each element a pattern, and the row that decided it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from convcheck.errors import Place
from convcheck.numerics.codes import Bits
from convcheck.rules.model import Cite, Level, Spec

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
class Quotation:
    """What a row, or a part of it, rests on."""

    #: The sentence, quoted.
    text: str
    #: Title and section of the document.
    document: str
    #: A reading, or the length or the elements of a sequence; '' for all of the row.
    of: str = ""
    #: The same in English, where it is in another language: our translation; else ''.
    gloss: str = ""


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
    #: What each part of the row rests on, in the place of the sentence; () where that is of all.
    quotations: tuple[Quotation, ...] = ()
    #: What the row says in words, where the sentence is that of a table of several rows; else ''.
    row_in_words: str = ""
    #: The sentence in English, where it is in another language: our translation; else ''.
    gloss: str = ""

    def __hash__(self) -> int:  # of few that are equal here, anything else differs
        return hash((self.rule, self.row))

    @property
    def name(self) -> str:
        """Rule and row together: 'float-to-float8-saturating / [x] > max'."""
        return f"{self.rule} / {self.row}"

    @property
    def sentences(self) -> tuple[Quotation, ...]:
        """What the verdict rests on: each sentence once, with the parts that rest on it."""
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
    """Return the decision of a row, given its rule and its label; `cites` are those of parts of
    it, by their names.
    """
    quotations = (
        Quotation(one.text, spec.document_of(one), name, one.gloss) for name, one in cites
    )
    return Decision(
        *names, level, cite.text, spec.document_of(cite), place, readings, (names,),
        tuple(dict.fromkeys(quotations)), row_in_words, cite.gloss,
    )  # fmt: skip


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

    def put(self, index: NDArray[np.intp], others: Expected) -> None:
        """Put the expectations of others in the place of those of some elements."""
        self.rows[index] = others.rows
        for reading, other in zip(self.readings, others.readings, strict=True):
            reading.codes[index], reading.patterns[index] = other.codes, other.patterns


def end_to_end(parts: Sequence[Expected]) -> Expected:
    """Return expectations of elements one after the other."""
    if len(parts) == 1:
        return parts[0]
    readings = (
        Reading(*map(np.concatenate, zip(*((r.codes, r.patterns) for r in several), strict=True)))
        for several in zip(*(part.readings for part in parts), strict=True)
    )
    rows = np.concatenate([part.rows for part in parts])
    return Expected(rows, parts[0].decisions, tuple(readings))
