"""(Spec, Case, causes) -> what wrong steps give for a call: lines, readings and the rules of
conversions with their edits.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from typing import cast

import numpy as np

from convcheck.errors import SpecError
from convcheck.numerics.arithmetic import InexactError
from convcheck.numerics.codec import decode
from convcheck.numerics.format import Float, Format
from convcheck.rules.body.steps import Steps, StepsLine, StepsReading
from convcheck.rules.call_edits import UNEQUAL, LineEdit, StepsEdit
from convcheck.rules.causes import Cause
from convcheck.rules.expression import names_in
from convcheck.rules.model import Attributes, Case, DType, Layout, Spec
from convcheck.semantics.body.steps import (
    CompiledSteps,
    Run,
    asked_by_rules,
    layout_of,
    outside_of,
    target_of,
)
from convcheck.semantics.expected import REFUSED, UNDEFINED, Reading
from convcheck.semantics.expected_calls import Call, CallReading, ExpectedOutput, WrongCall
from convcheck.semantics.program import Program
from convcheck.semantics.typed_arithmetic import NEAREST
from convcheck.semantics.vocabulary import Mask, Points
from convcheck.semantics.wrong import compile_edited, readings_at

_KEPT = 4096  # programs
_REFUSED = CallReading("", pattern=REFUSED)


@dataclass(frozen=True)
class _Edited:
    """Steps with the edits of causes, but for those of conversions."""

    #: The edits, and the attributes in force.
    key: tuple[tuple[StepsEdit, ...], Attributes]
    case: Case
    steps: Steps
    #: One of each that rounds alike.
    readings: tuple[StepsReading, ...]
    mode: str
    through: Float | None


class WrongSteps:
    """What becomes of some calls by wrong steps. All calls are computed at once, end to end, and
    what causes have in common up to some line is computed once.
    """

    def __init__(self, spec: Spec, case: Case, calls: Sequence[Call]) -> None:
        """Take the calls of a case."""
        self.spec, self.case, self.calls = spec, case, calls
        self.layout = layout_of(spec, case)
        steps = spec.body_as(Steps)
        self.outside = outside_of(steps, self.layout, case)
        self._names = (*(name for name, _ in spec.inputs), *(line.name for line in steps.lines))
        ends = np.cumsum([call[0].size for call in calls]).tolist()
        self._parts = [slice(*ends_of) for ends_of in zip([0, *ends], ends, strict=False)]
        self._unedited = (), case.attributes
        self._right: dict[Hashable, tuple[CompiledSteps, int]] = {}
        self._states: dict[Hashable, int] = {}
        self._runs: list[Callable[[], Run]] = []
        self._points: dict[Hashable, Points] = {}
        self._given: dict[int, list[CallReading | None]] = {}

    def __call__(self, causes: Sequence[Cause]) -> Iterator[WrongCall]:
        """Yield what the calls become, one for each reading that is left."""
        words = {cause.call.refuses for cause in causes if isinstance(cause.call, StepsEdit)}
        if UNEQUAL in words:
            if len({t.name for t in self.case.inputs[:2]}) > 1:
                yield WrongCall(UNEQUAL, lambda _: _REFUSED)
            return
        edited = None if self.outside else self._edited(causes)
        for number, reading in enumerate(edited.readings if edited else ()):
            assert edited  # noqa: S101
            unmade = self._made(edited, {})
            programs = _programs(self.spec, unmade, reading, causes)
            if programs is None:
                return
            made = replace(unmade, programs=programs)
            with suppress(SpecError, InexactError):  # what is rounded once has no more operations
                begin = edited.key, number
                state, touched = self._chain(made, reading, begin)
                if edited.key == self._unedited and not touched.any():
                    continue
                as_ruled = edited.key == self._unedited
                outline = partial(self._outline, reading, begin, touched) if as_ruled else None
                yield WrongCall(state, partial(self._answer, made, state), outline=outline)

    def _made(self, edited: _Edited, programs: Mapping[tuple[str, str], Program]) -> CompiledSteps:
        names = tuple(name for name, _ in self.layout.shapes)
        return CompiledSteps(
            edited.case, edited.steps, names, False, (), programs,
            mode=edited.mode, through=edited.through,
        )  # fmt: skip

    def _edited(self, causes: Sequence[Cause]) -> _Edited | None:
        """Return the steps with the edits of causes, None where one has no meaning for the case."""
        attributes = dict(self.case.attributes)
        if any(name not in attributes for cause in causes for name, _ in cause.under):
            return None
        for cause in causes:
            attributes |= dict(cause.under)
        edits = tuple(cause.call for cause in causes if isinstance(cause.call, StepsEdit))
        steps, mode, through = self.spec.body_as(Steps), NEAREST, None
        readings, data = list(steps.readings), self.case.inputs[0]
        for edit in edits:
            if edit.names not in ((), self._names):
                return None
            steps = replace(steps, lines=tuple(_line(line, edit) for line in steps.lines))
            mode = edit.rounds or mode
            through = cast(Float, edit.cast.format) if edit.cast else through
            readings = [_reading(reading, edit, data) for reading in readings]
        if not _is_computable(steps, self.layout):
            return None
        case = replace(self.case, attributes=tuple(attributes.items()))
        key = edits, case.attributes
        edited = _Edited(key, case, steps, tuple(readings), mode, through)
        distinct = self._made(edited, {}).distinct(readings)
        return replace(edited, readings=tuple(distinct.values()))

    def _chain(
        self, made: CompiledSteps, reading: StepsReading, begin: Hashable
    ) -> tuple[int, Mask]:
        """Return the number of what there is after the last line, which is equal where that is
        equal, and which elements a conversion gives otherwise than by the rules.
        """
        state = self._state(begin, lambda: made.begun(reading, made.decoded(self.calls)))
        touched = np.zeros(self._parts[-1].stop, bool)
        for line in made.lines:
            before = self._runs[state]
            key: Hashable = (state, line.name)
            compute = partial(_done, before, made, line, reading)
            if line.be is None:
                answer, right = self._converted(made, line, reading, state)
                touched |= (answer.codes != right.codes) | (answer.patterns != right.patterns)
                target = target_of(line, made.case).format
                key = state, answer.codes.tobytes(), answer.patterns.tobytes(), target
                compute = partial(_taken, before, line, target, answer)
            state = self._state(key, compute)
        return state, touched

    def _state(self, key: Hashable, compute: Callable[[], Run]) -> int:
        """Return the number of a run, which is computed once, when it is needed."""
        if key not in self._states:
            self._states[key] = len(self._runs)
            self._runs.append(cache(compute))
        return self._states[key]

    def _converted(
        self, made: CompiledSteps, line: StepsLine, reading: StepsReading, state: int
    ) -> tuple[Reading, Reading]:
        """Return what a conversion gives, and by the rules."""
        data, to = made.taken_as(line, reading), target_of(line, made.case)
        if (state, to) not in self._points:
            bits = made.reached(line, reading, self._runs[state]())
            points = Points(data.format, to.format, bits, decode(data.format, bits), _kept={})
            content = data, to, bits.tobytes()
            self._points[state, to] = self._points.setdefault(content, points)
        given = asked_by_rules(self.spec, self.case)
        points = self._points[state, to]
        right = _program(self.spec, line.rule, (), data, to, given)
        program = made.program(line, reading)
        return readings_at(program, points)[0], readings_at(right, points)[0]

    def _outline(
        self, reading: StepsReading, begin: Hashable, touched: Mask, i: int
    ) -> CallReading | None:
        """Return what a call gives by the rules, with what is touched left open."""
        if begin not in self._right:
            self._right[begin] = self._by_the_rules(reading, begin)
        found = self._answer(*self._right[begin], i)
        if found is None:
            return None
        [output] = found.outputs
        patterns = np.where(touched[self._parts[i]], UNDEFINED, output.patterns).astype(np.uint8)
        return replace(found, outputs=(replace(output, patterns=patterns),))

    def _by_the_rules(self, reading: StepsReading, begin: Hashable) -> tuple[CompiledSteps, int]:
        """Return the steps without edits, and what there is after their last line."""
        edited = self._edited(())
        assert edited  # noqa: S101
        unmade = self._made(edited, {})
        made = replace(unmade, programs=_all_programs(self.spec, unmade, reading, ()))
        return made, self._chain(made, reading, begin)[0]

    def _answer(self, made: CompiledSteps, state: int, i: int) -> CallReading | None:
        if state not in self._given:
            self._given[state] = [None] * len(self.calls)
            with suppress(SpecError, InexactError):
                self._given[state] = list(self._split(made, self._runs[state]()))
        return self._given[state][i]

    def _split(self, made: CompiledSteps, run: Run) -> Iterator[CallReading]:
        """Yield what each call gives."""
        codes, patterns = made.finished(run)
        for call, part in zip(self.calls, self._parts, strict=True):
            output = ExpectedOutput(made.output, call[0].shape, codes[part], patterns[part])
            yield CallReading("", (output,))


def _done(
    before: Callable[[], Run], made: CompiledSteps, line: StepsLine, reading: StepsReading
) -> Run:
    """Return what there is after a line that is an expression."""
    after = before().copy()
    made.compute(line, reading, after)
    return after


def _taken(before: Callable[[], Run], line: StepsLine, target: Format, answer: Reading) -> Run:
    """Return what there is after a line that is a conversion."""
    after = before().copy()
    after.convert(line, target, answer)
    return after


def _line(line: StepsLine, edit: StepsEdit) -> StepsLine:
    """Return a line with the expressions that an edit gives it."""
    found = dict(edit.lines).get(line.name, LineEdit(None, None))
    return replace(
        line,
        through=found.through or line.through,
        be=found.be if found.be and line.be else line.be,
        otherwise=found.otherwise if found.otherwise and line.otherwise else line.otherwise,
    )


def _is_computable(steps: Steps, layout: Layout) -> bool:
    """Return whether each expression is over inputs that there are, and lines before it."""
    known = {name for name, _ in layout.shapes}
    for line in steps.lines:
        expression = line.be if not line.needs or line.needs in known else line.otherwise
        if expression and not names_in(expression) <= known:
            return False
        known.add(line.name)
    return True


def _reading(reading: StepsReading, edit: StepsEdit, data: DType) -> StepsReading:
    """Return a reading that rounds where an edit says."""
    once, narrow = (
        own if lines is None else frozenset(lines)
        for lines, own in ((edit.once, reading.once), (edit.narrow, reading.narrow))
    )
    reading = replace(reading, once=once, narrow=narrow)
    return replace(reading, exact=False, fixed=edit.within, by="") if edit.within else reading


def _programs(
    spec: Spec, made: CompiledSteps, reading: StepsReading, causes: Sequence[Cause]
) -> dict[tuple[str, str], Program] | None:
    """Return the program of each conversion, None where causes change nothing, or what they give
    cannot be held.
    """
    ends = [
        (made.taken_as(line, reading), target_of(line, made.case))
        for line in made.lines
        if line.be is None
    ]
    some = [cause for cause in causes if cause.rules or cause.rounds]
    changed = any(cause.call or cause.under for cause in causes)
    if not changed and not any(cause.converts(*each) for cause in some for each in ends):
        return None
    with suppress(SpecError):
        return _all_programs(spec, made, reading, causes)
    return None


def _all_programs(
    spec: Spec, made: CompiledSteps, reading: StepsReading, causes: Sequence[Cause]
) -> dict[tuple[str, str], Program]:
    """Return the program of each conversion with the edits of the causes that apply to it. Raises
    SpecError where the destination cannot hold what they give.
    """
    programs = {}
    given = asked_by_rules(spec, made.case)
    for line in (line for line in made.lines if line.be is None):
        source, target = made.taken_as(line, reading), target_of(line, made.case)
        applied = tuple(cause for cause in causes if cause.converts(source, target))
        program = _program(spec, line.rule, applied, source, target, given)
        programs[source.name, line.name] = program
    return programs


@lru_cache(_KEPT)
def _program(
    spec: Spec, rule: str, causes: tuple[Cause, ...], source: DType, target: DType,
    attributes: tuple[tuple[str, str], ...],
) -> Program:  # fmt: skip
    """Return a conversion by a rule, or by all, with the edits of causes. Raises SpecError."""
    named = replace(spec, rules=tuple(r for r in spec.rules if rule in ("", r.name)))
    return compile_edited(named, source, target, causes, attributes)
