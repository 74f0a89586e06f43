"""Planted bugs of sequences: plausible mistakes in computing start, start + step, … before stop."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from oracle.formats import FLOATS, number
from oracle.ranges import EVEN, cast, pattern


@dataclass(frozen=True)
class Question:
    start: Fraction
    stop: Fraction
    step: Fraction
    types: tuple[str, ...]
    output: str

    @property
    def steps(self):
        return (self.stop - self.start) / self.step

    @property
    def length(self):
        return max(math.ceil(self.steps), 0)

    def element(self, i):
        return self.start + i * self.step


@dataclass(frozen=True)
class Bug:
    """A mistake: the exact elements, and their rounding to codes."""

    name: str
    elements: Callable[[Question], list[Fraction]]
    code: Callable[[str, Fraction], int] = lambda name, x: pattern(name, x, EVEN)


def question(types, output, codes):
    start, stop, step = (number(t, c) for t, c in zip(types, codes, strict=True))
    return Question(start, stop, step, types, output)


def answer(bug, asked):
    return tuple(bug.code(asked.output, x) for x in bug.elements(asked))


def right(asked):
    return first(asked, asked.length)


def first(asked, n):
    return [asked.element(i) for i in range(n)]


def floor(asked):
    return first(asked, max(math.floor(asked.steps), 0))


def inclusive(asked):
    return first(asked, max(math.floor(asked.steps) + 1, 0))


def unsigned_step(asked):
    return right(Question(asked.start, asked.stop, abs(asked.step), asked.types, asked.output))


def reversed_direction(asked):
    if asked.steps >= 0:
        return right(asked)
    turned = Question(asked.start, asked.stop, -asked.step, asked.types, asked.output)
    return right(turned)[::-1]


def int32_counter(asked):
    span = math.ceil(asked.stop - asked.start)
    wrapped = (span + 2**31) % 2**32 - 2**31
    n = asked.length if wrapped == span else max(math.ceil(wrapped / asked.step), 0)
    return first(asked, n)


def division_down(asked):
    whole = math.floor(asked.steps)
    lost = 0 < asked.steps - whole < Fraction(1, 2**20)
    return first(asked, max(whole if lost else asked.length, 0))


def one_step_late(asked):
    return [asked.element(i + 1) for i in range(asked.length)]


def whole_steps(asked):
    step = Fraction(int(asked.step))
    if step == 0:
        return []
    return right(Question(asked.start, asked.stop, step, asked.types, asked.output))


def never_empty(asked):
    return first(asked, max(asked.length, 1))


def by_doubles(asked):
    return [cast("float64", x, EVEN) for x in right(asked)]


def rounded_groups(asked):
    """Restart each whole group of 16 from its first element, rounded to the output type."""
    bases = [cast(asked.output, asked.element(i), EVEN) for i in range(0, asked.length - 15, 16)]
    grouped = [base + i * asked.step for base in bases for i in range(16)]
    return grouped + right(asked)[len(grouped) :]


def an_ulp_off(name, x):
    code = pattern(name, x, EVEN)
    return code + 1 if name in FLOATS and x else code


BUGS = (
    Bug("length floor instead of ceil", floor),
    Bug("inclusive stop", inclusive),
    Bug("sign of step ignored", unsigned_step),
    Bug("wrong direction returns reversed", reversed_direction),
    Bug("int32 counter", int32_counter),
    Bug("one element too few when the division rounds down", division_down),
    Bug("start off by one step", one_step_late),
    Bug("step truncated to an integer", whole_steps),
    Bug("empty returns one element", never_empty),
    Bug("integers by way of float64", by_doubles),
    Bug("an ulp too far from zero", right, an_ulp_off),
    Bug("groups of 16 from a rounded base", rounded_groups),
)
