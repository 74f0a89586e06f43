"""Make the witness of a call that shows a finding, from new answers or from a report."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from math import prod
from typing import cast

import numpy as np

from convcheck.backends.protocol import Outputs, Oversized
from convcheck.errors import ConvcheckError, UsageError
from convcheck.judge.answers import CRASHED, REFUSED, Answers
from convcheck.judge.calls import judged_call
from convcheck.judge.examples import strips_due
from convcheck.judge.matching import Returned, closest, is_between
from convcheck.judge.result import BackendInfo, Group, Strip, TypeName
from convcheck.numerics.codes import Bits, Codes
from convcheck.numerics.format import Float
from convcheck.numerics.order import order_key
from convcheck.records import replace
from convcheck.reproduce.witness import (
    BEFORE,
    Due,
    Witness,
    accepted,
    ask_again,
    distinct,
    of_recalled,
    of_report,
    part,
    whole,
)
from convcheck.rules.model import Case, Spec
from convcheck.semantics.expected import EXACT, PATTERNS, UNDEFINED
from convcheck.semantics.expected_calls import Call, CallReading, ExpectedCall
from convcheck.semantics.expected_calls import ExpectedOutput as Wanted
from convcheck.vectors.model import CallSet


def of_call(backend: BackendInfo, one: CallSet, answers: Answers, group: Group) -> Witness | None:
    """Return the witness of a single call, or None if its answer does not show the group."""
    shown, output, at = group, 0, 0
    [call], [got] = one.calls, answers.got
    if got is None and answers.state[0] not in (REFUSED, CRASHED):
        if group.kind != "wrong type":  # the answer was malformed or missing
            return None
    else:
        judged = judged_call(one, answers, 0)
        if judged.sort != group.verdict:
            return None
        output, at = judged.where or (0, 0)
        if any(tensor.size for tensor in call):
            shown = replace(group, decision=one.decisions[judged.row], kind=judged.kind)
    return witness_of(backend, one, answers, shown, (output, max(at, 0)))


def witness_of(
    backend: BackendInfo,
    one: CallSet,
    answers: Answers,
    group: Group,
    where: tuple[int, int] = (0, 0),
) -> Witness:
    """Return the witness of a single call. `where` is the (output, element) that differs."""
    [expected], [call], [got] = one.expected, one.calls, answers.got
    dues = [Due(r.name, _outputs(r, *where)) for r in expected.readings]
    return Witness(
        backend, one.case, group,
        tuple(whole(t, bits) for t, bits in zip(one.case.inputs, call, strict=True)),
        (*distinct(dues), *accepted(one.case)),
        None if got is None else _returned(one, got, *where),
        answers.messages.get(0, ""), _bounds(expected, where[1]),
    )  # fmt: skip


def reported(
    spec: Spec, backend: BackendInfo, case: Case, group: Group, calls: Sequence[Call]
) -> Witness:
    """Return the witness of a group's first example, without a backend.

    `calls` are the known calls of the case. If all other inputs have one element and the rules
    still expect the same, the call is reduced to the element that differs.
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
    """Add the expected results under other readings to a report's witness, which has one.

    The witness is unchanged if the spec no longer expects what the report says. Raises UsageError
    if the answer is right under another reading.
    """
    expected, due = _due_of(spec, witness), witness.due[0]
    if expected is None or isinstance(due.outputs, str):
        return witness
    at = due.outputs[0].first + BEFORE
    dues = [Due(r.name, _outputs(r, 0, at)) for r in expected.readings]
    if any(one.outputs == witness.got for one in dues) or _is_right(expected, witness.got):
        raise ask_again("the reported part of the call is right under another reading")
    between = _bounds(expected, at)
    return replace(witness, due=(*distinct(dues), *accepted(witness.case)), between=between)


def _due_of(spec: Spec, witness: Witness) -> ExpectedCall | None:
    """Return the expected results of a report's call, unless they have changed or are a pattern."""
    from convcheck.vectors.calls import expecting

    [due, *_], case = witness.due, witness.case
    if not case.whole_calls or isinstance(due.outputs, str):
        return None
    call = tuple(map(_tensor, witness.inputs))
    try:
        [expected] = expecting(spec, case, [call], "sampled").expected
    except ConvcheckError:
        return None
    first = due.outputs[0].first if due.outputs else 0
    said = [strips_due(reading, first) for reading in expected.readings if reading.pattern == EXACT]
    return expected if due.outputs in said else None


def _is_right(expected: ExpectedCall, got: tuple[Strip, ...] | None) -> bool:
    if got is None or any(s.format is None or len(s.words) != prod(s.shape) for s in got):
        return False
    answer = Outputs(tuple(map(_tensor, got)), tuple(s.type for s in got))
    return is_between(expected, answer) or closest(expected, answer)[1] is None


def _tensor(strip: Strip) -> Bits:
    assert strip.format is not None  # noqa: S101 a case's own types are known
    codes: Bits = np.array(strip.words, strip.format.storage).reshape(strip.shape)
    return codes


def _outputs(reading: CallReading, output: int, at: int) -> tuple[Strip, ...] | str:
    if reading.pattern != EXACT:
        return f"<{PATTERNS[reading.pattern]}>"
    return tuple(
        part(d.dtype.name, d.dtype.format, d.codes.reshape(d.shape), at if i == output else 0,
             d.patterns)
        for i, d in enumerate(reading.outputs)
    )  # fmt: skip


def _returned(one: CallSet, got: Returned, output: int, at: int) -> tuple[Strip, ...]:
    due = (due.dtype for reading in one.expected[0].readings for due in reading.outputs)
    formats = {t.name: t.format for t in (*one.case.inputs, *one.case.outputs, *due)}
    if isinstance(got, Oversized):
        shapes = zip(got.types, got.shapes, strict=False)
        return tuple(
            Strip(TypeName(name, formats.get(name)), shape, 0, ()) for name, shape in shapes
        )
    arrays = zip(map(str, got.types), got.arrays, strict=False)
    return tuple(
        part(name, formats.get(name), a, at if i == output else 0)
        for i, (name, a) in enumerate(arrays)
    )


def _bounds(expected: ExpectedCall, at: int) -> tuple[tuple[Strip, Strip], ...]:
    """Return the least and the greatest elements of the readings, a pair per shape."""
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
