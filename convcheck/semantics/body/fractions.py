"""Lines of steps computed exactly, element by element on fractions: what numbers of 64 bits with a
sticky bit are too short for, such as a product of a quotient.

Infinities are Python's, since fractions have none: they compare with fractions as they should.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import cast

import numpy as np

from convcheck.numerics.arithmetic import InexactError
from convcheck.numerics.number import FAR, FINITE, INFINITY, NAN, Numbers, from_fractions
from convcheck.rules.body.steps import StepsLine
from convcheck.rules.expression import Expression, compute
from convcheck.semantics.typed_arithmetic import operations

Value = Fraction | float  # of floats infinities and NaN alone
_HOLDS: Mapping[str, Callable[[Value, Value], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_WHOLE: Mapping[str, Callable[[Fraction], int]] = {
    "nearest-even": round,
    "nearest-away": lambda x: math.floor(abs(x) + Fraction(1, 2)) * (-1 if x < 0 else 1),
    "toward-zero": math.trunc,
    "floor": math.floor,
    "ceil": math.ceil,
}


def by_fractions(
    wanted: Expression, known: Mapping[str, Numbers], lines: Mapping[str, StepsLine], mode: str
) -> Numbers:
    """Return an expression over numbers that are known, of shape (n,), and lines that are computed
    from them; `mode` is that of ``round(x)``. Zeros are +0, what divides by zero is NaN.

    Raises InexactError for an operation that is not of single elements, and another mode.
    """
    values = {name: _values(x) for name, x in known.items()}
    n = len(next(iter(known.values())))
    found = [_Element({k: v[i] for k, v in values.items()}, lines, mode)(wanted) for i in range(n)]
    return _numbers(found)


def _values(x: Numbers) -> list[Value]:
    parts = (x.kind, x.sign, x.exponent, x.significand)
    return [_value(*one) for one in zip(*(part.tolist() for part in parts), strict=True)]


@lru_cache(1 << 12)
def _value(kind: int, sign: bool, exponent: int, significand: int) -> Value:
    if kind != FINITE:
        return math.nan if kind == NAN else -math.inf if sign else math.inf
    magnitude = (
        Fraction(significand) * Fraction(2) ** (exponent - 63) if significand else Fraction(0)
    )
    return -magnitude if sign else magnitude


class _Element(dict[str, Value]):
    """The values of one element by name: a line is computed where it is asked for."""

    def __init__(
        self, known: Mapping[str, Value], lines: Mapping[str, StepsLine], mode: str
    ) -> None:
        super().__init__(known)
        self._lines = lines
        if mode not in _WHOLE:
            raise InexactError(f"{mode} of fractions")
        self._operations: dict[str, Callable[..., Value]] = {
            **operations(None),
            "min": min,
            "round": lambda x: Fraction(_WHOLE[mode](x)),
        }

    def __call__(self, expression: Expression) -> Value:
        try:
            return compute(expression, self, self._operations)
        except KeyError as error:
            raise InexactError(f"{error} of fractions") from None
        except (ArithmeticError, ValueError):  # by zero, of infinities, of NaN
            return math.nan

    def __missing__(self, name: str) -> Value:
        line = self._lines[name]
        for branch in line.branches:
            left, right = branch.condition.left, branch.condition.right
            if _HOLDS[branch.condition.relation](self(left), self(right)):
                return self.setdefault(name, self(branch.be))
        return self.setdefault(name, self(cast(Expression, line.be)))


def _numbers(values: list[Value]) -> Numbers:
    """Return numbers of values; from_fractions' for those that are finite."""
    found = from_fractions([v if isinstance(v, Fraction) else Fraction(0) for v in values])
    for i, value in enumerate(values):
        if not isinstance(value, Fraction):
            found.kind[i] = NAN if math.isnan(value) else INFINITY
            found.sign[i] = value < 0
            found.exponent[i], found.significand[i] = FAR, np.uint64(1 << 63)
    return found
