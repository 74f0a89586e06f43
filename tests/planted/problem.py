"""What a planted bug has to work with: a case, its program, and inputs with the right answers.

The evaluation is a plain one of its own: whole arrays, and the first reading where there are
several. A bug changes the program, the inputs as they are seen, or the answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from catalogue import compiled

from convcheck.numerics.codec import decode
from convcheck.numerics.codes import Bits
from convcheck.numerics.format import Float, Format
from convcheck.numerics.number import Numbers
from convcheck.rules.model import Case
from convcheck.semantics.program import CompiledOutcome, CompiledRow, Program
from convcheck.semantics.vocabulary import Mask, Points

T = TypeVar("T")


class BadPoints(Points):
    """Points that know what case and outcome words gave of them."""

    def once(self, word: Callable[[Points, str], T], mode: str) -> T:
        """What a word gives. Bugs share most of the rows of a program."""
        key = (word, mode)
        if key not in self._known:
            self._known[key] = word(self, mode)
        found: T = self._known[key]
        return found

    @cached_property
    def _known(self) -> dict[object, Any]:
        return {}


def answers(program: Program, points: BadPoints) -> Bits:
    """Evaluate a program under its first reading: codes, or texts."""
    storage = points.target.storage
    codes = np.full(len(points.bits), "" if storage.hasobject else 0, storage)
    todo = np.ones(len(codes), bool)
    for entry in program.entries:
        here = todo if entry.test is None else todo & points.once(entry.test, entry.mode)
        if here.any():
            codes[here] = _answers_of_step(entry.steps[0], points, here)
        todo = todo & ~here
    return codes


def _answers_of_step(step: CompiledOutcome, points: BadPoints, here: Mask) -> Bits | int | str:
    if step.compute is not None:
        return points.once(step.compute, step.mode)[here]
    if step.program is not None:
        return answers(step.program, points)[here]
    return "" if points.target.storage.hasobject else step.code


@dataclass
class Problem:
    """Inputs of one case. What is computed of them is kept, and shared by the bugs."""

    case: Case
    program: Program
    bits: Bits
    rounded: dict[Float, Numbers | None] = field(default_factory=dict)  # to formats on the way
    said: dict[object, bool] = field(default_factory=dict)  # of answers

    @property
    def source(self) -> Format:
        return self.case.inputs[0].format

    @property
    def target(self) -> Format:
        return self.case.outputs[0].format

    @cached_property
    def points(self) -> BadPoints:
        return BadPoints(self.source, self.target, self.bits, decode(self.source, self.bits))

    @cached_property
    def right(self) -> Bits:
        return answers(self.program, self.points)

    @property
    def x(self) -> Numbers:
        return self.points.x

    def once(self, answers: Bits | None, question: Callable[[], bool]) -> bool:
        """Answer a question, always the same one, about answers; of None it is asked each time."""
        if answers is None:
            return question()
        key = tuple(answers) if answers.dtype.hasobject else answers.tobytes()
        if key not in self.said:
            self.said[key] = question()
        return self.said[key]

    def seen(self, bits: Bits, source: Format | None = None, target: Format | None = None) -> Bits:
        """Answer as if the inputs were others, or the formats."""
        source, target = source or self.source, target or self.target
        return answers(self.program, BadPoints(source, target, bits, decode(source, bits)))

    def denoting(self, x: Numbers) -> Bits:
        """Answer as if the inputs denoted other numbers."""
        return answers(self.program, BadPoints(self.source, self.target, self.bits, x))

    def compiled(self, case: Case) -> Program:
        """The program of another case."""
        return compiled(case)

    def tried(self, program: Program) -> Bits:
        """Answer by another program."""
        return answers(program, self.points)


def reworked(program: Program, change: Callable[[CompiledRow], CompiledRow]) -> Program:
    """The same program with every entry changed, those of programs within it too."""

    def inside(step: CompiledOutcome) -> CompiledOutcome:
        return replace(step, program=step.program and reworked(step.program, change))

    changed = [change(entry) for entry in program.entries]
    entries = [replace(e, steps=tuple(map(inside, e.steps))) for e in changed]
    return replace(program, entries=tuple(entries))


def rounding_by(program: Program, modes: dict[str, str]) -> Program:
    """The same program with rounding modes exchanged."""

    def change(entry: CompiledRow) -> CompiledRow:
        steps = tuple(replace(s, mode=modes.get(s.mode, s.mode)) for s in entry.steps)
        return replace(entry, mode=modes.get(entry.mode, entry.mode), steps=steps)

    return reworked(program, change)


Bugged = Callable[[Problem], Bits | None]


def put(p: Problem, here: Mask, codes: Bits | int | str) -> Bits:
    """The right answers, but for other codes in some places."""
    answers = p.right.copy()
    np.copyto(answers, codes, where=here, casting="unsafe")
    return answers
