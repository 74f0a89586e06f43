"""Arithmetic of one exact value at a time, each operation rounded to a type, for expressions.

Arithmetic within a float type rounds to nearest even (IEEE 754-2019, 4.3.3: the default of binary
formats); an integer type has no rounding and no room outside its range, unless it is a machine's:
there results wrap round, and division drops the rest.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial

from convcheck.errors import SpecError
from convcheck.numerics.format import Int, Numeric
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
def operations(fmt: Numeric | None, machine: bool = False) -> Operations:
    """Return the operations of a type, exact ones for None; of an integer type, a machine's.

    They raise BeyondError on overflow; a division by zero is one, and ZeroDivisionError where it
    is exact, or a machine's integers are divided.
    """
    work: dict[str, Callable[..., Fraction]] = {"max": max, "floor": whole_below}
    if fmt is None:
        work.update(divide=operator.truediv, negate=operator.neg, ceil=whole_above, number=Fraction)
        return {**work, **_BINARY, "abs": abs}
    wraps = machine and isinstance(fmt, Int)
    fit = partial(low_bits, fmt) if wraps else grid_of(fmt, NEAREST).round
    rounded = {name: _rounded(apply, fit) for name, apply in _BINARY.items()}
    return {
        **work,
        **rounded,
        "divide": (lambda a, b: fit(a / b)) if wraps else lambda a, b: fit(_quotient(a, b)),
        "negate": lambda a: fit(-a),
        "abs": lambda a: fit(abs(a)),
        "ceil": lambda a: fit(whole_above(a)),
        "number": lambda n: fit(Fraction(n)),
    }


def _quotient(a: Fraction, b: Fraction) -> Fraction:
    if b == 0:
        raise BeyondError("a division by zero")
    return a / b


def low_bits(fmt: Numeric, value: Fraction) -> Fraction:
    """Return the integer that the low bits of a value are, without its fraction."""
    code = math.trunc(value) & int(fmt.max - fmt.min)
    return Fraction(code if code <= fmt.max else code - int(fmt.max - fmt.min) - 1)


def whole_below(value: Fraction) -> Fraction:
    """Return the greatest whole number that is not above a value."""
    return Fraction(math.floor(value))


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


def typed_operations(
    formats: Mapping[str, Numeric], machine: bool = False
) -> Mapping[str, Callable[..., Typed]]:
    """Return operations on typed values, which work in their operands' type, and conversions.

    `formats` are the types by name, for 'convert', which rounds to nearest even; a machine's
    integers are the low bits of what is converted. They raise BeyondError on overflow,
    ZeroDivisionError, and SpecError for operands of two types.
    """
    names = (*_BINARY, "divide", "negate", "ceil", "floor", "abs", "max")
    table = {name: _typed(name, machine) for name in names}
    table["number"] = lambda n: Typed(Fraction(n), None, literal=True)
    table["convert"] = lambda name, x: _converted(formats[name], x.value, machine)
    return table


def _converted(fmt: Numeric, value: Fraction, machine: bool) -> Typed:
    fits = machine and isinstance(fmt, Int)
    return Typed(low_bits(fmt, value) if fits else grid_of(fmt, NEAREST).round(value), fmt)


def _typed(name: str, machine: bool) -> Callable[..., Typed]:
    def operation(*parts: Typed) -> Typed:
        formats = list(dict.fromkeys(p.fmt for p in parts if not p.literal))
        if len(formats) > 1:
            raise SpecError(f"{name} of two types", hint="convert one to the other's type")
        if not formats:
            return Typed(operations(None)[name](*(p.value for p in parts)), None, literal=True)
        work = operations(formats[0], machine)
        return Typed(work[name](*(p.value for p in parts)), formats[0])

    return operation
