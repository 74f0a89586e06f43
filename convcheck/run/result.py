"""What a run found. Results of parts of a case merge into the case's result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from convcheck.numerics.format import Format
from convcheck.semantics.expected import Decision
from convcheck.spec.model import LEVELS, Case, Level
from convcheck.vectors.model import Coverage

Verdict = Literal[
    "error", "crashed", "fail", "refused", "tolerated", "pass", "undefined", "unsupported"
]
VERDICTS: tuple[Verdict, ...] = (
    "error", "crashed", "fail", "refused", "tolerated", "pass", "undefined", "unsupported",
)  # fmt: skip
FAILURES: frozenset[Verdict] = frozenset(("error", "crashed", "fail", "refused"))
Word = int | str  # a code, or a text


@dataclass(frozen=True)
class Example:
    """One input (a word per tensor input) with what was expected and what came back.

    `expected` is a code, a text, or a pattern's word in angle brackets ('<nan>'); `got` is None
    where nothing came back (refused, crashed), and then `message` says more.
    """

    inputs: tuple[Word, ...]
    expected: Word
    got: Word | None
    message: str = ""


@dataclass(frozen=True)
class Strip:
    """A tensor as a report shows it: type, shape, and some codes from element `first` on.

    `format` is None for a type that is not the spec's.
    """

    type: str
    format: Format | None
    shape: tuple[int, ...]
    first: int
    words: tuple[Word, ...]


@dataclass(frozen=True)
class CallExample:
    """A whole call with what was expected, under the reading that came closest, and what came back.

    `expected` is a pattern's word in angle brackets where no outputs are due. `got` is None where
    none came back. `difference` is the first that differs: (output, element), or (output, -1) for
    its type or shape; None where there is none. `wrong` counts the elements that differ.
    """

    inputs: tuple[Strip, ...]
    expected: tuple[Strip, ...] | str
    got: tuple[Strip, ...] | None
    reading: str = ""
    difference: tuple[int, int] | None = None
    wrong: int = 0
    message: str = ""
    arguments: tuple[Word, ...] = ()  # a word an input that decide the element that differs


@dataclass(frozen=True)
class Group:
    """Elements of one case under one decision with one kind of wrongness ('' where right).

    `of` is how many elements the decision decided. `ranges` are pairs of inputs (codes in the
    order of their values) between which every element asked is in the group; `more_ranges` counts
    those left out in the middle. `examples` are the first and, where it is another, the extreme.
    `reading` names the reading that was taken as the backend's, '' where there is only one.
    `placement` says where it shows where it does not show everywhere: 'alone', 'odd tail' ….
    """

    decision: Decision
    verdict: Verdict
    kind: str
    count: int
    of: int
    digest: str
    reading: str = ""
    placement: str = ""
    ranges: tuple[tuple[Word, Word], ...] = ()
    more_ranges: int = 0
    examples: tuple[Example | CallExample, ...] = ()


@dataclass(frozen=True)
class CaseResult:
    """The result of one case. `message` is the runtime's own words where it could not be asked.

    `left_out` counts calls that were not asked since their answers would be too large.
    """

    case: Case
    verdict: Verdict
    checked: int
    coverage: Coverage
    groups: tuple[Group, ...]
    message: str = ""
    left_out: int = 0

    def gates(self, level: Level) -> bool:
        """Tell whether the case fails a run gated at `level` and stronger."""
        if self.verdict in ("error", "crashed") or (self.verdict in FAILURES and not self.groups):
            return True
        return any(gates(group, level) for group in self.groups)


@dataclass(frozen=True)
class BackendInfo:
    """The backend as it names itself."""

    name: str
    version: str


@dataclass(frozen=True)
class RunResult:
    """A whole run: every case asked, in plan order."""

    backend: BackendInfo
    tier: str
    level: Level
    corpus: str  # sha256 of the vectors asked
    cases: tuple[CaseResult, ...]
    notes: tuple[str, ...] = ()  # e.g. vectors regenerated because a spec was edited
    interrupted: bool = False


def not_asked(count: int, limit: int) -> str:
    """Say that calls were left out since their answers have more than `limit` elements."""
    calls = "1 call was" if count == 1 else f"{count} calls were"
    return f"{calls} not asked: an answer of more than {limit} elements (--max-elements)"


def gates(group: Group, level: Level) -> bool:
    """Tell whether a group fails a run at `level`: a crash always, else as strong as the gate."""
    if group.verdict not in FAILURES:
        return False
    if group.verdict in ("crashed", "error"):
        return True
    return LEVELS.index(group.decision.level) <= LEVELS.index(level)


def case_verdict(groups: tuple[Group, ...]) -> Verdict:
    """Give the first of the verdicts, in their order, that is present."""
    present = {group.verdict for group in groups}
    return next((v for v in VERDICTS if v in present), "undefined")
