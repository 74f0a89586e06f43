"""Describe the answers of an operator on whole calls in an open row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np

from convcheck.backends.protocol import Outputs, Oversized
from convcheck.judge.answers import ANSWERED, Answers, Index
from convcheck.judge.matching import Returned, difference, is_between, shapes_of
from convcheck.judge.result import CallExample, Fits, Laws, Strip, TypeName
from convcheck.numerics.codes import Bits, Codes, is_nan, with_one_nan
from convcheck.numerics.format import Float, Format
from convcheck.semantics.expected import Decision
from convcheck.survey.elements import EVERY_READING
from convcheck.vectors.model import CallSet

SOME_READING = "one reading or another"  # if a few readings do not explain all calls
BETWEEN = "between the readings"
OTHERS = "other calls"  # the calls that match a reading, if others match none
_SHOWN = 4  # elements kept of a tensor in an example
_MOST = 3  # readings that are combined to describe a backend


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
        """Return the readings that fit all calls, or the fewest that fit together.

        If some calls match no reading, also return these calls.
        """
        matched = {i: self._matched(i) for i in index.tolist()}
        odd = [i for i, names in matched.items() if not names]
        fitting = {i: names for i, names in matched.items() if names}
        first = next(iter(fitting.values()), ())
        common = tuple(n for n in first if all(n in names for names in fitting.values()))
        told = common or ((_cover(fitting),) if fitting else ())
        if not odd:
            return (("", told),), index[:0]
        return (("", ()), *([(OTHERS, told)] if told else [])), np.array(odd)

    def _matched(self, i: int) -> Laws:
        """Return the readings that an answer matches, `every reading` first."""
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
        return tuple(map(self._example, index.tolist()))

    def elsewhere(self, index: Index) -> int:
        """Return 0: calls are not compared in other placements."""
        return 0

    def _example(self, i: int) -> CallExample:
        case = self.calls.case
        inputs = tuple(
            _strip(t.name, t.format, array.shape, array)
            for t, array in zip(case.inputs, self.calls.calls[i], strict=True)
        )
        answered = self.answers.state[i] == ANSWERED
        got = tuple(_strip(*output) for output in self._outputs(i)) if answered else None
        return CallExample(inputs, "<undefined>", got, message=self.answers.messages.get(i, ""))

    def _outputs(self, i: int) -> Iterator[tuple[str, Format | None, tuple[int, ...], Bits | None]]:
        """Yield the outputs of a call: type, format, shape, codes. All NaNs are equal."""
        got = self.answers.got[i]
        if got is None or self.answers.state[i] != ANSWERED:
            return
        formats, shapes = _formats(self.calls, i), shapes_of(got)
        arrays = got.arrays if isinstance(got, Outputs) else [None] * len(shapes)
        for name, shape, array in zip(got.types, shapes, arrays, strict=False):
            fmt = formats.get(name)
            if array is not None and fmt is not None and array.dtype == fmt.storage:
                array = with_one_nan(fmt, array)
            yield name, fmt, shape, array


def _cover(fitting: Mapping[int, Laws]) -> str:
    left = dict(fitting)
    names: list[str] = []
    while left and len(names) < _MOST:
        counts = Counter(name for found in left.values() for name in found)
        names.append(max(counts, key=lambda name: counts[name]))
        left = {i: found for i, found in left.items() if names[-1] not in found}
    return SOME_READING if left else ", or ".join(names)


def _strip(name: str, fmt: Format | None, shape: tuple[int, ...], array: Bits | None) -> Strip:
    words = () if array is None else tuple(int(code) for code in array.reshape(-1)[:_SHOWN])
    return Strip(TypeName(name, fmt), shape, 0, words)


# Laws ----------------------------------------------------------------------------------------


def _formats(calls: CallSet, i: int) -> dict[str, Format]:
    types = {t.name: t.format for t in (*calls.case.inputs, *calls.case.outputs)}
    due = (due for reading in calls.expected[i].readings for due in reading.outputs)
    return types | {d.dtype.name: d.dtype.format for d in due}


def _elements(
    test: Callable[[Format | None, Bits], bool],
) -> Callable[[CallSet, int, Returned], bool]:
    """Make a law of a test on the elements of every output. Empty answers fail it."""

    def law(calls: CallSet, i: int, got: Returned) -> bool:
        if isinstance(got, Oversized) or not any(array.size for array in got.arrays):
            return False
        formats = _formats(calls, i)
        outputs = zip(got.types, got.arrays, strict=False)
        return all(test(formats.get(name), array) for name, array in outputs)

    return law


def _all_nan(fmt: Format | None, codes: Bits) -> bool:
    return isinstance(fmt, Float) and bool(is_nan(fmt, cast(Codes, codes)).all())


def _unchanged(calls: CallSet, i: int, got: Returned) -> bool:
    if isinstance(got, Oversized) or len(got.arrays) != 1:
        return False
    first = calls.calls[i][0]
    same = got.types[0] == calls.case.inputs[0].name and got.arrays[0].shape == first.shape
    return same and bool((got.arrays[0] == first).all())


CALL_LAWS: Mapping[str, Callable[[CallSet, int, Returned], bool]] = {
    "empty": lambda calls, i, got: all(0 in shape for shape in shapes_of(got)),
    "one element": lambda calls, i, got: all(shape == (1,) for shape in shapes_of(got)),
    "all NaN": _elements(_all_nan),
    "all 0": _elements(lambda fmt, codes: not (codes != 0).any()),
    "the input as it is": _unchanged,
}
