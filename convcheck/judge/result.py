"""What a run found. Results of parts of a case merge into the case's result."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, cast

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from convcheck.backends.checked import LONGEST_TEXT, bounded
from convcheck.errors import Place
from convcheck.judge.answers import ANSWERED, Answers, CallAnswers, Elsewhere
from convcheck.judge.ranges import Pair, Ranges
from convcheck.numerics.format import Format
from convcheck.records import Count, Digest, Record, by_hook
from convcheck.rules.model import LEVELS, Case, Level
from convcheck.semantics.expected import Decision
from convcheck.vectors.model import Coverage
from convcheck.vectors.span import SAMPLED_SPAN, span_size
from convcheck.wording import plural

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
Tolerance = Literal["known", "waived"]
Fault = Literal["stale", "changed", "unmatched", "expired", "vanished"]
Outcome = Literal["fail", "interrupted", "nothing", "pass"]


class TypeName(str):
    """The name of a type, with its format; None for a type that no spec has."""

    fmt: Format | None

    def __new__(cls, name: str, fmt: Format | None = None) -> TypeName:
        """Name a type."""
        made = super().__new__(cls, name)
        made.fmt = fmt
        return made


if TYPE_CHECKING:
    Word: TypeAlias = int | str  # a code, or a text
    Code: TypeAlias = Word
    CaseField: TypeAlias = Case
    DecisionField: TypeAlias = Decision
    Array: TypeAlias = NDArray[Any]
    AnswersField: TypeAlias = Answers | CallAnswers
    ElsewhereField: TypeAlias = Elsewhere
else:  # what the hook of judge/reading.py makes
    Word, Code = by_hook(int, str), by_hook(int, str)
    CaseField, DecisionField = by_hook(Case), by_hook(Decision)
    Array, SampleField = by_hook(np.ndarray), by_hook(tuple)
    AnswersField, ElsewhereField = by_hook(Answers, CallAnswers), by_hook(Elsewhere)


def entry_word(value: object) -> Word:
    """Return an entry of an array of codes, or of texts, as a word. A long text is cut."""
    return bounded(value, LONGEST_TEXT) if isinstance(value, str) else int(cast(int, value))


class Excuse(Record, frozen=True):
    """Why a failure does not fail the run: an entry of a list of known failures, or a waiver."""

    #: Whether it is known, or accepted for good.
    kind: Tolerance
    #: The entry's reason.
    reason: str
    #: The address of an issue, '' for none.
    issue: str
    place: Place


class Problem(Record, frozen=True):
    """What is wrong with an entry of a list of known failures. It fails the run.

    `repair` is the exact text to have in the place of the entry, '' where it has to go.
    """

    #: What about the entry is not true.
    kind: Fault
    place: Place
    #: The same in words, with what is there instead.
    message: str
    repair: str = ""


class Example(Record, frozen=True, tag_field="asked", tag="value"):
    """One input with what was expected and what came back."""

    #: A code or a text for each tensor input.
    inputs: tuple[Word, ...]
    #: A code or a text, or a pattern: <nan>, <-nan> (the sign bit set), <undefined>, <refused>,
    #: <zero>, <plain-to-x>, <plain>, <parses-to-x>, <parses>.
    expected: Word
    #: Absent where nothing came back.
    got: Word | None = None
    #: The runtime's own words where nothing came back.
    message: str = ""


class Strip(Record, frozen=True):
    """A tensor as a report shows it: type, shape, and some codes from element `first` on."""

    #: The spec's name of the type, or of another type the backend's.
    type: TypeName
    shape: tuple[Count, ...] = ()
    #: The index of the first element shown, in row-major order.
    first: Count = 0
    #: Codes, texts, or patterns in <>.
    words: tuple[Word, ...] = ()

    @property
    def format(self) -> Format | None:
        """The format of the type, None for one that is not the spec's."""
        return self.type.fmt


class CallExample(Record, frozen=True, tag_field="asked", tag="call"):
    """A whole call with what was expected and what came back."""

    #: A tensor for each input.
    inputs: tuple[Strip, ...]
    #: The outputs under the reading that came closest, or a pattern.
    expected: tuple[Strip, ...] | str
    #: Absent where no outputs came back.
    got: tuple[Strip, ...] | None = None
    #: The reading that came closest; absent where there is one only.
    reading: str = ""
    #: The output and the element of the first difference, element -1 for type or shape; absent for
    #: no difference.
    difference: tuple[int, int] | None = None
    #: How many elements differ.
    wrong: Count = 0
    #: The runtime's own words where nothing came back.
    message: str = ""
    #: The word of each input that decides the element that differs; () where none does.
    arguments: tuple[Word, ...] = ()


class Group(Record, frozen=True, rename={"decision": "rule"}):
    """Values of one case under one row of a rule with one kind of wrongness."""

    #: The row that decides them: its place in the table of rules, or all of it.
    decision: DecisionField
    verdict: Verdict = "pass"
    #: The kind of wrongness; absent where there is none.
    kind: str = ""
    #: How many values are in the group.
    count: Count = 0
    #: How many values the row decided.
    of: Count = 0
    #: A hash of the inputs and answers, whatever their order; absent for right answers.
    digest: str = ""
    #: The reading taken as the backend's; absent where there is one only.
    reading: str = ""
    #: Where it shows, if not everywhere: alone, odd tail ….
    placement: str = ""
    #: Pairs of inputs, both included, between which every value asked is in the group; of cases
    #: with one input.
    ranges: tuple[tuple[Code, Code], ...] = ()
    #: Ranges left out in the middle of `ranges`.
    more_ranges: Count = 0
    #: The first and, where it is another, the extreme.
    examples: tuple[Example | CallExample, ...] = ()
    #: Absent where the failure counts.
    excuse: Excuse | None = None
    #: In a report, the id of the finding that it is of; absent where nothing is wrong.
    finding: str = ""


Names = tuple[str, ...]  # of causes that are at work together, the one that comes first first


class CauseInWords(Record, frozen=True):
    """A cause of the catalogue, as reports tell it."""

    name: str
    #: What it does otherwise than the rules: a sentence without its subject.
    says: str
    #: Its rank in the catalogue, from 0: the likeliest first.
    order: Count
    #: Attribute -> the value that it takes it for, whatever is given.
    under: tuple[tuple[str, str], ...] = ()


class ExplainedCase(Record, frozen=True, kw_only=True):
    """A case of which a cause gives every answer."""

    case: str
    #: How many answers a rule decides.
    answers: Count
    #: How many of them are wrong.
    wrong: Count


class Near(Record, frozen=True):
    """How many answers of a case a cause gives that does not give them all."""

    #: The name of the cause.
    name: str
    #: How many answers it gives.
    count: Count


class Fit(Record, frozen=True):
    """Causes that give every answer that was judged, under one reading of the rules they leave."""

    #: Their names.
    names: Names
    #: The reading, by its number.
    reading: Count = 0
    #: Whether it is given in whole vectors only: the same inputs are right elsewhere.
    whole_vectors: bool = False


class CaseDiagnosis(Record, frozen=True):
    """What was found when causes were tried on the answers to a case that fails."""

    #: How many answers a rule decides: these a cause has to give.
    answers: Count
    #: How many of them are wrong.
    wrong: Count
    #: What gives them all, the plainest first; () where nothing does.
    fits: tuple[Names, ...] = ()
    #: What comes closest where nothing does; or everything that gives a wrong answer, if asked for.
    near: tuple[Near, ...] = ()
    #: Where the search ended in an error of convcheck's own: that. Then nothing was found.
    fault: str = ""
    #: How many answers to inputs besides the vectors are wrong: what fits gives these, too.
    beside: Count = 0
    #: Whether the same inputs are right alone, in short tensors or in a tail.
    whole_vectors: bool = False
    #: If two causes fit only together: for failing groups, by their digests, which of them give the
    #: example alone.
    alone: tuple[tuple[str, Names], ...] = ()


Shown = Example | CallExample
Laws = tuple[str, ...]  # what fits, in words, the plainest first
Fits = tuple[tuple[str, Laws], ...]  # kinds of input ('' for all) with the laws that fit each


class Answered(Record, frozen=True, eq=False):
    """Elements of a row with what came of them: all, or a spread of very many.

    `state` is that of `Answers`; of codes, every NaN is the same. Arrays of shape (n,).
    """

    #: The codes of each input.
    inputs: tuple[Array, ...]
    #: The code that was answered, where one was.
    got: Array
    state: Array
    #: The runtime's words, by the position of an element.
    messages: Mapping[int, str]

    def __getitem__(self, i: int) -> Example:
        """Return one element as an example; nothing was expected of it."""
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

    `fits` are the laws (of a disputed row: the readings) that fit all its answers, by kind of
    input; () where it gave none. `message` are its words for the first input that it refused or
    that killed it, `unsupported` tells that the case could not be put to it at all. `elsewhere`
    counts inputs that another placement answered otherwise, `odd` answers that no law fits, of
    which `examples` are some; `sample` is a spread of all. Equal `digest`s mean equal answers,
    every NaN being the same.
    """

    decision: DecisionField
    #: How many inputs were asked.
    asked: Count
    fits: Fits = ()
    refused: Count = 0
    #: How many inputs killed it.
    crashed: Count = 0
    elsewhere: Count = 0
    odd: Count = 0
    message: str = ""
    unsupported: bool = False
    digest: str = ""
    examples: tuple[Shown, ...] = ()
    sample: SampleField = ()


class CaseResult(Record, frozen=True):
    """A case and what was found."""

    case: CaseField
    #: The first of error (a fault of convcheck), crashed (the runtime died), fail (a wrong value),
    #: refused (it raised where an answer was due), inconsistent (the same inputs got other bits in
    #: another place, length, alignment or with other options), tolerated (as a reading of a
    #: disputed rule has it), pass, undefined (not judged) and unsupported (declined before any
    #: value mattered) that one of its groups has.
    verdict: Verdict
    #: Values, or whole calls, that were asked.
    checked: Count = 0
    #: Absent for edge.
    coverage: Coverage = "edge"
    groups: tuple[Group, ...] = ()
    #: The runtime's own words where it could not be asked.
    message: str = ""
    #: Calls that were not asked, since their answers are too large.
    left_out: Count = 0
    #: Of a case that fails as a whole; absent where the failure counts.
    excuse: Excuse | None = None
    #: None where no cause was tried: nothing fails, or what fails is no conversion's doing.
    diagnosis: CaseDiagnosis | None = None
    #: In a report, the id of the finding of a case that fails as a whole, else ''.
    finding: str = ""
    #: Of a survey, what was done in rows that leave the answer open.
    rows: tuple[Surveyed, ...] = ()
    #: From a worker that is asked for them: the answers that were judged.
    answers: AnswersField | None = None

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


# Parts of a case ----------------------------------------------------------------------------

RIGHT = "right"  # and whether that is `pass` or `tolerated` is found out at the end
SORTS = ("undefined", RIGHT, "refused", "crashed", "error", "fail")
BY_CALL = -1


class Key(Record, frozen=True, order=True):
    """A decision, a reading of it, what became of the elements, and in what way.

    Of whole calls, each has a reading of its own: `reading` is BY_CALL, and `named` the one that is
    taken as the backend's, '' where every one is. `placement` is '' for what is counted, a
    placement's name for what is asked another time, too.
    """

    decision: Count
    reading: int
    #: What became of the elements: one of SORTS.
    sort: str
    #: In what way they are wrong, in words; '' where they are not.
    kind: str = ""
    placement: str = ""
    named: str = ""


class PlacedExample(Record, frozen=True):
    """An example with its position among the inputs in the order of their values, and how far off
    it is in steps of the destination.
    """

    position: Count
    #: How many steps of the destination the answer is off.
    error: float
    example: Example | CallExample


class TallyEntry(Record, frozen=True):
    """The elements of a key: a count, a sum of hashes, where they are, two of them.

    Of what is right under the only reading of its rule there is just the count.
    """

    count: Count
    #: The digest of (input, answer) pairs, a sum (see judge/digest.py).
    digest: Digest = ""
    ranges: Ranges = Ranges()
    #: The example at the lowest position.
    first: PlacedExample | None = None
    #: The example that is farthest off, the lowest of several.
    extreme: PlacedExample | None = None


class Whole(Record, frozen=True):
    """What a result is made of besides its groups, where a tally has all vectors of a case."""

    coverage: Coverage
    #: the runtime's own words where it declined the case, or what was not asked
    message: str = ""
    #: how many calls were not asked since their answers would be too large
    left_out: int = 0
    #: where the groups do not tell
    verdict: Verdict | None = None
    #: whether what is right has examples
    show_all: bool = False
    #: what explains the answers, where causes were tried
    diagnosis: CaseDiagnosis | None = None


class Tally(Record, frozen=True):
    """The tally of a part of a case, or of several; where it has `whole`, of all of its vectors.

    `asked` counts the elements of each decision, or the calls in which it decides some; `covered`
    are the positions asked, as ranges. `faults` are groups of answers that had no form, of calls
    that failed for no element's sake, and of what is inconsistent. `declined` counts elements of
    calls that were, and `vectors` those of `asked` that are not of a span. `decisions` are those
    that are named by number. `fits` is what gives all of its answers, the plainest first; None
    where no cause was tried. `search_fault` is the error of convcheck's own in which the search for
    that ended, '' where it did not.
    """

    asked: Mapping[int, int]
    #: What was counted, by key.
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
        """How many elements, or calls, were asked."""
        return sum(e.count for k, e in self.entries if not k.placement and k.reading <= 0)

    @property
    def answered(self) -> bool:
        """Whether anything came back."""
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
    """What there is of a case: a tally, or a result of its vectors that could not be tallied.

    `units` counts what was put together, of a case whose spans have so many `codes`, 0 for none.
    `lost` is what went wrong with a unit as a whole.
    """

    case: CaseField
    codes: Count = 0
    #: Whether its spans are of samples, not of codes.
    sampled: bool = False
    vectors: CaseResult | None = None
    tally: Tally | None = None
    lost: CaseResult | None = None
    units: Count = 1

    @property
    def firsts(self) -> range:
        """Return the first code, or sample, of each span."""
        return range(0, self.codes, SAMPLED_SPAN if self.sampled else span_size(self.case))

    @property
    def complete(self) -> bool:
        """Return whether every unit of the case is there."""
        return self.units == 1 + len(self.firsts)

    @property
    def failing(self) -> bool:
        """Return whether a failure was found already."""
        found = self.vectors is not None and self.vectors.verdict in FAILURES
        return found or self.lost is not None or (self.tally is not None and self.tally.failing)


# Runs ------------------------------------------------------------------------------------------


class BackendInfo(Record, frozen=True):
    """The backend as it names itself."""

    name: str
    #: Its version, and how it is set.
    version: str
    #: What --backend was given, '' where not known.
    address: str = ""


class Shard(Record, frozen=True):
    """A part of a plan: of its cases those at position `index` - 1, and every `of`-th from there.

    `plan` is a hash of the ids of all of them, in order.
    """

    #: From 1.
    index: Annotated[int, Meta(ge=1)]
    of: Annotated[int, Meta(ge=1, le=10**9)]
    plan: str
    #: The options that all shards have to share, as they were given: ("--seed", "1").
    options: tuple[tuple[str, str], ...] = ()


class Cpu(Record, frozen=True):
    """The processor."""

    #: As the operating system names it.
    model: str
    #: Those by which kernels of conversions are chosen, in alphabetical order.
    features: tuple[str, ...]
    #: Logical processors of the machine.
    count: int | None


class Environment(Record, frozen=True):
    """Where a run took place."""

    #: Operating system and architecture.
    platform: str
    cpu: Cpu
    #: Logical processors that the run could use.
    threads: int | None
    #: Python and the libraries; None for one that is not installed.
    versions: dict[str, str | None]


class Timing(Record, frozen=True):
    """When a run took place. Equal runs differ in it, so that their JSON does not have it."""

    #: When asking began.
    began: datetime
    #: How long it took.
    seconds: float
    #: How long workers took for a case, by its id; not of what an earlier run had asked.
    cases: Mapping[str, float] = {}


class WholeRun(Record, frozen=True):
    """A run, in so far as reports of a part of it need it."""

    #: The letter of each cause by its name.
    letters: Mapping[str, str]
    #: All cases that were judged.
    judged: tuple[CaseField, ...]


class RunResult(Record, frozen=True):
    """A whole run, or a shard of one."""

    backend: BackendInfo
    #: Which vectors were asked.
    tier: str
    #: The gate: failures of rules at this level and stronger fail the run.
    level: Level
    #: A sha256 of the vectors of each spec that the plan asks.
    corpora: tuple[tuple[str, str], ...]
    #: In the order of the plan.
    cases: tuple[CaseResult, ...]
    #: Remarks on the run, such as that vectors were made again for an edited spec.
    notes: tuple[str, ...] = ()
    #: Whether it was ended before all cases were done.
    interrupted: bool = False
    #: How often a worker had to be started anew.
    restarts: Count = 0
    #: Which part of the plan this is; absent for the whole of it.
    shard: Shard | None = None
    #: Where it ran, None for here.
    environment: Environment | None = None
    #: The list of known failures that it was held against.
    known: str = ""
    #: What is wrong with that list.
    problems: tuple[Problem, ...] = ()
    #: Whether the inputs asked are a user's own (--inputs), not the tier's.
    own_inputs: bool = False
    #: What there is of cases that are not done, of which `cases` have the result so far.
    parts: tuple[Part, ...] = ()
    #: Whether a number of failures ended the run; then the cases are those that were finished.
    ended_early: bool = False
    #: Whether what was answered was asked again in other ways.
    consistency: bool = False
    #: None where it is not known, as of a report that was read.
    timing: Timing | None = None
    #: The causes that the diagnoses of cases name.
    causes: tuple[CauseInWords, ...] = ()
    #: Whether no causes were tried on what fails.
    without_causes: bool = False
    #: Whether it is a survey of what the standard leaves open: nothing is judged.
    survey: bool = False
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
    return f"{calls}: an answer of more elements than CONVCHECK_MAX_ELEMENTS allows"


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
