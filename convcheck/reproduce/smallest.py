"""Shrink a failing group to the smallest call that shows it, by testing the backend again.

An element is tried alone, then in growing tensors. A whole call is cut to the differing element, or
halved.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import prod
from typing import cast

import numpy as np
from numpy.typing import NDArray

from convcheck.ask.placements import FRONT, WITH_1, shape_of
from convcheck.backends.protocol import Outputs
from convcheck.errors import UsageError
from convcheck.judge.answers import (
    ANSWERED,
    LARGE_CALLS,
    MANY,
    MANY_CALLS,
    NOT_ASKED,
    OTHERS,
    REFUSED,
    Answers,
)
from convcheck.judge.calls import judge, judged_call
from convcheck.judge.matching import matching
from convcheck.judge.result import BackendInfo, CallExample, CaseResult, Example, Group
from convcheck.numerics.format import Text
from convcheck.numerics.number import Bits
from convcheck.plan.runner import Single, execute
from convcheck.records import replace
from convcheck.reproduce.witness import (
    Witness,
    call_at,
    expecting_call,
    failing,
    of_call,
    witness_of,
)
from convcheck.rules.model import Case, Spec
from convcheck.semantics.expected import UNDEFINED, Call, CallReading, ExpectedCall
from convcheck.vectors.model import CallSet, Vectors, VectorSet

SIZES = (
    *(*range(2, 35), 48, 60, 64, 65, 96, 120, 128, 129, 256, 257, 512, 1024, 1025, 4096),
    *(1 << 14, 1 << 16, (1 << 16) + 1),
)
_BASES = 3  # smallest calls of a group that are tried
_FREE = ExpectedCall(0, (CallReading("", pattern=UNDEFINED),))
Index = NDArray[np.intp]


@dataclass(frozen=True)
class AskedCase:
    """A case with a backend's answers."""

    address: str
    spec: Spec
    vectors: Vectors
    backend: BackendInfo
    kept: CaseResult
    timeout: float  # seconds for a call

    @property
    def groups(self) -> list[Group]:
        """The findings, in the report's order."""
        return failing(self.kept)


def ask_case(address: str, spec: Spec, vectors: Vectors, timeout: float) -> AskedCase:
    """Test a case. Raises UsageError, UnavailableError or KeyboardInterrupt."""
    backend, kept = _asked(address, Single(vectors, spec), timeout)
    found = AskedCase(address, spec, vectors, backend, kept, timeout)
    if kept.verdict == "error":
        said = f"the adapter of {address} failed on {kept.case.id}: {kept.message}"
        raise UsageError(said, hint="there is no answer to show")
    if not found.groups:
        raise does_not_fail(kept, address)
    return found


def does_not_fail(one: CaseResult, address: str) -> UsageError:
    """Return the error for a case without findings."""
    said = f"{one.case.id} does not fail on {address}: {one.verdict}"
    if one.message:
        said += f" ({one.message})"
    return UsageError(said, hint="`convcheck run` says which cases fail")


def smallest(found: AskedCase, group: Group) -> Witness:
    """Return the smallest call that shows a group. Raises UsageError if none does."""
    if isinstance(found.vectors, CallSet):
        witness = _of_calls(found, found.vectors, group)
    elif isinstance(found.vectors.case.outputs[0].format, Text):
        witness = _of_texts(found, found.vectors, group)
    else:
        witness = _of_elements(found, found.vectors, group)
    if witness is None:
        said = f"{found.address} does not show it again: {group.kind or group.verdict}"
        hint = "it may depend on earlier calls; --report FILE takes it from a report"
        raise UsageError(said, hint=hint)
    return witness


def _asked(address: str, corpus: Single, timeout: float) -> tuple[BackendInfo, CaseResult]:
    done = execute(address, corpus.cases, corpus, timeout=timeout, judge=_keep, thorough=True)
    result = corpus.result(done)
    if result.answers is None:
        said = result.message or result.verdict
        raise UsageError(f"{corpus.one.case.id} cannot be tested on {address}: {said}")
    return done.backend, result


def _keep(vectors: Vectors, answers: Answers) -> CaseResult:
    return replace(judge(vectors, answers), answers=answers)


def _showing(
    found: AskedCase, tries: Sequence[CallSet], group: Group, before: Case | None = None
) -> Iterator[tuple[int, Witness]]:
    """Make calls in one worker, after those of `before`, and yield those that show a group."""
    if not tries:
        return
    first, every = tries[0], tuple(one.calls[0] for one in tries)
    free = CallSet(
        first.case, every, (_FREE,) * len(every), (first.form,), first.coverage, first.form
    )
    asked = _asked(found.address, Single(free, before=before), found.timeout)[1]
    answers = cast(Answers, asked.answers)
    for number, one in enumerate(tries):
        got, state = answers.got[number : number + 1], answers.state[number : number + 1]
        faults = (fault.message for fault in answers.faults if fault.index == number)
        said = answers.messages.get(number) or next(faults, "")
        if answers.declined is not None:
            got, state = np.array([None]), np.array([REFUSED], np.uint8)
            said = answers.declined.message
        answer = Answers(got, state, {0: said} if said else {})
        if witness := of_call(found.backend, one, answer, group):
            yield number, witness


def _alone(found: AskedCase, one: CallSet | None, group: Group) -> Witness | None:
    return next((witness for _, witness in _showing(found, [one] if one else [], group)), None)


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


def _needed(asked: AskedCase, vectors: VectorSet, group: Group) -> list[int]:
    """Return a group's element, and elements that rule out other readings."""
    example = group.examples[0] if group.examples else None
    if not isinstance(example, Example):
        return [0] if len(vectors) else []
    x = int(np.flatnonzero(np.asarray(vectors.inputs[0] == example.inputs[0], bool))[0])
    answers = cast(Answers, asked.kept.answers)
    if answers.state[x] != ANSWERED or group.placement:
        return [x]
    found, expected, case = [x], vectors.expected, vectors.case
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
            break
        found.append(int(against[0]))
        others = [one for one in others if one[against[0]]]
    return found


def _tries(vectors: VectorSet, elements: Index, group: Group) -> Iterator[Index]:
    placement = group.placement
    if placement == "empty" or not len(elements):
        yield np.zeros(0, np.intp)
        return
    if len(elements) == 1:
        yield elements.reshape(())
    yield elements.reshape(1, -1, 1, 1)
    ranks = [rank for rank in (*FRONT, *WITH_1) if f"{rank}-D" == placement]
    shaped = [prod(shape_of(rank, len(vectors))) for rank in ranks if rank in FRONT]
    largest = max(len(vectors), LARGE_CALLS.get(placement, 0), *shaped)
    for size in [n for n in SIZES if n < largest] + [largest]:
        copies = np.resize(elements, size)
        window = np.arange(elements[0] - size + 1, elements[0] + 1) % len(vectors)
        shapes = [shape_of(rank, size) for rank in ranks if rank in FRONT]
        for shape in [(size,), *(shape for shape in shapes if prod(shape) == size)]:
            yield from (copies.reshape(shape), window.reshape(shape))
    yield from (np.resize(elements, WITH_1[rank]) for rank in ranks if rank in WITH_1)


def _allowed(vectors: VectorSet, shape: tuple[int, ...]) -> bool:
    shapes = vectors.case.shapes
    return shapes is None or (len(shape) in shapes.ranks and (shapes.empty or 0 not in shape))


def _of_texts(found: AskedCase, vectors: VectorSet, group: Group) -> Witness | None:
    index = np.array(_needed(found, vectors, group), np.intp)
    kept = _asked(found.address, Single(vectors.take(index)), found.timeout)[1]
    answers, name = cast(Answers, kept.answers), vectors.case.outputs[0].name
    came = not len(index) or answers.state[0] == ANSWERED
    got = Outputs((answers.got,), (name,)) if came else None
    its = Answers(np.array([got]), answers.state[:1], {0: answers.messages.get(0, "")})
    for shown in (one for one in failing(kept) if one.verdict == group.verdict):
        return witness_of(found.backend, call_at(vectors, index), its, shown)
    return None


def _of_calls(found: AskedCase, calls: CallSet, group: Group) -> Witness | None:
    expecting = partial(expecting_call, found.spec, calls.case)

    def tried(call: Call) -> Witness | None:
        return _alone(found, expecting(call), group)

    for i in _members(calls, cast(Answers, found.kept.answers), group)[:_BASES]:
        call = calls.calls[i]
        one = _one_element(call, group)
        if witness := (one and tried(one)) or _halved(call, tried):
            return witness
        later = [each for each in map(expecting, (calls.calls[0], call)) if each]
        for number, witness in _showing(found, later, group):
            if number == 1:
                return replace(witness, first=False)
    return None


def _members(calls: CallSet, answers: Answers, group: Group) -> list[int]:
    found = []
    for i in np.flatnonzero(answers.state != NOT_ASKED).tolist():
        judged, got = judged_call(calls, answers, i), answers.got[i]
        kind = group.kind if judged.sort == "crashed" else judged.kind
        name = calls.decisions[judged.row].name
        if (name, judged.sort, kind) == (group.decision.name, group.verdict, group.kind):
            arrays = got.arrays if isinstance(got, Outputs) else ()
            found.append((sum(a.size for a in (*calls.calls[i], *arrays)), i))
    return [i for _, i in sorted(found)]


def _one_element(call: Call, group: Group) -> Call | None:
    if all(tensor.size <= 1 for tensor in call):
        return None
    example = group.examples[0] if group.examples else None
    words = example.arguments if isinstance(example, CallExample) else ()
    if len(words) != len(call):
        if not all(tensor.size for tensor in call):
            return None
        words = tuple(int(cast(int, tensor.reshape(-1)[0])) for tensor in call)
    return tuple(
        cast(Bits, np.full((1,) * tensor.ndim, word, tensor.dtype))
        for tensor, word in zip(call, words, strict=True)
    )


def _halved(call: Call, tried: Callable[[Call], Witness | None]) -> Witness | None:
    witness = tried(call)
    while witness:
        smaller = ((half, tried(half)) for half in _halves(call))
        found = next(((half, one) for half, one in smaller if one), None)
        if found is None:
            break
        call, witness = found
    return witness


def _halves(call: Call) -> Iterator[Call]:
    for axis in range(1, max(tensor.ndim for tensor in call) + 1):
        size = max(t.shape[-axis] for t in call if t.ndim >= axis)
        for half in (range(size // 2), range(size // 2, size)) if size > 1 else ():
            cut = tuple(
                t.take(half, -axis) if t.ndim >= axis and t.shape[-axis] == size else t
                for t in call
            )
            if any(t.size for t in cut):
                yield cut
