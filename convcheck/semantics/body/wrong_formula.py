"""(Spec, Case, causes) -> what a wrong sequence gives for a call: the formula with their edits."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import cast

import numpy as np

from convcheck.errors import SpecError
from convcheck.numerics.codec import encode
from convcheck.numerics.codes import Codes
from convcheck.numerics.decimal import spell_special, value_of
from convcheck.numerics.format import Float, Numeric
from convcheck.numerics.modes import MODES
from convcheck.numerics.number import FINITE, Numbers, from_fractions, to_fraction
from convcheck.numerics.rounding import round_to
from convcheck.numerics.scalar import BeyondError
from convcheck.rules.body.formula import Formula, FormulaWay
from convcheck.rules.call_edits import INDEX, LAST, FormulaEdit, WayEdit
from convcheck.rules.causes import Cause
from convcheck.rules.expression import Expression, renamed
from convcheck.rules.hop import MAGNITUDE, NEGATED, WHOLE, Hop
from convcheck.rules.model import Case, DType, Spec
from convcheck.semantics.body.formula import SequenceReading, call_reading, rule_of
from convcheck.semantics.body.sequence import Sequences
from convcheck.semantics.expected import REFUSED
from convcheck.semantics.expected_calls import DEADLY, Call, CallReading, WrongCall
from convcheck.semantics.hops import gone_through
from convcheck.semantics.vocabulary import Points

_LONGEST = 1 << 12  # elements of a sequence that a cause is tried on
Arguments = tuple[tuple[frozenset[str], Hop], ...]  # types of an argument -> what it goes through


class WrongFormulas:
    """What becomes of some calls by wrong sequences. What causes have in common is made once."""

    def __init__(self, spec: Spec, case: Case, calls: Sequence[Call]) -> None:
        """Take the calls of a case."""
        self.formula, self.case, self.calls = spec.body_as(Formula), case, calls
        self.readings = rule_of(self.formula, case).readings
        self._sequences: dict[Hashable, Sequences | None] = {}
        self._same: dict[FormulaWay, FormulaWay] = {}

    def __call__(self, causes: Sequence[Cause]) -> Iterator[WrongCall]:
        """Yield what the calls become, one for each reading that is left."""
        if any(c.under or _has_table(c) or not _is_of(c, self.case) for c in causes):
            return
        edits = [cause.call for cause in causes if isinstance(cause.call, FormulaEdit)]
        if any(edit.names and len(edit.names) != len(self.formula.arguments) for edit in edits):
            return
        beyond, deadly = _last(e.beyond for e in edits), any(e.deadly for e in edits)
        hops, rounds = tuple(_hops(causes)), _last(c.rounds for c in causes)
        cast_by = _Cast(self.case.outputs[0], hops, rounds, beyond, deadly)
        arguments = tuple(entry for edit in edits for entry in edit.arguments)
        for length, element, mode in self._ways(edits):
            refuses = self._refusal(length, edits)
            wrong = _Wrong(partial(self._of, arguments), length, element, mode, cast_by, refuses)
            key = arguments, length, element, mode, cast_by, refuses
            yield WrongCall(key, wrong.answer, wrong.shape)

    def _refusal(self, length: FormulaWay, edits: Sequence[FormulaEdit]) -> FormulaWay | None:
        """Return how it is computed whether a call is refused: of the arguments of the length."""
        said = [(edit.names, edit.refuses) for edit in edits if edit.refuses]
        if not said:
            return None
        return _edited(length, self.formula, said, self.formula.length)

    def _ways(self, edits: Sequence[FormulaEdit]) -> Iterator[tuple[FormulaWay, FormulaWay, str]]:
        """Yield the ways to compute length and elements, each with the mode of conversions."""
        lengths = [(e.names, e.length) for e in edits]
        elements = [(e.names, e.element) for e in edits]
        formula, one = self.formula, self._same.setdefault
        pairs = []
        for length, element in self.readings:
            made = _edited(length, formula, lengths, formula.length)
            each = _edited(element, formula, elements, formula.element)
            pairs.append((one(made, made), one(each, each)))
        for (length, element), mode in product(dict.fromkeys(pairs), formula.to_float):
            yield length, element, mode

    def _of(self, through: Arguments, i: int) -> Sequences | None:
        """Return the sequences of a call; None of what is no numbers, or cannot be held."""
        if (through, i) not in self._sequences:
            self._sequences[through, i] = self._made(through, self.calls[i])
        return self._sequences[through, i]

    def _made(self, through: Arguments, call: Call) -> Sequences | None:
        formats = [cast(Numeric, dtype.format) for dtype in self.case.inputs]
        if any(bits.ndim for bits in call):
            return None
        special = {spell_special(fmt, int(bits)) for fmt, bits in zip(formats, call, strict=True)}
        if special - {"", "-0"}:
            return None
        names = zip(self.formula.arguments, self.case.inputs, call, strict=True)
        try:
            values = {name: _argument(through, dtype, int(bits)) for name, dtype, bits in names}
        except BeyondError:
            return None
        output = cast(Numeric, self.case.outputs[0].format)
        return Sequences(self.formula, output, values, "-0" in special, machine=True)


def _argument(through: Arguments, dtype: DType, code: int) -> Fraction:
    """Return the value of an argument, gone through what its type goes through."""
    fmt = cast(Numeric, dtype.format)
    hops = [hop for types, hop in through if dtype.name in types]
    value = value_of(fmt, code)
    return to_fraction(_gone(from_fractions([value]), hops, fmt), 0) if hops else value


def _gone(x: Numbers, hops: Sequence[Hop], fmt: Numeric) -> Numbers:
    """Return what becomes of finite numbers by hops; only a float keeps the sign of what becomes
    zero. Raises BeyondError where one becomes infinite, and SpecError for what happens to codes,
    texts or bits.
    """
    for hop in hops:
        of_codes = hop.subnormals or hop.by_code or hop.normal_only or hop.no_specials
        if of_codes or (isinstance(hop.type, str) and hop.type not in (WHOLE, MAGNITUDE, NEGATED)):
            raise SpecError("a value alone has no codes")
        points = Points(fmt, fmt, np.zeros(len(x), fmt.storage), x)
        x = gone_through(points, hop, retyped=False).x
        if (x.kind != FINITE).any():
            raise BeyondError("an infinity")
        if not (isinstance(hop.type, DType) and isinstance(hop.type.format, Float)):
            x = replace(x, sign=x.sign & (x.significand != 0))
    return x


def _has_table(cause: Cause) -> bool:
    """Return whether a cause says what becomes of some values only: elements have no codes."""
    return any(row.label != "else" for rule in cause.rules for row in rule.rows)


def _is_of(cause: Cause, case: Case) -> bool:
    """Return whether a cause is for the types of a case."""
    ends = [(source, case.outputs[0]) for source in case.inputs]
    return all(cause.is_for(*each) and cause.converts(*each) for each in ends)


def _hops(causes: Sequence[Cause]) -> Iterator[Hop]:
    for cause in causes:
        yield from cause.call.cast if isinstance(cause.call, FormulaEdit) else ()
        yield from cause.hops


def _last(words: Iterator[str]) -> str:
    return next(filter(None, reversed([*words])), "")


# How it is computed ------------------------------------------------------------------------------


def _edited(
    way: FormulaWay,
    formula: Formula,
    edits: Sequence[tuple[tuple[str, ...], WayEdit | None]],
    product_form: Expression,
) -> FormulaWay:
    """Return a way with what edits say of it."""
    for names, edit in edits:
        if edit is not None:
            places = dict(zip(names, formula.arguments, strict=bool(names)))
            way = _changed(way, edit, {**places, INDEX: INDEX, LAST: LAST}, formula, product_form)
    return way


def _changed(
    way: FormulaWay,
    edit: WayEdit,
    places: Mapping[str, str],
    formula: Formula,
    product_form: Expression,
) -> FormulaWay:
    running = way.running if edit.running is None else edit.running
    form = formula.next if running and formula.next else product_form
    expression = renamed(edit.expression, places) if edit.expression else form
    stays = edit.expression is None and running == way.running
    return replace(
        way,
        expression=way.expression if stays else expression,
        arithmetic=edit.arithmetic or way.arithmetic,
        running=running,
        converted=way.converted and edit.arithmetic is None,
        conversions=edit.conversions if edit.expression else way.conversions,
        name="",
        cite=formula.length_cite,
    )


@dataclass(frozen=True)
class _Cast:
    """How an element becomes one of the output's type."""

    output: DType
    hops: tuple[Hop, ...]
    rounds: str
    #: What becomes of an element that the type cannot hold; '' where that is not said.
    beyond: str
    #: Whether a division by zero ends the process.
    deadly: bool

    def codes(self, values: Sequence[Fraction], mode: str) -> Codes:
        """Return the codes of elements. Raises BeyondError where the edits do not say one."""
        fmt, mode = cast(Numeric, self.output.format), self.rounds or mode
        x = _gone(from_fractions([*values]), self.hops, fmt)
        rounded = round_to(x, fmt, MODES[mode])
        most = fmt.max_magnitude if isinstance(fmt, Float) else int(fmt.max)
        least = most if isinstance(fmt, Float) else -int(fmt.min)
        outside = rounded.magnitude > np.where(x.sign, np.uint64(least), np.uint64(most))
        outside |= False if rounded.beyond is None else rounded.beyond
        magnitude = rounded.magnitude
        if outside.any():
            if not self.beyond:
                raise BeyondError("outside the format")
            if self.beyond == "infinity" and isinstance(fmt, Float) and fmt.infinity:
                magnitude = np.where(outside, np.uint64(fmt.infinity_code), magnitude)
            else:
                x = _gone(x, [Hop(self.output, mode, self.beyond)], fmt)
                magnitude = round_to(x, fmt, MODES[mode]).magnitude
        return encode(fmt, magnitude, x.sign)


@dataclass(frozen=True)
class _Wrong:
    """A wrong sequence."""

    #: Call -> its sequences.
    sequences: Callable[[int], Sequences | None]
    length: FormulaWay
    element: FormulaWay
    mode: str
    cast: _Cast
    #: What is above 0 for a call that is refused, None where none is.
    refuses: FormulaWay | None

    def shape(self, i: int) -> tuple[int, ...] | None:
        """Return the shape of what a call gives."""
        found = self.sequences(i)
        try:
            if found is None or self._refuses(found):
                return None
            return (found.length(self.length, self.mode),)
        except (BeyondError, SpecError, ZeroDivisionError):
            return None

    def answer(self, i: int) -> CallReading | None:
        """Return what a call gives; None where it is not said."""
        found = self.sequences(i)
        try:
            return self._reading(found) if found else None
        except ZeroDivisionError:
            return DEADLY if self.cast.deadly else None
        except (BeyondError, SpecError):
            return None

    def _refuses(self, found: Sequences) -> bool:
        return self.refuses is not None and found.length(self.refuses, self.mode) > 0

    def _reading(self, found: Sequences) -> CallReading | None:
        if self._refuses(found):
            return CallReading("", pattern=REFUSED)
        n, output = found.length(self.length, self.mode), self.cast.output
        if n > _LONGEST:
            return None
        mode = found.mode(cast(Numeric, output.format), self.mode)
        values = found.values(self.element, self.mode, n)
        codes = tuple(self.cast.codes(values, mode).tolist())
        return call_reading(SequenceReading("", n, codes, found.free_zero), output)
