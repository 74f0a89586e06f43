"""What is expected of a whole call: of a sequence, a tensor, a promotion.

A reading holds for all outputs of the call together, never element by element.
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

Call = tuple[Bits, ...]  # a tensor of codes for each input, in its shape


@dataclass(frozen=True)
class ExpectedOutput:
    """What one output has to be: its type and shape, and the code and pattern of each element.

    `codes` and `patterns` are flat, of `prod(shape)` elements in C order.
    """

    dtype: DType
    shape: tuple[int, ...]
    codes: Bits
    patterns: NDArray[np.uint8]

    @property
    def answer(self) -> Bits:
        """Codes that are as expected, in the shape of the output: where any NaN is, one."""
        fmt = self.dtype.format
        if not isinstance(fmt, Float) or not (self.patterns == ANY_NAN).any():
            return self.codes.reshape(self.shape)
        nan = np.full_like(self.codes, fmt.nan_code)
        return np.where(self.patterns == ANY_NAN, nan, self.codes).reshape(self.shape)


@dataclass(frozen=True)
class CallReading:
    """A call's answer under one reading: outputs (EXACT), a refusal (REFUSED), or UNDEFINED."""

    name: str
    outputs: tuple[ExpectedOutput, ...] = ()
    #: EXACT where outputs are due, else REFUSED or UNDEFINED.
    pattern: int = EXACT


@dataclass(frozen=True)
class ExpectedCall:
    """What is expected of one call; `row` indexes the decisions that come with it.

    The readings differ in outcome. Where `between`, an answer that is none of them, but with every
    element between the least and the greatest reading widened by an ulp, is tolerated.
    """

    row: int
    readings: tuple[CallReading, ...]
    between: bool = False
    #: The row of each element of each output, () where all have that of the call.
    rows: tuple[NDArray[np.int16], ...] = ()

    @property
    def all_rows(self) -> set[int]:
        """The row of the call and those of its elements."""
        return {self.row}.union(*(rows.tolist() for rows in self.rows))


@dataclass(frozen=True, eq=False)
class Among:
    """What the elements of some calls are one of, whatever else is due of them."""

    #: The row that decides where one is something else.
    row: int
    #: What is said of such an answer.
    kind: str
    #: The input -> its one code in these calls.
    given: Mapping[int, int]
    #: The codes that there are of the output.
    codes: Codes

    def misses(self, call: Call, due: ExpectedCall, got: Bits) -> bool:
        """Return whether an element, of which something is expected, is none of the codes."""
        if not all((call[i] == code).all() for i, code in self.given.items()):
            return False
        free = [reading.outputs[0].patterns == UNDEFINED for reading in due.readings]
        strange = ~np.isin(got.reshape(-1), self.codes)
        return bool((strange & ~np.logical_or.reduce(free)).any())


@dataclass(frozen=True)
class WrongCall:
    """What a wrong implementation gives for the calls of a case, which go by their numbers."""

    #: What is equal for those that give the same.
    key: Hashable
    #: Call -> what it gives, None where that is not said.
    answer: Callable[[int], CallReading | None]
    #: Call -> the shape of the one output, None where that is not said; told sooner than the rest.
    shape: Callable[[int], tuple[int, ...] | None] | None = None


DEADLY = CallReading("the process dies", pattern=UNDEFINED)  # it alone is meant, not its equals


class CompiledCalls(ABC):
    """A case of an operator whose question is a whole call, ready to be asked of the spec."""

    #: The rows that may decide a call of the case.
    decisions: tuple[Decision, ...]

    @property
    def among(self) -> Among | None:
        """What elements have to be one of besides, None for nothing."""
        return None

    @property
    def along(self) -> tuple[int, int] | None:
        """The axis along which other inputs meet the first, and the size of their blocks, 0 for
        none; None where they broadcast.
        """
        return None

    @abstractmethod
    def size(self, inputs: Sequence[Bits]) -> int:
        """Return how many elements the largest output has under any reading, without making it."""

    @abstractmethod
    def expect(self, inputs: Sequence[Bits]) -> ExpectedCall:
        """Return what is expected of a call. Raises SpecError where the spec does not decide it."""

    def expect_all(self, calls: Sequence[Call]) -> list[ExpectedCall]:
        """Return what is expected of each of several calls. Raises SpecError as `expect` does."""
        return [self.expect(call) for call in calls]
