"""Planted bugs of DynamicQuantizeLinear: float32 operations in numpy with one fault."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

F = np.float32
Floats = NDArray[np.float32]
Number = np.float32


def adjusted(x):
    return min(x.min(), F(0)), max(x.max(), F(0))


def by_division(x, scale):
    return x / scale


def of_range(low, high):
    return F(high - low) / F(255)


def to_even(x):
    return np.rint(x)


def away(x):
    return np.trunc(x + np.copysign(F(0.5), x))


def from_low(low, scale):
    return F(0) - low / scale


@dataclass(frozen=True)
class Dynamic:
    name: str
    ends: Callable[[Floats], tuple[Number, Number]] = adjusted
    scale: Callable[[Number, Number], Number] = of_range
    zero: Callable[[Number, Number], Number] = from_low
    rounds_zero: Callable[[Floats], Floats] = to_even
    divides: Callable[[Floats, Number], Floats] = by_division
    rounds: Callable[[Floats], Floats] = to_even
    adds_first: bool = False
    wraps: bool = False
    #: The least number of y and of the zero point.
    least: int = 0
    #: The zero point is one of -128 to 127, as for int8.
    signed: bool = False

    def answer(self, codes):
        with np.errstate(all="ignore"):
            x = codes.view(np.float32)
            low, high = self.ends(x.reshape(-1))
            scale = F(self.scale(low, high))
            zero = self.rounds_zero(np.clip(F(self.zero(low, scale)), self.least, F(255)))
            zero = np.clip(zero, -128, 127) if self.signed else zero
            y = self.divides(x, scale)
            y = self.rounds(y + zero) if self.adds_first else self.rounds(y) + zero
            if not self.wraps:
                y = np.clip(y, self.least, 255)
            return _bytes(y), np.array(scale).view(np.uint32), _bytes(np.array(zero))


def _bytes(x):
    return np.nan_to_num(x).astype(np.int64).astype(np.uint8)


BUGS = (
    Dynamic("the range does not include 0", ends=lambda x: (x.min(), x.max())),
    Dynamic("the last element is not looked at", ends=lambda x: adjusted(x[: max(len(x) - 1, 1)])),
    Dynamic("a symmetric range", ends=lambda x: (-abs(x).max(), abs(x).max())),
    Dynamic("256 steps", scale=lambda low, high: F(high - low) / F(256)),
    Dynamic("the scale by a reciprocal", scale=lambda low, high: F(high - low) * (F(1) / F(255))),
    Dynamic("the scale in float16", scale=lambda low, high: F(np.float16(of_range(low, high)))),
    Dynamic("a least scale", scale=lambda low, high: max(of_range(low, high), F(1e-7))),
    Dynamic("the zero point's ties away", rounds_zero=away),
    Dynamic("the zero point cut", rounds_zero=np.trunc),
    Dynamic("the zero point without a sign", zero=lambda low, scale: low / scale),
    Dynamic("the zero point of int8", signed=True),
    Dynamic("the quotient by a reciprocal", divides=lambda x, scale: x * (F(1) / scale)),
    Dynamic("ties away", rounds=away),
    Dynamic("truncation", rounds=np.trunc),
    Dynamic("the zero point before rounding", adds_first=True),
    Dynamic("wraps", wraps=True, scale=lambda low, high: np.nextafter(of_range(low, high), F(0))),
    Dynamic("the range of int8 as the other half says", least=1),
)  # fmt: skip
