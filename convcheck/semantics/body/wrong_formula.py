"""The answers of wrong sequences: a formula with the edits of causes."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import cast

import numpy as np

from convcheck.errors import SpecError
from convcheck.numerics.codec import encode
from convcheck.numerics.format import Float, Int, Numeric
from convcheck.numerics.modes import MODES, BeyondError
from convcheck.numerics.number import FINITE, Codes, Numbers, from_fractions, to_fraction
from convcheck.numerics.rounding import round_to
from convcheck.rules.body.formula import INDEX, LAST, FormulaWay
from convcheck.rules.causes import ARGUMENTS, Cause, Changes, FormulaEdit
from convcheck.rules.expression import Expression, renamed
from convcheck.rules.hop import MAGNITUDE, NEGATED, WHOLE, Hop
from convcheck.rules.model import Case, DType, Spec
from convcheck.rules.rule import ELSE
from convcheck.semantics.body.formula import UndefinedError, call_reading, compile_formula
from convcheck.semantics.body.sequence import Sequences
from convcheck.semantics.expected import DEADLY, REFUSED, Call, CallReading, WrongCall
from convcheck.semantics.hops import gone_through
from convcheck.semantics.vocabulary import Points

_LONGEST = 1 << 12  # elements of a sequence that a cause is tried on
Arguments = tuple[tuple[frozenset[str], Hop], ...]  # types of an argument -> what it goes through


@dataclass(frozen=True)
class _Sequence:
    arguments: Arguments
    length: FormulaWay
    element: FormulaWay
    #: of conversions to float types
    mode: str
    #: of elements, before conversion to the output's type
    hops: tuple[Hop, ...]
    #: the mode of that conversion, '' for the formula's
    rounds: str


class WrongCalls:
    """Wrong sequences for some calls. What causes have in common is made once."""

    def __init__(self, spec: Spec, case: Case, calls: Sequence[Call]) -> None:
        self.right, self.case, self.calls = compile_formula(spec, case), case, calls
        self.formula, self.output = self.right.formula, cast(Numeric, case.outputs[0].format)
        self._sequences: dict[Hashable, Sequences | None] = {}

    def __call__(self, causes: Sequence[Cause]) -> Iterator[WrongCall]:
        """Yield the wrong calls, one for each reading."""
        rows = (row for cause in causes for rule in cause.rules for row in rule.rows)
        if any(row.label != ELSE for row in rows):  # for some values only: elements have no codes
            return
        ends = [(source, self.case.outputs[0]) for source in self.case.inputs]
        for cause in causes:
            fits = cause.is_for if cause.call else cause.converts
            if cause.under or not all(fits(*each) for each in ends):
                return
        edits = [cause.call for cause in causes if isinstance(cause.call, FormulaEdit)]
        arguments = tuple(entry for edit in edits for entry in edit.arguments)
        hops = tuple(hop for cause in causes for hop in cause.hops)
        rounds = next((cause.rounds for cause in reversed(causes) if cause.rounds), "")
        ways = dict.fromkeys(self._edited(edits, *ways) for ways in self.right.rule.readings)
        for (length, element), mode in product(ways, self.formula.to_float):
            wrong = _Sequence(arguments, length, element, mode, hops, rounds)
            yield WrongCall(wrong, partial(self._answer, wrong))

    def _edited(
        self, edits: Sequence[FormulaEdit], length: FormulaWay, element: FormulaWay
    ) -> tuple[FormulaWay, FormulaWay]:
        for edit in edits:
            if edit.length:
                length = self._changed(length, edit.length, self.formula.length)
            if edit.element:
                own = self.formula.next if edit.element.get("running") else None
                element = self._changed(element, edit.element, own or self.formula.element)
        return length, element

    def _changed(self, way: FormulaWay, changes: Changes, own: Expression) -> FormulaWay:
        names = dict(zip(ARGUMENTS, self.formula.arguments, strict=True))
        expression = way.expression
        if "expression" in changes:
            expression = renamed(changes["expression"], names | {INDEX: INDEX, LAST: LAST})
        elif changes.get("running", way.running) != way.running:
            expression = own
        plain = {"name": "", "cite": self.formula.length_cite}
        return replace(way, **{**changes, **plain, "expression": expression})

    def _answer(self, wrong: _Sequence, i: int) -> CallReading | None:
        key = wrong.arguments, i
        try:
            if key not in self._sequences:
                self._sequences[key] = self._made(wrong.arguments, self.calls[i])
            found = self._sequences[key]
            return self._reading(wrong, found) if found else None
        except ZeroDivisionError:
            kind = wrong.length.arithmetic
            return DEADLY if isinstance(kind, DType) and isinstance(kind.format, Int) else None
        except (BeyondError, SpecError):
            return None

    def _reading(self, wrong: _Sequence, found: Sequences) -> CallReading | None:
        n = found.length(wrong.length, wrong.mode)
        if n < 0:
            return CallReading("", pattern=REFUSED)
        if n > _LONGEST:
            return None
        mode = found.mode(self.output, wrong.mode)
        values = found.values(wrong.element, wrong.mode, n)
        codes = self._codes(values, wrong.hops, wrong.rounds or mode)
        return call_reading("", codes, self.case.outputs[0], found.free_zero)

    def _codes(self, values: Sequence[Fraction], hops: Sequence[Hop], mode: str) -> Codes:
        """On overflow, low bits or the largest float."""
        last = Hop(self.case.outputs[0], mode, "wrap")
        x = _gone(from_fractions([*values]), (*hops, last), self.output)
        return encode(self.output, round_to(x, self.output, MODES[mode]).magnitude, x.sign)

    def _made(self, through: Arguments, call: Call) -> Sequences | None:
        """None for NaN or infinity. Raises BeyondError."""
        try:
            values, has_minus_zero = self.right.arguments(call)
        except UndefinedError:
            return None
        for name, dtype in zip(values, self.case.inputs, strict=True):
            if hops := [hop for types, hop in through if dtype.name in types]:
                gone = _gone(from_fractions([values[name]]), hops, cast(Numeric, dtype.format))
                values[name] = to_fraction(gone, 0)
        return Sequences(self.formula, self.output, values, has_minus_zero, machine=True)


def _gone(x: Numbers, hops: Sequence[Hop], fmt: Numeric) -> Numbers:
    """Raises BeyondError on infinity, and SpecError for hops of codes, texts or bits."""
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
