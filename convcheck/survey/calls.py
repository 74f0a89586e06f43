"""Survey an operator on whole calls."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import cast

import numpy as np

from convcheck.backends.protocol import Outputs, Oversized
from convcheck.judge.answers import ANSWERED, CRASHED, LOST, NOT_ASKED, REFUSED, CallAnswers
from convcheck.judge.matching import Returned, difference, is_between, shapes_of
from convcheck.judge.refusals import cannot_be_put
from convcheck.judge.result import CallExample, Fits, Laws, Strip, Surveyed, TypeName
from convcheck.numerics.codes import Bits, Codes, is_nan, with_one_nan
from convcheck.numerics.format import Float, Format
from convcheck.records import replace
from convcheck.semantics.expected import Decision
from convcheck.survey.model import (
    EVERY_READING,
    EXAMPLES,
    OPEN,
    SOME_READING,
)
from convcheck.vectors.model import CallSet

_SHOWN = 4  # elements kept of a tensor in an example
_SAMPLE = 64  # calls kept of a row
_MOST = 3  # readings that are combined to describe a backend
BETWEEN = "between the readings"
OTHERS = "other calls"  # the calls that match a reading, if others match none


def surveyed_calls(calls: CallSet, answers: CallAnswers) -> Iterator[Surveyed]:
    """Yield the answers in each undefined and disputed row of a case."""
    if answers.declined is not None and not cannot_be_put(answers.declined):
        state = np.full(len(calls), REFUSED, np.uint8)
        said = dict.fromkeys(range(len(calls)), answers.declined.message)
        answers = replace(answers, state=state, messages=said, declined=None)
    for number, decision in enumerate(calls.decisions):
        index = [i for i, due in enumerate(calls.expected) if due.row == number]
        if decision.level not in OPEN or not index:
            continue
        if answers.declined is not None:
            message = answers.declined.message
            yield Surveyed(decision, len(index), message=message, unsupported=True)
        else:
            yield _row(calls, answers, decision, index)


def _row(calls: CallSet, answers: CallAnswers, decision: Decision, index: list[int]) -> Surveyed:
    state = {i: int(answers.state[i]) for i in index}
    answered = [i for i in index if state[i] == ANSWERED]
    found = _readings if decision.level == "disputed" else _laws
    fits, odd = found(calls, answers, answered) if answered else ((), [])
    silent = (answers.messages[i] for i in index if i in answers.messages)
    counts = Counter(state.values())
    return Surveyed(
        decision,
        len(index) - counts[NOT_ASKED] - counts[LOST],
        fits,
        counts[REFUSED],
        counts[CRASHED],
        odd=len(odd),
        message=next(silent, "") or next((f.message for f in answers.faults), ""),
        digest=_digest(calls, answers, index),
        examples=tuple(_example(calls, answers, i) for i in _spread(odd, EXAMPLES)),
        sample=tuple(_example(calls, answers, i) for i in _spread(index, _SAMPLE)),
    )


def _readings(calls: CallSet, answers: CallAnswers, index: list[int]) -> tuple[Fits, list[int]]:
    """Return the readings that fit all calls, or the fewest that fit together.

    If some calls match no reading, also return these calls.
    """
    matched = {i: _matched(calls, answers, i) for i in index}
    odd = [i for i, names in matched.items() if not names]
    fitting = {i: names for i, names in matched.items() if names}
    common = [n for n in next(iter(fitting.values()), ()) if all(n in f for f in fitting.values())]
    told = tuple(common) or ((_cover(fitting),) if fitting else ())
    if not odd:
        return (("", told),), []
    return (("", ()), *([(OTHERS, told)] if told else [])), odd


def _matched(calls: CallSet, answers: CallAnswers, i: int) -> Laws:
    """Return the readings that an answer matches, `every reading` first."""
    expected, got = calls.expected[i], answers.got[i]
    assert got is not None  # noqa: S101
    names = tuple(r.name for r in expected.readings if difference(r, got) is None)
    if len(names) == len(expected.readings):
        # readings with one outcome are merged, so list all names
        every = calls.decisions[expected.row].readings
        return (EVERY_READING, *dict.fromkeys((*names, *every)))
    return names or ((BETWEEN,) if is_between(expected, got) else ())


def _cover(fitting: Mapping[int, Laws]) -> str:
    left = dict(fitting)
    names: list[str] = []
    while left and len(names) < _MOST:
        counts = Counter(name for found in left.values() for name in found)
        names.append(max(counts, key=lambda name: counts[name]))
        left = {i: found for i, found in left.items() if names[-1] not in found}
    return SOME_READING if left else ", or ".join(names)


def _laws(calls: CallSet, answers: CallAnswers, index: list[int]) -> tuple[Fits, list[int]]:
    laws = tuple(
        name for name, law in CALL_LAWS.items()
        if all(law(calls, i, got) for i in index if (got := answers.got[i]) is not None)
    )  # fmt: skip
    return (("", laws),), [] if laws else index


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


def _spread(index: list[int], most: int) -> list[int]:
    if len(index) <= most:
        return index
    return [index[round(k * (len(index) - 1) / (most - 1))] for k in range(most)]


def _digest(calls: CallSet, answers: CallAnswers, index: Sequence[int]) -> str:
    """Hash states and answers in the calls' order. All NaNs are equal."""
    state = hashlib.blake2b(digest_size=16)
    for i in index:
        got = answers.got[i] if answers.state[i] == ANSWERED else None
        said = None if got is None else (got.types, shapes_of(got))
        state.update(repr((int(answers.state[i]), said)).encode())
        for array in _settled(calls, i, got) if isinstance(got, Outputs) else ():
            state.update(np.ascontiguousarray(array).tobytes())
    return state.hexdigest()


def _settled(calls: CallSet, i: int, got: Outputs) -> Iterator[Bits]:
    formats = _formats(calls, i)
    for name, array in zip(got.types, got.arrays, strict=False):
        fmt = formats.get(name)
        yield array if fmt is None or array.dtype != fmt.storage else with_one_nan(fmt, array)


def _example(calls: CallSet, answers: CallAnswers, i: int) -> CallExample:
    inputs = tuple(
        _strip(t.name, t.format, array.shape, array)
        for t, array in zip(calls.case.inputs, calls.calls[i], strict=True)
    )
    got = answers.got[i] if answers.state[i] == ANSWERED else None
    shown = None if got is None else tuple(_returned(calls, i, got))
    return CallExample(inputs, "<undefined>", shown, message=answers.messages.get(i, ""))


def _returned(calls: CallSet, i: int, got: Returned) -> Iterator[Strip]:
    formats, shapes = _formats(calls, i), shapes_of(got)
    arrays = list(_settled(calls, i, got)) if isinstance(got, Outputs) else [None] * len(shapes)
    for name, shape, array in zip(got.types, shapes, arrays, strict=False):
        yield _strip(name, formats.get(name), shape, array)


def _strip(name: str, fmt: Format | None, shape: tuple[int, ...], array: Bits | None) -> Strip:
    words = () if array is None else tuple(int(code) for code in array.reshape(-1)[:_SHOWN])
    return Strip(TypeName(name, fmt), shape, 0, words)
