"""Compute the expected sequence of a formula's call, in exact fractions, under every reading."""

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
from convcheck.numerics.number import FINITE, Bits, Codes, Numbers, from_fractions, to_fraction
from convcheck.numerics.rounding import round_to
from convcheck.numerics.words import spell_special, value_of
from convcheck.rules.body.formula import (
    INDEX,
    LAST,
    MINUS_ZERO,
    NOT_FINITE,
    NOT_SCALAR,
    OVERFLOW,
    ZERO,
    Formula,
    FormulaRule,
    FormulaWay,
)
from convcheck.rules.causes import ARGUMENTS, Cause, Changes, FormulaEdit
from convcheck.rules.expression import Expression, renamed
from convcheck.rules.hop import MAGNITUDE, NEGATED, WHOLE, Hop
from convcheck.rules.model import Case, DType, Spec
from convcheck.rules.rule import ELSE
from convcheck.semantics.body.sequence import Sequences
from convcheck.semantics.expected import (
    ANY_ZERO,
    DEADLY,
    EXACT,
    REFUSED,
    UNDEFINED,
    Call,
    CallReading,
    CompiledCalls,
    Decision,
    ExpectedCall,
    ExpectedOutput,
    WrongCall,
    decision_of,
)
from convcheck.semantics.hops import gone_through
from convcheck.semantics.vocabulary import Points
from convcheck.streams import plural

# The rows of a rule.
PLAIN, AGREED, DIFFERING = "no element is rounded", "every reading agrees", "readings differ"
LONGEST = 1 << 24  # elements of a sequence in `expect`


class TooLongError(ValueError):
    """A sequence too long for `expect`."""


class UndefinedError(Exception):
    """A call that a condition of the spec leaves undefined."""

    def __init__(self, row: int) -> None:
        self.row = row


def compile_formula(spec: Spec, case: Case) -> "FormulaCalls":
    """Compile a case of a formula. Raises SpecError."""
    formula = spec.body_as(Formula)
    rule = rule_of(formula, case)
    if rule is None:
        raise SpecError(f"no rule is for {case.name}", place=formula.place, hint="add one")
    return FormulaCalls(formula, rule, case, tuple(_decisions(spec, formula, rule)))


def rule_of(formula: Formula, case: Case) -> FormulaRule | None:
    """Return the rule of a case."""
    return next((r for r in formula.rules if r.when.holds(case.inputs, case.outputs[0])), None)


def _decisions(spec: Spec, formula: Formula, rule: FormulaRule) -> Iterator[Decision]:
    for u in formula.undefined:
        yield decision_of(spec, ("undefined", u.name), u.level, u.cite, u.place)
    name, place = rule.name, rule.place
    cites = [("length", formula.length_cite), ("elements", rule.cite)]
    yield decision_of(spec, (name, PLAIN), rule.level, rule.cite, place, cites=cites)
    cites.append(("", rule.differing))
    yield decision_of(spec, (name, AGREED), rule.agreed, rule.differing, place, cites=cites)
    cites += [("", way.cite) for reading in rule.readings for way in reading]
    cites += [("interval", formula.interval.cite)] if formula.interval else []
    yield decision_of(spec, (name, DIFFERING), "disputed", rule.differing, place, cites=cites)


@dataclass(frozen=True)
class FormulaCalls(CompiledCalls):
    """A compiled case. The last three decisions are the rule's."""

    formula: Formula
    rule: FormulaRule
    case: Case
    decisions: tuple[Decision, ...]

    def size(self, inputs: Sequence[Bits]) -> int:
        """Return the length of the longest reading, 1 if undefined. Raises SpecError."""
        return max(self.lengths(inputs), default=1)

    def lengths(self, inputs: Sequence[Bits]) -> frozenset[int]:
        """Return the lengths of all readings, none if undefined. Raises SpecError."""
        try:
            return self._lengths(self._sequences(inputs))
        except (UndefinedError, BeyondError):
            return frozenset()
        except ZeroDivisionError:
            raise self._undecided("a division by zero") from None

    @property
    def agrees_on_elements(self) -> bool:
        """Whether only the length is in dispute."""
        ways = {element for _, element in self.rule.readings}
        return len(ways) == 1 and not isinstance(self.case.outputs[0].format, Float)

    def expect(self, inputs: Sequence[Bits]) -> ExpectedCall:
        """Return the expectation of a call. Raises TooLongError and SpecError."""
        try:
            sequences = self._sequences(inputs)
            if (size := max(self._lengths(sequences))) > LONGEST:
                raise TooLongError(f"a sequence of {plural(size, 'element')}: {LONGEST:,} at most")
            readings = list(self._distinct(sequences))
        except BeyondError:
            return _undefined(self._row(OVERFLOW))
        except UndefinedError as undefined:
            return _undefined(undefined.row)
        except ZeroDivisionError:
            raise self._undecided("a division by zero") from None
        row = len(self.decisions) - 1
        if len(readings) == 1:
            plain = sequences.plain(*readings[0].outputs[0].shape)
            row -= 2 if plain else 1
            readings = [replace(readings[0], name="")]
        between = self.rule.between and self.decisions[row].row != PLAIN
        return ExpectedCall(row, tuple(readings), between)

    def arguments(self, inputs: Sequence[Bits]) -> tuple[dict[str, Fraction], bool]:
        """Return the arguments by name, and whether one is -0. Raises UndefinedError."""
        if any(bits.ndim for bits in inputs):
            raise UndefinedError(self._row(NOT_SCALAR))
        formats = [cast(Numeric, dtype.format) for dtype in self.case.inputs]
        codes = [(fmt, int(bits)) for fmt, bits in zip(formats, inputs, strict=True)]
        special = {spell_special(*one) for one in codes}
        if special - {"", "-0"}:
            raise UndefinedError(self._row(NOT_FINITE))
        values = (value_of(*one) for one in codes)
        return dict(zip(self.formula.arguments, values, strict=True)), "-0" in special

    def _sequences(self, inputs: Sequence[Bits]) -> Sequences:
        arguments, has_minus_zero = self.arguments(inputs)
        if has_minus_zero and MINUS_ZERO in [u.when for u in self.formula.undefined]:
            raise UndefinedError(self._row(MINUS_ZERO))
        output = cast(Numeric, self.case.outputs[0].format)
        sequences = Sequences(self.formula, output, arguments, has_minus_zero)
        for mode in self.formula.to_float:
            converted = sequences.converted(mode)
            for row, undefined in enumerate(self.formula.undefined):
                if undefined.when == ZERO and converted[undefined.argument] == 0:
                    raise UndefinedError(row)
        return sequences

    def _lengths(self, sequences: Sequences) -> frozenset[int]:
        ways, modes = dict.fromkeys(way for way, _ in self.rule.readings), self.formula.to_float
        return frozenset(sequences.length(way, mode) for way in ways for mode in modes)

    def _distinct(self, sequences: Sequences) -> Iterator[CallReading]:
        seen: set[Hashable] = set()
        dtype = self.case.outputs[0]
        for mode in self.formula.to_float:
            for length, element in self.rule.readings:
                n = sequences.length(length, mode)
                if (same := (sequences.alike(element, mode), n)) in seen:
                    continue
                seen.add(same)
                codes = sequences.codes(element, mode, n)
                for end in dict.fromkeys((n, sequences.inside(codes))):
                    if codes[:end] not in seen:
                        seen.add(codes[:end])
                        name = self._name(length, element, mode)
                        named = name if end == n else f"{name}; ending before the limit"
                        elements = np.array(codes[:end], dtype.format.storage)
                        yield call_reading(named, elements, dtype, sequences.free_zero)

    def _name(self, length: FormulaWay, element: FormulaWay, mode: str) -> str:
        form = "by a running sum" if element.running else "by index"
        name = f"length {length}; elements {element}, {form}"
        return f"{name}; conversions {mode}" if len(self.formula.to_float) > 1 else name

    def _row(self, when: str) -> int:
        for row, undefined in enumerate(self.formula.undefined):
            if undefined.when == when:
                return row
        raise self._undecided(when)

    def _undecided(self, what: str) -> SpecError:
        message = f"{self.case.name}: {what}, and no condition says what such a call gives"
        hint = "undefined: [{name: …, when: …, cite: …}]"
        return SpecError(message, place=self.formula.place, hint=hint)


def call_reading(name: str, codes: Codes, dtype: DType, free_zero: bool) -> CallReading:
    """Return the reading of a call that gives a sequence."""
    patterns = np.full(len(codes), EXACT, np.uint8)
    if free_zero and isinstance(dtype.format, Float):
        patterns[codes & codes.dtype.type(dtype.format.magnitude_mask) == 0] = ANY_ZERO
        codes = np.where(patterns == ANY_ZERO, codes.dtype.type(0), codes)
    return CallReading(name, (ExpectedOutput(dtype, codes.shape, codes, patterns),))


def _undefined(row: int) -> ExpectedCall:
    return ExpectedCall(row, (CallReading("", (), UNDEFINED),))


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
