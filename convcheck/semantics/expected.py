"""Expectations of elements and calls."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from convcheck.errors import Place
from convcheck.numerics.format import Float, Numeric
from convcheck.numerics.modes import nearest_even
from convcheck.numerics.number import Bits, Codes, from_fractions
from convcheck.numerics.rounding import round_to
from convcheck.numerics.words import PLAIN as PLAIN_NOTATION
from convcheck.numerics.words import parse_decimal, spell_special, value_of
from convcheck.records import Record, grouped, replace
from convcheck.rules.model import Cite, DType, Level, Spec

# The patterns. Vector files use these words, except for EXACT.
EXACT, ANY_NAN, NEGATIVE_NAN, UNDEFINED, REFUSED = range(5)
PLAIN_TO_X, PLAIN, PARSES_TO_X, PARSES = range(5, 9)
ANY_ZERO = 9
PATTERNS = (
    "exact", "nan", "-nan", "undefined", "refused",
    "plain-to-x", "plain", "parses-to-x", "parses",
    "zero",
)  # fmt: skip


class Quotation(Record, frozen=True):
    """A citation of a row, or of a part of it."""

    #: The quoted sentence.
    text: str
    #: Title and section of the document.
    document: str
    #: A reading, or the length or elements of a sequence; '' for the whole row.
    of: str = ""
    #: Our English translation of a foreign sentence, else ''.
    gloss: str = ""

    @property
    def id(self) -> str:
        """A hash of the text: '#3fa91c'."""
        said = " ".join(self.text.split()).encode(errors="backslashreplace")
        return f"#{sha256(said).hexdigest()[:6]}" if said else ""


class Decision(Record, frozen=True):
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
        all_ = self.quotations or (Quotation(self.cite, self.source, "", self.gloss),)
        found = grouped((replace(one, of=""), one.of) for one in all_)
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
    """Return the decision of a row; `names` are rule and label, `cites` are of its parts."""
    quotations = (
        Quotation(one.text, spec.document_of(one), name, one.gloss) for name, one in cites
    )
    return Decision(
        *names, level, cite.text, spec.document_of(cite), place, readings, (names,),
        tuple(dict.fromkeys(quotations)), row_in_words, cite.gloss,
    )  # fmt: skip


@dataclass(frozen=True)
class Reading:
    """Codes or texts, and indices into PATTERNS, under one reading, shape (n,)."""

    codes: Bits
    patterns: NDArray[np.uint8]


@dataclass(frozen=True)
class Expected:
    """The expectations of n elements. `rows` indexes `decisions`; a last reading may repeat."""

    rows: NDArray[np.int16]
    decisions: tuple[Decision, ...]
    readings: tuple[Reading, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, index: NDArray[np.intp] | slice) -> "Expected":
        """Return the expectations of some elements."""
        readings = tuple(Reading(r.codes[index], r.patterns[index]) for r in self.readings)
        return Expected(self.rows[index], self.decisions, readings)

    def put(self, index: NDArray[np.intp], others: "Expected") -> None:
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


_KEPT = 1 << 14  # texts; they recur in placements and for causes
_SPECIALS = {
    "inf": "Inf", "+inf": "Inf", "-inf": "-Inf", "nan": "NaN", "+nan": "NaN", "-nan": "NaN",
}  # fmt: skip


@lru_cache(_KEPT)
def satisfies(pattern: int, text: str, source: Numeric, code: int) -> bool:
    """Whether a printed text satisfies a text pattern for a source code.

    Plain: no exponent. To x: rounding the decimal to nearest even gives x, and zeros are equal.
    Otherwise any number passes: a lossy print is recorded, not judged.
    """
    special = spell_special(source, code)
    if special in ("Inf", "-Inf", "NaN", "-NaN"):
        return _SPECIALS.get(text.lower()) == special.replace("-NaN", "NaN")
    value = parse_decimal(text)
    if value is None:
        return False
    if pattern in (PLAIN, PLAIN_TO_X) and not PLAIN_NOTATION.fullmatch(text):
        return False
    if pattern not in (PARSES_TO_X, PLAIN_TO_X):
        return True
    x = value_of(source, code)
    if not isinstance(source, Float):
        return value == x
    magnitude = round_to(from_fractions([value]), source, nearest_even).magnitude[0]
    same = magnitude == np.uint64(code & source.magnitude_mask)
    return bool(same) and (x == 0 or (value < 0) == (x < 0))


Call = tuple[Bits, ...]  # a tensor of codes for each input


@dataclass(frozen=True)
class ExpectedOutput:
    """The expectation of one output, flat in C order."""

    dtype: DType
    shape: tuple[int, ...]
    codes: Bits
    patterns: NDArray[np.uint8]

    @property
    def answer(self) -> Bits:
        """Codes that meet the expectation, in the output's shape."""
        fmt = self.dtype.format
        if not isinstance(fmt, Float) or not (self.patterns == ANY_NAN).any():
            return self.codes.reshape(self.shape)
        nan = np.full_like(self.codes, fmt.nan_code)
        return np.where(self.patterns == ANY_NAN, nan, self.codes).reshape(self.shape)


def same(
    one: Sequence[Reading | ExpectedOutput], other: Sequence[Reading | ExpectedOutput]
) -> bool:
    """Whether all codes and patterns are equal."""
    return len(one) == len(other) and all(
        np.array_equal(a.codes, b.codes) and np.array_equal(a.patterns, b.patterns)
        for a, b in zip(one, other, strict=True)
    )


@dataclass(frozen=True)
class CallReading:
    """The expectation under one reading: outputs (EXACT), REFUSED, or UNDEFINED."""

    name: str
    outputs: tuple[ExpectedOutput, ...] = ()
    pattern: int = EXACT


@dataclass(frozen=True)
class ExpectedCall:
    """The expectation of one call; `between` tolerates the range of the readings, plus one ulp."""

    row: int
    readings: tuple[CallReading, ...]
    between: bool = False
    #: of each element of each output, () if all are the call's
    rows: tuple[NDArray[np.int16], ...] = ()

    @property
    def all_rows(self) -> set[int]:
        """The row of the call and those of its elements."""
        return {self.row}.union(*(rows.tolist() for rows in self.rows))


@dataclass(frozen=True, eq=False)
class Among:
    """Codes that the elements of some calls must be in."""

    row: int
    kind: str
    #: the only code of an input in these calls
    given: Mapping[int, int]
    codes: Codes

    def misses(self, call: Call, due: ExpectedCall, got: Bits) -> bool:
        """Whether a defined element is outside the codes."""
        if not all((call[i] == code).all() for i, code in self.given.items()):
            return False
        free = [reading.outputs[0].patterns == UNDEFINED for reading in due.readings]
        strange = ~np.isin(got.reshape(-1), self.codes)
        return bool((strange & ~np.logical_or.reduce(free)).any())


@dataclass(frozen=True)
class WrongCall:
    """The answers of a wrong implementation. Equal keys mean equal answers."""

    key: Hashable
    #: by number of the call, None if unknown
    answer: Callable[[int], CallReading | None]


DEADLY = CallReading("the process dies", pattern=UNDEFINED)  # compared by identity


class CompiledCalls(ABC):
    """A compiled case of whole calls."""

    decisions: tuple[Decision, ...]

    @property
    def among(self) -> Among | None:
        """A further constraint on elements."""
        return None

    @property
    def along(self) -> tuple[int, int] | None:
        """Axis and block size (0 for none) of the other inputs; None for plain broadcasting."""
        return None

    @abstractmethod
    def size(self, inputs: Sequence[Bits]) -> int:
        """Return the size of the largest output, without computing it."""

    @abstractmethod
    def expect(self, inputs: Sequence[Bits]) -> ExpectedCall:
        """Return the expectation of a call. Raises SpecError."""

    def expect_all(self, calls: Sequence[Call]) -> list[ExpectedCall]:
        """Return the expectation of each call. Raises SpecError."""
        return [self.expect(call) for call in calls]
