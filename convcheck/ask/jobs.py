"""Jobs of a worker, with what crashed earlier workers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from convcheck.judge.answers import Answers, Avoid, Elsewhere
from convcheck.judge.result import CaseDiagnosis, CaseResult
from convcheck.rules.model import Case
from convcheck.vectors.corpus import Span
from convcheck.vectors.model import Vectors

Judge = Callable[[Vectors, Answers], CaseResult]


@dataclass(frozen=True)
class Apart:
    """A chunk that is sent by itself. Elements count from its first one."""

    first: int
    #: How a worker ended on elements that are not sent again.
    skip: Mapping[int, str] = field(default_factory=dict)
    avoid: Avoid = field(default_factory=Avoid)
    #: How a worker ended on the chunk in its turn.
    died: str = ""


@dataclass(frozen=True)
class Job:
    """A case to test, by its position in the plan, or the codes of a `span` of it."""

    position: int
    case: Case
    #: How a worker ended on elements that are not sent again.
    skip: Mapping[int, str] = field(default_factory=dict)
    avoid: Avoid = field(default_factory=Avoid)
    span: Span | None = None
    #: Chunks of the span that are sent by themselves.
    apart: tuple[Apart, ...] = ()
    main: str | None = None
    #: Later versions in this run, latest first. The latest that the backend answers also gets large
    #: and many calls. None: this case never does.
    later: tuple[Case, ...] | None = None
    #: The doubted answers of a process that tested other attribute values before.
    before: Elsewhere | None = None
    #: Their diagnosis.
    explained: CaseDiagnosis | None = None
    #: Seconds of the case's calls in workers that died.
    spent: float = 0.0

    @property
    def died(self) -> bool:
        """Whether a worker died of this case."""
        return bool(self.skip or self.avoid.faults or self.apart)


class VectorSource(Protocol):
    """A corpus of vectors, sent to the workers."""

    def vectors(self, case: Case) -> Vectors:
        """Return a case's inputs and expected results."""
