"""Trace one input through a program."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from convcheck.errors import Place
from convcheck.numerics.format import Float, Text
from convcheck.numerics.modes import MODES
from convcheck.numerics.number import FINITE, Bits, to_fraction
from convcheck.numerics.rounding import round_to
from convcheck.numerics.words import parse_decimal
from convcheck.rules.model import Case, Outcome
from convcheck.rules.rule import ELSE
from convcheck.semantics.answers_at import points_of
from convcheck.semantics.expected import Decision
from convcheck.semantics.program import CompiledRow, Program
from convcheck.semantics.vocabulary import (
    AS,
    AS_BELOW,
    AS_REAL,
    BY,
    CASES,
    COMPUTATIONS,
    CONSTANTS,
    DIGITS,
    TEXT,
    TEXT_IS,
    THROUGH,
    Points,
)
from convcheck.streams import plural


@dataclass(frozen=True)
class Link:
    """A row that decides, or that was tried."""

    rule: str
    row: str
    place: Place


@dataclass(frozen=True)
class RoundedValue:
    """[x] by a rounding mode, with the sign also of a zero."""

    mode: str
    value: Fraction
    negative: bool


@dataclass(frozen=True)
class Given:
    """The outcome of one reading. `links` are the rows of rules that it delegates to."""

    outcome: Outcome
    gives: Outcome
    #: index into PATTERNS
    pattern: int
    code: int | str
    rounded: RoundedValue | None
    links: tuple[Link, ...] = ()


@dataclass(frozen=True)
class Trace:
    """The decision on one input. `tried` are the rows that do not match, in order."""

    decision: Decision
    x: Fraction | None
    tried: tuple[Link, ...]
    links: tuple[Link, ...]
    given: tuple[Given, ...]


# a decision's index, and `tried`, `links` and `given` of a trace
_Walk = tuple[int, tuple[Link, ...], tuple[Link, ...], tuple[Given, ...]]


def trace(program: Program, case: Case, bits: Bits) -> Trace:
    """Trace the input in `bits`, shape (1,), through a program."""
    points = points_of(case, bits)
    index, tried, links, given = _walk(program, points)
    x = to_fraction(points.x, 0) if points.x.kind[0] == FINITE else None
    if isinstance(points.source, Text):
        x = parse_decimal(points.bits[0])
    return Trace(program.decisions[index], x, tried, links, given)


def _walk(program: Program, points: Points) -> _Walk:
    tried = []
    for entry in program.entries:
        if entry.test is None or entry.test(points, entry.mode)[0]:
            break
        tried.append(_link(entry))
    index, more, links, given = _decided(entry, points)
    return index, (*tried, *more), (_link(entry), *links), given


def _link(entry: CompiledRow) -> Link:
    return Link(entry.rule.name, entry.row.label, entry.cell.place)


def _decided(entry: CompiledRow, points: Points) -> _Walk:
    program = entry.steps[0].program
    if len(entry.steps) == 1 and program is not None:
        index, tried, links, given = _walk(program, points)
        return entry.first + index, tried, links, given
    own = tuple(_given(entry, reading, points) for reading in range(len(entry.steps)))
    return entry.first, (), (), own


def _given(entry: CompiledRow, reading: int, points: Points) -> Given:
    step, outcome = entry.steps[reading], entry.cell.outcomes[reading]
    if step.program is not None:
        _, _, links, given = _walk(step.program, points)
        inner = given[min(reading, len(given) - 1)]
        return replace(inner, outcome=outcome, links=(*links, *inner.links))
    rounded = _rounded(points, step.mode or entry.mode)
    code = step.code if step.compute is None else step.compute(points, step.mode)[0]
    is_text = isinstance(points.target, Text)
    return Given(outcome, outcome, step.pattern, str(code or "") if is_text else int(code), rounded)


def _rounded(points: Points, mode: str) -> RoundedValue | None:
    """None without a rounding mode, or for an integer beyond 64 bits."""
    x, target = points.x, points.target
    if not mode or x.kind[0] != FINITE or isinstance(target, Text):
        return None
    # The grid continues past max at the precision of the last binade. Larger numbers are scaled
    # down to it, and [x] is scaled back.
    scale = 0
    if isinstance(target, Float):
        scale = max(int(x.exponent[0]) - target.highest_exponent, 0)
        x = replace(x, exponent=x.exponent - scale)
    rounded = round_to(x, target, MODES[mode])
    if rounded.beyond is not None and rounded.beyond[0]:
        return None
    magnitude = int(rounded.magnitude[0])
    value = target.value(magnitude) if isinstance(target, Float) else Fraction(magnitude)
    negative = bool(x.sign[0])
    return RoundedValue(mode, (-value if negative else value) * 2**scale, negative)


_ON: Mapping[str, str] = {
    AS_BELOW: "that by the rules below",
    AS_REAL: "that of the number which x denotes",
}


def row_in_words(label: str, outcomes: Iterable[tuple[Outcome, str]]) -> str:
    """Return 'where x is a NaN, the result is any NaN'."""
    due = dict.fromkeys(_gives(outcome, mode) for outcome, mode in outcomes)
    return f"where {_holds(label)}, the result is {' or '.join(due)}"


def _holds(label: str) -> str:
    if label.startswith(TEXT_IS):
        return f"the text is {label.removeprefix(TEXT_IS)}"
    if label.startswith(DIGITS):
        digits = plural(int(label.removeprefix(DIGITS)), "significant digit")
        return f"the text has more than {digits}"
    if label.startswith(THROUGH):
        return f"the result is another where x is first rounded to {label.removeprefix(THROUGH)}"
    if label == ELSE:
        return "no row before it holds"
    return CASES[label].english if label in CASES else label  # x < 2^-126 needs no words


def _gives(outcome: Outcome, mode: str) -> str:
    if outcome.word == BY:
        return f"that by {outcome.argument}"
    if outcome.word == AS:
        return f"that under {outcome.argument}"
    if outcome.word == TEXT:
        return f"the text {outcome.argument}"
    known = CONSTANTS.get(outcome.word) or COMPUTATIONS.get(outcome.word)
    said = known.english if known else _ON[outcome.word]
    return f"{said} ({mode})" if outcome.word in ("[x]", "wrapped") else said
