"""Evaluate a case on inputs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.codec import decode
from convcheck.numerics.number import FINITE, Bits, Codes
from convcheck.rules.body.steps import Steps
from convcheck.rules.cases import fixed_tensors, fixes_all
from convcheck.rules.expression import NAME, NUMBER, Expression
from convcheck.rules.model import Case, Spec
from convcheck.semantics.answers_at import run_program
from convcheck.semantics.body.steps import CompiledSteps, compile_steps, layout_of
from convcheck.semantics.compile import compile_table
from convcheck.semantics.expected import Decision, Expected
from convcheck.semantics.program import Program
from convcheck.semantics.segments import U64, key_changes
from convcheck.semantics.vocabulary import COMPUTATIONS

_RISING = COMPUTATIONS["[x]"][0]
_KEPT = 64


@dataclass(frozen=True)
class _Trend:
    """The monotonicity of a value in the first input."""

    #: 1 or -1 if weakly monotone, 0 if constant
    slope: int | None
    #: of a finite nonzero constant
    sign: int = 0


_UNKNOWN = _Trend(None)


@dataclass(frozen=True, eq=False)
class FixedSteps:
    """Expectations of the first input of a steps case, with all others fixed.

    If lines are monotone, two codes of one sign that agree in row and result agree with all
    between.
    """

    compiled: CompiledSteps
    others: tuple[Bits, ...]

    def expect(self, codes: Codes) -> Expected:
        """Return the expectation of codes, shape (n,)."""
        due, runs = self.compiled.due([[self._stored(codes), *self.others]])
        rows = self.compiled.rows(due, runs)[0]
        return Expected(rows, self.compiled.decisions, tuple(one for [one] in due))

    def changes(self, first: int, last: int) -> U64 | None:
        """Return the codes of one sign where the expectation changes, with `first`, if known."""
        if not self.rises:
            return None
        return np.array([first, *key_changes([(first, last)], self._facts)], np.uint64)

    @cached_property
    def rises(self) -> bool:
        """Whether every line is monotone, and each row of the conversion takes one interval."""
        trends = {self.compiled.names[0]: _Trend(1)}
        for name, tensor in zip(self.compiled.names[1:], self.others, strict=True):
            fmt = self.compiled.types[name].format
            x = decode(fmt, tensor.reshape(-1))
            nonzero = x.kind[0] == FINITE and x.significand[0]
            trends[name] = _Trend(0, (-1 if x.sign[0] else 1) if nonzero else 0)
        *lines, last = self.compiled.lines
        for line in lines:
            trends[line.name] = _trend(line.be, trends) if line.be else _UNKNOWN
        slope = trends[last.source].slope if last.source in trends else None
        readings = self.compiled.steps.readings
        return slope is not None and all(
            _rises(self.compiled.program(last, one)) for one in readings
        )

    def _facts(self, codes: U64) -> NDArray[np.int64]:
        due, runs = self.compiled.due([[self._stored(codes), *self.others]])
        columns: list[NDArray[Any]] = [*self.compiled.rows(due, runs)]
        columns += [each for run in runs for each in run.decided.values()]
        columns += [column for [one] in due for column in (one.codes, one.patterns)]
        return np.stack([np.asarray(column, np.int64) for column in columns], axis=1)

    def _stored(self, codes: Codes) -> Codes:
        return codes.astype(self.compiled.data.format.storage, copy=False)


def can_fix(spec: Spec, case: Case) -> bool:
    """Whether the other inputs are fixed and a conversion ends the case."""
    steps = spec.body
    ends = isinstance(steps, Steps) and steps.back and steps.lines[-1].be is None
    return bool(ends) and fixes_all(layout_of(spec, case))


@lru_cache(_KEPT)
def compile_fixed(spec: Spec, case: Case) -> Program:
    """Return the program of a case with fixed inputs. Raises SpecError."""
    compiled = compile_steps(spec, case.call)
    computed = FixedSteps(compiled, tuple(fixed_tensors(case)))
    return Program((), compiled.decisions, len(compiled.steps.readings), computed)


def _trend(expression: Expression, trends: Mapping[str, _Trend]) -> _Trend:
    operation, parts = expression.operation, [_trend(p, trends) for p in expression.parts]
    if operation == NAME:
        return trends.get(expression.name, _UNKNOWN)
    if operation == NUMBER:
        return _Trend(0, int(expression.number > 0))
    if any(part.slope is None for part in parts):
        return _UNKNOWN
    if operation in ("round", "ceil", "floor"):
        return _Trend(parts[0].slope)
    if operation == "negate":
        return _scaled(parts[0], -1)
    if operation in ("add", "subtract"):
        other = _scaled(parts[1], -1) if operation == "subtract" else parts[1]
        slopes = {cast(int, parts[0].slope), cast(int, other.slope)}
        return _UNKNOWN if slopes == {1, -1} else _Trend(sum(slopes))
    if operation in ("multiply", "divide"):
        one, other = parts if operation == "divide" or parts[1].slope == 0 else parts[::-1]
        return _scaled(one, other.sign) if other.slope == 0 and other.sign else _UNKNOWN
    return _UNKNOWN


def _scaled(one: _Trend, sign: int) -> _Trend:
    return _Trend(cast(int, one.slope) * sign, one.sign * sign)


def _rises(program: Program) -> bool:
    natures = {entry.test.nature for entry in program.entries if entry.test}
    steps = [step for entry in program.entries for step in entry.steps]
    plain = all(step.program is None and step.compute in (None, _RISING) for step in steps)
    return plain and natures <= {"special", "threshold"}


def evaluate(spec: Spec, case: Case, bits: Bits) -> Expected:
    """Return the expectation of each code or text, shape (n,). Raises SpecError."""
    return run_program(compile_case(spec, case), case, bits)


def compile_case(spec: Spec, case: Case) -> Program:
    """Return the program of a case of elements. Raises SpecError."""
    return compile_fixed(spec, case) if case.fixed else compile_table(spec, case)


def decisions_named(
    spec: Spec, case: Case, named: Sequence[tuple[str, str, str]]
) -> tuple[Decision, ...]:
    """Return the decisions of a case by (rule, row, level). Raises KeyError."""
    known = {(d.rule, d.row, str(d.level)): d for d in compile_case(spec, case).decisions}
    return tuple(known[one] for one in named)
