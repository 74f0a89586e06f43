"""Survey a backend in undefined and disputed rows."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
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
    Strip,
    Surveyed,
    TypeName,
)
from convcheck.numerics.format import Float, Format, Text
from convcheck.numerics.number import FINITE, INFINITY, NAN, Bits, Codes, is_nan, with_one_nan
from convcheck.records import replace
from convcheck.rules.causes import Cause
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case
from convcheck.semantics.expected import Decision
from convcheck.vectors.model import CallSet, Vectors, VectorSet

EVERY_READING = "every reading"
NO_READING = "no reading, but: "  # prefix of a law if no reading fits
Told = tuple[Fits, Mask]  # laws, and the mask of answers without any
_KINDS = (("finite", FINITE), ("infinite", INFINITY), ("NaN", NAN))


@dataclass(frozen=True)
class Known:
    """The catalogue, and causes whose sentences are the laws."""

    catalog: Catalog
    causes: Sequence[Cause]

    def of(self, trial: Trial) -> Told:
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


def _laws(trial: Trial, tried: Sequence[Tried]) -> Told:
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


def _readings(known: Known, trial: Trial, decision: Decision) -> Told:
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
