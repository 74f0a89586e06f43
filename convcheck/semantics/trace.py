"""One input through a program, step by step: which rows were tried, and what each reading gives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from convcheck.errors import Place
from convcheck.numerics.decimal import parse_decimal
from convcheck.numerics.format import Bits, Float, Text
from convcheck.numerics.number import FINITE, to_fraction
from convcheck.numerics.rounding import MODES, round_to
from convcheck.rules.model import REAL, Case, Cell, Outcome, Spec
from convcheck.semantics.evaluate import points_of
from convcheck.semantics.expected import Decision
from convcheck.semantics.program import Entry, Program, Question, Step, changed, matches
from convcheck.semantics.vocabulary import AS, AS_REAL, Points


@dataclass(frozen=True)
class Link:
    """A row: of the chain of rows that decides, or one that was tried and does not hold."""

    rule: str
    row: str
    place: Place


@dataclass(frozen=True)
class Rounded:
    """[x] by a rounding mode; `value` has lost the sign of a zero, `negative` has it."""

    mode: str
    value: Fraction
    negative: bool


@dataclass(frozen=True)
class Given:
    """What one reading gives.

    Where its outcome names a rule, `links` are the rows of it that decide, and `gives` is what the
    last of them says.
    """

    outcome: Outcome
    gives: Outcome
    pattern: int
    code: int | str
    rounded: Rounded | None
    links: tuple[Link, ...] = ()


@dataclass(frozen=True)
class Trace:
    """What decides one input. `x` is its exact value, None for NaN, infinity and other texts."""

    decision: Decision
    x: Fraction | None
    tried: tuple[Link, ...]
    links: tuple[Link, ...]
    given: tuple[Given, ...]


@dataclass(frozen=True)
class _Walk:
    """A trace within one program: `index` is that of the decision."""

    index: int
    tried: tuple[Link, ...]
    links: tuple[Link, ...]
    given: tuple[Given, ...]


def trace(spec: Spec, program: Program, case: Case, bits: Bits) -> Trace:
    """Walk a case's program for the one input in `bits`, of shape (1,)."""
    points = points_of(case, bits)
    attributes = tuple((name, str(value)) for name, value in case.attributes)
    source, target = case.inputs[0], case.outputs[0]
    question = Question(spec, source.name, source.format, target.name, target.format, attributes)
    walk = _walk(program, question, points)
    decision = program.decisions[walk.index]
    return Trace(decision, _exact(points), walk.tried, walk.links, walk.given)


def _exact(points: Points) -> Fraction | None:
    """Give the exact value of the input: of a text also what 64 bits do not hold."""
    if isinstance(points.source, Text):
        return parse_decimal(points.bits[0])
    return to_fraction(points.x, 0) if points.x.kind[0] == FINITE else None


def _walk(program: Program, question: Question, points: Points) -> _Walk:
    tried = []
    for entry in program.entries:
        if entry.test is None or entry.test(points, entry.mode)[0]:
            break
        tried.append(_link(entry, _cell(entry, question)))
    cell = _cell(entry, question)
    walk = _decided(entry, cell, question, points)
    return replace(walk, tried=(*tried, *walk.tried), links=(_link(entry, cell), *walk.links))


def _cell(entry: Entry, question: Question) -> Cell:
    """Find the cell of a row: its condition has been tested, its column has not been kept."""
    column = matches(replace(entry.rule, when=(), same_type=False), question)
    return entry.row.cells[column or 0]


def _link(entry: Entry, cell: Cell) -> Link:
    return Link(entry.rule.name, entry.row.label, cell.place)


def _decided(entry: Entry, cell: Cell, question: Question, points: Points) -> _Walk:
    """Give what a row gives; where it hands on to another program, that decides."""
    program = entry.steps[0].program
    if len(entry.steps) == 1 and program is not None:
        inner = _walk(program, _handed_on(question, cell.outcomes[0]), points)
        return replace(inner, index=entry.first + inner.index)
    both = zip(cell.outcomes, entry.steps, strict=True)
    given = (
        _given(entry, i, outcome, step, question, points) for i, (outcome, step) in enumerate(both)
    )
    return _Walk(entry.first, (), (), tuple(given))


def _handed_on(question: Question, outcome: Outcome) -> Question:
    if outcome.word == AS:
        return changed(question, outcome.argument)
    return replace(question, source=REAL) if outcome.word == AS_REAL else question


def _given(
    entry: Entry, reading: int, outcome: Outcome, step: Step, question: Question, points: Points
) -> Given:
    if step.program is not None:
        walk = _walk(step.program, _handed_on(question, outcome), points)
        inner = walk.given[min(reading, len(walk.given) - 1)]
        return replace(inner, outcome=outcome, links=(*walk.links, *inner.links))
    rounded = _rounded(points, step.mode or entry.mode)
    code = step.code if step.compute is None else step.compute(points, step.mode)[0]
    is_text = isinstance(points.target, Text)
    return Given(outcome, outcome, step.pattern, str(code or "") if is_text else int(code), rounded)


def _rounded(points: Points, mode: str) -> Rounded | None:
    """Give [x] of a finite x; None without a rounding mode, or for an integer beyond 64 bits."""
    x, target = points.x, points.target
    if not mode or x.kind[0] != FINITE or isinstance(target, Text):
        return None
    # The grid goes on beyond max at the precision of its last binade, so numbers farther out are
    # brought there, and their [x] back.
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
    return Rounded(mode, (-value if negative else value) * 2**scale, negative)
