"""Whether an answer shows a finding, and the witness that it makes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from math import prod
from typing import cast

import numpy as np
from numpy.typing import NDArray

from convcheck.ask.elements import inputs_at
from convcheck.backends.protocol import Outputs, Oversized
from convcheck.errors import ConvcheckError, UsageError
from convcheck.judge.answers import ANSWERED, Answers
from convcheck.judge.calls import judge_calls
from convcheck.judge.elements import judge
from convcheck.judge.form import form_complaint, strangers
from convcheck.judge.matching_calls import closest, is_between, shapes_of
from convcheck.judge.result import BackendInfo, CallExample, Group, Strip
from convcheck.numerics.codes import Bits, Codes
from convcheck.numerics.format import Float, Format
from convcheck.numerics.order import order_key
from convcheck.reproduce.ask import Reply, answers_of_reply
from convcheck.reproduce.witness import (
    ANYTHING,
    BEFORE,
    REFUSAL,
    Due,
    Witness,
    accepted,
    ask_again,
    distinct,
    failing,
    of_recalled,
    of_report,
    part,
    whole,
)
from convcheck.rules.model import Case, DType, Spec
from convcheck.semantics.expected import EXACT, PATTERNS, UNDEFINED
from convcheck.semantics.expected_calls import Call, CallReading, ExpectedCall
from convcheck.semantics.expected_calls import ExpectedOutput as Wanted
from convcheck.vectors.model import CallSet, VectorSet

Index = NDArray[np.intp]


def shows(vectors: VectorSet, index: Index, reply: Reply, group: Group) -> bool:
    """Return whether the answer to elements, in the index's shape, shows a group."""
    return _shown(vectors, index, reply, group) is not None


def _shown(vectors: VectorSet, index: Index, reply: Reply, group: Group) -> Group | None:
    """Return what an answer is judged to show, None where it is not what the group is about."""
    if reply.state == ANSWERED:
        wrong = form_complaint(reply.outputs, vectors.case, index.shape)
        if wrong:
            return group if wrong[0] == group.kind else None
        [array] = cast(Outputs, reply.outputs).arrays
        if strangers(vectors.case.outputs[0].format, array.reshape(-1)) is not None:
            return group if group.kind == "not a code of the type" else None
    if not index.size:
        return group if reply.state != ANSWERED else None
    judged = judge(_part(vectors, index), _answers(vectors, index, reply))
    same = [g for g in failing(judged) if g.verdict == group.verdict]
    return next((g for g in same if g.kind == group.kind), same[0] if same else None)


def _part(vectors: VectorSet, index: Index) -> VectorSet:
    flat = index.reshape(-1)
    inputs = tuple(tensor[flat] for tensor in vectors.inputs)
    return replace(vectors, inputs=inputs, expected=vectors.expected.take(flat))


def _answers(vectors: VectorSet, index: Index, reply: Reply) -> Answers:
    fmt, count = vectors.case.outputs[0].format, index.size
    got: Bits = np.zeros(count, fmt.storage)
    if reply.state == ANSWERED:
        got = cast(Outputs, reply.outputs).arrays[0].reshape(-1)
    state = np.full(count, reply.state, np.uint8)
    return Answers(got, state, dict.fromkeys(range(count), reply.message))


def of_elements(
    backend: BackendInfo, vectors: VectorSet, index: Index, reply: Reply, group: Group
) -> Witness:
    """Return the witness of elements in the index's shape. The answer `shows` the group."""
    case, some = vectors.case, _part(vectors, index)
    inputs = zip(case.inputs, inputs_at(vectors, index), strict=True)
    at = _first_wrong(some, index, reply)
    decision = some.expected.decisions[some.expected.rows[at]] if index.size else group.decision
    names = max((some.expected.decisions[row].readings for row in some.expected.rows), key=len,
                default=("",))  # fmt: skip
    dues = [_due(some, index.shape, i, name, at) for i, name in enumerate(names)]
    shown = group if decision.rule == group.decision.rule else replace(group, decision=decision)
    return Witness(
        backend, case, shown, tuple(whole(t, bits) for t, bits in inputs),
        (*distinct(dues), *accepted(case)), _got(case, reply, at), reply.message,
    )  # fmt: skip


def _first_wrong(some: VectorSet, index: Index, reply: Reply) -> int:
    """Return the first element that is not as the first reading wants it, 0 where every one is."""
    from convcheck.judge.matching import matching

    got = reply.outputs
    fmt = some.case.outputs[0].format
    if not isinstance(got, Outputs) or form_complaint(got, some.case, index.shape):
        return 0
    flat = got.arrays[0].reshape(-1)
    right = matching(
        some.expected.readings[0], flat, fmt, some.case.inputs[0].format, some.inputs[0]
    )
    return int(np.argmin(right)) if len(right) else 0


def _due(some: VectorSet, shape: tuple[int, ...], i: int, name: str, at: int) -> Due:
    reading, target = some.expected.readings[i], some.case.outputs[0]
    said = {PATTERNS[p] for p in reading.patterns.tolist()}
    if len(said) == 1 and f"<{next(iter(said))}>" in (REFUSAL, ANYTHING):
        return Due(name, f"<{said.pop()}>")
    codes, patterns = reading.codes.reshape(shape), reading.patterns
    return Due(name, (part(target.name, target.format, codes, at, patterns),))


def _got(case: Case, reply: Reply, at: int) -> tuple[Strip, ...] | None:
    if not isinstance(reply.outputs, Outputs):
        return None
    formats = _formats((*case.inputs, *case.outputs))
    both = zip(reply.outputs.types, reply.outputs.arrays, strict=False)
    return tuple(part(str(name), formats.get(str(name)), a, at) for name, a in both)


def _formats(types: tuple[DType, ...]) -> dict[str, Format]:
    return {dtype.name: dtype.format for dtype in types}


# Whole calls ---------------------------------------------------------------------------------


def of_call(backend: BackendInfo, one: CallSet, reply: Reply, group: Group) -> Witness | None:
    """Return the witness of a set of one call; None where its answer does not show the group."""
    [expected], [call] = one.expected, one.calls
    if reply.state == ANSWERED and reply.outputs is None:
        return None
    found = [
        g for g in failing(judge_calls(one, answers_of_reply(reply))) if g.verdict == group.verdict
    ]
    if not found:
        return None
    shown = found[0]
    example = shown.examples[0]
    assert isinstance(example, CallExample)  # noqa: S101 a call was judged
    output, at = example.difference or (0, 0)
    dues = [Due(r.name, _outputs(r, output, max(at, 0))) for r in expected.readings]
    return Witness(
        backend, one.case, shown,
        tuple(whole(t, bits) for t, bits in zip(one.case.inputs, call, strict=True)),
        (*distinct(dues), *accepted(one.case)), _returned(one, reply, output, max(at, 0)),
        reply.message, _bounds(expected, max(at, 0)),
    )  # fmt: skip


def reported(
    spec: Spec, backend: BackendInfo, case: Case, group: Group, calls: Sequence[Call]
) -> Witness:
    """Return the witness of a group's first example, without asking anything.

    `calls` are those that the case was asked, as far as they are known. The call is cut down to the
    element that differs where its other inputs have one element, and the rules want of it what they
    want of the call: an element alone meets another kernel than one of an axis.
    """
    entire = of_recalled(backend, case, group, calls)
    if entire is None:
        return with_readings(spec, of_report(backend, case, group))
    if all(strip.words and prod(strip.shape) == 1 for strip in entire.inputs[1:]):
        with suppress(UsageError):
            cut = replace(of_report(backend, case, group), first=entire.first)
            if _due_of(spec, cut) is not None:
                return with_readings(spec, cut)
    return with_readings(spec, entire)


def with_readings(spec: Spec, witness: Witness) -> Witness:
    """Add what the other readings of a call want, to a witness of a report, which has only one.

    As it is where the spec, or what it says of this call, is no longer what the report was of.
    Raises UsageError where the part of the call that the report has is right under another.
    """
    expected, due = _due_of(spec, witness), witness.due[0]
    if expected is None or isinstance(due.outputs, str):
        return witness
    at = due.outputs[0].first + BEFORE
    dues = [Due(r.name, _outputs(r, 0, at)) for r in expected.readings]
    if any(one.outputs == witness.got for one in dues) or _is_right(expected, witness.got):
        raise ask_again("what the report has of the call is right under another reading")
    between = _bounds(expected, at)
    return replace(witness, due=(*distinct(dues), *accepted(witness.case)), between=between)


def _due_of(spec: Spec, witness: Witness) -> ExpectedCall | None:
    """Return what is due of a report's call; None where it is not what the report says, or where
    nothing but a word is.
    """
    from convcheck.vectors.calls import expecting

    [due, *_], case = witness.due, witness.case
    if not case.whole_calls or isinstance(due.outputs, str):
        return None
    call = tuple(map(_tensor, witness.inputs))
    try:
        [expected] = expecting(spec, case, [call], "sampled").expected
    except ConvcheckError:
        return None
    same = any(_wants(reading, due.outputs) for reading in expected.readings)
    return expected if same else None


def _is_right(expected: ExpectedCall, got: tuple[Strip, ...] | None) -> bool:
    """Return whether an answer that a report has all of is right under one of the readings."""
    if got is None or any(s.format is None or len(s.words) != prod(s.shape) for s in got):
        return False
    answer = Outputs(tuple(map(_tensor, got)), tuple(s.type for s in got))
    return is_between(expected, answer) or closest(expected, answer)[1] is None


def _tensor(strip: Strip) -> Bits:
    assert strip.format is not None  # noqa: S101 a case's own types are known
    codes: Bits = np.array(strip.words, strip.format.storage).reshape(strip.shape)
    return codes


def _wants(reading: CallReading, shown: tuple[Strip, ...]) -> bool:
    """Return whether a reading wants what a report has a part of."""
    if reading.pattern != EXACT or len(reading.outputs) != len(shown):
        return False
    for due, strip in zip(reading.outputs, shown, strict=True):
        cut = slice(strip.first, strip.first + len(strip.words))
        said = zip(due.codes[cut].tolist(), due.patterns[cut].tolist(), strict=True)
        words = tuple(c if p == EXACT else f"<{PATTERNS[p]}>" for c, p in said)
        if (due.dtype.name, due.shape, words) != (strip.type, strip.shape, strip.words):
            return False
    return True


def _outputs(reading: CallReading, output: int, at: int) -> tuple[Strip, ...] | str:
    if reading.pattern != EXACT:
        return f"<{PATTERNS[reading.pattern]}>"
    return tuple(
        part(d.dtype.name, d.dtype.format, d.codes.reshape(d.shape), at if i == output else 0,
             d.patterns)
        for i, d in enumerate(reading.outputs)
    )  # fmt: skip


def _returned(one: CallSet, reply: Reply, output: int, at: int) -> tuple[Strip, ...] | None:
    got = reply.outputs
    if got is None:
        return None
    formats = _formats((*one.case.inputs, *one.case.outputs))
    for reading in one.expected[0].readings:
        formats |= _formats(tuple(due.dtype for due in reading.outputs))
    if isinstance(got, Oversized):
        both = zip(got.types, shapes_of(got), strict=False)
        return tuple(Strip(name, formats.get(name), shape, 0, ()) for name, shape in both)
    arrays = zip(got.types, got.arrays, strict=False)
    return tuple(
        part(str(name), formats.get(str(name)), a, at if i == output else 0)
        for i, (name, a) in enumerate(arrays)
    )


def _bounds(expected: ExpectedCall, at: int) -> tuple[tuple[Strip, Strip], ...]:
    """Return the least and the greatest elements of the readings, a pair for each shape."""
    exact = [r.outputs for r in expected.readings if r.pattern == EXACT]
    if not expected.between or any(len(outputs) != 1 for outputs in exact):
        return ()
    alike: dict[object, list[Wanted]] = {}
    for [due] in exact:
        if isinstance(due.dtype.format, Float):
            alike.setdefault((due.dtype, due.shape), []).append(due)
    return tuple(_ends(dues, at) for dues in alike.values())


def _ends(dues: list[Wanted], at: int) -> tuple[Strip, Strip]:
    dtype, shape = dues[0].dtype, dues[0].shape
    fmt = cast(Float, dtype.format)
    codes = np.stack([due.codes for due in dues])
    keys = np.stack([order_key(fmt, cast(Codes, due.codes)).astype(np.int64) for due in dues])
    free = np.stack([due.patterns != EXACT for due in dues]).any(axis=0)
    patterns = np.where(free, UNDEFINED, EXACT).astype(np.uint8)
    low, high = (
        np.take_along_axis(codes, one[None], 0)[0].reshape(shape)
        for one in (keys.argmin(axis=0), keys.argmax(axis=0))
    )
    return part(dtype.name, fmt, low, at, patterns), part(dtype.name, fmt, high, at, patterns)
