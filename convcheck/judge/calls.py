"""(CallSet, CallAnswers) -> CaseResult. Pure.

A reading holds for a call as a whole: an answer passes that matches what every reading wants, is
tolerated where it matches one of them, and fails where it matches none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from convcheck.backends.protocol import Outputs, Oversized
from convcheck.judge.answers import CRASHED, NOT_ASKED, REFUSED, CallAnswers, Fault
from convcheck.judge.digest import added, digest_of_bytes, spelled
from convcheck.judge.matching_calls import Returned, closest, difference, is_between, shapes_of
from convcheck.judge.refusals import is_refusal
from convcheck.judge.result import (
    CallExample,
    CaseResult,
    Group,
    Strip,
    Verdict,
    Word,
    case_verdict,
    not_asked,
)
from convcheck.numerics.format import Bits, Format
from convcheck.semantics import expected as pattern
from convcheck.semantics.expected import PATTERNS, Decision
from convcheck.semantics.expected_calls import Call, CallReading, ExpectedCall
from convcheck.vectors.model import CallSet

BETWEEN = "between readings"
_SHOWN = 16  # elements of a tensor in a report
_BEFORE = 3  # of them, those before the first difference


@dataclass(frozen=True)
class _Found:
    """What came of one call."""

    verdict: Verdict
    kind: str
    reading: CallReading
    example: CallExample | None
    named: str = ""  # the reading taken as the backend's


def judge_calls(calls: CallSet, answers: CallAnswers, *, show_all: bool = False) -> CaseResult:
    """Judge the answers of one case. `show_all`: with an example of what is right, too."""
    if answers.declined is not None and not _died(answers):
        answers, message = _refused(calls, answers)
        if answers.declined is not None:
            return CaseResult(calls.case, "unsupported", 0, calls.coverage, (), message)
    groups = (*_groups(calls, answers, show_all), *(_of_fault(calls, f) for f in answers.faults))
    checked = int((answers.state != NOT_ASKED).sum())
    left, message = answers.left_out, ""
    if left:
        message = not_asked(left)
    verdict = "unsupported" if left == len(calls) else case_verdict(groups)
    return CaseResult(calls.case, verdict, checked, calls.coverage, groups, message, left)


def _died(answers: CallAnswers) -> bool:
    """Tell whether calls killed the backend: then it does not matter what it turned down later."""
    crashed = (answers.state == CRASHED).any()
    return bool(crashed) or any(fault.kind == "crashed" for fault in answers.faults)


def _refused(calls: CallSet, answers: CallAnswers) -> tuple[CallAnswers, str]:
    """Tell a question that could not be put from a refusal: of the model, where one may be due.

    Where the type of the output is the answer, the model is turned down for its types, and that is
    an answer too.
    """
    assert answers.declined is not None  # noqa: S101
    message = answers.declined.message
    if not is_refusal(calls, answers.declined):
        return answers, message
    state = np.full(len(calls), NOT_ASKED, np.uint8)
    state[0] = REFUSED  # the model was turned down, whatever the values
    return replace(answers, state=state, messages={0: message}, declined=None), message


def _groups(calls: CallSet, answers: CallAnswers, show_all: bool) -> Iterator[Group]:
    """Give a group for each decision, verdict, kind and reading, in order of decisions."""
    found: dict[tuple[int, str, str, str], list[int]] = {}
    results: dict[int, _Found] = {}
    for i in np.flatnonzero(answers.state != NOT_ASKED).tolist():
        results[i] = _judged(calls, answers, i)
        row, one = calls.expected[i].row, results[i]
        found.setdefault((row, one.verdict, one.kind, one.named), []).append(i)
    asked = [calls.expected[i].row for i in results]
    for (row, verdict, kind, named), members in sorted(found.items(), key=lambda f: f[0][0]):
        digest = spelled(added(_hash(calls, answers, i) for i in members))
        shown = members[:1] if show_all or verdict != "pass" else ()
        examples = (e for i in shown if (e := results[i].example))
        yield Group(
            calls.decisions[row], cast(Verdict, verdict), kind, len(members), asked.count(row),
            digest, named, examples=tuple(examples),
        )  # fmt: skip


def _judged(calls: CallSet, answers: CallAnswers, i: int) -> _Found:
    expected, state = calls.expected[i], answers.state[i]
    message = answers.messages.get(i, "")
    first = expected.readings[0]
    if state == CRASHED:
        return _Found("crashed", message, first, _example(calls, i, first, None, message=message))
    if state == REFUSED:
        return _of_refusal(calls, i, message)
    got = answers.got[i]
    assert got is not None  # noqa: S101
    if _free(expected):
        return _Found("undefined", "", first, _example(calls, i, first, got))
    return _of_answer(calls, i, got)


def _of_refusal(calls: CallSet, i: int, message: str) -> _Found:
    expected = calls.expected[i]
    due = [r for r in expected.readings if r.pattern == pattern.REFUSED]
    shown = _example(calls, i, expected.readings[0], None, message=message)
    if _free(expected) or calls.case.refusal:
        return _Found("undefined", "refused", expected.readings[0], shown)
    if not due:
        return _Found("refused", "refused", expected.readings[0], shown)
    if len(due) == len(expected.readings):
        return _Found("pass", "", due[0], shown)
    return _Found("tolerated", "", due[0], shown, due[0].name)


def _of_answer(calls: CallSet, i: int, got: Returned) -> _Found:
    expected = calls.expected[i]
    reading, off = closest(expected, got)
    if off is None:
        everywhere = all(difference(r, got) is None for r in expected.readings)
        verdict: Verdict = "pass" if everywhere else "tolerated"
        name = "" if everywhere else reading.name
        return _Found(verdict, "", reading, _example(calls, i, reading, got), name)
    example = _example(calls, i, reading, got, off.where, off.wrong)
    if is_between(expected, got):
        return _Found("tolerated", "", reading, example, BETWEEN)
    return _Found("fail", off.kind, reading, example)


def _free(expected: ExpectedCall) -> bool:
    """Tell whether nothing is expected of a call: every reading leaves everything open."""
    return all(_leaves_open(reading) for reading in expected.readings)


def _leaves_open(reading: CallReading) -> bool:
    if reading.pattern != pattern.EXACT:
        return reading.pattern == pattern.UNDEFINED
    free = [(due.patterns == pattern.UNDEFINED).all() and due.patterns.size for due in
            reading.outputs]  # fmt: skip
    return bool(free) and all(free)


# Examples ------------------------------------------------------------------------------------


def _example(
    calls: CallSet,
    i: int,
    reading: CallReading,
    got: Returned | None,
    where: tuple[int, int] | None = None,
    wrong: int = 0,
    message: str = "",
) -> CallExample:
    """Show the inputs, what was due and what came back, around the first difference."""
    at = max(where[1] if where else 0, 0)
    first = max(0, at - _BEFORE)
    shapes = {due.shape for due in reading.outputs}
    inputs = tuple(
        strip(t.name, t.format, bits, first if bits.shape in shapes else 0)
        for t, bits in zip(calls.case.inputs, calls.calls[i], strict=True)
    )
    return CallExample(
        inputs, _due(reading, first), None if got is None else _returned(calls, i, got, first),
        reading.name, where, wrong, message, _arguments(calls.calls[i], reading, where),
    )  # fmt: skip


def _arguments(call: Call, reading: CallReading, where: tuple[int, int] | None) -> tuple[Word, ...]:
    """Give the word of each input that meets the element in question; () where they do not meet."""
    output, element = where or (0, 0)
    if not reading.outputs:
        shape: tuple[int, ...] = ()
    else:
        shape = reading.outputs[output].shape
    if all(tensor.shape == () for tensor in call):
        return tuple(int(tensor[()]) for tensor in call)
    try:
        met = [np.broadcast_to(tensor, shape).reshape(-1) for tensor in call]
        return tuple(int(tensor[max(element, 0)]) for tensor in met)
    except (ValueError, IndexError):
        return ()


def _due(reading: CallReading, first: int) -> tuple[Strip, ...] | str:
    if reading.pattern != pattern.EXACT:
        return f"<{PATTERNS[reading.pattern]}>"
    return due_strips(reading, first)


def due_strips(reading: CallReading, first: int) -> tuple[Strip, ...]:
    """Show the outputs that a reading wants, from element `first` on."""
    return tuple(
        replace(
            strip(due.dtype.name, due.dtype.format, due.codes, first, due.patterns),
            shape=due.shape,
        )
        for due in reading.outputs
    )


def strip(
    name: str, fmt: Format | None, bits: Bits, first: int, patterns: Bits | None = None
) -> Strip:
    """Show a tensor of codes from element `first` on."""
    part = slice(first, first + _SHOWN)
    words: list[Word] = [int(code) for code in bits.reshape(-1)[part]]
    if patterns is not None:
        said = zip(words, patterns[part].tolist(), strict=True)
        words = [w if p == pattern.EXACT else f"<{PATTERNS[p]}>" for w, p in said]
    return Strip(name, fmt, bits.shape, first, tuple(words))


def _returned(calls: CallSet, i: int, got: Returned, first: int) -> tuple[Strip, ...]:
    formats = {t.name: t.format for t in (*calls.case.inputs, *calls.case.outputs)}
    for reading in calls.expected[i].readings:
        formats |= {due.dtype.name: due.dtype.format for due in reading.outputs}
    if isinstance(got, Oversized):
        outputs = zip(got.types, shapes_of(got), strict=False)
        return tuple(Strip(name, formats.get(name), shape, 0, ()) for name, shape in outputs)
    return tuple(
        strip(str(name), formats.get(name), array, first)
        for name, array in zip(got.types, got.arrays, strict=False)
    )


def _hash(calls: CallSet, answers: CallAnswers, i: int) -> int:
    """Return the hash of a call and its answer, to 128 bits."""
    got = answers.got[i]
    tensors = [*calls.calls[i], *(got.arrays if isinstance(got, Outputs) else ())]
    return digest_of_bytes(
        repr(None if got is None else (got.types, shapes_of(got))).encode(),
        answers.messages.get(i, "").encode(),
        *(np.ascontiguousarray(tensor).tobytes() for tensor in tensors),
    )


def _of_fault(calls: CallSet, fault: Fault) -> Group:
    """Make a group of an answer that is none, or of a death for no one call's sake."""
    crashed = fault.kind == "crashed"
    decision: Decision = calls.form
    if crashed and len(calls):
        decision = calls.decisions[calls.expected[fault.index].row]
    first = calls.expected[fault.index].readings[0] if len(calls) else CallReading("")
    shown = _example(calls, fault.index, first, None, message=fault.message) if len(calls) else None
    return Group(
        decision, "crashed" if crashed else "fail", fault.message if crashed else fault.kind, 1, 1,
        spelled(digest_of_bytes(fault.message.encode())),
        placement=fault.placement, examples=(shown,) if shown else (),
    )  # fmt: skip
