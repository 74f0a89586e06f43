"""Planted bugs of whole calls, each with a case that shows it: what its backend answers there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from catalogue import CATALOG, calls_asked
from ml_dtypes import bfloat16
from numpy.typing import NDArray
from oracle.ranges import SilentError
from planted import fake_convert_bugs, promotion_bugs, range_bugs
from planted.promotion_asked import Asked

from convcheck.backends.protocol import Answer, Outputs, Refused
from convcheck.judge.answers import ANSWERED, NOT_ASKED, REFUSED, CallAnswers
from convcheck.judge.case import judge
from convcheck.judge.result import FAILURES
from convcheck.rules.find import find_case
from convcheck.semantics.expected import EXACT
from convcheck.semantics.expected_calls import Call, ExpectedCall
from convcheck.vectors.model import CallSet

Shown = tuple[str, CallSet, CallAnswers]  # a bug, calls that show it and what came of them
FLAGS = "promote_unsafe={}/pytorch_scalar_promotion={}/u64_integer_promotion_target={}"
RANGES = ("int32-int32-int32-to-int32", "float32-float32-float32-to-int32",
          "float16-float16-float16-to-float16", "int64-int64-int64-to-int64")  # fmt: skip
CONVERTED = ("float32-float32-float32/scalar-shift/destination_type=f8e4m3",
             "float32-float32/scalar/destination_type=f8e4m3",
             "float32-float32-float32/per-tensor-shift/destination_type=f8e4m3",
             "float32-float32/per-tensor/destination_type=f8e4m3",
             "float16-float16-float16/images-shift/destination_type=f8e4m3")  # fmt: skip
PROMOTED = tuple(
    f"{pair}/{layout}/{FLAGS.format(*flags)}"
    for layout in ("tensor-tensor", "tensor-scalar", "scalar-tensor")
    for flags in (("true", "false", "i64"), ("false", "false", "f32"), ("false", "true", "f32"),
                  ("true", "true", "f32"))
    for pair in ("uint8-int16", "int8-uint8", "uint64-int32", "float16-bfloat16", "int16-float32",
                 "int8-float32", "float8e4m3fn-float8e5m2", "bool-int16", "int32-float32",
                 "int64-float64", "float64-float32", "int8-int16", "uint8-int8")
)  # fmt: skip


@cache
def asked(name: str) -> CallSet:
    """The edge calls of a case, by its id."""
    return calls_asked(find_case(CATALOG, name, None, None, ()))


def answered(calls: CallSet, given: Sequence[Answer | None]) -> CallAnswers:
    """Answers to calls; None for a call that is not asked."""
    got = tuple(one if isinstance(one, Outputs) else None for one in given)
    state = [
        NOT_ASKED if one is None else REFUSED if isinstance(one, Refused) else ANSWERED
        for one in given
    ]
    messages = dict.fromkeys(np.flatnonzero(np.array(state) == REFUSED).tolist(), "no")
    return CallAnswers(got, np.array(state, np.uint8), messages)


def answers_of(kernel: Callable[..., NDArray[Any]], calls: CallSet) -> CallAnswers:
    """What a kernel gives, codes or numbers of the type of the output, where the text says it."""
    [output], given = calls.case.outputs, list[Answer | None]()
    kinds = [_KINDS[dtype.name] for dtype in calls.case.inputs]
    for call, due in zip(calls.calls, calls.expected, strict=True):
        if due.readings[0].pattern != EXACT:
            given.append(None)
            continue
        with np.errstate(all="ignore"):
            pairs = zip(kinds, call, strict=True)
            found = np.asarray(kernel(*(t.view(kind).astype(np.float32) for kind, t in pairs)))
        if found.dtype.kind != "u":
            found = found.astype(_KINDS[output.name]).view(output.format.storage)
        codes = found.astype(output.format.storage)
        given.append(Outputs((codes,), (output.name,)))
    return answered(calls, given)


_KINDS: dict[str, type] = {"float32": np.float32, "bfloat16": bfloat16}


def shown(every: int) -> Iterator[Shown]:
    """Yield each planted bug in so many with the first case that shows it."""
    for bug in range_bugs.BUGS[::every]:
        yield from _first(bug.name, [f"openvino.Range-4/{c}" for c in RANGES], bug)
    for other in fake_convert_bugs.BUGS[::every]:
        yield from _first(other.name, [f"openvino.FakeConvert-13/{c}" for c in CONVERTED], other)
    for third in list(promotion_bugs.bugs())[::every]:
        names = [f"openvino.ConvertPromoteTypes-14/{c}" for c in PROMOTED]
        yield from _first(third.name, names, third)


_Bug = range_bugs.Bug | fake_convert_bugs.Bug | promotion_bugs.PromotionBug


def _first(name: str, ids: Sequence[str], bug: _Bug) -> Iterator[Shown]:
    for case in ids:
        calls = asked(case)
        pairs = zip(calls.calls, calls.expected, strict=True)
        answers = answered(calls, [_given(bug, calls, *pair) for pair in pairs])
        if judge(calls, answers).verdict in FAILURES:
            yield name, calls, answers
            return


def _given(bug: _Bug, calls: CallSet, call: Call, expected: ExpectedCall) -> Answer | None:
    case = calls.case
    if isinstance(bug, promotion_bugs.PromotionBug):
        return bug.answer(Asked(case, call))
    if isinstance(bug, fake_convert_bugs.Bug):
        base = fake_convert_bugs.IN_TYPE
        codes = bug.answers(case, base, call)
        right = fake_convert_bugs.codes_of(fake_convert_bugs.right(case), base, call)
        found = right if codes is None else codes
        if not call[0].ndim and not found.any() and right.any():
            return None  # it may have left open what comes, which is written as 0
        return Outputs((found.reshape(call[0].shape),), (case.outputs[0].name,))
    return _sequence(bug, calls, call) if expected.readings[0].pattern == EXACT else None


def _sequence(bug: range_bugs.Bug, calls: CallSet, call: Call) -> Answer | None:
    types, output = tuple(t.name for t in calls.case.inputs), calls.case.outputs[0]
    try:
        codes = range_bugs.answer(
            bug, range_bugs.question(types, output.name, tuple(int(tensor) for tensor in call))
        )
    except SilentError:
        return None
    return Outputs((np.array(codes, output.format.storage),), (output.name,))
