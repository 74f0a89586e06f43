"""What a worker is told to ask: a case, or a span of it, and what dead workers taught of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from convcheck.judge.answers import Answers, Avoid, CallAnswers, Elsewhere
from convcheck.judge.result import CaseDiagnosis, CaseResult
from convcheck.rules.model import Case
from convcheck.semantics.expected import Decision
from convcheck.semantics.program import Program
from convcheck.vectors.model import Vectors
from convcheck.vectors.span import Span

Judge = Callable[[Vectors, Answers | CallAnswers], CaseResult]


@dataclass(frozen=True)
class Apart:
    """A chunk that is asked by itself: its place in the span, and what is known of its elements,
    which are counted from its own first one.
    """

    first: int
    #: How a worker did at elements that are not asked again, by the element.
    skip: Mapping[int, str] = field(default_factory=dict)
    avoid: Avoid = field(default_factory=Avoid)
    #: How a worker did when the chunk was asked in its turn; '' where none did.
    died: str = ""


@dataclass(frozen=True)
class Job:
    """A case to ask: its position in the plan, and what is known of it from dead workers.

    With a `span`, those codes are asked in the place of the case's vectors, and its elements are
    counted from the span's first one on. The vectors of a case with spans are tallied, too: what
    all placements share under `main`.
    """

    position: int
    case: Case
    #: How a worker did at elements that are not asked again, by the element.
    skip: Mapping[int, str] = field(default_factory=dict)
    avoid: Avoid = field(default_factory=Avoid)
    span: Span | None = None
    #: Chunks of the span that are asked by themselves.
    apart: tuple[Apart, ...] = ()
    main: str | None = None
    #: Later versions of the operator that the run asks the same, the latest first. Of the versions
    #: that the backend answers, the latest is asked in large calls, and in many. None: none is.
    later: tuple[Case, ...] | None = None
    #: What a process answered that was asked the same with other attribute values before; the case
    #: is asked again, first of them. None: it was not asked so.
    before: Elsewhere | None = None
    #: What explains the answers that it gave then, if they stay as they are.
    explained: CaseDiagnosis | None = None
    #: Seconds that calls of the case took in workers that died of it.
    spent: float = 0.0

    @property
    def died(self) -> bool:
        """Whether a worker died of it before."""
        return bool(self.skip or self.avoid.faults or self.apart)


class VectorSource(Protocol):
    """Where vectors come from; it travels to the workers."""

    def vectors(self, case: Case) -> Vectors:
        """Return a case's inputs and expectations."""
        ...


class Conversions(VectorSource, Protocol):
    """A corpus of which some cases are asked in spans of codes, too."""

    def conversion(self, case: Case) -> tuple[Program, Decision]:
        """Return the rules of a case, and what an answer's form is held against."""
        ...
