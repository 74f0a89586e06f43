"""Compute length and elements of a formula's call, cached by type and arguments."""

import math
import operator
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, partial
from typing import cast

from convcheck.errors import SpecError
from convcheck.numerics.format import Float, Int, Numeric
from convcheck.numerics.modes import NEAREST, BeyondError, grid_of
from convcheck.numerics.words import value_of
from convcheck.rules.body.formula import EXACT, INDEX, LAST, Formula, FormulaWay
from convcheck.rules.expression import CONVERT, compute
from convcheck.rules.model import DType

Operations = Mapping[str, Callable[..., Fraction]]
EXACTLY: Operations = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "negate": operator.neg,
    "abs": abs,
    "max": max,
    "floor": lambda x: Fraction(math.floor(x)),
    "ceil": lambda x: Fraction(math.ceil(x)),
    "number": Fraction,
}


@cache
def operations(fmt: Numeric, machine: bool = False) -> Operations:
    """Return the operations of a type. These raise BeyondError, a machine's ZeroDivisionError.

    Floats round to nearest even (IEEE 754-2019, 4.3.3). Integers do not round or overflow, except
    machine integers, which wrap and truncate division.
    """
    divide = operator.truediv if machine and isinstance(fmt, Int) else _quotient

    def applied(apply: Callable[..., Fraction], *parts: Fraction) -> Fraction:
        return fitted(apply(*parts), fmt, machine)

    return {name: partial(applied, apply) for name, apply in {**EXACTLY, "divide": divide}.items()}


def fitted(value: Fraction, fmt: Numeric, machine: bool = False) -> Fraction:
    """Return a value rounded to a type; machine integers wrap. Raises BeyondError."""
    if not (machine and isinstance(fmt, Int)):
        return grid_of(fmt, NEAREST).round(value)
    code = math.trunc(value) & fmt.mask
    return Fraction(code if code <= fmt.max else code - fmt.mask - 1)


def _quotient(a: Fraction, b: Fraction) -> Fraction:
    if b == 0:
        raise BeyondError("a division by zero")
    return a / b


@dataclass(frozen=True, slots=True)
class Typed:
    """A value and its format, None for exact; a `literal` takes any format."""

    value: Fraction
    fmt: Numeric | None
    literal: bool = False


@cache
def _typed(
    conversions: tuple[DType, ...], machine: bool = False
) -> Mapping[str, Callable[..., Typed]]:
    """Return operations on typed values. These raise BeyondError, ZeroDivisionError, SpecError."""
    formats = {t.name: cast(Numeric, t.format) for t in conversions}
    table = {name: _operation(name, machine) for name in EXACTLY}
    table["number"] = lambda n: Typed(Fraction(n), None, literal=True)
    table["convert"] = lambda name, x: Typed(fitted(x.value, formats[name], machine), formats[name])
    return table


def _operation(name: str, machine: bool) -> Callable[..., Typed]:
    def operation(*parts: Typed) -> Typed:
        formats = {p.fmt for p in parts if not p.literal}
        if len(formats) > 1:
            raise SpecError(f"{name} of two types", hint="convert one to the other's type")
        fmt = next(iter(formats), None)
        work = operations(fmt, machine) if fmt else EXACTLY
        return Typed(work[name](*(p.value for p in parts)), fmt, literal=not formats)

    return operation


Values = Mapping[str, Fraction]


@dataclass(eq=False, slots=True)
class _Computed:
    #: None: exact
    fmt: Numeric | None
    arguments: Values
    length: int | None = None
    #: before conversion to the output's type
    elements: list[Fraction] = field(default_factory=list)
    #: by conversion mode
    codes: dict[str, list[int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Sequences:
    """The exact arguments of a call. Methods raise BeyondError, ZeroDivisionError or SpecError."""

    formula: Formula
    output: Numeric
    arguments: Values
    #: an argument is -0, so that a zero element may have either sign
    free_zero: bool = False
    #: integers wrap, and a length may be negative
    machine: bool = False
    _started: dict[tuple[FormulaWay, str], _Computed] = field(default_factory=dict)
    _known: dict[Hashable, _Computed] = field(default_factory=dict)
    _fitted: dict[str, Values] = field(default_factory=dict)

    def converted(self, mode: str) -> Values:
        """Return the arguments in the output's type; `mode` is for floats."""
        mode = self.mode(self.output, mode)
        if mode not in self._fitted:
            fit = grid_of(self.output, mode).round
            self._fitted[mode] = {name: fit(value) for name, value in self.arguments.items()}
        return self._fitted[mode]

    def length(self, way: FormulaWay, mode: str) -> int:
        """Return the number of elements."""
        found = self._start(way, mode)
        if found.length is None:
            typed = {name: Typed(value, found.fmt) for name, value in found.arguments.items()}
            n = compute(way.expression, typed, _typed(way.conversions, self.machine)).value
            if n.denominator != 1 or (n < 0 and not self.machine):
                hint = "max(ceil(…), 0) makes a number of elements of it"
                raise SpecError(f"a length of {n}", place=self.formula.place, hint=hint)
            found.length = int(n)
        return found.length

    def alike(self, way: FormulaWay, mode: str) -> Hashable:
        """Return a key: equal keys mean equal elements and codes."""
        return self._start(way, mode), self.mode(self.output, mode)

    def codes(self, way: FormulaWay, mode: str, n: int) -> tuple[int, ...]:
        """Return the codes of the first n elements, converted by `mode`."""
        rounding = self.mode(self.output, mode)
        known = self._start(way, mode).codes.setdefault(rounding, [])
        if len(known) < n:
            code = grid_of(self.output, rounding).code
            known += map(code, self.values(way, mode, n)[len(known) :])
        return tuple(known[:n])

    def inside(self, codes: tuple[int, ...]) -> int:
        """Return the number of elements before the limit, if the formula excludes it."""
        end, interval = len(codes), self.formula.interval
        if interval is None:
            return end
        limit, up = self.arguments[interval.limit], self.arguments[interval.step] > 0
        for code in reversed(codes):
            value = value_of(self.output, code)
            if not (value >= limit if up else value <= limit):
                break
            end -= 1
        return end

    def plain(self, n: int) -> bool:
        """Whether the output's type has the first n elements exactly."""
        fit = grid_of(self.output, self.mode(self.output, NEAREST)).round
        element = self.formula.element
        names = ({**self.arguments, INDEX: Fraction(i)} for i in range(n))
        try:
            return all(fit(x) == x for x in (compute(element, each, EXACTLY) for each in names))
        except BeyondError:
            return False

    def mode(self, fmt: Numeric, mode: str) -> str:
        """Return the mode for rounding to a type; `mode` is for floats."""
        return mode if isinstance(fmt, Float) else self.formula.to_integer

    def _start(self, way: FormulaWay, mode: str) -> _Computed:
        key = way, mode  # the evaluations belong to the rule, and outlive the call
        if key not in self._started:
            arguments = self.converted(mode) if way.converted else self.arguments
            of = way.arithmetic
            fmt = None if of == EXACT else self.output
            if isinstance(of, DType):
                fmt = cast(Numeric, of.format)
            if fmt is not None:
                fit = grid_of(fmt, self.mode(fmt, mode)).round
                arguments = {name: fit(value) for name, value in arguments.items()}
            same = way.expression, fmt, tuple(arguments.values())
            self._started[key] = self._known.setdefault(same, _Computed(fmt, arguments))
        return self._started[key]

    def values(self, way: FormulaWay, mode: str, n: int) -> list[Fraction]:
        """Return the first n elements before conversion."""
        found = self._start(way, mode)
        known, arguments = found.elements, found.arguments
        if len(known) >= n:
            return known[:n]
        formats = {t.name: cast(Numeric, t.format) for t in way.conversions}
        own = EXACTLY if found.fmt is None else operations(found.fmt, self.machine)
        work: Operations = {**own, CONVERT: lambda name, x: fitted(x, formats[name], self.machine)}
        while len(known) < n:
            if way.running and known:
                value = compute(way.expression, {**arguments, LAST: known[-1]}, work)
            else:
                index = work["number"](len(known))
                element = self.formula.element if way.running else way.expression
                value = compute(element, {**arguments, INDEX: index}, work)
            known.append(value)
        return known[:n]
