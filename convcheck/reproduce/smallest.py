"""From a failing group to the smallest call that still shows it, by asking the backend again.

Of elements: one alone, as [1] or as a scalar; else more and more of it, or of its neighbours, in
the shapes of a run's placements. Of whole calls: the smallest that fails; of its tensors the one
element that differs; else halves of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import cast

import numpy as np
from numpy.typing import NDArray

from convcheck.ask.elements import inputs_at
from convcheck.ask.placements import FRONT, WITH_1, shape_of
from convcheck.backends.protocol import Outputs
from convcheck.errors import UsageError
from convcheck.judge.answers import ANSWERED, LARGE_CALLS, MANY, MANY_CALLS, OTHERS, Answers
from convcheck.judge.matching import matching
from convcheck.judge.result import CaseResult, Example, Group
from convcheck.numerics.format import Text
from convcheck.plan.one_input import Single
from convcheck.reproduce.ask import AskedCase, Reply, ask_after, ask_each, ask_whole
from convcheck.reproduce.shows import of_elements, shows
from convcheck.reproduce.smallest_call import smallest_call
from convcheck.reproduce.witness import Witness
from convcheck.rules.model import Spec
from convcheck.semantics.expected_calls import Call
from convcheck.vectors.model import CallSet, Vectors, VectorSet

TRIED = (
    *range(2, 35), 48, 60, 64, 65, 96, 120, 128, 129, 256, 257, 512, 1024, 1025, 4096, 1 << 14,
    1 << 16, (1 << 16) + 1,
)  # fmt: skip
Index = NDArray[np.intp]


def ask_case(address: str, spec: Spec, vectors: Vectors, timeout: float) -> AskedCase:
    """Put a case to a backend. Raises UsageError where it does not fail, and as `ask_whole`."""
    backend, kept = ask_whole(address, vectors, timeout, spec)
    found = AskedCase(address, spec, vectors, backend, kept, timeout)
    if kept.verdict == "error":
        said = f"the adapter of {address} failed on {kept.case.id}: {kept.message}"
        raise UsageError(said, hint="there is no answer to show")
    if not found.groups:
        raise does_not_fail(kept, address)
    return found


def does_not_fail(one: CaseResult, address: str) -> UsageError:
    """Say that a case shows no finding, and what it shows."""
    said = f"{one.case.id} does not fail on {address}: {one.verdict}"
    if one.message:
        said += f" ({one.message})"
    return UsageError(said, hint="`convcheck run` says which cases fail")


def smallest(found: AskedCase, group: Group) -> Witness:
    """Find the smallest call that shows a group. Raises UsageError where none does."""
    if isinstance(found.vectors, CallSet):
        witness = smallest_call(found, found.vectors, group)
    elif group.placement == OTHERS:
        witness = _after_others(found, found.vectors, group)
    else:
        witness = _of_elements(found, found.vectors, group)
    if witness is None:
        raise UsageError(
            f"asked again, {found.address} does not show it: {group.kind or group.verdict}",
            hint="it may depend on what was asked before; --report FILE takes it from a report",
        )
    return witness


# Elements ------------------------------------------------------------------------------------


def _of_elements(found: AskedCase, vectors: VectorSet, group: Group) -> Witness | None:
    elements = _needed(found, vectors, group)

    def asked(tries: Sequence[Index]) -> list[Reply]:
        calls = [_call(vectors, index) for index in tries]
        return list(ask_each(found.address, vectors, calls, found.timeout))

    if isinstance(vectors.case.outputs[0].format, Text):
        return _of_text(found, vectors, group, elements)
    alone = np.array(elements, np.intp)
    if group.placement != "empty" and _allowed(vectors, alone.shape):
        [reply] = asked([alone])
        if shows(vectors, alone, reply, group):
            return of_elements(found.backend, vectors, alone, reply, group)
    if group.placement == MANY_CALLS:
        return _after_calls(found, vectors, group, alone)
    tries = [t for t in _tries(vectors, elements, group) if _allowed(vectors, t.shape)]
    for index, reply in zip(tries, asked(tries) if tries else (), strict=True):
        if shows(vectors, index, reply, group):
            [again] = asked([index])
            first = shows(vectors, index, again, group)
            kept = again if first else reply
            made = of_elements(found.backend, vectors, index, kept, group)
            return replace(made, first=first)
    return None


def _after_others(found: AskedCase, vectors: VectorSet, group: Group) -> Witness | None:
    """Ask an element, else all, after it was asked with other attribute values: with each by
    itself, until it shows.
    """
    others = [one for one in Single(vectors, found.spec).cases if one != vectors.case]
    for index in (np.array(_needed(found, vectors, group), np.intp), np.arange(len(vectors))):
        call = _call(vectors, index)
        for before in others:
            reply = ask_after(found.address, before, vectors, call, found.timeout)
            if shows(vectors, index, reply, group):
                made = of_elements(found.backend, vectors, index, reply, group)
                return replace(made, before=before)
    return None


def _after_calls(
    found: AskedCase, vectors: VectorSet, group: Group, alone: Index
) -> Witness | None:
    """Ask the same until it shows: an element, else all."""
    for index in (alone, np.arange(len(vectors))):
        calls = [_call(vectors, index)] * 2 * MANY
        replies = ask_each(found.address, vectors, calls, found.timeout)
        for number, reply in enumerate(replies, 1):
            if shows(vectors, index, reply, group):
                made = of_elements(found.backend, vectors, index, reply, group)
                return replace(made, first=False, calls=number)
    return None


def _needed(found: AskedCase, vectors: VectorSet, group: Group) -> list[int]:
    """Return the element of a group's example, and others that rule out what it could be read as.

    One reading has to hold for a case as a whole: an answer that is right under another than the
    one that the rest is read by is wrong only beside an element that is not.
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


def _tries(vectors: VectorSet, elements: list[int], group: Group) -> Iterator[Index]:
    """Return elements in shapes, the smallest first: copies of the element, and its neighbours."""
    if group.placement == "empty" or not elements:
        yield np.zeros(0, np.intp)
        return
    if len(elements) == 1:
        yield np.array(elements[0], np.intp)
    yield np.array(elements, np.intp).reshape(1, -1, 1, 1)
    last, largest = elements[0], _most(vectors, group)
    for size in [n for n in TRIED if n < largest] + [largest]:
        copies = np.resize(np.array(elements, np.intp), size)
        window = np.arange(last - size + 1, last + 1) % len(vectors)
        yield from (copies, window)
        for rank in FRONT:
            shape = shape_of(rank, size)
            if group.placement == f"{rank}-D" and prod(shape) == size:
                yield from (one.reshape(shape) for one in (copies, window))
    for rank, shape in WITH_1.items():
        if group.placement == f"{rank}-D":
            yield np.resize(np.array(elements, np.intp), shape)


def _most(vectors: VectorSet, group: Group) -> int:
    """Return how many elements a call of a group's placement has at most."""
    ranks = {f"{rank}-D": prod(shape_of(rank, len(vectors))) for rank in FRONT}
    return max(len(vectors), {**LARGE_CALLS, **ranks}.get(group.placement, 0))


def _allowed(vectors: VectorSet, shape: tuple[int, ...]) -> bool:
    shapes = vectors.case.shapes
    return shapes is None or (len(shape) in shapes.ranks and (shapes.empty or 0 not in shape))


def _call(vectors: VectorSet, index: Index) -> Call:
    return tuple(inputs_at(vectors, index))


def _of_text(
    found: AskedCase, vectors: VectorSet, group: Group, elements: list[int]
) -> Witness | None:
    """Ask elements with texts as answers, which are no call's codes, as a run does."""
    index = np.array(elements, np.intp)
    taken = tuple(tensor[index] for tensor in vectors.inputs)
    part = VectorSet(
        vectors.case, taken, vectors.expected.take(index), vectors.coverage, vectors.form
    )
    answers = ask_whole(found.address, part, found.timeout)[1].answers
    assert isinstance(answers, Answers)  # noqa: S101 elements were asked
    name = vectors.case.outputs[0].name
    outputs = Outputs((answers.got,), (name,))
    reply = Reply(outputs, ANSWERED)
    if len(elements) and answers.state[0] != ANSWERED:
        reply = Reply(None, int(answers.state[0]), answers.messages.get(0, ""))
    if not shows(vectors, index, reply, group):
        return None
    return of_elements(found.backend, vectors, index, reply, group)
