"""A case with its inputs and expectations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.codes import Bits
from convcheck.rules.model import Case
from convcheck.semantics.expected import Decision, Expected
from convcheck.semantics.expected_calls import Among, Call, ExpectedCall

GENERATOR = 11  # raise it when the selection of inputs changes
Tier = Literal["edge", "boundary", "exhaustive"]
Coverage = Literal["edge", "boundary-complete", "sampled", "exhaustive", "partial"]
COVERAGES: tuple[Coverage, ...] = get_args(Coverage)


@dataclass(frozen=True)
class VectorSet:
    """A case's inputs, sorted by value, each with its expectation.

    `inputs` has one array a tensor input, each of shape (n,): codes, or texts. `form` is what an
    answer of another type or shape is held against.
    """

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

    def take(self, index: NDArray[np.intp]) -> VectorSet:
        """Return some of the elements."""
        inputs = tuple(tensor[index] for tensor in self.inputs)
        return replace(self, inputs=inputs, expected=self.expected.take(index))


@dataclass(frozen=True)
class CallSet:
    """A case's calls, each with its expectation, of an operator whose question is a whole call.

    Rows of the expectations index `decisions`.
    """

    case: Case
    calls: tuple[Call, ...]
    #: What is expected of each call, in order.
    expected: tuple[ExpectedCall, ...]
    decisions: tuple[Decision, ...]
    coverage: Coverage
    #: What an answer of another type or shape is held against.
    form: Decision
    #: What elements have to be one of besides, None for nothing.
    among: Among | None = None
    #: The axis and the size of blocks by which other inputs meet the first, None for neither.
    along: tuple[int, int] | None = None

    def __len__(self) -> int:
        return len(self.calls)

    @property
    def rows(self) -> NDArray[np.int16]:
        """The row that decides each call."""
        return np.array([expected.row for expected in self.expected], np.int16)


Vectors = VectorSet | CallSet
