"""Plant causes as mutants, observable by defined inputs, and score the vectors that catch them."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from convcheck.backends.protocol import Outputs
from convcheck.causes.apart import bytes_of, spread
from convcheck.causes.trial import freed
from convcheck.judge.answers import ANSWERED, CRASHED, Answers, may_refuse
from convcheck.judge.answers import REFUSED as WAS_REFUSED
from convcheck.judge.calls import is_wrong_answer, judged_call
from convcheck.judge.matching import Mask, matching
from convcheck.judge.result import RIGHT, entry_word
from convcheck.judge.words import shown
from convcheck.numerics.format import Format, Numeric, Text
from convcheck.numerics.number import Bits, Codes
from convcheck.numerics.words import spell
from convcheck.records import replace
from convcheck.rules.causes import Cause
from convcheck.rules.model import Case, DType, Spec
from convcheck.semantics.answers_at import points_of
from convcheck.semantics.body import Edits, wrong_calls
from convcheck.semantics.compile import compile_wrong, readings_at
from convcheck.semantics.evaluate import evaluate
from convcheck.semantics.expected import (
    DEADLY,
    EXACT,
    REFUSED,
    UNDEFINED,
    Call,
    CallReading,
    Expected,
    Reading,
    WrongCall,
)
from convcheck.semantics.program import Program
from convcheck.semantics.vocabulary import Points
from convcheck.vectors.corpus import Corpus
from convcheck.vectors.generate import calls_of, expecting, inputs_of
from convcheck.vectors.inputs import numeric_inputs
from convcheck.vectors.model import CallSet, VectorSet

_ELEMENTS = 1 << 12
_SHOWN = 3


class Caught(NamedTuple):
    """The number of wrong answers, and the index of the first."""

    wrong: int
    first: int


NONE = Caught(0, -1)


def asked_of(spec: Spec, vectors: VectorSet | CallSet) -> "list[Asked]":
    """Return vectors, with calls in batches."""
    if isinstance(vectors, VectorSet):
        return [AskedInputs.of(spec, vectors.case, vectors.inputs[0])]
    return [AskedCalls(spec, vectors.take(part)) for part in _batches(vectors.calls)]


def asked_calls(spec: Spec, calls: CallSet, more: Sequence[Call]) -> "Iterator[Asked]":
    """Yield further calls in batches."""
    known = set(map(bytes_of, calls.calls))
    others = tuple(call for call in more if bytes_of(call) not in known)
    for part in _batches(others):
        some = [others[i] for i in part]
        yield AskedCalls(spec, expecting(spec, calls.case, some, calls.coverage))


def _batches(calls: Sequence[Call]) -> Iterator[range]:
    start, size = 0, 0
    for i, call in enumerate(calls):
        size += call[0].size
        if size >= _ELEMENTS:
            yield range(start, i + 1)
            start, size = i + 1, 0
    if start < len(calls):
        yield range(start, len(calls))


@dataclass(frozen=True)
class AskedInputs:
    """Inputs of an elementwise case."""

    spec: Spec
    case: Case
    points: Points
    due: Expected
    #: meaning of a program -> result
    _known: dict[Hashable, Caught] = field(default_factory=dict, compare=False)

    @staticmethod
    def of(spec: Spec, case: Case, bits: Bits) -> "AskedInputs":
        """Return inputs with their expectations."""
        return AskedInputs(spec, case, points_of(case, bits), evaluate(spec, case, bits))

    def caught(self, cause: Cause) -> Caught:
        """Return the wrong answers under a cause."""
        program = self._program(cause)
        if program is None:
            return NONE
        if program.meaning not in self._known:
            wrong = self.wrong(program)
            first = next((int(mask.argmax()) for mask in wrong if mask.any()), -1)
            # the best reading of each rule counts
            rules = [(decision.rule, decision.readings) for decision in self.due.decisions]
            numbers = {rule: number for number, rule in enumerate(dict.fromkeys(rules))}
            of = np.array([numbers[rule] for rule in rules])[self.due.rows]
            counts = np.array([np.bincount(of[mask], minlength=len(numbers)) for mask in wrong])
            self._known[program.meaning] = Caught(int(counts.min(axis=0).sum()), first)
        return self._known[program.meaning]

    def in_words(self, place: int) -> str:
        """Return an input in words."""
        return shown(self.points.source, entry_word(self.points.bits[place]))

    def shows(self, cause: Cause) -> bool:
        """Return whether an answer is wrong, or decides what rules leave open."""
        program = self._program(cause)
        if program is None:
            return False
        free = np.logical_and.reduce([r.patterns == UNDEFINED for r in self.due.readings])
        said = readings_at(program, self.points)[0].patterns != UNDEFINED
        return bool((free & said).any()) or self.caught(cause).wrong > 0

    def _program(self, cause: Cause) -> Program | None:
        mine = cause.applies_to(self.case)
        return compile_wrong(self.spec, self.case, (cause,)) if mine else None

    def wrong(self, program: Program) -> list[Mask]:
        """Mask wrong answers under each reading."""
        given = readings_at(program, self.points)[0]
        return [self._wrong(given, due) for due in self.due.readings]

    def _wrong(self, given: Reading, due: Reading) -> Mask:
        source, target = self.points.source, self.points.target
        right = matching(due, given.codes, target, source, self.points.bits)
        if not isinstance(target, Text):  # a spelling is always compared
            right |= (given.patterns == due.patterns) & (due.patterns != EXACT)
        refused = given.patterns == REFUSED
        wrong = ~np.where(refused, may_refuse(self.case, due), right)
        return np.asarray(wrong & (given.patterns != UNDEFINED))


class AskedCalls:
    """Calls of a case."""

    def __init__(self, spec: Spec, calls: CallSet) -> None:
        self.calls = calls
        self._edits: Edits = wrong_calls(spec, calls.case, calls.calls)
        self._known: dict[Hashable, list[int]] = {}
        self._unedited = [self._wrong(made) for made in self._edits(())]  # of rules without edits

    def caught(self, cause: Cause) -> Caught:
        """Return the wrong calls under a cause, for the reading with most."""
        made = map(self._wrong, self._edits((cause,)))
        some = (wrong for wrong in made if wrong and wrong not in self._unedited)
        most = max(some, key=len, default=[])
        return Caught(len(most), most[0]) if most else NONE

    def shows(self, cause: Cause) -> bool:
        """Return whether a call is wrong under the first reading."""
        made = next(iter(self._edits((cause,))), None)
        numbers = range(len(self.calls))
        return bool(made and any(is_wrong(self.calls, i, made.answer(i)) for i in numbers))

    def _wrong(self, made: WrongCall) -> list[int]:
        if made.key not in self._known:
            numbers = range(len(self.calls))
            wrong = [i for i in numbers if is_wrong(self.calls, i, made.answer(i))]
            self._known[made.key] = wrong
        return self._known[made.key]

    def in_words(self, place: int) -> str:
        """Return a call in words."""
        return call_in_short(self.calls.case, self.calls.calls[place])


Asked = AskedInputs | AskedCalls


def call_in_short(case: Case, call: Call) -> str:
    """Spell the shape and first elements of each input."""
    said = []
    for dtype, tensor in zip(case.inputs, call, strict=True):
        fmt, first = dtype.format, tensor.reshape(-1)[:_SHOWN].tolist()
        words = [str(one) if isinstance(fmt, Text) else spell(fmt, int(one)) for one in first]
        more = ["…"] if tensor.size > _SHOWN else []
        listed = ", ".join(words + more)
        said.append(f"{list(tensor.shape)} {listed}" if tensor.shape else listed)
    return "; ".join(said)


def is_wrong(calls: CallSet, i: int, given: CallReading | None) -> bool:
    """Return whether an answer is wrong for all values of its undefined elements."""
    if given is None:
        return False
    due = calls.expected[i]
    said = freed(given, due) is not None
    filled = [given] if said else [_filled(given, reading) for reading in due.readings]
    return all(each is not None and _is_judged_wrong(calls, i, each) for each in filled)


def _is_judged_wrong(calls: CallSet, i: int, given: CallReading) -> bool:
    outputs = None
    if given.outputs:
        types = tuple(output.dtype.name for output in given.outputs)
        outputs = Outputs(tuple(output.answer for output in given.outputs), types)
    state = CRASHED if given is DEADLY else WAS_REFUSED if given.pattern == REFUSED else ANSWERED
    if outputs and state == ANSWERED:
        return is_wrong_answer(calls.expected[i], outputs)
    answers = Answers(np.array([outputs]), np.array([state], np.uint8), {})
    return judged_call(calls.take([i]), answers, 0).sort not in (RIGHT, "undefined")


def _filled(given: CallReading, due: CallReading) -> CallReading | None:
    pairs = list(zip(given.outputs, due.outputs, strict=False))
    if len(due.outputs) != len(given.outputs) or any(a.shape != b.shape for a, b in pairs):
        return None
    outputs = []
    for one, other in pairs:
        open_ = one.patterns == UNDEFINED
        codes = np.where(open_, other.codes, one.codes)
        patterns = np.where(open_, other.patterns, one.patterns)
        outputs.append(replace(one, codes=codes, patterns=patterns))
    return replace(given, outputs=tuple(outputs))


_WHOLE = 16  # bits of a source searched in full
_SPELLED = 1 << 10  # further inputs to search if each must be spelled


@dataclass(frozen=True)
class Mutant:
    """A cause planted in a case."""

    case: Case
    cause: Cause
    caught: int  # vectors, or calls, that catch it
    witness: str | None = None  # an input that shows it, if no vector does

    @property
    def says(self) -> str:
        """What it does otherwise than the rules."""
        return self.cause.says


def mutants(
    corpus: Corpus, cases: Iterable[Case], causes: Sequence[Cause]
) -> Iterator[tuple[Case, list[Mutant]]]:
    """Yield each case with its observable mutants. Conversions in promotions are planted once."""
    seen: set[tuple[str, DType, DType]] = set()
    for case in cases:
        spec, vectors = corpus.catalog.specs[case.spec], corpus.vectors(case)
        mine = [cause for cause in causes if is_of(cause, spec)]
        if isinstance(vectors, CallSet) and spec.body.gives_types:
            due = [output.dtype for output in vectors.expected[0].readings[0].outputs]
            ends = zip(case.inputs if len(vectors) > 1 else (), due, strict=False)
            new = {(case.spec, source, target) for source, target in ends} - seen
            seen |= new
            mine = [cause for cause in mine if new or cause.call or cause.under]
        yield case, list(_mutants(corpus, spec, vectors, mine))


def is_of(cause: Cause, spec: Spec) -> bool:
    """Return whether a cause may apply to a spec."""
    if not spec.body.whole_calls:
        return cause.call is None
    known = {attribute.name for attribute in spec.attributes}
    return cause.edits(spec) and known.issuperset(name for name, _ in cause.under)


def _mutants(
    corpus: Corpus, spec: Spec, vectors: VectorSet | CallSet, causes: Sequence[Cause]
) -> Iterator[Mutant]:
    caught = Counter[Cause]()
    for asked in asked_of(spec, vectors):
        caught.update({cause: asked.caught(cause).wrong for cause in causes})
    yield from (Mutant(vectors.case, cause, caught[cause]) for cause in causes if caught[cause])
    left = [cause for cause in causes if not caught[cause]]
    if corpus.tier != "edge" or vectors.coverage == "exhaustive":
        return
    for asked in _beyond(corpus, spec, vectors):
        shown = {cause: found.first for cause in left if (found := asked.caught(cause)).wrong}
        left = [cause for cause in left if cause not in shown]
        for cause, place in shown.items():
            yield Mutant(vectors.case, cause, 0, asked.in_words(place))
        if not left:
            return


def _beyond(corpus: Corpus, spec: Spec, vectors: VectorSet | CallSet) -> Iterator[Asked]:
    case = vectors.case
    if isinstance(vectors, CallSet):
        more, _ = calls_of(spec, case, "boundary", corpus.seed)
        yield from asked_calls(spec, vectors, more)
        return
    types = corpus.catalog.types.types.values()
    formats = tuple(dict.fromkeys(each.format for each in types))
    source, target = case.inputs[0].format, case.outputs[0].format
    if isinstance(source, Text) or source.bits <= _WHOLE:
        bits = inputs_of(case, "boundary", corpus.seed)[0]
    else:
        bits = _of_all_types(source, formats, corpus.seed)
    yield AskedInputs.of(spec, case, spread(bits, _SPELLED) if isinstance(target, Text) else bits)


@lru_cache
def _of_all_types(source: Numeric, formats: tuple[Format, ...], seed: int) -> Codes:
    parts = [numeric_inputs(source, target, "edge", seed)[0] for target in formats]
    return np.unique(np.concatenate(parts))


@dataclass(frozen=True)
class Score:
    """How many mutants a spec's vectors catch."""

    spec: str
    cases: int
    observable: int
    missed: tuple[Mutant, ...]
    weakest: tuple[Mutant, ...]  # of each cause the mutant with fewest catches, sorted

    @property
    def caught(self) -> int:
        """The number of mutants that a vector catches."""
        return self.observable - len(self.missed)


def scores(planted: Iterable[tuple[Case, Sequence[Mutant]]], cases: Iterable[Case]) -> list[Score]:
    """Return each spec's score, in the order of the cases."""
    of: dict[str, list[Mutant]] = {}
    counts: dict[str, int] = {}
    for case in cases:
        of[case.spec], counts[case.spec] = [], counts.get(case.spec, 0) + 1
    for case, planted_here in planted:
        of[case.spec] += planted_here
    made = []
    for name, found in of.items():
        least: dict[str, Mutant] = {}
        for mutant in sorted((m for m in found if m.caught), key=lambda m: m.caught):
            least.setdefault(mutant.cause.name, mutant)
        missed = tuple(mutant for mutant in found if not mutant.caught)
        made.append(Score(name, counts[name], len(found), missed, tuple(least.values())))
    return made
