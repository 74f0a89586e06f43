"""What a run found. Results of parts of a case merge into the case's result."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, cast

from convcheck.backends.checked import LONGEST_TEXT, bounded
from convcheck.errors import Place
from convcheck.numerics.format import Format
from convcheck.rules.model import LEVELS, Case, Level
from convcheck.semantics.expected import Decision
from convcheck.vectors.model import Coverage
from convcheck.wording import plural

if TYPE_CHECKING:
    from convcheck.judge.part import Part

Verdict = Literal[
    "error", "crashed", "fail", "refused", "inconsistent", "tolerated", "pass", "undefined",
    "unsupported",
]  # fmt: skip
VERDICTS: tuple[Verdict, ...] = (
    "error", "crashed", "fail", "refused", "inconsistent", "tolerated", "pass", "undefined",
    "unsupported",
)  # fmt: skip
FAILURES: frozenset[Verdict] = frozenset(("error", "crashed", "fail", "refused", "inconsistent"))
EVER: frozenset[Verdict] = frozenset(("error", "crashed", "inconsistent"))  # whatever the gate
Word = int | str  # a code, or a text
Tolerance = Literal["known", "waived"]
Fault = Literal["stale", "changed", "unmatched", "expired", "too broad", "vanished"]
Outcome = Literal["fail", "interrupted", "nothing", "pass"]


def entry_word(value: object) -> Word:
    """Return an entry of an array of codes, or of texts, as a word. A long text is cut."""
    return bounded(value, LONGEST_TEXT) if isinstance(value, str) else int(cast(int, value))


@dataclass(frozen=True)
class Excuse:
    """Why a failure does not fail the run: an entry of a list of known failures, or a waiver."""

    #: Whether it is known, or accepted for good.
    kind: Tolerance
    #: The entry's reason.
    reason: str
    #: The address of an issue, '' for none.
    issue: str
    place: Place


@dataclass(frozen=True)
class Problem:
    """What is wrong with an entry of a list of known failures. It fails the run.

    `repair` is the exact text to have in the place of the entry, '' where it has to go.
    """

    #: What about the entry is not true.
    kind: Fault
    place: Place
    #: The same in words, with what is there instead.
    message: str
    repair: str = ""


@dataclass(frozen=True)
class Example:
    """One input (a word per tensor input) with what was expected and what came back.

    `expected` is a code, a text, or a pattern's word in angle brackets ('<nan>'); `got` is None
    where nothing came back (refused, crashed), and then `message` says more.
    """

    #: A code or a text for each tensor input.
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

    #: A strip for each tensor input.
    inputs: tuple[Strip, ...]
    expected: tuple[Strip, ...] | str
    got: tuple[Strip, ...] | None
    reading: str = ""
    difference: tuple[int, int] | None = None
    wrong: int = 0
    #: The runtime's own words where nothing came back.
    message: str = ""
    #: The word of each input that decides the element that differs; () where none does.
    arguments: tuple[Word, ...] = ()


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
    #: How many elements are in the group.
    count: int
    of: int
    #: The digest of their (input, answer) pairs, in 32 hexadecimal digits.
    digest: str
    reading: str = ""
    placement: str = ""
    ranges: tuple[tuple[Word, Word], ...] = ()
    more_ranges: int = 0
    examples: tuple[Example | CallExample, ...] = ()
    excuse: Excuse | None = None


Names = tuple[str, ...]  # of causes that are at work together, the one that comes first first


@dataclass(frozen=True)
class CauseInWords:
    """A cause of the catalogue, as reports tell it."""

    name: str
    #: What it does otherwise than the rules: a sentence without its subject.
    says: str
    #: Its rank in the catalogue, from 0: the likeliest first.
    order: int
    #: Attribute -> the value that it takes it for, whatever is given.
    under: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Near:
    """How many answers of a case a cause gives that does not give them all."""

    #: The name of the cause.
    name: str
    #: How many answers it gives.
    count: int


@dataclass(frozen=True)
class Fit:
    """Causes that give every answer that was judged, under one reading of the rules they leave."""

    #: Their names.
    names: Names
    #: The reading, by its number.
    reading: int = 0
    #: Whether it is given in whole vectors only: the same inputs are right elsewhere.
    whole_vectors: bool = False


@dataclass(frozen=True)
class CaseDiagnosis:
    """What was found when causes were tried on the answers to a case that fails."""

    #: How many answers a rule decides: these a cause has to give.
    answers: int
    #: How many of them are wrong.
    wrong: int
    #: What gives them all, the plainest first; () where nothing does.
    fits: tuple[Names, ...] = ()
    #: What comes closest where nothing does; or everything that gives a wrong answer, if asked for.
    near: tuple[Near, ...] = ()
    #: Where the search ended in an error of convcheck's own: that. Then nothing was found.
    fault: str = ""
    #: How many answers to inputs besides the vectors are wrong: what fits gives these, too.
    beside: int = 0
    #: Whether the same inputs are right alone, in short tensors or in a tail.
    whole_vectors: bool = False
    #: If two causes fit only together: for failing groups, by their digests, which of them give the
    #: example alone.
    alone: tuple[tuple[str, Names], ...] = ()


@dataclass(frozen=True)
class CaseResult:
    """The result of one case. `message` is the runtime's own words where it could not be asked.

    `left_out` counts calls that were not asked since their answers would be too large. `excuse` is
    of a case that fails as a whole, without groups.
    """

    case: Case
    verdict: Verdict
    #: How many elements or calls were asked.
    checked: int
    coverage: Coverage
    groups: tuple[Group, ...]
    message: str = ""
    left_out: int = 0
    excuse: Excuse | None = None
    #: None where no cause was tried: nothing fails, or what fails is no conversion's doing.
    diagnosis: CaseDiagnosis | None = None

    @property
    def values_judged(self) -> int:
        """How many of the elements or calls asked a rule decides: those that are not undefined."""
        main = (group for group in self.groups if not group.placement)
        return self.checked - sum(g.count for g in main if g.verdict == "undefined")

    @property
    def excused(self) -> bool:
        """Whether all that fails is in a list of known failures."""
        failing = [group for group in self.groups if group.verdict in FAILURES]
        return all(group.excuse for group in failing) if failing else bool(self.excuse)

    def gates(self, level: Level) -> bool:
        """Return whether the case fails a run gated at `level` and stronger."""
        if self.verdict not in FAILURES:
            return False
        whole = not any(group.verdict == self.verdict for group in self.groups)
        return (whole and not self.excuse) or any(gates(group, level) for group in self.groups)


@dataclass(frozen=True)
class BackendInfo:
    """The backend as it names itself."""

    name: str
    #: Its version, and how it is set.
    version: str
    #: What --backend was given, '' where not known.
    address: str = field(default="", compare=False)


@dataclass(frozen=True)
class Shard:
    """A part of a plan: of its cases those at position `index` - 1, and every `of`-th from there.

    `plan` is a hash of the ids of all of them, in order.
    """

    #: From 1.
    index: int
    of: int
    plan: str
    #: The options that all shards have to share, as they were given: ("--seed", "1").
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Timing:
    """When a run took place. Equal runs differ in it, so that their JSON does not have it."""

    #: When asking began.
    began: datetime
    #: How long it took.
    seconds: float
    #: How long workers took for a case, by its id; not of what an earlier run had asked.
    cases: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class WholeRun:
    """A run, in so far as reports of a part of it need it."""

    #: The letter of each cause by its name.
    letters: Mapping[str, str]
    #: All cases that were judged.
    judged: tuple[Case, ...]


@dataclass(frozen=True)
class RunResult:
    """A whole run, or a shard of one: every case asked, in plan order.

    `corpora` has a sha256 of the vectors of each spec that the plan asks. `environment` is where
    it ran, None for here. `known` is the list of known failures that was held against it, ''
    for none, and `problems` what is wrong with that. `own_inputs` tells whether a user's own inputs
    were asked, not the tier's. `parts` are what there is of cases that are not done, of which
    `cases` have the result so far. `ended_early` tells whether a number of failures ended the run,
    and `consistency` whether answers were held against others. `timing` is None where it is not
    known, as of a report that was read.
    """

    backend: BackendInfo
    tier: str
    level: Level
    corpora: tuple[tuple[str, str], ...]
    cases: tuple[CaseResult, ...]
    #: Remarks on the run, such as that vectors were made again for an edited spec.
    notes: tuple[str, ...] = ()
    #: Whether it was ended before all cases were done.
    interrupted: bool = False
    #: How often a worker had to be started anew.
    restarts: int = 0
    shard: Shard | None = None
    environment: Mapping[str, Any] | None = field(default=None, compare=False)
    known: str = ""
    problems: tuple[Problem, ...] = ()
    own_inputs: bool = False
    parts: tuple[Part, ...] = ()
    ended_early: bool = False
    consistency: bool = False
    timing: Timing | None = field(default=None, compare=False)
    #: The causes that the diagnoses of cases name.
    causes: tuple[CauseInWords, ...] = ()
    #: Whether no causes were tried on what fails.
    without_causes: bool = False
    #: Of a part of a run, the run.
    whole: WholeRun | None = None

    @property
    def corpus(self) -> str:
        """Hash the vectors asked."""
        return corpus_of(self.corpora)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What there is to say of the run as a whole."""
        return (*self.notes, *remarks(self.restarts, self.cases))

    @property
    def outcome(self) -> Outcome:
        """Say how the run ended: `fail` before `interrupted` before `nothing` was judged."""
        if self.problems or any(case.gates(self.level) for case in self.cases):
            return "fail"
        if self.interrupted:
            return "interrupted"
        judged = {"pass", "tolerated", *FAILURES}
        return "pass" if any(case.verdict in judged for case in self.cases) else "nothing"


def corpus_of(corpora: tuple[tuple[str, str], ...]) -> str:
    """Hash the vectors of several specs, given a sha256 of each, in hexadecimal digits."""
    return hashlib.sha256(json.dumps(sorted(corpora)).encode()).hexdigest()


def remarks(restarts: int, cases: tuple[CaseResult, ...]) -> tuple[str, ...]:
    """Say how often the backend was restarted, how many calls were not asked, and of what no causes
    were found for an error of convcheck's own.
    """
    said = [f"the backend was restarted {plural(restarts, 'time')}"] if restarts else []
    if left := sum(case.left_out for case in cases):
        said.append(not_asked(left))
    faults = [(one.case.id, one.diagnosis.fault) for one in cases if one.diagnosis]
    if failed := [f"{case}: {search_failed(fault)}" for case, fault in faults if fault]:
        said.append(failed[0] + (f" (and {len(failed) - 1:,} more)" if len(failed) > 1 else ""))
    return tuple(said)


def search_failed(fault: str) -> str:
    """Say that no causes were found, for an error of convcheck's own."""
    return f"the search for causes failed, a fault of convcheck: {fault}"


def not_asked(count: int) -> str:
    """Say that calls were left out."""
    calls = f"{plural(count, 'call')} {'was' if count == 1 else 'were'} not asked"
    return f"{calls}: an answer of more elements than --max-elements allows"


def gates(group: Group, level: Level) -> bool:
    """Return whether a group fails a run at `level`: a crash and what is inconsistent always, else
    as strong as the gate.
    """
    if group.verdict not in FAILURES or group.excuse:
        return False
    if group.verdict in EVER:
        return True
    return LEVELS.index(group.decision.level) <= LEVELS.index(level)


def case_verdict(groups: tuple[Group, ...]) -> Verdict:
    """Return the first of the verdicts, in their order, that is present."""
    present = {group.verdict for group in groups}
    return next((v for v in VERDICTS if v in present), "undefined")
