"""Judge and tally the answers to whole calls.

An answer passes if it matches every reading, is tolerated if it matches one, else it fails.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from convcheck.backends.protocol import Outputs
from convcheck.judge.answers import (
    CRASHED,
    LOST,
    NOT_ASKED,
    REFUSED,
    Answers,
    all_refused,
    is_due,
    is_refusal,
)
from convcheck.judge.digest import added, digest_of_bytes, spell_digest
from convcheck.judge.elements import tally_of
from convcheck.judge.examples import call_example, fault_groups
from convcheck.judge.matching import (
    Returned,
    beyond,
    closest,
    difference,
    is_between,
    kind_of_elements,
    shapes_of,
)
from convcheck.judge.result import (
    BY_CALL,
    RIGHT,
    CaseResult,
    Group,
    Key,
    PlacedExample,
    Tally,
    TallyEntry,
    Whole,
    not_asked,
)
from convcheck.judge.tally import finish_whole, named, unsupported
from convcheck.records import grouped, replace
from convcheck.rules.model import LEVELS
from convcheck.semantics import expected as pattern
from convcheck.semantics.expected import CallReading, Decision, ExpectedCall
from convcheck.vectors.model import CallSet, Vectors

BETWEEN = "between readings"


@dataclass(frozen=True)
class JudgedCall:
    """The verdict on one call."""

    #: RIGHT, 'undefined', 'fail', 'refused', 'crashed' or 'error'.
    sort: str
    #: The kind of error in words, or the exit of the process.
    kind: str
    reading: CallReading
    row: int
    named: str = ""
    #: Output and element of the first difference that this decision decides.
    where: tuple[int, int] | None = None
    wrong: int = 0


def _entries(
    calls: CallSet, answers: Answers, judged: Mapping[int, JudgedCall], show_all: bool
) -> dict[Key, TallyEntry]:
    members = grouped(
        (Key(one.row, BY_CALL, one.sort, one.kind, named=one.named), i) for i, one in judged.items()
    )
    entries = {key: TallyEntry(len(found)) for key, found in members.items()}
    for key, found in members.items():
        if key.sort == RIGHT and not key.named and not show_all:
            continue
        first, reading = found[0], judged[found[0]].reading
        if answers.state[first] in (REFUSED, CRASHED, LOST):
            message = answers.messages.get(first, "")
            shown = call_example(calls, first, reading, message=message)
        else:
            where, wrong = judged[first].where, judged[first].wrong
            shown = call_example(calls, first, reading, answers.got[first], where, wrong)
        digest = spell_digest(added(_hash(calls, answers, i) for i in found))
        entries[key] = TallyEntry(len(found), digest, first=PlacedExample(first, 0.0, shown))
    return entries


def judged_call(calls: CallSet, answers: Answers, i: int) -> JudgedCall:
    """Judge the answer to call `i`."""
    expected, state, got = calls.expected[i], answers.state[i], answers.got[i]
    free, said = _free(expected), answers.messages.get(i, "")
    sort, kind, named = "undefined", "", ""
    if state == CRASHED:
        sort, kind = "crashed", said
    elif state == REFUSED and (free or calls.case.refusal):
        kind = "refused"
    elif state == REFUSED:
        due = [r.name for r in expected.readings if r.pattern == pattern.REFUSED]
        sort, kind = (RIGHT, "") if due else ("refused", "refused")
        named = due[0] if 0 < len(due) < len(expected.readings) else ""
    elif state == LOST:
        sort, kind = ("undefined", "raised") if free else ("error", said)
    if free or got is None or state in (CRASHED, REFUSED, LOST):
        return JudgedCall(sort, kind, expected.readings[0], expected.row, named)
    one, among = _of_answer(calls.decisions, expected, got), calls.among
    if not (isinstance(got, Outputs) and one.sort == "fail" and one.wrong):
        return one
    if among and among.misses(calls.calls[i], expected, got.arrays[0]):
        return replace(one, row=among.row, kind=among.kind)
    return one


def _of_answer(decisions: Sequence[Decision], expected: ExpectedCall, got: Returned) -> JudgedCall:
    reading, off = closest(expected, got)
    if off is None:
        everywhere = all(difference(r, got) is None for r in expected.readings)
        return JudgedCall(RIGHT, "", reading, expected.row, "" if everywhere else reading.name)
    kind = off.kind or kind_of_elements(reading, cast(Outputs, got), off.elements)
    if outside := beyond(expected, got):
        first = next(((i, int(bad[0])) for i, bad in enumerate(outside) if len(bad)), None)
        if first is None:
            return JudgedCall(RIGHT, "", reading, expected.row, BETWEEN, off.where, off.wrong)
        off = replace(off, where=first, elements=outside)
    by_level = (
        (LEVELS.index(decisions[row].level), (output, at), row)
        for output, (rows, bad) in enumerate(zip(expected.rows, off.elements, strict=False))
        for at, row in zip(bad.tolist(), rows[bad].tolist(), strict=True)
    )
    _, where, row = min(by_level, default=(0, off.where, expected.row))
    return JudgedCall("fail", kind, reading, row, "", where, off.wrong)


def is_wrong_answer(expected: ExpectedCall, got: Returned) -> bool:
    """Return whether an answer is wrong."""
    right = any(difference(reading, got) is None for reading in expected.readings)
    return not (right or _free(expected) or is_between(expected, got))


def _free(expected: ExpectedCall) -> bool:
    return all(_leaves_open(reading) for reading in expected.readings)


def _leaves_open(reading: CallReading) -> bool:
    if reading.pattern != pattern.EXACT:
        return reading.pattern == pattern.UNDEFINED
    patterns = [due.patterns for due in reading.outputs]
    return bool(patterns) and all(p.size and (p == pattern.UNDEFINED).all() for p in patterns)


def _hash(calls: CallSet, answers: Answers, i: int) -> int:
    got = answers.got[i]
    tensors = [*calls.calls[i], *(got.arrays if isinstance(got, Outputs) else ())]
    return digest_of_bytes(
        repr(None if got is None else (got.types, shapes_of(got))).encode(),
        answers.messages.get(i, "").encode(),
        *(np.ascontiguousarray(tensor).tobytes() for tensor in tensors),
    )


def judge(vectors: Vectors, answers: Answers, *, show_all: bool = False) -> CaseResult:
    """Judge the answers to all vectors of a case. `show_all`: right answers get examples."""
    return finish_whole(vectors.case, tally_of_case(vectors, answers, show_all=show_all))


def tally_of_case(
    vectors: Vectors,
    answers: Answers,
    inconsistent: tuple[Group, ...] = (),
    *,
    show_all: bool = False,
) -> Tally:
    """Tally the answers to all vectors of a case. `show_all`: right answers get examples.

    `inconsistent` are groups of answers that changed between placements.
    """
    declined, whole = answers.declined, Whole(vectors.coverage, show_all=show_all)
    if declined is not None and not is_refusal(vectors, declined):
        return unsupported(vectors.coverage, declined.message)
    if declined is not None:
        answers = all_refused(vectors, answers, declined.message)
    if isinstance(vectors, CallSet):
        if left := answers.left_out:
            verdict = "unsupported" if left == len(vectors) else None
            whole = replace(whole, message=not_asked(left), left_out=left, verdict=verdict)
        asked = np.flatnonzero(answers.state != NOT_ASKED).tolist()
        judged = {i: judged_call(vectors, answers, i) for i in asked}
        rows = (row for i in asked for row in {judged[i].row, *vectors.expected[i].all_rows})
        entries = _entries(vectors, answers, judged, whole.show_all)
        faults = (*fault_groups(vectors, answers.faults), *inconsistent)
        decisions = named(vectors.decisions, entries)
        counted = tuple(entries.items())
        return Tally(dict(Counter(rows)), counted, faults=faults, decisions=decisions, whole=whole)
    if declined is not None:
        verdict = "pass" if is_due(vectors) else None
        whole = replace(whole, message=declined.message, verdict=verdict)
    return tally_of(vectors, answers, "", inconsistent, whole)
