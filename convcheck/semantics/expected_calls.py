"""The expectation of a whole call: a sequence, a tensor, a promotion.

A reading holds for all outputs of a call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.codes import Bits, Codes
from convcheck.numerics.format import Float
from convcheck.rules.model import DType
from convcheck.semantics.expected import ANY_NAN, EXACT, UNDEFINED, Decision

Call = tuple[Bits, ...]  # a tensor of codes for each input


@dataclass(frozen=True)
class ExpectedOutput:
    """The expectation of one output.

    `codes` and `patterns` are flat, in C order.
    """

    dtype: DType
    shape: tuple[int, ...]
    codes: Bits
    patterns: NDArray[np.uint8]

    @property
    def answer(self) -> Bits:
        """Codes that meet the expectation, in the output's shape."""
        fmt = self.dtype.format
        if not isinstance(fmt, Float) or not (self.patterns == ANY_NAN).any():
            return self.codes.reshape(self.shape)
        nan = np.full_like(self.codes, fmt.nan_code)
        return np.where(self.patterns == ANY_NAN, nan, self.codes).reshape(self.shape)


@dataclass(frozen=True)
class CallReading:
    """The expectation under one reading: outputs (EXACT), REFUSED, or UNDEFINED."""

    name: str
    outputs: tuple[ExpectedOutput, ...] = ()
    pattern: int = EXACT


@dataclass(frozen=True)
class ExpectedCall:
    """The expectation of one call; `row` indexes its decisions.

    With `between`, an answer whose elements all lie within the range of the readings, widened by
    one ulp, is tolerated.
    """

    row: int
    readings: tuple[CallReading, ...]
    between: bool = False
    #: the row of each element of each output, () if all have that of the call
    rows: tuple[NDArray[np.int16], ...] = ()

    @property
    def all_rows(self) -> set[int]:
        """The row of the call and those of its elements."""
        return {self.row}.union(*(rows.tolist() for rows in self.rows))


@dataclass(frozen=True, eq=False)
class Among:
    """A set of codes that the elements of some calls must be in."""

    #: the row that decides a violation
    row: int
    #: the kind of error
    kind: str
    #: input -> its only code in these calls
    given: Mapping[int, int]
    #: the allowed codes of the output
    codes: Codes

    def misses(self, call: Call, due: ExpectedCall, got: Bits) -> bool:
        """Return whether a defined element is outside the codes."""
        if not all((call[i] == code).all() for i, code in self.given.items()):
            return False
        free = [reading.outputs[0].patterns == UNDEFINED for reading in due.readings]
        strange = ~np.isin(got.reshape(-1), self.codes)
        return bool((strange & ~np.logical_or.reduce(free)).any())


@dataclass(frozen=True)
class WrongCall:
    """The answers of a wrong implementation to calls, by number."""

    #: equal keys mean equal answers
    key: Hashable
    #: call -> its answer, None if unknown
    answer: Callable[[int], CallReading | None]


DEADLY = CallReading("the process dies", pattern=UNDEFINED)  # compared by identity


class CompiledCalls(ABC):
    """A compiled case of whole calls."""

    #: the rows that may decide a call
    decisions: tuple[Decision, ...]

    @property
    def among(self) -> Among | None:
        """A further constraint on elements, None for none."""
        return None

    @property
    def along(self) -> tuple[int, int] | None:
        """Axis and block size by which other inputs broadcast to the first.

        The size is 0 without blocks. The whole is None for plain broadcasting.
        """
        return None

    @abstractmethod
    def size(self, inputs: Sequence[Bits]) -> int:
        """Return the size of the largest output under any reading, without computing it."""

    @abstractmethod
    def expect(self, inputs: Sequence[Bits]) -> ExpectedCall:
        """Return the expectation of a call. Raises SpecError if the spec does not decide it."""

    def expect_all(self, calls: Sequence[Call]) -> list[ExpectedCall]:
        """Return the expectation of each call. Raises SpecError."""
        return [self.expect(call) for call in calls]
