"""A case with its inputs and expectations."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.number import Bits
from convcheck.rules.model import Case
from convcheck.semantics.expected import Among, Call, Decision, Expected, ExpectedCall

GENERATOR = 11  # increment when selections change
Tier = Literal["edge", "boundary", "exhaustive"]
Coverage = Literal["edge", "boundary-complete", "sampled", "exhaustive", "partial"]
COVERAGES: tuple[Coverage, ...] = get_args(Coverage)


@dataclass(frozen=True)
class VectorSet:
    """A case's inputs, sorted by value: codes or texts of each input, shape (n,)."""

    case: Case
    inputs: tuple[Bits, ...]
    expected: Expected
    coverage: Coverage
    form: Decision

    def __len__(self) -> int:
        return len(self.expected)

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The decisions that `rows` indexes."""
        return self.expected.decisions

    @property
    def rows(self) -> NDArray[np.int16]:
        """The row that decides each element."""
        return self.expected.rows

    def take(self, index: NDArray[np.intp]) -> "VectorSet":
        """Return some of the elements."""
        inputs = tuple(tensor[index] for tensor in self.inputs)
        return replace(self, inputs=inputs, expected=self.expected.take(index))


@dataclass(frozen=True)
class CallSet:
    """A case's whole calls with expectations, whose rows index `decisions`."""

    case: Case
    calls: tuple[Call, ...]
    expected: tuple[ExpectedCall, ...]
    decisions: tuple[Decision, ...]
    coverage: Coverage
    form: Decision  # on an answer's type and shape
    among: Among | None = None  # a further constraint on elements
    along: tuple[int, int] | None = None  # axis and block size of broadcasting others

    def __len__(self) -> int:
        return len(self.calls)

    @property
    def rows(self) -> NDArray[np.int16]:
        """The row that decides each call."""
        return np.array([expected.row for expected in self.expected], np.int16)

    def take(self, index: Iterable[int]) -> "CallSet":
        """Return some of the calls."""
        index = list(index)
        calls = tuple(self.calls[i] for i in index)
        return replace(self, calls=calls, expected=tuple(self.expected[i] for i in index))


Vectors = VectorSet | CallSet
