"""Compute single exact values, each operation rounded to a type.

Floats round to nearest even (IEEE 754-2019, 4.3.3). Integers do not round or overflow, except
machine integers, which wrap and truncate division.
"""

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial

from convcheck.errors import SpecError
from convcheck.numerics.format import Int, Numeric
from convcheck.numerics.modes import NEAREST, BeyondError, grid_of

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
    """Return the operations of a type. These raise BeyondError, a machine's ZeroDivisionError."""
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


def typed_operations(
    formats: Mapping[str, Numeric], machine: bool = False
) -> Mapping[str, Callable[..., Typed]]:
    """Return operations on typed values. These raise BeyondError, ZeroDivisionError, SpecError."""
    table = {name: _typed(name, machine) for name in EXACTLY}
    table["number"] = lambda n: Typed(Fraction(n), None, literal=True)
    table["convert"] = lambda name, x: Typed(fitted(x.value, formats[name], machine), formats[name])
    return table


def _typed(name: str, machine: bool) -> Callable[..., Typed]:
    def operation(*parts: Typed) -> Typed:
        formats = {p.fmt for p in parts if not p.literal}
        if len(formats) > 1:
            raise SpecError(f"{name} of two types", hint="convert one to the other's type")
        fmt = next(iter(formats), None)
        work = operations(fmt, machine) if fmt else EXACTLY
        return Typed(work[name](*(p.value for p in parts)), fmt, literal=not formats)

    return operation
