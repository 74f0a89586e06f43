"""The results of a run."""

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from math import prod
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, cast, get_args

from msgspec import Meta

from convcheck.backends.checked import LONGEST_TEXT, bounded
from convcheck.errors import Place
from convcheck.judge.answers import ANSWERED, Answers, Array
from convcheck.judge.ranges import Pair, Ranges
from convcheck.numerics.format import Format
from convcheck.records import Count, Digest, Record, by_hook
from convcheck.rules.model import LEVELS, Case, Level
from convcheck.semantics.expected import Decision
from convcheck.streams import plural
from convcheck.vectors.corpus import SAMPLED_SPAN, span_size
from convcheck.vectors.model import Coverage

Verdict = Literal[
    "error", "crashed", "fail", "refused", "inconsistent", "tolerated", "pass", "undefined",
    "unsupported",
]  # fmt: skip
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
FAILURES: frozenset[Verdict] = frozenset(("error", "crashed", "fail", "refused", "inconsistent"))
# these fail at every gate
EVER: frozenset[Verdict] = frozenset(("error", "crashed", "inconsistent"))
Tolerance = Literal["known", "waived"]
Fault = Literal["stale", "changed", "unmatched", "expired", "vanished"]
Outcome = Literal["fail", "interrupted", "nothing", "pass"]


class TypeName(str):
    """The name of a type and its format, None if no spec has the type."""

    fmt: Format | None

    def __new__(cls, name: str, fmt: Format | None = None) -> "TypeName":
        """Create the name."""
        made = super().__new__(cls, name)
        made.fmt = fmt
        return made


if TYPE_CHECKING:
    Word: TypeAlias = int | str  # a code or a text
    Code: TypeAlias = Word
    CaseField: TypeAlias = Case
    DecisionField: TypeAlias = Decision
    AnswersField: TypeAlias = Answers
else:  # built by the hook of judge/reading.py
    Word, Code = by_hook(int, str), by_hook(int, str)
    CaseField, DecisionField = by_hook(Case), by_hook(Decision)
    AnswersField, SampleField = by_hook(Answers), by_hook(tuple)


def entry_word(value: object) -> Word:
    """Return a code, or a text cut to LONGEST_TEXT."""
    return bounded(value, LONGEST_TEXT) if isinstance(value, str) else int(cast(int, value))


class Excuse(Record, frozen=True):
    """Why a failure does not fail the run: a list of known failures or a waiver."""

    #: Whether the failure is known, or accepted for good.
    kind: Tolerance
    reason: str
    #: The URL of an issue, or ''.
    issue: str
    place: Place


class Problem(Record, frozen=True):
    """An error in a list of known failures. It fails the run.

    `repair` is the text that should replace the entry, '' if the entry should go.
    """

    kind: Fault
    place: Place
    #: What the entry says and what holds instead.
    message: str
    repair: str = ""


class Example(Record, frozen=True, tag_field="asked", tag="value"):
    """One input, its expected value and the answer."""

    #: A code or a text for each input tensor.
    inputs: tuple[Word, ...]
    #: A code, a text, or a pattern: <nan>, <-nan> (sign bit set), <undefined>, <refused>, <zero>,
    #: <plain-to-x>, <plain>, <parses-to-x>, <parses>.
    expected: Word
    #: Absent if there was no answer.
    got: Word | None = None
    #: The runtime's message if there was no answer.
    message: str = ""


class Strip(Record, frozen=True):
    """An excerpt of a tensor from element `first` on."""

    #: The type's name in the spec, or in the backend if no spec has it.
    type: TypeName
    shape: tuple[Count, ...] = ()
    #: The index of the first element shown, in row-major order.
    first: Count = 0
    #: Codes, texts, or patterns in <>.
    words: tuple[Word, ...] = ()

    @property
    def format(self) -> Format | None:
        """The format of the type, None if no spec has it."""
        return self.type.fmt

    @property
    def is_whole(self) -> bool:
        """Whether all elements are shown."""
        return len(self.words) == prod(self.shape)


class CallExample(Record, frozen=True, tag_field="asked", tag="call"):
    """A whole call, its expected outputs and the answer."""

    inputs: tuple[Strip, ...]
    #: The outputs under the closest reading, or a pattern.
    expected: tuple[Strip, ...] | str
    #: Absent if there were no outputs.
    got: tuple[Strip, ...] | None = None
    #: The closest reading; absent if there is only one.
    reading: str = ""
    #: Output and element of the first difference, element -1 for a type or shape; absent if there
    #: is none.
    difference: tuple[int, int] | None = None
    #: Number of wrong elements.
    wrong: Count = 0
    #: The runtime's message if there were no outputs.
    message: str = ""
    #: The input codes that the wrong element depends on; empty if unknown.
    arguments: tuple[Word, ...] = ()


class Group(Record, frozen=True, rename={"decision": "rule"}):
    """Values of one case, decided by one row, with one kind of error."""

    #: The row that decides them: an index into the table of rules, or the row itself.
    decision: DecisionField
    verdict: Verdict = "pass"
    #: The kind of error; absent if there is none.
    kind: str = ""
    #: Number of values in the group.
    count: Count = 0
    #: Number of values that the row decides.
    of: Count = 0
    #: A hash of inputs and answers in any order; absent for right answers.
    digest: str = ""
    #: The reading that the backend follows; absent if there is only one.
    reading: str = ""
    #: The placement, if the error does not occur in all: alone, odd tail ….
    placement: str = ""
    #: Pairs of inputs, ends included. Every value asked between them is in the group. Only for
    #: cases with one input.
    ranges: tuple[tuple[Code, Code], ...] = ()
    #: Number of ranges left out in the middle of `ranges`.
    more_ranges: Count = 0
    #: The first example and, if it is another, the one that is farthest off.
    examples: tuple[Example | CallExample, ...] = ()
    #: Absent if the failure counts.
    excuse: Excuse | None = None
    #: In a report, the id of its finding; absent if nothing is wrong.
    finding: str = ""


Names = tuple[str, ...]  # causes that act together, in order


class CauseInWords(Record, frozen=True):
    """A cause of the catalogue as reports describe it."""

    name: str
    #: How it departs from the rules: a predicate without its subject.
    says: str
    #: Its rank in the catalogue, from 0, likeliest first.
    order: Count
    #: Attribute -> the value that it assumes in place of the given one.
    under: tuple[tuple[str, str], ...] = ()


class ExplainedCase(Record, frozen=True, kw_only=True):
    """A case whose answers a cause explains completely."""

    case: str
    #: Number of answers that a rule decides.
    answers: Count
    #: Number of wrong answers.
    wrong: Count


class Near(Record, frozen=True):
    """A cause that explains some answers of a case."""

    #: The name of the cause.
    name: str
    #: Number of answers that it explains.
    count: Count


class Fit(Record, frozen=True):
    """Causes that explain every judged answer, under one reading of the rules they leave alone."""

    names: Names
    #: The number of the reading.
    reading: Count = 0
    #: Whether only whole vectors are wrong: the same inputs are right elsewhere.
    whole_vectors: bool = False


class CaseDiagnosis(Record, frozen=True):
    """The result of the search for causes of a failing case."""

    #: Number of answers that a rule decides and a cause has to explain.
    answers: Count
    #: Number of wrong answers.
    wrong: Count
    #: The causes that explain all answers, simplest first; empty if none does.
    fits: tuple[Names, ...] = ()
    #: The closest causes if none explains all; on request, every cause that explains a wrong
    #: answer.
    near: tuple[Near, ...] = ()
    #: The message of an internal error that ended the search without findings.
    fault: str = ""
    #: Number of wrong answers to inputs outside the vectors, which `fits` explain as well.
    beside: Count = 0
    #: Whether only whole vectors are wrong: the same inputs are right alone or in a tail.
    whole_vectors: bool = False
    #: If only two causes together fit: digest of a failing group -> the causes that explain its
    #: example alone.
    alone: tuple[tuple[str, Names], ...] = ()


Shown = Example | CallExample
Laws = tuple[str, ...]  # the laws that fit, in words, simplest first
Fits = tuple[tuple[str, Laws], ...]  # kind of input ('' for all), and the laws that fit it


class Answered(Record, frozen=True, eq=False):
    """Elements of a row with their answers: all, or a spread. All NaN codes are made equal.

    Arrays of shape (n,).
    """

    inputs: tuple[Array, ...]
    #: The answered code, if `state` is ANSWERED.
    got: Array
    state: Array
    #: The runtime's message by element.
    messages: Mapping[int, str]

    def __getitem__(self, i: int) -> Example:
        inputs = tuple(entry_word(tensor[i]) for tensor in self.inputs)
        got = entry_word(self.got[i]) if self.state[i] == ANSWERED else None
        return Example(inputs, "<undefined>", got, self.messages.get(i, ""))

    def __len__(self) -> int:
        return len(self.state)


Sample = Answered | tuple[CallExample, ...]
if TYPE_CHECKING:
    SampleField: TypeAlias = Sample


class Surveyed(Record, frozen=True, rename={"decision": "rule"}):
    """What a backend did with the inputs of one row in one case.

    `fits` are the laws that fit all answers by kind of input (for a disputed row, the readings), ()
    if there were none. `message` is the runtime's for the first input that it refused or that
    killed it. `unsupported`: the case cannot be sent to the backend. `elsewhere` counts inputs with
    another answer in another placement, `odd` counts answers that no law fits, with some as
    `examples`. `sample` is a spread of all inputs. Equal `digest`s mean equal answers if all NaNs
    are taken as equal.
    """

    decision: DecisionField
    asked: Count
    fits: Fits = ()
    refused: Count = 0
    crashed: Count = 0
    elsewhere: Count = 0
    odd: Count = 0
    message: str = ""
    unsupported: bool = False
    digest: str = ""
    examples: tuple[Shown, ...] = ()
    sample: "SampleField" = ()


class CaseResult(Record, frozen=True):
    """A case and its result."""

    case: CaseField
    #: The first of these that one of its groups has: error (a fault of convcheck), crashed (the
    #: runtime died), fail (a wrong value), refused (it raised although an answer was expected),
    #: inconsistent (the same inputs got other bits in another place, length, alignment or with
    #: other options), tolerated (follows one reading of a disputed rule), pass, undefined (not
    #: judged), unsupported (declined before any value mattered).
    verdict: Verdict
    #: Number of values, or of whole calls, that were asked.
    checked: Count = 0
    #: Absent for edge.
    coverage: Coverage = "edge"
    groups: tuple[Group, ...] = ()
    #: The runtime's message if the case could not be asked.
    message: str = ""
    #: Number of calls skipped because their answers are too large.
    left_out: Count = 0
    #: For a case that fails as a whole; absent if the failure counts.
    excuse: Excuse | None = None
    #: Absent if no cause was searched for: nothing fails, or no conversion can be the cause.
    diagnosis: CaseDiagnosis | None = None
    #: In a report, the id of the finding if the case fails as a whole, else ''.
    finding: str = ""
    #: For a survey: what the backend does in rows that leave the answer open.
    rows: tuple[Surveyed, ...] = ()
    #: From a worker on request: the answers that were judged.
    answers: AnswersField | None = None

    @property
    def values_judged(self) -> int:
        """The number of elements or calls that a rule decides."""
        main = (group for group in self.groups if not group.placement)
        return self.checked - sum(g.count for g in main if g.verdict == "undefined")

    @property
    def excused(self) -> bool:
        """Whether every failure is in a list of known failures."""
        failing = [group for group in self.groups if group.verdict in FAILURES]
        return all(group.excuse for group in failing) if failing else bool(self.excuse)

    def gates(self, level: Level) -> bool:
        """Return whether the case fails a run gated at `level`."""
        if self.verdict not in FAILURES:
            return False
        whole = not any(group.verdict == self.verdict for group in self.groups)
        return (whole and not self.excuse) or any(gates(group, level) for group in self.groups)


# Parts of a case ----------------------------------------------------------------------------

RIGHT = "right"  # `pass` or `tolerated`, decided when the whole case is tallied
SORTS = ("undefined", RIGHT, "refused", "crashed", "error", "fail")
BY_CALL = -1


class Key(Record, frozen=True, order=True):
    """A decision, a reading of it, and the outcome of elements under both.

    For whole calls `reading` is BY_CALL and `named` the reading that the backend follows, '' for
    all. `placement` is '' for answers that count.
    """

    decision: Count
    reading: int
    #: The outcome: one of SORTS.
    sort: str
    #: The kind of error in words, '' for none.
    kind: str = ""
    placement: str = ""
    named: str = ""


class PlacedExample(Record, frozen=True):
    """An example, its position in the order of values, and its error."""

    position: Count
    #: The error of the answer in steps of the destination.
    error: float
    example: Example | CallExample


class TallyEntry(Record, frozen=True):
    """The elements of a key: count, digest, ranges, and two examples.

    Right answers to an undisputed rule have a count only.
    """

    count: Count
    #: The digest of (input, answer) pairs (see judge/digest.py).
    digest: Digest = ""
    ranges: Ranges = Ranges()
    #: The example at the lowest position.
    first: PlacedExample | None = None
    #: The example with the largest error, at the lowest position.
    extreme: PlacedExample | None = None


class Whole(Record, frozen=True):
    """The rest of a case's result, for a tally of all its vectors."""

    coverage: Coverage
    #: the runtime's message if it declined the case, or a note on skipped calls
    message: str = ""
    #: number of calls skipped because their answers would be too large
    left_out: int = 0
    #: overrides the verdict of the groups
    verdict: Verdict | None = None
    show_all: bool = False
    diagnosis: CaseDiagnosis | None = None


class Tally(Record, frozen=True):
    """The tally of parts of a case.

    `whole` is set if these are all vectors of the case. `asked` counts the elements of each
    decision, or the calls in which it decides some. `covered` are ranges of positions. `faults` are
    groups without a single element to blame. `declined` counts elements of declined calls,
    `vectors` the asked ones outside spans. `decisions` are those that keys number. `fits` are the
    causes that explain all answers, simplest first, None without a search.
    """

    asked: Mapping[int, int]
    entries: tuple[tuple[Key, TallyEntry], ...]
    covered: tuple[Pair, ...] = ()
    faults: tuple[Group, ...] = ()
    declined: Count = 0
    vectors: Count = 0
    decisions: Mapping[int, DecisionField] = {}
    whole: Whole | None = None
    fits: tuple[Fit, ...] | None = None
    search_fault: str = ""

    @property
    def checked(self) -> int:
        """The number of elements, or calls, asked."""
        return sum(e.count for k, e in self.entries if not k.placement and k.reading <= 0)

    @property
    def answered(self) -> bool:
        """Whether there are any answers."""
        return bool(self.entries or self.faults)

    @property
    def failing(self) -> bool:
        """Whether something fails under every reading."""
        wrong = {(k.decision, k.reading) for k, _ in self.entries if k.sort not in SORTS[:2]}
        last = {k.decision: BY_CALL for k, _ in self.entries}
        for key, _ in self.entries:
            last[key.decision] = max(last[key.decision], key.reading)
        return bool(self.faults) or any(
            all((d, r) in wrong for r in range(min(n, 0), n + 1)) for d, n in last.items()
        )


class Part(Record, frozen=True):
    """The finished part of a case.

    `units` counts finished units, `codes` the codes or samples to sweep. `lost` is the result of a
    unit that failed as a whole.
    """

    case: CaseField
    codes: Count = 0
    #: Whether spans count samples instead of codes.
    sampled: bool = False
    vectors: CaseResult | None = None
    tally: Tally | None = None
    lost: CaseResult | None = None
    units: Count = 1

    @property
    def firsts(self) -> range:
        """The first code, or sample, of each span."""
        return range(0, self.codes, SAMPLED_SPAN if self.sampled else span_size(self.case))

    @property
    def complete(self) -> bool:
        """Whether every unit of the case is finished."""
        return self.units == 1 + len(self.firsts)

    @property
    def failing(self) -> bool:
        """Whether a failure was found already."""
        found = self.vectors is not None and self.vectors.verdict in FAILURES
        return found or self.lost is not None or (self.tally is not None and self.tally.failing)


# Runs ------------------------------------------------------------------------------------------


class BackendInfo(Record, frozen=True):
    """The backend as it describes itself."""

    name: str
    #: Its version and settings.
    version: str
    #: The argument of --backend, '' if unknown.
    address: str = ""


class Shard(Record, frozen=True):
    """Every `of`-th case of a plan, starting at position `index` - 1.

    `plan` is a hash of the ids of all cases, in order.
    """

    #: From 1.
    index: Annotated[int, Meta(ge=1)]
    of: Annotated[int, Meta(ge=1, le=10**9)]
    plan: str
    #: The options that all shards must share, as given: ("--seed", "1").
    options: tuple[tuple[str, str], ...] = ()


class Cpu(Record, frozen=True):
    """The processor."""

    #: As the operating system names it.
    model: str
    #: The features that conversion kernels are selected by, sorted.
    features: tuple[str, ...]
    #: Logical processors of the machine.
    count: int | None


class Environment(Record, frozen=True):
    """The machine and the software of a run."""

    #: Operating system and architecture.
    platform: str
    cpu: Cpu
    #: Logical processors available to the run.
    threads: int | None
    #: Python and the libraries; null if not installed.
    versions: dict[str, str | None]


class Timing(Record, frozen=True):
    """When a run took place. JSON omits it, so that equal runs have equal reports."""

    began: datetime
    seconds: float
    #: Case id -> seconds in workers, without cases from an earlier run.
    cases: Mapping[str, float] = {}


class WholeRun(Record, frozen=True):
    """The facts of a whole run that reports of a part need."""

    #: Cause name -> its letter.
    letters: Mapping[str, str]
    judged: tuple[CaseField, ...]


class Required(Record, frozen=True):
    """The requirement set that a run is held to."""

    name: str
    #: Number of cases in the set.
    cases: Count
    #: Number of other cases of the same specs, which are not scored.
    later: Count = 0


class RunResult(Record, frozen=True):
    """A whole run, or a shard of one."""

    backend: BackendInfo
    tier: str
    #: Failures of rules at this level or stronger fail the run.
    level: Level
    #: (spec, SHA-256 of its vectors).
    corpora: tuple[tuple[str, str], ...]
    cases: tuple[CaseResult, ...]
    notes: tuple[str, ...] = ()
    interrupted: bool = False
    restarts: Count = 0
    shard: Shard | None = None
    environment: Environment | None = None
    #: The list of known failures that it was compared with.
    known: str = ""
    #: The errors in that list.
    problems: tuple[Problem, ...] = ()
    #: Whether the inputs are the user's (--inputs).
    own_inputs: bool = False
    #: The parts of unfinished cases; `cases` has their results so far.
    parts: tuple[Part, ...] = ()
    #: Whether it ended at a number of failures: `cases` are the finished ones.
    ended_early: bool = False
    #: Whether --consistency was given.
    consistency: bool = False
    timing: Timing | None = None
    causes: tuple[CauseInWords, ...] = ()
    without_causes: bool = False
    #: Whether nothing is judged.
    survey: bool = False
    #: For a part of a run, the run.
    whole: WholeRun | None = None
    #: The requirement set; absent for none.
    required: Required | None = None

    @property
    def corpus(self) -> str:
        """A hash of the vectors asked."""
        return corpus_of(self.corpora)

    @property
    def remarks(self) -> tuple[str, ...]:
        """The remarks on the run as a whole."""
        return (*self.notes, *remarks(self.restarts, self.cases))

    @property
    def lacks_required(self) -> bool:
        """Whether the backend does not support a required case."""
        return bool(self.required) and any(c.verdict == "unsupported" for c in self.cases)

    @property
    def outcome(self) -> Outcome:
        """`fail` wins over `interrupted`, and that over `nothing` judged."""
        if self.problems or self.lacks_required or any(c.gates(self.level) for c in self.cases):
            return "fail"
        if self.interrupted:
            return "interrupted"
        judged = {"pass", "tolerated", *FAILURES}
        return "pass" if any(case.verdict in judged for case in self.cases) else "nothing"


def corpus_of(corpora: tuple[tuple[str, str], ...]) -> str:
    """Return the hash of the vectors of several specs, given a SHA-256 of each."""
    return hashlib.sha256(json.dumps(sorted(corpora)).encode()).hexdigest()


def remarks(restarts: int, cases: tuple[CaseResult, ...]) -> tuple[str, ...]:
    """Return remarks on restarts, skipped calls, and failed searches for causes."""
    said = [f"the backend was restarted {plural(restarts, 'time')}"] if restarts else []
    if left := sum(case.left_out for case in cases):
        said.append(not_asked(left))
    faults = [(one.case.id, one.diagnosis.fault) for one in cases if one.diagnosis]
    about = "the search for causes failed, a fault of convcheck"
    if failed := [f"{case}: {about}: {fault}" for case, fault in faults if fault]:
        said.append(failed[0] + (f" (and {len(failed) - 1:,} more)" if len(failed) > 1 else ""))
    return tuple(said)


def not_asked(count: int) -> str:
    """Return a remark on skipped calls."""
    calls = f"{plural(count, 'call')} {'was' if count == 1 else 'were'} not asked"
    return f"{calls}: an answer of more elements than CONVCHECK_MAX_ELEMENTS allows"


def gates(group: Group, level: Level) -> bool:
    """Return whether a group fails a run gated at `level`."""
    if group.verdict not in FAILURES or group.excuse:
        return False
    if group.verdict in EVER:
        return True
    return LEVELS.index(group.decision.level) <= LEVELS.index(level)


def case_verdict(groups: tuple[Group, ...]) -> Verdict:
    """Return the most serious verdict of the groups."""
    present = {group.verdict for group in groups}
    return next((v for v in VERDICTS if v in present), "undefined")
