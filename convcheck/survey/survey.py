"""Survey backends in undefined and disputed rows, and describe them with few laws."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product
from typing import cast

import numpy as np

from convcheck.ask.jobs import VectorSource
from convcheck.backends.protocol import Outputs, Oversized
from convcheck.causes.apart import spread
from convcheck.causes.gather import cover
from convcheck.causes.trial import Trial, Tried, tried
from convcheck.judge.answers import ANSWERED, CRASHED, NOT_ASKED, REFUSED, Answers, Index
from convcheck.judge.examples import formats_of
from convcheck.judge.matching import Mask, Returned, difference, is_between, matching, shapes_of
from convcheck.judge.result import (
    Answered,
    CallExample,
    CaseResult,
    Fits,
    Laws,
    RunResult,
    Sample,
    Shown,
    Strip,
    Surveyed,
    TypeName,
)
from convcheck.numerics.format import Float, Format, Text
from convcheck.numerics.number import FINITE, INFINITY, NAN, Bits, Codes, is_nan, with_one_nan
from convcheck.plan.runner import Turn
from convcheck.records import replace
from convcheck.rules.causes import Cause
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case
from convcheck.semantics.expected import Decision
from convcheck.vectors.model import CallSet, Vectors, VectorSet

EVERY_READING = "every reading"
NO_READING = "no reading, but: "  # prefix of a law if no reading fits
_Told = tuple[Fits, Mask]  # laws, and the mask of answers without any
_KINDS = (("finite", FINITE), ("infinite", INFINITY), ("NaN", NAN))


@dataclass(frozen=True)
class Known:
    """The catalogue, and causes whose sentences are the laws."""

    catalog: Catalog
    causes: Sequence[Cause]

    def of(self, trial: Trial) -> _Told:
        """Return the laws of answers to undefined inputs."""
        return _laws(trial, list(tried(trial, self.causes)))


@dataclass(frozen=True)
class Elements:
    """The elements of a case with their answers."""

    known: Known
    vectors: VectorSet
    answers: Answers
    most = 4096  # answers kept of a row

    def fits(self, decision: Decision, index: Index) -> tuple[Fits, Index]:
        """Return the laws of some answers, and the answers without any."""
        spec = self.known.catalog.specs[self.vectors.case.spec]
        trial = Trial.of(spec, self.vectors, self.answers, index)
        disputed = decision.level == "disputed"
        fits, left = _readings(self.known, trial, decision) if disputed else self.known.of(trial)
        return fits, index[left]

    def key(self, index: Index) -> object:
        """Return states and answers."""
        kept = self.sample(index)
        return kept.state.tolist(), kept.got[kept.state == ANSWERED].tolist()

    def sample(self, index: Index) -> Answered:
        """Return some elements with their answers. All NaNs are equal."""
        said = self.answers.messages
        messages = {i: said[at] for i, at in enumerate(index.tolist()) if at in said}
        got = with_one_nan(self.vectors.case.outputs[0].format, self.answers.got[index])
        inputs = tuple(tensor[index] for tensor in self.vectors.inputs)
        return Answered(inputs, got, self.answers.state[index], messages)

    def elsewhere(self, index: Index) -> int:
        """Return how many have another answer in another placement."""
        inside = (other.index[np.isin(other.index, index)] for other in self.answers.elsewhere)
        return len(set().union(*(part.tolist() for part in inside)))


def _laws(trial: Trial, tried: Sequence[Tried]) -> _Told:
    """Return causes that give all answers, by kind of input if needed, and the mask of the rest."""
    kinds = trial.points.x.kind
    every = np.ones(len(kinds), bool)
    present = [(name, kinds == kind) for name, kind in _KINDS if (kinds == kind).any()]
    whole = _fitting(tried, every)
    if whole or len(present) < 2 or isinstance(trial.points.source, Text):
        return (("", whole),), every & (not whole)
    found = tuple((name, _fitting(tried, mask)) for name, mask in present)
    if not any(laws for _, laws in found):
        return (("", ()),), every
    lawless = (mask for (_, mask), (_, laws) in zip(present, found, strict=True) if not laws)
    return found, np.logical_or.reduce([~every, *lawless])


def _fitting(tried: Sequence[Tried], mask: Mask) -> Laws:
    return tuple(cause.says for cause, given in tried if given[mask].all())


def _readings(known: Known, trial: Trial, decision: Decision) -> _Told:
    """Return the readings that fit all answers, else causes; and answers that the best misses."""
    points, got = trial.points, trial.got
    readings = trial.readings[: len(decision.readings)]
    wrong = [~matching(each, got, points.target, points.source, points.bits) for each in readings]
    names = tuple(n for n, bad in zip(decision.readings, wrong, strict=True) if not bad.any())
    if len(names) == len(decision.readings):
        names = (EVERY_READING, *names)
    odd = min(wrong, key=np.count_nonzero)
    if names:
        return (("", names),), odd
    laws = dict(known.of(trial)[0]).get("", ())
    return (("", tuple(NO_READING + law for law in laws)),), odd


SOME_READING = "one reading or another"  # if a few readings do not explain all calls
BETWEEN = "between the readings"
OTHERS = "other calls"  # the calls that match a reading, if others match none
_SHOWN = 4
_MOST = 3


@dataclass(frozen=True)
class Calls:
    """The calls of a case with their answers."""

    calls: CallSet
    answers: Answers
    most = 64  # calls kept of a row

    def fits(self, decision: Decision, index: Index) -> tuple[Fits, Index]:
        """Return the readings or laws of some answers, and the answers without any."""
        if decision.level == "disputed":
            return self._readings(index)
        got = [(self.calls, i, returned) for i in index if (returned := self.answers.got[i])]
        laws = tuple(name for name, law in CALL_LAWS.items() if all(law(*one) for one in got))
        return (("", laws),), index[: 0 if laws else None]

    def _readings(self, index: Index) -> tuple[Fits, Index]:
        """Return the readings that fit all calls, or the fewest; and calls that match none."""
        matched = {i: self._matched(i) for i in index.tolist()}
        odd = [i for i, names in matched.items() if not names]
        fitting = {i: names for i, names in matched.items() if names}
        first = next(iter(fitting.values()), ())
        common = tuple(n for n in first if all(n in names for names in fitting.values()))
        told = common
        if fitting and not common:
            few = list(islice(cover(fitting, lambda name, count: -count), _MOST + 1))
            said = ", or ".join(name for name, _ in few)
            told = (SOME_READING if len(few) > _MOST else said,)
        if not odd:
            return (("", told),), index[:0]
        return (("", ()), *([(OTHERS, told)] if told else [])), np.array(odd)

    def _matched(self, i: int) -> Laws:
        expected, got = self.calls.expected[i], self.answers.got[i]
        assert got is not None  # noqa: S101
        names = tuple(r.name for r in expected.readings if difference(r, got) is None)
        if len(names) == len(expected.readings):
            # readings with one outcome are merged, so list all names
            every = self.calls.decisions[expected.row].readings
            return (EVERY_READING, *dict.fromkeys((*names, *every)))
        return names or ((BETWEEN,) if is_between(expected, got) else ())

    def key(self, index: Index) -> object:
        """Return states and answers."""
        return [
            (int(self.answers.state[i]), [(name, shape, array is not None and array.tolist())
                                          for name, _, shape, array in self._outputs(i)])
            for i in index.tolist()
        ]  # fmt: skip

    def sample(self, index: Index) -> tuple[CallExample, ...]:
        """Return some calls with their answers."""
        found = []
        for i in index.tolist():
            given = zip(self.calls.case.inputs, self.calls.calls[i], strict=True)
            inputs = tuple(_strip(t.name, t.format, array.shape, array) for t, array in given)
            answered = self.answers.state[i] == ANSWERED
            got = tuple(_strip(*output) for output in self._outputs(i)) if answered else None
            message = self.answers.messages.get(i, "")
            found.append(CallExample(inputs, "<undefined>", got, message=message))
        return tuple(found)

    def elsewhere(self, index: Index) -> int:
        """Return 0."""
        return 0

    def _outputs(self, i: int) -> Iterator[tuple[str, Format | None, tuple[int, ...], Bits | None]]:
        got = self.answers.got[i]
        if got is None or self.answers.state[i] != ANSWERED:
            return
        formats, shapes = formats_of(self.calls, i), shapes_of(got)
        arrays = got.arrays if isinstance(got, Outputs) else [None] * len(shapes)
        for name, shape, array in zip(got.types, shapes, arrays, strict=False):
            fmt = formats.get(name)
            if array is not None and fmt is not None and array.dtype == fmt.storage:
                array = with_one_nan(fmt, array)
            yield name, fmt, shape, array


def _strip(name: str, fmt: Format | None, shape: tuple[int, ...], array: Bits | None) -> Strip:
    words = () if array is None else tuple(int(code) for code in array.reshape(-1)[:_SHOWN])
    return Strip(TypeName(name, fmt), shape, 0, words)


def _elements(
    test: Callable[[Format | None, Bits], bool],
) -> Callable[[CallSet, int, Returned], bool]:
    """Make a law of a test on the elements of every output. Empty answers fail it."""

    def law(calls: CallSet, i: int, got: Returned) -> bool:
        if isinstance(got, Oversized) or not any(array.size for array in got.arrays):
            return False
        formats = formats_of(calls, i)
        outputs = zip(got.types, got.arrays, strict=False)
        return all(test(formats.get(name), array) for name, array in outputs)

    return law


def _unchanged(calls: CallSet, i: int, got: Returned) -> bool:
    if isinstance(got, Oversized) or len(got.arrays) != 1:
        return False
    first = calls.calls[i][0]
    same = got.types[0] == calls.case.inputs[0].name and got.arrays[0].shape == first.shape
    return same and bool((got.arrays[0] == first).all())


CALL_LAWS: Mapping[str, Callable[[CallSet, int, Returned], bool]] = {
    "empty": lambda calls, i, got: all(0 in shape for shape in shapes_of(got)),
    "one element": lambda calls, i, got: all(shape == (1,) for shape in shapes_of(got)),
    "all NaN": _elements(
        lambda fmt, codes: isinstance(fmt, Float) and bool(is_nan(fmt, cast(Codes, codes)).all())
    ),
    "all 0": _elements(lambda fmt, codes: not (codes != 0).any()),
    "the input as it is": _unchanged,
}


OPEN = frozenset(("undefined", "disputed"))
_EXAMPLES = 3


@dataclass(frozen=True)
class OpenRows:
    """A corpus reduced to undefined and disputed rows."""

    corpus: VectorSource

    def vectors(self, case: Case) -> Vectors:
        """Return a case's inputs in such rows, possibly none."""
        whole = self.corpus.vectors(case)
        levels = np.array([decision.level in OPEN for decision in whole.decisions], bool)
        index = np.flatnonzero(levels[whole.rows])
        if isinstance(whole, VectorSet):
            return whole.take(index)
        calls = tuple(whole.calls[i] for i in index)
        return replace(whole, calls=calls, expected=tuple(whole.expected[i] for i in index))


def survey(known: Known, vectors: Vectors, answers: Answers) -> CaseResult:
    """Return the answers in a case's open rows, without verdicts."""
    asked = int((answers.state < NOT_ASKED).sum())
    if answers.declined is not None and not answers.declined.missing:
        state = np.full(len(vectors), REFUSED, np.uint8)
        said = dict.fromkeys(range(len(vectors)), answers.declined.message)
        answers = replace(answers, state=state, messages=said, declined=None)
    rows = tuple(_surveyed(known, vectors, answers))
    return CaseResult(vectors.case, "undefined", asked, vectors.coverage, rows=rows)


def _surveyed(known: Known, vectors: Vectors, answers: Answers) -> Iterator[Surveyed]:
    if isinstance(vectors, CallSet):
        asked: Calls | Elements = Calls(vectors, answers)
    else:
        asked = Elements(known, vectors, answers)
    for number, decision in enumerate(vectors.decisions):
        index = np.flatnonzero(vectors.rows == number)
        if decision.level not in OPEN or not len(index):
            continue
        if answers.declined is not None:
            message = answers.declined.message
            yield Surveyed(decision, len(index), message=message, unsupported=True)
        else:
            state = asked.answers.state[index]
            answered = index[state == ANSWERED]
            fits, odd = asked.fits(decision, answered) if len(answered) else ((), answered)
            shown = asked.sample(spread(odd, _EXAMPLES))
            words = repr(asked.key(index)).encode()
            yield Surveyed(
                decision, int((state < NOT_ASKED).sum()), fits, int((state == REFUSED).sum()),
                int((state == CRASHED).sum()), asked.elsewhere(index), len(odd),
                _message(asked.answers, index[state != ANSWERED]),
                digest=hashlib.blake2b(words, digest_size=16).hexdigest(),
                examples=tuple(shown[i] for i in range(len(shown))),
                sample=asked.sample(spread(index, asked.most)),
            )  # fmt: skip


def _message(answers: Answers, silent: Index) -> str:
    words = (answers.messages[i] for i in silent.tolist() if i in answers.messages)
    faults = (f"{fault.kind}: {fault.message}" for fault in answers.faults)
    return next(words, "") or (next(faults, "") if len(silent) else "")


SOME = "some"  # the kind of input if a backend answers a row in part
REFUSES, CRASHES, UNSUPPORTED, MALFORMED = "refuses", "crashes", "unsupported", "malformed answers"
_COMBINED = 4  # laws per kind of input that are combined

Told = tuple[tuple[str, str], ...]  # (kind of input or '' for all, law or '') pairs
Telling = list[tuple[Told, list[Case]]]


@dataclass(frozen=True)
class AnswerDifference:
    """A case with different answers from the backends.

    `answers` has an entry per backend, None if untested; it is empty for a difference outside the
    sample. `inputs` counts differences in the sample.
    """

    case: Case
    answers: tuple[Shown | None, ...]
    inputs: int

    @property
    def clear(self) -> tuple[bool, bool]:
        """Sort key: whether two backends answered, whether one did."""
        answered = [a for a in self.answers if a is not None and a.got is not None]
        return len(answered) > 1, bool(answered)


@dataclass(frozen=True)
class SurveyRow:
    """A row of a spec with each backend's behaviour in each case."""

    decision: Decision
    #: By case, with an entry for each backend that was tested, else None.
    answers: Mapping[Case, Sequence[Surveyed | None]]

    def of(self, backend: int) -> dict[Case, Surveyed]:
        """Return one backend's results by case."""
        return {case: one for case, here in self.answers.items() if (one := here[backend])}

    @property
    def compared(self) -> int:
        """The number of cases that at least two backends answered."""
        return sum(len(_answered(here)) > 1 for here in self.answers.values())

    @cached_property
    def differences(self) -> tuple[AnswerDifference, ...]:
        """The cases with different answers."""
        made = []
        for case, here in self.answers.items():
            answered = _answered(here)
            if len({one.digest for one in answered}) > 1:
                found = _unlike([one.sample for one in answered])
                samples = [one.sample if one is not None and one.digest else None for one in here]
                shown = [None if s is None else s[found[0]] for s in samples] if found else []
                made.append(AnswerDifference(case, tuple(shown), len(found)))
        return tuple(made)


def _answered(here: Sequence[Surveyed | None]) -> list[Surveyed]:
    return [one for one in here if one is not None and one.digest]


@dataclass(frozen=True)
class Survey:
    """The surveys of several backends, side by side."""

    columns: tuple[Turn, ...]

    @cached_property
    def rows(self) -> tuple[SurveyRow, ...]:
        """The rows that at least one backend answered."""
        return collect([column.run.cases if column.run else () for column in self.columns])

    @property
    def runs(self) -> list[RunResult]:
        """The runs of the backends that started."""
        return [column.run for column in self.columns if column.run]

    @property
    def notes(self) -> list[str]:
        """Notes of the runs, and cases that could not be surveyed."""
        said = {note for run in self.runs for note in run.notes}
        for column in self.columns:
            for lost in column.run.cases if column.run else ():
                if lost.verdict != "undefined":
                    about = f"{lost.case.id} could not be surveyed, {lost.verdict}"
                    said.add(f"{column.address}: {about}: {lost.message}")
        return sorted(said)

    @property
    def interrupted(self) -> bool:
        """Whether a run was interrupted."""
        return any(run.interrupted for run in self.runs)


def _unlike(samples: Sequence[Sample]) -> list[int]:
    arrays = [s for s in samples if isinstance(s, Answered)]
    if len(arrays) < len(samples):
        lists = [cast(tuple[CallExample, ...], s) for s in samples]
        same = range(min(map(len, lists), default=0))
        found = [i for i in same if len({s[i].got for s in lists}) > 1]
        return sorted(found, key=lambda i: any(s[i].got is None for s in lists))
    if not arrays or len({len(s) for s in arrays}) > 1:
        return []
    first, differ = arrays[0], np.zeros(len(arrays[0]), bool)
    silent = np.zeros(len(first), bool)
    for other in arrays:
        quiet = other.state != ANSWERED
        differ |= (other.state != first.state) | (~quiet & np.asarray(other.got != first.got, bool))
        silent |= quiet
    return [*np.flatnonzero(differ & ~silent).tolist(), *np.flatnonzero(differ & silent).tolist()]


def collect(results: Sequence[Sequence[CaseResult]]) -> tuple[SurveyRow, ...]:
    """Combine the results of several backends by row, without rows that no backend answered.

    A row that several versions of an operator share counts once.
    """
    rows: dict[tuple[str, ...], dict[Case, list[Surveyed | None]]] = {}
    first: dict[tuple[str, ...], Decision] = {}
    for backend, cases in enumerate(results):
        for result in cases:
            for found in result.rows:
                by = found.decision
                key = (result.case.op, by.rule, by.row, by.level, by.cite)
                first.setdefault(key, by)
                here = rows.setdefault(key, {}).setdefault(result.case, [None] * len(results))
                here[backend] = found
    return tuple(
        SurveyRow(first[key], found)
        for key, found in rows.items()
        if any(one and one.asked and not one.unsupported for here in found.values() for one in here)
    )


def tell(found: Sequence[Mapping[Case, Surveyed]]) -> list[Telling]:
    """Describe each backend's behaviour with few laws, the law of most cases first.

    Backends share descriptions, unless one needs fewer laws by itself.
    """
    ways = {(b, c): _tellings(one) for b, cases in enumerate(found) for c, one in cases.items()}

    def rank(told: Told, count: int) -> tuple[int, int]:
        laws = [law for _, law in told]
        answerless = [[REFUSES], [UNSUPPORTED]]
        group = 2 + answerless.index(laws) if laws in answerless else int(not all(laws))
        return group, -count

    shared = list(cover(ways, rank))
    told = []
    for backend, _ in enumerate(found):
        mine = {key: each for key, each in ways.items() if key[0] == backend}
        alone = list(cover(mine, rank))
        among = [(telling, [key for key in keys if key[0] == backend]) for telling, keys in shared]
        among = [(telling, keys) for telling, keys in among if keys]
        best = alone if len(alone) < len(among) else among
        told.append([(telling, [case for _, case in keys]) for telling, keys in best])
    return told


def _tellings(one: Surveyed) -> tuple[Told, ...]:
    if one.unsupported:
        return ((("", UNSUPPORTED),),)
    if not one.asked:
        return ((("", MALFORMED),),)
    silent = tuple(word for word, n in ((REFUSES, one.refused), (CRASHES, one.crashed)) if n)
    if not one.fits:
        return (tuple(("" if len(silent) == 1 else SOME, word) for word in silent),)
    most = _COMBINED if len(one.fits) > 1 else None
    ways = product(*([(kind, law) for law in laws[:most] or ("",)] for kind, laws in one.fits))
    before = tuple((SOME, word) for word in silent)
    return tuple((*before, *way) for way in ways)
