"""Shrink a failing group to the smallest call that shows it, by testing the backend again.

An element is tried alone, as [1] and as a scalar, then in growing tensors of copies or neighbours,
in the shapes of a run's placements. A whole call is cut to the element that differs, or halved as
long as it shows the finding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from convcheck.ask.elements import inputs_at
from convcheck.ask.placements import FRONT, WITH_1, shape_of
from convcheck.backends.protocol import Outputs
from convcheck.errors import ConvcheckError, UsageError
from convcheck.judge.answers import (
    ANSWERED,
    LARGE_CALLS,
    MANY,
    MANY_CALLS,
    NOT_ASKED,
    OTHERS,
    Answers,
)
from convcheck.judge.calls import judged_call
from convcheck.judge.matching import matching
from convcheck.judge.result import CallExample, Example, Group
from convcheck.numerics.codes import Bits
from convcheck.numerics.format import Text
from convcheck.plan.one_input import Single
from convcheck.records import replace
from convcheck.reproduce.ask import AskedCase, ask_each, ask_whole
from convcheck.reproduce.shows import of_call, witness_of
from convcheck.reproduce.witness import Witness, failing
from convcheck.rules.model import Case
from convcheck.semantics.expected import REFUSED, UNDEFINED, Reading
from convcheck.semantics.expected_calls import Call, CallReading, ExpectedCall, ExpectedOutput
from convcheck.vectors.model import CallSet, VectorSet

SIZES = (
    *range(2, 35), 48, 60, 64, 65, 96, 120, 128, 129, 256, 257, 512, 1024, 1025, 4096, 1 << 14,
    1 << 16, (1 << 16) + 1,
)  # fmt: skip
_BASES = 3  # smallest calls of a group that are tried
Index = NDArray[np.intp]


def smallest(found: AskedCase, group: Group) -> Witness:
    """Return the smallest call that shows a group. Raises UsageError if none does."""
    if isinstance(found.vectors, CallSet):
        witness = _of_calls(found, found.vectors, group)
    elif isinstance(found.vectors.case.outputs[0].format, Text):
        witness = _of_texts(found, found.vectors, group)
    else:
        witness = _of_elements(found, found.vectors, group)
    if witness is None:
        raise UsageError(
            f"{found.address} does not show it again: {group.kind or group.verdict}",
            hint="it may depend on earlier calls; --report FILE takes it from a report",
        )
    return witness


def _showing(
    found: AskedCase, tries: Sequence[CallSet], group: Group, before: Case | None = None
) -> Iterator[tuple[int, Witness]]:
    every = ask_each(found.address, tries, found.timeout, before) if tries else ()
    for number, answers in enumerate(every):
        if witness := of_call(found.backend, tries[number], answers, group):
            yield number, witness


def _alone(found: AskedCase, one: CallSet, group: Group) -> Witness | None:
    """Return the witness of a call that shows a group on a fresh backend."""
    return next((witness for _, witness in _showing(found, [one], group)), None)


# Elements ------------------------------------------------------------------------------------


def _of_elements(found: AskedCase, vectors: VectorSet, group: Group) -> Witness | None:
    elements = np.array(_needed(found, vectors, group), np.intp)
    alone, every = call_at(vectors, elements), call_at(vectors, np.arange(len(vectors)))
    if group.placement == OTHERS:
        others = [one for one in Single(vectors, found.spec).cases if one != vectors.case]
        for one, before in product((alone, every), others):
            for _, witness in _showing(found, [one], group, before):
                return replace(witness, before=before)
        return None
    allowed = group.placement != "empty" and _allowed(vectors, elements.shape)
    if allowed and (shown := _alone(found, alone, group)):
        return shown
    if group.placement == MANY_CALLS:
        for one in (alone, every):
            for number, witness in _showing(found, [one] * 2 * MANY, group):
                return replace(witness, first=False, calls=number + 1)
        return None
    indices = _tries(vectors, elements, group)
    tries = [call_at(vectors, index) for index in indices if _allowed(vectors, index.shape)]
    for number, witness in _showing(found, tries, group):
        return _alone(found, tries[number], group) or replace(witness, first=False)
    return None


def call_at(vectors: VectorSet, index: Index) -> CallSet:
    """Return elements, in the index's shape, as a call."""
    some, case = vectors.expected.take(index.reshape(-1)), vectors.case
    used = [some.decisions[row] for row in np.unique(some.rows)]
    names = max((decision.readings for decision in used), key=len, default=("",))

    def reading(name: str, due: Reading) -> CallReading:
        patterns = set(due.patterns.tolist())
        if len(patterns) == 1 and patterns <= {REFUSED, UNDEFINED}:
            return CallReading(name, pattern=patterns.pop())
        output = ExpectedOutput(case.outputs[0], index.shape, due.codes, due.patterns)
        return CallReading(name, (output,))

    readings = tuple(map(reading, names, some.readings))
    expected = ExpectedCall(int(some.rows[0]) if index.size else 0, readings, rows=(some.rows,))
    return CallSet(
        case, (tuple(inputs_at(vectors, index)),), (expected,), some.decisions, vectors.coverage,
        vectors.form,
    )  # fmt: skip


def _needed(found: AskedCase, vectors: VectorSet, group: Group) -> list[int]:
    """Return the element of a group's example, and elements that rule out other readings.

    One reading has to hold for the whole case. An answer that is right under another reading is
    wrong only together with an element that is not.
    """
    example = group.examples[0] if group.examples else None
    if not isinstance(example, Example):
        return [0] if len(vectors) else []
    x = int(np.flatnonzero(np.asarray(vectors.inputs[0] == example.inputs[0], bool))[0])
    answers = cast(Answers, found.kept.answers)
    if answers.state[x] != ANSWERED or group.placement:
        return [x]
    return [x, *_against(vectors, answers, x)]


def _against(vectors: VectorSet, answers: Answers, x: int) -> Iterator[int]:
    expected, case = vectors.expected, vectors.case
    decision = expected.decisions[expected.rows[x]]
    rule = [(d.rule, d.readings) == (decision.rule, decision.readings) for d in expected.decisions]
    here = np.array(rule, bool)[expected.rows] & (answers.state == ANSWERED)
    formats = case.outputs[0].format, case.inputs[0].format
    right = [
        matching(reading, answers.got, *formats, vectors.inputs[0])
        for reading in expected.readings[: len(decision.readings)]
    ]
    others = [one for one in right if one[x]]
    while others:
        against = np.flatnonzero(here & ~others[0])
        if not len(against):
            return
        yield int(against[0])
        others = [one for one in others if one[against[0]]]


def _tries(vectors: VectorSet, elements: Index, group: Group) -> Iterator[Index]:
    """Yield tensors of copies and of neighbours of the element, the smallest first."""
    placement = group.placement
    if placement == "empty" or not len(elements):
        yield np.zeros(0, np.intp)
        return
    if len(elements) == 1:
        yield elements.reshape(())
    yield elements.reshape(1, -1, 1, 1)
    ranks = {rank: f"{rank}-D" == placement for rank in (*FRONT, *WITH_1)}
    shaped = [prod(shape_of(rank, len(vectors))) for rank in FRONT if ranks[rank]]
    largest = max(len(vectors), LARGE_CALLS.get(placement, 0), *shaped)
    for size in [n for n in SIZES if n < largest] + [largest]:
        copies = np.resize(elements, size)
        window = np.arange(elements[0] - size + 1, elements[0] + 1) % len(vectors)
        shapes = [shape_of(rank, size) for rank in FRONT if ranks[rank]]
        for shape in [(size,), *(shape for shape in shapes if prod(shape) == size)]:
            yield from (copies.reshape(shape), window.reshape(shape))
    yield from (np.resize(elements, shape) for rank, shape in WITH_1.items() if ranks[rank])


def _allowed(vectors: VectorSet, shape: tuple[int, ...]) -> bool:
    shapes = vectors.case.shapes
    return shapes is None or (len(shape) in shapes.ranks and (shapes.empty or 0 not in shape))


def _of_texts(found: AskedCase, vectors: VectorSet, group: Group) -> Witness | None:
    """Test elements with text answers, which cannot be calls."""
    index = np.array(_needed(found, vectors, group), np.intp)
    kept = ask_whole(found.address, vectors.take(index), found.timeout)[1]
    answers, name = cast(Answers, kept.answers), vectors.case.outputs[0].name
    came = not len(index) or answers.state[0] == ANSWERED
    got = Outputs((answers.got,), (name,)) if came else None
    its = Answers(np.array([got]), answers.state[:1], {0: answers.messages.get(0, "")})
    for shown in (one for one in failing(kept) if one.verdict == group.verdict):
        return witness_of(found.backend, call_at(vectors, index), its, shown)
    return None


# Whole calls ---------------------------------------------------------------------------------


def _of_calls(found: AskedCase, calls: CallSet, group: Group) -> Witness | None:
    def tried(call: Call) -> Witness | None:
        one = _call(found, calls, call)
        return _alone(found, one, group) if one else None

    for i in _members(calls, cast(Answers, found.kept.answers), group)[:_BASES]:
        call = calls.calls[i]
        one = _one_element(call, group)
        if witness := (one and tried(one)) or _halved(call, tried):
            return witness
        later = [_call(found, calls, calls.calls[0]), _call(found, calls, call)]
        for number, witness in _showing(found, [one for one in later if one], group):
            if number == 1:
                return replace(witness, first=False)
    return None


def _call(found: AskedCase, calls: CallSet, call: Call) -> CallSet | None:
    from convcheck.vectors.calls import expecting

    try:
        return expecting(found.spec, calls.case, [call], calls.coverage)
    except ConvcheckError:
        return None


def _members(calls: CallSet, answers: Answers, group: Group) -> list[int]:
    found = []
    for i, call in enumerate(calls.calls):
        if answers.state[i] == NOT_ASKED:
            continue
        judged, got = judged_call(calls, answers, i), answers.got[i]
        kind = group.kind if judged.sort == "crashed" else judged.kind
        name = calls.decisions[judged.row].name
        if (name, judged.sort, kind) == (group.decision.name, group.verdict, group.kind):
            arrays = got.arrays if isinstance(got, Outputs) else ()
            found.append((sum(a.size for a in (*call, *arrays)), i))
    return [i for _, i in sorted(found)]


def _halved(call: Call, tried: Callable[[Call], Witness | None]) -> Witness | None:
    witness = tried(call)
    while witness:
        smaller = ((half, tried(half)) for half in _halves(call))
        found = next(((half, one) for half, one in smaller if one), None)
        if found is None:
            break
        call, witness = found
    return witness


def _one_element(call: Call, group: Group) -> Call | None:
    if all(tensor.size <= 1 for tensor in call):
        return None
    example = group.examples[0] if group.examples else None
    words = example.arguments if isinstance(example, CallExample) else ()
    if len(words) != len(call):
        if not all(tensor.size for tensor in call):
            return None
        words = tuple(int(cast(int, tensor.reshape(-1)[0])) for tensor in call)
    return tuple(_filled(tensor, one) for tensor, one in zip(call, words, strict=True))


def _filled(tensor: Bits, one: object) -> Bits:
    shape: Any = (1,) * tensor.ndim
    filled: Bits = np.full(shape, one, tensor.dtype)
    return filled


def _halves(call: Call) -> Iterator[Call]:
    """Yield calls with half of one axis, counted from the right, in each tensor that has it."""
    for axis in range(1, max(tensor.ndim for tensor in call) + 1):
        sizes = {t.shape[-axis] for t in call if t.ndim >= axis}
        size = max(sizes, default=0)
        for cut in (slice(0, size // 2), slice(size // 2, size)) if size > 1 else ():
            half = tuple(_cut(t, axis, size, cut) for t in call)
            if sum(t.size for t in half):
                yield half


def _cut(tensor: Bits, axis: int, size: int, cut: slice) -> Bits:
    if tensor.ndim < axis or tensor.shape[-axis] != size:
        return tensor
    index: Any = (..., cut, *(slice(None),) * (axis - 1))
    half: Bits = tensor[index]
    return half
