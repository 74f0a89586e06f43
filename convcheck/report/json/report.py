"""`convcheck-report/2`: what a run of one backend found.

Two runs with the same answers on the same machine give the same bytes: the order is the plan's,
and nothing in it is a time.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta, field

from convcheck.judge.result import Fault, Tolerance, Verdict
from convcheck.report.json.codec import Count, Digest, Shape
from convcheck.report.json.tensor import TensorJson
from convcheck.rules.model import Level
from convcheck.vectors.model import Coverage

FORMAT: Final = "convcheck-report/2"
SEVERAL: Final = "convcheck-reports/2"  # the reports of several backends, as in reports.py
Sort = Literal["undefined", "right", "refused", "crashed", "error", "fail"]
#: A code, as 0x and lower-case hexadecimal digits; for a string the text.
CodeWord = str


class BackendJson(Shape, frozen=True, kw_only=True):
    """The runtime under test, as it names itself."""

    name: str
    #: Empty where it names none.
    version: str
    #: What --backend was given; absent where not known.
    address: str = ""


class CorpusJson(Shape, frozen=True, kw_only=True):
    """Which vectors were asked."""

    #: A hash of all of them.
    sha256: str
    #: A hash for each spec.
    specs: dict[str, str]


class CpuJson(Shape, frozen=True, kw_only=True):
    """The processor."""

    #: As the operating system names it.
    model: str
    #: Those by which kernels of conversions are chosen, in alphabetical order.
    features: tuple[str, ...]
    #: Logical processors of the machine.
    count: int | None


class EnvironmentJson(Shape, frozen=True, kw_only=True):
    """Where the run took place."""

    #: Operating system and architecture.
    platform: str
    cpu: CpuJson
    #: Logical processors that the run could use.
    threads: int | None
    #: Python and the libraries; null for one that is not installed.
    versions: dict[str, str | None]


class ShardJson(Shape, frozen=True, kw_only=True):
    """A part of a plan: its cases at position index - 1, and every of-th from there."""

    index: Annotated[int, Meta(ge=1)]
    of: Annotated[int, Meta(ge=1, le=10**9)]
    #: A hash of the ids of all cases of the plan, in order.
    plan: str
    #: The options that all shards have to share, as they were given; absent for none.
    options: dict[str, str] = field(default_factory=dict)


class ProblemJson(Shape, frozen=True, kw_only=True):
    """An entry of a list of known failures that is not true any more. It fails the run."""

    #: In what way it is not true.
    kind: Fault
    #: FILE:LINE.
    place: str
    #: The same in a sentence.
    message: str
    #: What to have in the entry's place; empty where it has to go.
    repair: str


class KnownJson(Shape, frozen=True, kw_only=True):
    """The list of known failures that the run was held against."""

    #: Empty for none.
    file: str
    problems: tuple[ProblemJson, ...]


class CountsJson(Shape, frozen=True, kw_only=True):
    """Counts of cases, and of values asked."""

    #: Cases asked.
    cases: Count
    #: Cases that are not undefined or unsupported as a whole.
    judged: Count
    #: Cases that fail the run at its level.
    gated: Count
    #: Values asked.
    checked: Count
    #: Those of them that were judged: what is due for the others is undefined.
    values_judged: Count = 0
    #: Values that fail the run at its level.
    wrong: Count
    #: Cases with failures that a list of known failures excuses.
    known: Count
    #: Cases with failures that are waived.
    waived: Count
    #: Cases by verdict.
    verdicts: dict[Verdict, Count]


class SummaryJson(CountsJson, frozen=True, kw_only=True):
    """The counts of the whole run."""

    #: The gate: failures of rules at this level and stronger fail the run.
    level: Level
    #: The same counts for each spec, in the order of the plan.
    specs: dict[str, CountsJson]


class ExcuseJson(Shape, frozen=True, kw_only=True):
    """Why a failure does not fail the run."""

    #: Known and to be fixed, or waived for good.
    kind: Tolerance
    #: In the words of who listed it.
    reason: str
    #: A URL; empty for none.
    issue: str
    #: The entry of the list: FILE:LINE.
    place: str


class ExampleJson(Shape, frozen=True, kw_only=True, tag_field="asked", tag="value"):
    """One input, what was expected, and what came back."""

    #: A word for each input.
    input: tuple[CodeWord, ...]
    #: A word, or a pattern: <nan>, <-nan> (the sign bit set), <undefined>, <refused>, <zero>,
    #: <plain-to-x>, <plain>, <parses-to-x>, <parses>.
    expected: CodeWord
    #: null where nothing came back.
    got: CodeWord | None
    #: The inputs' values in decimal.
    input_value: tuple[str | None, ...]
    #: null for a pattern.
    expected_value: str | None
    #: null where nothing came back.
    got_value: str | None
    #: The runtime's own words where nothing came back.
    message: str


class CallJson(Shape, frozen=True, kw_only=True, tag_field="asked", tag="call"):
    """An example of an operator whose question is a whole call: tensors in, tensors out."""

    #: In the order of the operator's.
    input: tuple[TensorJson, ...]
    #: The outputs under the reading that came closest, or a pattern.
    expected: tuple[TensorJson, ...] | str
    #: null where no outputs came back.
    got: tuple[TensorJson, ...] | None
    #: The reading that came closest; empty where there is one only.
    reading: str
    #: The output and the element of the first difference; element -1 for type or shape; null for
    #: no difference.
    difference: tuple[int, int] | None
    #: How many elements differ.
    wrong: Count
    #: The runtime's own words where nothing came back.
    message: str
    #: The words of the inputs that decide the element that differs.
    arguments: tuple[CodeWord, ...]


class QuotationJson(Shape, frozen=True, kw_only=True):
    """What a part of a row rests on."""

    #: A reading, or the length or the elements of a sequence; empty for all of the row.
    of: str
    #: The sentence of the standard.
    cite: str
    #: Title and section of what is quoted.
    source: str
    #: The sentence in English, where it is in another language: our translation; absent elsewhere.
    gloss: str = ""


class GroupJson(Shape, frozen=True, kw_only=True):
    """Values of one case under one row of a rule with one kind of wrongness."""

    rule: str
    row: str
    level: Level
    #: The row in the spec file: FILE:LINE.
    place: str
    #: The sentence of the standard.
    cite: str
    #: Title and section of what is quoted.
    source: str
    #: The sentence in English, where it is in another language: our translation; absent elsewhere.
    gloss: str = ""
    #: What each part of the row rests on, in the place of the sentence; absent where it is of all.
    quotations: tuple[QuotationJson, ...] = ()
    #: What the row says, where the sentence is that of a table of several rows; absent elsewhere.
    row_in_words: str = ""
    verdict: Verdict
    #: The kind of wrongness; empty where there is none.
    kind: str
    #: The reading taken as the backend's; empty where there is one only.
    reading: str
    #: Where it shows, if not everywhere; empty for everywhere.
    placement: str
    count: Count
    #: How many values the row decided.
    of: Count
    #: A hash of the inputs and answers, whatever their order; empty for right answers of a source
    #: that was swept.
    digest: str
    #: Pairs of inputs, both included, between which every value asked is in the group; of cases
    #: with one input.
    ranges: tuple[tuple[CodeWord, CodeWord], ...]
    #: Ranges left out in the middle of `ranges`.
    more_ranges: Count
    #: The first and, where it is another, the extreme.
    examples: tuple[ExampleJson | CallJson, ...]
    #: Absent where the failure counts.
    excuse: ExcuseJson | None = None
    #: The id of the finding that it is of; absent where nothing is wrong.
    finding: str = ""


class NearJson(Shape, frozen=True, kw_only=True):
    """A cause that does not give every answer of a case."""

    #: The cause's name.
    cause: str
    #: How many answers it gives.
    answers: Count


class CaseDiagnosisJson(Shape, frozen=True, kw_only=True):
    """What was found when causes were tried on the answers to a case."""

    #: How many answers a rule decides.
    answers: Count
    #: How many of them are wrong.
    wrong: Count
    #: What gives every answer, the plainest first: names of causes that are at work together.
    fits: tuple[tuple[str, ...], ...]
    #: What comes closest where nothing gives them all.
    near: tuple[NearJson, ...]
    #: The error of convcheck's own in which the search ended.
    fault: str = ""
    #: How many answers to inputs besides the vectors are wrong: what fits gives these, too.
    beside: Count = 0
    #: Whether the same inputs are right alone, in short tensors or in a tail.
    whole_vectors: bool = False
    #: If two causes fit only together: for failing groups, by their digests, which of them give the
    #: example alone.
    alone: dict[str, tuple[str, ...]] = field(default_factory=dict)


class CauseInWordsJson(Shape, frozen=True, kw_only=True):
    """A cause of the catalogue."""

    #: Its name there.
    name: str
    #: What it does otherwise than the rules, in words.
    says: str
    #: Its rank in the catalogue, from 0: the likeliest first.
    order: Count
    #: Attribute -> the value that it takes it for, whatever is given.
    under: dict[str, str] = field(default_factory=dict)


class ExplainedCaseJson(Shape, frozen=True, kw_only=True):
    """A case of which a cause gives every answer."""

    case: str
    #: How many answers a rule decides.
    answers: Count
    #: How many of them are wrong.
    wrong: Count


class CauseJson(Shape, frozen=True, kw_only=True):
    """A cause of what fails, or several together, with the cases of which it gives every answer."""

    #: A, B and so on, as the report for people has it.
    letter: str
    #: What is at work together, mostly one.
    together: tuple[CauseInWordsJson, ...]
    #: What gives every answer of all of these cases, too: each is a list as `together` is.
    others: tuple[tuple[CauseInWordsJson, ...], ...]
    #: How many answers it gives, right and wrong ones.
    explained: Count
    #: How many answers a rule decides. They are the same number: of fewer, nothing is told.
    of: Count
    #: A wrong answer that it explains.
    example: ExampleJson | CallJson
    #: The case of the example.
    example_case: str
    cases: tuple[ExplainedCaseJson, ...]


class CaseHeadJson(Shape, frozen=True, kw_only=True):
    """What tells a case from others."""

    #: SPEC/INPUTS[-to-OUTPUT][/LAYOUT][/NAME=VALUE…]. It is stable.
    id: str
    #: OPERATOR-VERSION.
    spec: str
    #: The types of the inputs; of a node and the one that turns it back, those of the first node.
    inputs: tuple[str, ...]
    #: The types of the outputs; empty where they are the answer.
    outputs: tuple[str, ...]
    #: The ranks of the inputs; null where they are not part of the question.
    ranks: tuple[Count, ...] | None
    #: Those that apply, also at their default; one that is left out has the word `default`.
    attributes: dict[str, int | str]
    #: Of a chain, the types in the middle; absent of a single node.
    middles: tuple[str, ...] = ()
    #: How the graph of a chain is built, and options of the backend; absent for none.
    setting: dict[str, str] = field(default_factory=dict)
    #: Of a whole call that is asked as a conversion of its first input, the values of the others,
    #: as they are written; absent for none.
    fixed: dict[str, str] = field(default_factory=dict)


class CaseJson(CaseHeadJson, frozen=True, kw_only=True):
    """A case and what was found."""

    #: The first of error (a fault of convcheck), crashed (the runtime died), fail (a wrong value),
    #: refused (it raised where an answer was due), inconsistent (the same inputs got other bits in
    #: another place, length, alignment or with other options), tolerated (as a reading of a
    #: disputed rule has it), pass, undefined (not judged) and unsupported (declined before any
    #: value mattered) that one of its groups has.
    verdict: Verdict
    #: The runtime's own words where it could not be asked.
    message: str
    #: Values asked.
    checked: Count
    coverage: Coverage
    #: Calls that were not asked, since their answers are too large; absent for none.
    left_out: Count = 0
    #: Of a case that fails as a whole; absent where the failure counts.
    excuse: ExcuseJson | None = None
    #: Of a case that fails as a whole, the id of the finding; else absent.
    finding: str = ""
    #: What explains its answers; absent where no cause was tried.
    diagnosis: CaseDiagnosisJson | None = None
    groups: tuple[GroupJson, ...]


Pair = tuple[Count, Count]


class AskedJson(Shape, frozen=True, kw_only=True):
    """How many values a decision decided."""

    #: Its index among those of the case.
    decision: Count
    #: Its name.
    rule: str
    #: Its condition, as the table has it.
    row: str
    #: How many values.
    count: Annotated[int, Meta(ge=1)]


class RangesJson(Shape, frozen=True, kw_only=True):
    """Ranges of positions: first and last, both included."""

    #: The lowest and the highest of the ranges that are whole.
    kept: tuple[Pair, ...]
    #: How many are whole.
    count: Count
    #: Those at the edges of what is covered: another part may go on.
    loose: tuple[Pair, ...]


class SampleJson(Shape, frozen=True, kw_only=True):
    """An example with its position."""

    position: Count
    #: How far off, in steps of the destination: a hexadecimal floating-point number, as of C's %a.
    error: str
    example: ExampleJson


class EntryJson(Shape, frozen=True, kw_only=True):
    """Values of one decision with which one thing came out, judged under one of its readings:
    every value is counted once under each.
    """

    #: An index, as in `asked`.
    decision: Count
    #: The index of the reading; 0 where there is one only.
    reading: Count
    sort: Sort
    #: The kind of wrongness; empty where there is none.
    kind: str
    #: How many values.
    count: Annotated[int, Meta(ge=1)]
    #: The sums of two 64-bit hashes of the inputs and answers, each modulo 2^64.
    digest: Digest
    #: Another placement, of vectors; absent for what counts as asked.
    placement: str = ""
    #: Where they are; absent for what is right.
    ranges: RangesJson | None = None
    #: The lowest; absent for what is right.
    first: SampleJson | None = None
    #: The one farthest off; absent for what is right.
    extreme: SampleJson | None = None


class FitJson(Shape, frozen=True, kw_only=True):
    """Causes that give every answer that was judged."""

    #: Their names: they are at work together.
    causes: Annotated[tuple[str, ...], Meta(min_length=1)]
    #: The reading of what they leave as it is, by its number.
    reading: Count
    #: Whether they are given in whole vectors only.
    whole_vectors: bool = False


class TallyJson(Shape, frozen=True, kw_only=True):
    """What was found in a part of a case. Those of disjoint parts add up. A position is a code's
    place in the order of the values of the source, from 0; NaNs stand at the ends, on the side of
    their sign.
    """

    #: What each decision decided.
    asked: tuple[AskedJson, ...]
    #: What came out.
    entries: tuple[EntryJson, ...]
    #: The positions asked.
    covered: tuple[Pair, ...]
    #: Answers that have no form, and calls that failed for no value's sake.
    faults: tuple[GroupJson, ...]
    #: How many values were declined.
    declined: Count
    #: How many of those asked are of no span.
    vectors: Count
    #: What gives all of the answers, the plainest first; None where no cause was tried.
    fits: tuple[FitJson, ...] | None = None
    #: The error of convcheck's own in which the search for causes ended.
    search_fault: str = ""


class PartJson(Shape, frozen=True, kw_only=True):
    """What a shard has of a case whose codes are shared out."""

    case: CaseHeadJson
    #: How many codes all shards together ask.
    codes: Annotated[int, Meta(ge=0, le=10**12)]
    #: Whether they are samples, and not every code of the source.
    sampled: bool
    #: Of how many units of the case this is the result: its vectors are one, and each span of 2^24
    #: codes, or of 2^20 samples.
    units: Count
    #: The case by its vectors where they were declined; else they are in the tally.
    vectors: CaseJson | None
    #: What this shard has asked; null for nothing.
    tally: TallyJson | None
    #: What went wrong with a unit as a whole; null for nothing.
    lost: CaseJson | None


class ReportJson(Shape, frozen=True, kw_only=True):
    """What a run of convcheck found."""

    format: Literal["convcheck-report/2"]
    #: The version of convcheck.
    convcheck: str
    backend: BackendJson
    #: Which vectors were asked.
    tier: str
    corpus: CorpusJson
    environment: EnvironmentJson
    #: Which part of the plan this is; null for the whole of it.
    shard: ShardJson | None
    #: Whether the run was stopped; then the cases are those that were finished.
    interrupted: bool
    #: Whether a number of failures ended the run; then the cases are those that were finished.
    ended_early: bool
    #: Whether what was answered was asked again in other ways.
    consistency: bool
    #: How often the backend had to be started again.
    restarts: Count
    #: Remarks on the run as a whole.
    notes: tuple[str, ...]
    #: Of reports of earlier versions: read, and not written any more.
    selected: Count | None = None
    #: Whether the inputs asked are a user's own (--inputs), not the tier's.
    own_inputs: bool
    known: KnownJson
    summary: SummaryJson
    #: The few causes of what fails and is not excused, that of most cases first; absent for none.
    causes: tuple[CauseJson, ...] = ()
    #: The causes that diagnoses of cases name; absent for none.
    catalogue: tuple[CauseInWordsJson, ...] = ()
    #: Whether no causes were tried on what fails; absent where they were.
    without_causes: bool = False
    #: In the order of the plan.
    cases: tuple[CaseJson, ...]
    #: Of a shard: what there is of cases of which others have the rest; absent for none.
    parts: tuple[PartJson, ...] = ()
