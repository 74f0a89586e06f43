"""(Expected, Answers) -> CaseResult. Pure.

A reading of a disputed rule holds for a case as a whole: the reading that explains most answers
of the rule is taken as the backend's, and what it does not explain fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from convcheck.judge.answers import (
    ANSWERED,
    CRASHED,
    NOT_ASKED,
    REFUSED,
    WITH_OTHERS,
    Answers,
    Fault,
)
from convcheck.judge.digest import digest, digest_of_words, spelled
from convcheck.judge.kinds import errors_of, kinds_of
from convcheck.judge.matching import matching
from convcheck.judge.result import CaseResult, Example, Group, Verdict, Word, case_verdict
from convcheck.numerics.format import (
    Bits,
)
from convcheck.semantics import expected as pattern
from convcheck.semantics.expected import PATTERNS, Decision, Expected, Reading
from convcheck.vectors.model import VectorSet

Mask = NDArray[np.bool_]
_KEPT = 8  # ranges shown of a group, half of them from either end
_FORM = frozenset(
    ("wrong shape", "wrong type", "wrong number of outputs", "not a code of the type")
)


def judge(vectors: VectorSet, answers: Answers) -> CaseResult:
    """Judge the answers of one case."""
    if answers.declined is not None:
        return _declined(vectors, answers)
    groups = tuple(_Judging(vectors, answers).groups())
    checked = int((answers.state != NOT_ASKED).sum())
    return CaseResult(vectors.case, case_verdict(groups), checked, vectors.coverage, groups)


def group_of_fault(vectors: VectorSet, answers: Answers, fault: Fault) -> Group:
    """Make the group of an answer that had no form, or of a call that died or was refused."""
    return _Judging(vectors, answers)._of_fault(fault)


def _declined(vectors: VectorSet, answers: Answers) -> CaseResult:
    """Tell a question that could not be put from a refusal that was due, or is accepted."""
    assert answers.declined is not None  # noqa: S101
    message = answers.declined.message
    due = bool((vectors.expected.readings[0].patterns == pattern.REFUSED).all())
    verdict: Verdict = "unsupported"
    groups: tuple[Group, ...] = ()
    if not answers.declined.missing and len(vectors) and (due or vectors.case.refusal):
        verdict = "pass" if due else "undefined"
        state = np.full(len(vectors), REFUSED, np.uint8)
        refused = replace(answers, state=state, messages={0: message}, declined=None)
        groups = tuple(_Judging(vectors, refused).groups())
    checked = len(vectors) if groups else 0
    return CaseResult(vectors.case, verdict, checked, vectors.coverage, groups, message)


@dataclass(frozen=True)
class _Taken:
    """The reading taken as the backend's for a rule, and whether the others explain it too."""

    index: int
    all_agree: bool


class _Judging:
    """One case's answers next to what was expected of them."""

    def __init__(self, vectors: VectorSet, answers: Answers) -> None:
        self.vectors, self.answers = vectors, answers
        self.case = vectors.case
        self.expected: Expected = vectors.expected
        self.source, self.format = self.case.inputs[0].format, self.case.outputs[0].format
        self.right = [self._right(reading) for reading in self.expected.readings]
        self.asked = answers.state != NOT_ASKED
        self.with_others = np.zeros(len(vectors), bool)
        self.with_others[list(answers.with_others)] = True
        self.taken = self._take_readings()

    def _right(self, reading: Reading) -> Mask:
        state = self.answers.state
        right = matching(
            reading, self.answers.got, self.format, self.source, self.vectors.inputs[0]
        )
        right &= state == ANSWERED
        accepted = [pattern.REFUSED, pattern.UNDEFINED]
        if self.case.refusal:
            return np.asarray(right | (state == REFUSED))
        return np.asarray(right | ((state == REFUSED) & np.isin(reading.patterns, accepted)))

    def _take_readings(self) -> dict[tuple[str, tuple[str, ...]], _Taken]:
        """Choose, per disputed rule, the reading with the fewest wrong answers in all its rows."""
        rules: dict[tuple[str, tuple[str, ...]], Mask] = {}
        for index, decision in enumerate(self.expected.decisions):
            if len(decision.readings) > 1:
                key = (decision.rule, decision.readings)
                here = (self.expected.rows == index) & self.asked
                rules[key] = rules.get(key, np.zeros(len(here), bool)) | here
        taken = {}
        for key, here in rules.items():
            wrong = [int((here & ~right).sum()) for right in self.right[: len(key[1])]]
            taken[key] = _Taken(wrong.index(min(wrong)), len(set(wrong)) == 1)
        return taken

    def groups(self) -> Iterator[Group]:
        """Give the groups, decision by decision, then those of other placements and of form."""
        for index, decision in enumerate(self.expected.decisions):
            here = (self.expected.rows == index) & self.asked
            if here.any():
                yield from self._of_decision(decision, here)
        yield from self._elsewhere()
        for fault in self.answers.faults:
            yield self._of_fault(fault)

    def _of_decision(self, decision: Decision, here: Mask) -> Iterator[Group]:
        taken = self.taken.get((decision.rule, decision.readings), _Taken(0, True))
        reading, right = self.expected.readings[taken.index], self.right[taken.index]
        name = decision.readings[taken.index]
        of = int(here.sum())
        state = self.answers.state
        free = reading.patterns == pattern.UNDEFINED
        if self.case.refusal:
            free = free | (state == REFUSED)
        crashed, refused = here & (state == CRASHED), here & ~right & (state == REFUSED)
        for verdict, kind, mask in (
            ("undefined", "", here & free & ~crashed),
            ("pass" if taken.all_agree else "tolerated", "", here & right & ~free),
            ("refused", "refused", refused & ~self.with_others),
            ("refused", WITH_OTHERS, refused & self.with_others),
        ):
            if mask.any():
                yield self._group(decision, verdict, kind, mask, of, name, reading)
        yield from self._by_message(decision, crashed, of, name, reading)
        yield from self._failures(decision, here & ~right & (state == ANSWERED), of, name, reading)

    def _by_message(
        self, decision: Decision, mask: Mask, of: int, name: str, reading: Reading
    ) -> Iterator[Group]:
        messages = {self.answers.messages.get(int(i), "") for i in np.flatnonzero(mask)}
        for message in sorted(messages):
            said = [i for i in np.flatnonzero(mask) if self.answers.messages.get(int(i)) == message]
            part = np.zeros(len(mask), bool)
            part[said] = True
            yield self._group(decision, "crashed", message, part, of, name, reading)

    def _failures(
        self, decision: Decision, wrong: Mask, of: int, name: str, reading: Reading
    ) -> Iterator[Group]:
        if not wrong.any():
            return
        index = np.flatnonzero(wrong)
        due, patterns = reading.codes[index], reading.patterns[index]
        kinds = kinds_of(self.format, due, patterns, self.answers.got[index])
        for kind in sorted(set(kinds)):
            part = np.zeros(len(wrong), bool)
            part[index[kinds == kind]] = True
            yield self._group(decision, "fail", kind, part, of, name, reading)

    def _group(
        self,
        decision: Decision,
        verdict: str,
        kind: str,
        mask: Mask,
        of: int,
        name: str,
        reading: Reading,
    ) -> Group:
        index = np.flatnonzero(mask)
        inputs, got = self.vectors.inputs[0], self.answers.got
        examples: tuple[Example, ...] = ()
        ranges: tuple[tuple[Word, Word], ...] = ()
        more = 0
        if verdict != "pass":
            examples = self._examples(index, reading, got)
            ranges, more = _ranges(inputs, mask, self.asked)
        return Group(
            decision, cast(Verdict, verdict), kind, len(index), of,
            spelled(digest(inputs[index], got[index])), name, "", ranges, more, examples,
        )  # fmt: skip

    def _examples(
        self, index: NDArray[np.intp], reading: Reading, got: Bits
    ) -> tuple[Example, ...]:
        first = self._example(int(index[0]), reading, got)
        errors = errors_of(self.format, reading.codes[index], got[index])
        extreme = int(index[int(np.argmax(errors))])
        if extreme == index[0]:
            return (first,)
        return (first, self._example(extreme, reading, got))

    def _example(self, i: int, reading: Reading, got: Bits) -> Example:
        inputs = tuple(_word(tensor[i]) for tensor in self.vectors.inputs)
        message = self.answers.messages.get(i, "")
        answered = self.answers.state[i] == ANSWERED
        return Example(inputs, due_word(reading, i), _word(got[i]) if answered else None, message)

    def _elsewhere(self) -> Iterator[Group]:
        """Find what is wrong in another placement only, or wrong in another way."""
        for other in self.answers.elsewhere:
            got = self.answers.got.copy()
            got[other.index] = other.got
            state = self.answers.state.copy()
            state[:] = NOT_ASKED
            state[other.index] = ANSWERED
            here = _Judging(self.vectors, replace(
                self.answers, got=got, state=state, elsewhere=(), faults=()
            ))  # fmt: skip
            here.taken = self.taken
            for group in here.groups():
                if group.verdict == "fail":
                    yield replace(group, placement=other.placement)

    def _of_fault(self, fault: Fault) -> Group:
        """Make a group of a malformed answer, or of a call that died or was refused as such."""
        reading = self.expected.readings[0]
        example: tuple[Example, ...] = ()
        decision = self.vectors.form
        if len(self.vectors):
            found = self._example(fault.index, reading, self.answers.got)
            example = (replace(found, got=None, message=fault.message),)
            if fault.kind not in _FORM:
                decision = self.expected.decisions[self.expected.rows[fault.index]]
        verdict = {"crashed": "crashed", "refused": "refused"}.get(fault.kind, "fail")
        kind = fault.kind if fault.kind in _FORM else fault.message
        inputs = example[0].inputs if example else ()
        sums = spelled(digest_of_words((*inputs, fault.message)))
        return Group(
            decision, cast(Verdict, verdict), kind, 1, 1, sums,
            placement=fault.placement, examples=example,
        )  # fmt: skip


def due_word(reading: Reading, i: int) -> Word:
    """Give what a reading expects of an element: a code, a text, or a pattern's word in <>."""
    if reading.patterns[i] == pattern.EXACT:
        return _word(reading.codes[i])
    return f"<{PATTERNS[reading.patterns[i]]}>"


def _word(value: object) -> Word:
    return value if isinstance(value, str) else int(cast(int, value))


def _ranges(inputs: Bits, mask: Mask, asked: Mask) -> tuple[tuple[tuple[Word, Word], ...], int]:
    """Runs of neighbouring elements in a group; of many, the lowest and the highest."""
    if inputs.dtype.hasobject:
        return (), 0
    inside = np.concatenate([[False], mask[asked], [False]])
    steps = np.flatnonzero(inside[1:] != inside[:-1])
    runs = steps.reshape(-1, 2)
    more = max(0, len(runs) - _KEPT)
    if more:
        runs = np.concatenate([runs[: _KEPT // 2], runs[-_KEPT // 2 :]])
    codes = inputs[asked]
    return tuple((int(codes[a]), int(codes[b - 1])) for a, b in runs), more
