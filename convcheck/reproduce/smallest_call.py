"""The smallest whole call that shows a finding."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from convcheck.backends.protocol import Outputs
from convcheck.errors import ConvcheckError
from convcheck.judge.answers import CallAnswers
from convcheck.judge.calls import judge_calls
from convcheck.judge.result import CallExample, Group
from convcheck.numerics.codes import Bits
from convcheck.reproduce.ask import AskedCase, ask_each
from convcheck.reproduce.shows import of_call
from convcheck.reproduce.witness import Witness
from convcheck.semantics.expected_calls import Call
from convcheck.vectors.model import CallSet

_BASES = 3  # of a group's calls, so many of the smallest are tried
_ROUNDS = 24  # of halving


def smallest_call(found: AskedCase, calls: CallSet, group: Group) -> Witness | None:
    """Find the smallest call of a case that shows a group; None where none does, asked again."""
    for i in _members(calls, cast(CallAnswers, found.kept.answers), group)[:_BASES]:
        witness = _of_call(found, calls, calls.calls[i], group)
        if witness:
            return witness
    return None


def _members(calls: CallSet, answers: CallAnswers, group: Group) -> list[int]:
    """Return the indices of the calls of a group, the smallest first."""
    found = []
    for i in range(len(calls)):
        if any(_alike(one, group) for one in _judged(calls, answers, i)):
            got = answers.got[i]
            arrays = got.arrays if isinstance(got, Outputs) else ()
            found.append((sum(a.size for a in (*calls.calls[i], *arrays)), i))
    return [i for _, i in sorted(found)]


def _alike(one: Group, group: Group) -> bool:
    same = (one.decision.name, one.verdict) == (group.decision.name, group.verdict)
    return same and (one.kind == group.kind or group.verdict == "crashed")


def _judged(calls: CallSet, answers: CallAnswers, i: int) -> tuple[Group, ...]:
    one = replace(calls, calls=(calls.calls[i],), expected=(calls.expected[i],))
    messages = {0: answers.messages[i]} if i in answers.messages else {}
    its = CallAnswers((answers.got[i],), answers.state[i : i + 1], messages)
    return judge_calls(one, its).groups


def _of_call(found: AskedCase, calls: CallSet, call: Call, group: Group) -> Witness | None:
    """Cut a call down as far as it shows the finding on the first call of a fresh backend."""

    def tried(one: Call, *before: Call) -> Witness | None:
        return _tried(found, calls, one, before, group)

    smaller = _one_element(call, group)
    if smaller and (witness := tried(smaller)):
        return witness
    witness = tried(call)
    if witness is None:
        late = tried(call, calls.calls[0])
        return replace(late, first=False) if late else None
    return _halved(call, witness, tried)


def _halved(call: Call, witness: Witness, tried: Callable[[Call], Witness | None]) -> Witness:
    for _ in range(_ROUNDS):
        smaller = ((half, tried(half)) for half in _halves(call))
        found = next(((half, one) for half, one in smaller if one), None)
        if found is None:
            return witness
        call, witness = found
    return witness


def _tried(
    found: AskedCase, calls: CallSet, call: Call, before: Sequence[Call], group: Group
) -> Witness | None:
    from convcheck.vectors.calls import expecting

    try:
        due = expecting(found.spec, calls.case, [call], calls.coverage)
    except ConvcheckError:  # the spec decides no call so small
        return None
    reply = ask_each(found.address, due, [*before, call], found.timeout)[-1]
    return of_call(found.backend, due, reply, group)


def _one_element(call: Call, group: Group) -> Call | None:
    """Return the call of the one element that differs, ranks as they are; None where it is that."""
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
    """Return a call with half of one axis, counted from the right, in each tensor that has it."""
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
