"""Arithmetic of one exact value at a time, each operation rounded to a type, for expressions.

Arithmetic within a float type rounds to nearest even (IEEE 754-2019, 4.3.3: the default of binary
formats); an integer type has no rounding and no room outside its range.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from convcheck.errors import SpecError
from convcheck.numerics.format import Numeric
from convcheck.numerics.scalar import BeyondError, Grid

Binary = Callable[[Fraction, Fraction], Fraction]
Operations = Mapping[str, Callable[..., Fraction]]
_BINARY: Mapping[str, Binary] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
}
NEAREST = "nearest-even"


@cache
def grid_of(fmt: Numeric, mode: str) -> Grid:
    """Return the grid of a format under a rounding mode."""
    return Grid(fmt, mode)


@cache
def operations(fmt: Numeric | None) -> Operations:
    """Return the operations of a type, exact ones for None.

    They raise BeyondError on overflow; a division by zero is one, and ZeroDivisionError where it
    is exact.
    """
    work: dict[str, Callable[..., Fraction]] = {"max": max}
    if fmt is None:
        work.update(divide=operator.truediv, negate=operator.neg, ceil=whole_above, number=Fraction)
        return {**work, **_BINARY}
    fit = grid_of(fmt, NEAREST).round
    rounded = {name: _rounded(apply, fit) for name, apply in _BINARY.items()}
    return {
        **work,
        **rounded,
        "divide": lambda a, b: fit(_quotient(a, b)),
        "negate": lambda a: fit(-a),
        "ceil": lambda a: fit(whole_above(a)),
        "number": lambda n: fit(Fraction(n)),
    }


def _quotient(a: Fraction, b: Fraction) -> Fraction:
    if b == 0:
        raise BeyondError("a division by zero")
    return a / b


def whole_above(value: Fraction) -> Fraction:
    """Return the least whole number that is not below a value."""
    return Fraction(math.ceil(value))


def _rounded(apply: Binary, fit: Callable[[Fraction], Fraction]) -> Binary:
    return lambda a, b: fit(apply(a, b))


@dataclass(frozen=True, slots=True)
class Typed:
    """A value and the format that it is of; `literal` for a number that takes any format."""

    value: Fraction
    #: The format, None for exact values.
    fmt: Numeric | None
    literal: bool = False


def typed_operations(formats: Mapping[str, Numeric]) -> Mapping[str, Callable[..., Typed]]:
    """Return operations on typed values, which work in their operands' type, and conversions.

    `formats` are the types by name, for 'convert', which rounds to nearest even. They raise
    BeyondError on overflow, ZeroDivisionError, and SpecError for operands of two types.
    """
    table: dict[str, Callable[..., Typed]] = {
        name: _typed(name) for name in (*_BINARY, "divide", "negate", "ceil", "max")
    }
    table["number"] = lambda n: Typed(Fraction(n), None, literal=True)
    table["convert"] = lambda name, x: Typed(
        grid_of(formats[name], NEAREST).round(x.value), formats[name]
    )
    return table


def _typed(name: str) -> Callable[..., Typed]:
    def operation(*parts: Typed) -> Typed:
        formats = list(dict.fromkeys(p.fmt for p in parts if not p.literal))
        if len(formats) > 1:
            raise SpecError(f"{name} of two types", hint="convert one to the other's type")
        if not formats:
            return Typed(operations(None)[name](*(p.value for p in parts)), None, literal=True)
        return Typed(operations(formats[0])[name](*(p.value for p in parts)), formats[0])

    return operation
