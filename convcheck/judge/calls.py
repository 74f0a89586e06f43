"""Whole calls with their answers -> a tally: each is compared with what is due. Pure.

A reading holds for a call as a whole: an answer passes that matches what every reading wants, is
tolerated where it matches one of them, and fails where it matches none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from convcheck.backends.protocol import Outputs, Oversized
from convcheck.judge.answers import CRASHED, LOST, NOT_ASKED, REFUSED, CallAnswers, Fault
from convcheck.judge.digest import added, digest_of_bytes, spell_digest
from convcheck.judge.matching_calls import (
    Difference,
    Returned,
    beyond,
    closest,
    difference,
    is_as_read,
    is_between,
    shapes_of,
)
from convcheck.judge.refusals import is_accepted, is_refusal, wants_refusal
from convcheck.judge.result import (
    CallExample,
    CaseResult,
    Group,
    Strip,
    TypeName,
    Word,
    not_asked,
)
from convcheck.judge.tally import (
    BY_CALL,
    RIGHT,
    Key,
    PlacedExample,
    Tally,
    TallyEntry,
    Whole,
    finish_whole,
    named,
    unsupported,
)
from convcheck.numerics.codes import Bits
from convcheck.numerics.format import Format
from convcheck.records import replace
from convcheck.rules.model import LEVELS
from convcheck.semantics import expected as pattern
from convcheck.semantics.body.meetings import met
from convcheck.semantics.expected import PATTERNS, Decision
from convcheck.semantics.expected_calls import Call, CallReading, ExpectedCall
from convcheck.vectors.model import CallSet

BETWEEN = "between readings"
_SHOWN = 16  # elements of a tensor in a report
ELEMENTS_BEFORE = 3  # of them, those before the first difference


@dataclass(frozen=True)
class JudgedCall:
    """What came of one call: what is shown of it is the `reading`, and the first difference."""

    #: RIGHT, 'undefined', 'fail', 'refused', 'crashed' or 'error'.
    sort: str
    #: In what way it is wrong, in words; what became of the process.
    kind: str
    reading: CallReading
    #: The decision that it is judged by.
    row: int
    #: The reading taken as the backend's.
    named: str = ""
    #: An element that differs: the first of those that the decision decides.
    where: tuple[int, int] | None = None
    #: How many elements differ.
    wrong: int = 0


def judge_calls(calls: CallSet, answers: CallAnswers, *, show_all: bool = False) -> CaseResult:
    """Judge the answers of one case. `show_all`: with an example of what is right, too."""
    return finish_whole(calls.case, tally_of_calls(calls, answers, show_all=show_all))


def tally_of_calls(
    calls: CallSet,
    answers: CallAnswers,
    inconsistent: tuple[Group, ...] = (),
    *,
    show_all: bool = False,
) -> Tally:
    """Tally the answers to the calls of a case. `show_all`: with an example of what is right."""
    if answers.declined is not None and not _died(answers):
        if not is_refusal(calls, answers.declined):
            return unsupported(calls.coverage, answers.declined.message)
        answers = first_refused(calls, answers, answers.declined.message)
    asked = np.flatnonzero(answers.state != NOT_ASKED).tolist()
    judged = {i: judged_call(calls, answers, i) for i in asked}
    rows = (row for i in asked for row in {judged[i].row, *calls.expected[i].all_rows})
    entries = _entries(calls, answers, judged, show_all)
    faults = (*(_of_fault(calls, fault) for fault in answers.faults), *inconsistent)
    left = answers.left_out
    whole = Whole(
        calls.coverage,
        message=not_asked(left) if left else "",
        left_out=left,
        verdict="unsupported" if left == len(calls) else None,
        show_all=show_all,
    )
    decisions = named(calls.decisions, entries)
    counted = tuple(entries.items())
    return Tally(dict(Counter(rows)), counted, faults=faults, decisions=decisions, whole=whole)


def _died(answers: CallAnswers) -> bool:
    """Tell whether calls killed the backend: then it does not matter what it turned down later."""
    crashed = (answers.state == CRASHED).any()
    return bool(crashed) or any(fault.kind == "crashed" for fault in answers.faults)


def first_refused(calls: CallSet, answers: CallAnswers, message: str) -> CallAnswers:
    """Return the answers with the first call refused: the model was, whatever the values."""
    state = np.full(len(calls), NOT_ASKED, np.uint8)
    state[0] = REFUSED
    return replace(answers, state=state, messages={0: message}, declined=None)


def _entries(
    calls: CallSet, answers: CallAnswers, judged: Mapping[int, JudgedCall], show_all: bool
) -> dict[Key, TallyEntry]:
    """Return an entry for each decision, sort, kind and reading, in the order of first calls."""
    found: dict[Key, list[int]] = {}
    first: dict[Key, JudgedCall] = {}
    for i, one in judged.items():
        key = Key(one.row, BY_CALL, one.sort, one.kind, named=one.named)
        first.setdefault(key, one)
        found.setdefault(key, []).append(i)
    return {
        key: _entry(calls, answers, key, first[key], members, show_all)
        for key, members in found.items()
    }


def _entry(
    calls: CallSet,
    answers: CallAnswers,
    key: Key,
    one: JudgedCall,
    members: list[int],
    show_all: bool,
) -> TallyEntry:
    """Return the entry of calls, with the first as an example unless all is right."""
    if key.sort == RIGHT and not key.named and not show_all:
        return TallyEntry(len(members))
    digest = spell_digest(added(_hash(calls, answers, i) for i in members))
    i = members[0]
    return TallyEntry(
        len(members), digest, first=PlacedExample(i, 0.0, _shown(calls, answers, i, one))
    )


def judged_call(calls: CallSet, answers: CallAnswers, i: int) -> JudgedCall:
    """Judge the answer to call `i`, which was asked."""
    expected, state = calls.expected[i], answers.state[i]
    if state == CRASHED:
        said = answers.messages.get(i, "")
        return JudgedCall("crashed", said, expected.readings[0], expected.row)
    if state == REFUSED:
        return _of_refusal(calls, i)
    if state == LOST:
        sort, kind = ("undefined", "raised") if _free(expected) else ("error", answers.messages[i])
        return JudgedCall(sort, kind, expected.readings[0], expected.row)
    got = answers.got[i]
    assert got is not None  # noqa: S101
    if _free(expected):
        return JudgedCall("undefined", "", expected.readings[0], expected.row)
    one, among = _of_answer(calls.decisions, expected, got), calls.among
    if not (isinstance(got, Outputs) and one.sort == "fail" and one.wrong):
        return one
    if among and among.misses(calls.calls[i], expected, got.arrays[0]):
        return replace(one, row=among.row, kind=among.kind)
    return one


def _of_refusal(calls: CallSet, i: int) -> JudgedCall:
    expected = calls.expected[i]
    first = expected.readings[0]
    due = [r for r in expected.readings if wants_refusal(r)]
    if _free(expected) or is_accepted(calls.case):
        return JudgedCall("undefined", "refused", first, expected.row)
    if not due:
        return JudgedCall("refused", "refused", first, expected.row)
    everywhere = len(due) == len(expected.readings)
    return JudgedCall(RIGHT, "", first, expected.row, "" if everywhere else due[0].name)


def _of_answer(decisions: Sequence[Decision], expected: ExpectedCall, got: Returned) -> JudgedCall:
    reading, off = closest(expected, got)
    if off is None:
        everywhere = all(difference(r, got) is None for r in expected.readings)
        return JudgedCall(RIGHT, "", reading, expected.row, "" if everywhere else reading.name)
    if outside := beyond(expected, got):
        first = next(((i, int(bad[0])) for i, bad in enumerate(outside) if len(bad)), None)
        if first is None:
            return JudgedCall(RIGHT, "", reading, expected.row, BETWEEN, off.where, off.wrong)
        off = replace(off, where=first, elements=outside)
    row, where = _convicting(decisions, expected, off)
    return JudgedCall("fail", off.kind, reading, row, "", where, off.wrong)


def _convicting(
    decisions: Sequence[Decision], expected: ExpectedCall, off: Difference
) -> tuple[int, tuple[int, int] | None]:
    """Return the firmest decision of a wrong element, and the first element that it decides."""
    found = (
        (LEVELS.index(decisions[row].level), (output, at), row)
        for output, (rows, bad) in enumerate(zip(expected.rows, off.elements, strict=False))
        for at, row in zip(bad.tolist(), rows[bad].tolist(), strict=True)
    )
    _, where, row = min(found, default=(0, off.where, expected.row))
    return row, where


def is_wrong_answer(expected: ExpectedCall, got: Returned) -> bool:
    """Return whether an answer that came back is judged wrong, told sooner than in what way."""
    right = any(is_as_read(reading, got) for reading in expected.readings)
    return not (right or _free(expected) or is_between(expected, got))


def _free(expected: ExpectedCall) -> bool:
    """Return whether nothing is expected of a call: every reading leaves everything open."""
    return all(_leaves_open(reading) for reading in expected.readings)


def _leaves_open(reading: CallReading) -> bool:
    if reading.pattern != pattern.EXACT:
        return reading.pattern == pattern.UNDEFINED
    free = [(due.patterns == pattern.UNDEFINED).all() and due.patterns.size for due in
            reading.outputs]  # fmt: skip
    return bool(free) and all(free)


# Examples ------------------------------------------------------------------------------------


def _shown(calls: CallSet, answers: CallAnswers, i: int, one: JudgedCall) -> CallExample:
    """Return a call as an example. Of one that was refused or crashed, nothing came back."""
    if answers.state[i] in (REFUSED, CRASHED, LOST):
        return _example(calls, i, one.reading, None, message=answers.messages.get(i, ""))
    return _example(calls, i, one.reading, answers.got[i], one.where, one.wrong)


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
    first = max(0, at - ELEMENTS_BEFORE)
    inputs, arguments = shown_inputs(calls, i, [due.shape for due in reading.outputs], where)
    return CallExample(
        inputs,
        _due(reading, first),
        None if got is None else returned_strips(calls, i, got, first),
        reading.name,
        where,
        wrong,
        message,
        arguments,
    )


def shown_inputs(
    calls: CallSet, i: int, shapes: Sequence[tuple[int, ...]], where: tuple[int, int] | None
) -> tuple[tuple[Strip, ...], tuple[Word, ...]]:
    """Show the inputs of call `i` about what meets an element of an output, and return the word of
    each that does, () where they do not meet.

    `shapes` are those of the outputs; `where` is (output, element), None for the first of all.
    """
    call, (output, element) = calls.calls[i], where or (0, 0)
    element = max(element, 0)
    places = _places_of(call, shapes, output, element, calls.along)
    # a tensor with the shape of an output stands beside it; of a short one all is shown
    about = [
        element if bits.shape in shapes else at if bits.size > _SHOWN else 0
        for bits, at in zip(call, places or [0] * len(call), strict=True)
    ]
    strips = (
        strip(t.name, t.format, bits, max(0, at - ELEMENTS_BEFORE))
        for t, bits, at in zip(calls.case.inputs, call, about, strict=True)
    )
    words = (int(bits.reshape(-1)[at]) for bits, at in zip(call, places, strict=False))
    return tuple(strips), tuple(words)


def _places_of(
    call: Call,
    shapes: Sequence[tuple[int, ...]],
    output: int,
    element: int,
    along: tuple[int, int] | None,
) -> list[int]:
    """Return the place in each input of what meets an element of an output, [] where they do not
    meet.
    """
    if all(tensor.shape == () for tensor in call):
        return [0] * len(call)
    try:
        places = [np.arange(tensor.size).reshape(tensor.shape) for tensor in call]
        return [int(met(one, shapes[output], along).reshape(-1)[element]) for one in places]
    except (ValueError, IndexError):
        return []


def _due(reading: CallReading, first: int) -> tuple[Strip, ...] | str:
    if reading.pattern != pattern.EXACT:
        return f"<{PATTERNS[reading.pattern]}>"
    return strips_due(reading, first)


def strips_due(reading: CallReading, first: int) -> tuple[Strip, ...]:
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
    return Strip(TypeName(name, fmt), bits.shape, first, tuple(words))


def returned_strips(calls: CallSet, i: int, got: Returned, first: int) -> tuple[Strip, ...]:
    """Show the outputs that came back for call `i`, from element `first` on."""
    formats = {t.name: t.format for t in (*calls.case.inputs, *calls.case.outputs)}
    for reading in calls.expected[i].readings:
        formats |= {due.dtype.name: due.dtype.format for due in reading.outputs}
    names = list(map(str, got.types))
    if isinstance(got, Oversized):
        types = [TypeName(name, formats.get(name)) for name in names]
        return tuple(Strip(t, shape, 0, ()) for t, shape in zip(types, got.shapes, strict=False))
    arrays = zip(names, got.arrays, strict=False)
    return tuple(strip(name, formats.get(name), array, first) for name, array in arrays)


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
        spell_digest(digest_of_bytes(fault.message.encode())),
        placement=fault.placement, examples=(shown,) if shown else (),
    )  # fmt: skip
