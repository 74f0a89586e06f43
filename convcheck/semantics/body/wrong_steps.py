"""(Spec, Case, causes) -> what wrong steps give for a call: lines, readings and the rules of
conversions with their edits.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import cast
from weakref import proxy

import numpy as np

from convcheck.errors import SpecError
from convcheck.numerics.codec import decode
from convcheck.numerics.format import Float, Format, Numeric
from convcheck.numerics.modes import NEAREST
from convcheck.numerics.rational import Rational, take
from convcheck.rules.body.steps import Steps, StepsLine, StepsReading
from convcheck.rules.call_edits import UNEQUAL, LineEdit, StepsEdit
from convcheck.rules.causes import Cause
from convcheck.rules.expression import names_in
from convcheck.rules.hop import Hop
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
from convcheck.semantics.expected_calls import (
    Call,
    CallReading,
    WantedElements,
    WrongCall,
)
from convcheck.semantics.program import Program
from convcheck.semantics.vocabulary import Mask, Points
from convcheck.semantics.wrong import compile_edited, readings_at

_KEPT = 4096  # programs
_REFUSED = CallReading("", pattern=REFUSED)
Programs = Mapping[tuple[str, str], Program]  # the type and the line that are converted
Inputs = Callable[[CompiledSteps], Mapping[str, Rational]]
Step = Callable[[StepsLine, StepsReading, Run], None]


@dataclass(frozen=True)
class _Edited:
    """Steps with the edits of causes, but for those of conversions."""

    #: The edits, and the attributes in force.
    key: tuple[tuple[StepsEdit, ...], Attributes]
    #: The steps, without the programs of conversions.
    made: CompiledSteps
    #: Those of the elements that are not unpaired; None where they are the same.
    paired: CompiledSteps | None
    #: One of each that rounds alike.
    readings: tuple[StepsReading, ...]


class _Computed:
    """What wrong steps make of some elements. Whatever lines are the same so far, of the same
    values and rounded alike, are computed once for all causes and readings.
    """

    def __init__(
        self, spec: Spec, case: Case, inputs: Inputs, unpaired: Callable[[], Mask],
        sizes: Sequence[int] = (),
    ) -> None:  # fmt: skip
        """Take what gives the values of the inputs, of shape (n,), under attributes, and what tells
        which elements are unpaired; and how many elements each call has.
        """
        self.spec, self.inputs, self.unpaired, self.sizes = spec, inputs, unpaired, tuple(sizes)
        self.given = asked_by_rules(spec, case)
        self._states: dict[Hashable, int] = {}
        self._runs: list[Run | Callable[[], Run]] = []
        self._firsts: dict[int, int] = {}
        self._points: dict[Hashable, Points] = {}

    def run(self, state: int) -> Run:
        """Return what there is, by its number."""
        run = self._runs[state]
        if not isinstance(run, Run):
            run = self._runs[state] = run()
        return run

    def chain(self, edited: _Edited, programs: Programs, reading: StepsReading) -> tuple[int, Mask]:
        """Return the number of what there is after the last line, which is equal where that is
        equal and ends in the same outputs, and which elements a conversion gives otherwise than by
        the rules.
        """
        made = edited.made
        state, touched = self._lines(made, programs, reading)
        if edited.paired:
            other, _ = self._lines(edited.paired, programs, reading)
            runs = partial(_run_of, proxy(self), state), partial(_run_of, proxy(self), other)
            compute = partial(_either, made, self.unpaired, *runs)
            state = self._state((state, other, made.ends_as), compute)
        return self._state((state, made.ends_as), partial(_run_of, proxy(self), state)), touched

    def _lines(
        self, made: CompiledSteps, programs: Programs, reading: StepsReading
    ) -> tuple[int, Mask]:
        state = self._begun(made, reading)
        touched = np.zeros((), bool)
        for line in made.lines:
            if line.be is not None:
                state = self._computed(made, line, reading, state)
                continue
            data, target = _ends(made, line, reading)
            points = self._points_of(made, line, reading, state)
            rules = _program(self.spec, line.rule, (), data, target, self.given)
            [answer, *_] = readings_at(programs[data.name, line.name], points)
            if rules is not programs[data.name, line.name]:
                [right, *_] = readings_at(rules, points)
                differs = (answer.codes != right.codes) | (answer.patterns != right.patterns)
                touched = np.asarray(touched | differs)
            ends = line is made.lines[-1] and not made.case.outputs[1:]
            before = self.run(state).undefined.tobytes() if ends else state
            key = before, answer.codes.tobytes(), answer.patterns.tobytes(), target
            compute = partial(
                _taken, partial(_run_of, proxy(self), state), line, target.format, answer
            )
            state = self._state(key, compute)
        return state, touched

    def _begun(self, made: CompiledSteps, reading: StepsReading) -> int:
        def begun() -> Run:
            run = made.begun(reading, self.inputs(made))
            return replace(run, sizes=self.sizes or run.sizes)

        return self._state(made.begins_as(reading), begun)

    def _computed(
        self, made: CompiledSteps, line: StepsLine, reading: StepsReading, state: int
    ) -> int:
        compute = partial(_done, partial(_run_of, proxy(self), state), made.express, line, reading)
        after = self._state((state, made.computes_as(line, reading)), compute)
        narrow = made.mode if line.name in reading.narrow else None
        if line.through or narrow:
            compute = partial(
                _done, partial(_run_of, proxy(self), after), made.go_on, line, reading
            )
            after = self._state((after, line.through, narrow), compute)
        return self._first(state, line, after)

    def _first(self, before: int, line: StepsLine, after: int) -> int:
        """Return the number of the first of the runs that gave a line the same values after the
        same run: what follows is the same of both.
        """
        if after not in self._firsts:
            run = self.run(after)
            x = run.values[line.name].numbers
            if x.sticky is not None:  # of more bits than are compared
                return self._firsts.setdefault(after, after)
            fields = (x.kind, x.sign, x.exponent, x.significand, run.undefined)
            content = tuple(field.tobytes() for field in fields)
            self._firsts[after] = self._state((before, line.name, content), lambda: run)
        return self._firsts[after]

    def _state(self, key: Hashable, compute: Callable[[], Run]) -> int:
        """Return the number of a run, which is computed once, when it is needed."""
        if key not in self._states:
            self._states[key] = len(self._runs)
            self._runs.append(compute)
        return self._states[key]

    def _points_of(
        self, made: CompiledSteps, line: StepsLine, reading: StepsReading, state: int
    ) -> Points:
        """Return what a conversion gets."""
        data, to = _ends(made, line, reading)
        key = state, data, to
        if key not in self._points:
            bits = made.reached(line, reading, self.run(state))
            points = Points(data.format, to.format, bits, decode(data.format, bits), _kept={})
            self._points[key] = self._points.setdefault((data, to, bits.tobytes()), points)
        return self._points[key]


def _run_of(computed: _Computed, state: int) -> Run:
    return computed.run(state)


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
        lines = (line.name for line in steps.lines)
        self._names = (*(name for name, _ in spec.inputs), *lines, *steps.numbers)
        ends = np.cumsum([call[0].size for call in calls]).tolist()
        self._parts = [slice(*ends_of) for ends_of in zip([0, *ends], ends, strict=False)]
        self._as_ruled = (), case.attributes
        self._converts = any(line.be is None for line in steps.lines)
        self._right: dict[int, tuple[CompiledSteps, int]] = {}
        self._given: dict[int, list[CallReading | None]] = {}
        self._inputs: dict[tuple[Attributes, str, str], Mapping[str, Rational]] = {}
        sizes = [call[0].size for call in calls]
        me = proxy(self)  # all that is computed goes with it, whenever cycles are collected
        self._whole = _Computed(
            spec, case, lambda made: me._decoded(made), lambda: me._unpaired, sizes
        )
        self._few: dict[WantedElements, _Computed] = {}
        self._accepted: dict[Hashable, bool] = {}

    def __call__(
        self, causes: Sequence[Cause], wanted: WantedElements | None = None
    ) -> Iterator[WrongCall]:
        """Yield what the calls become, one for each reading that is left. Steps that refuse nothing
        give an output for each call.
        """
        words = {cause.call.refuses for cause in causes if isinstance(cause.call, StepsEdit)}
        if UNEQUAL in words:
            if len({t.name for t in self.case.inputs[:2]}) > 1:
                yield WrongCall(UNEQUAL, lambda _: _REFUSED)
            return
        if wanted and not wanted.elements:
            return
        if not self._converts and any(cause.rules for cause in causes):
            return  # rules that nothing is converted by
        if self.case.outputs[1:]:  # what they are is no matter of some elements
            wanted = None
        edited = None if self.outside else self._edited(causes)
        if edited is self._unedited and not self._may_convert(causes):
            return
        for number, reading in enumerate(edited.readings if edited else ()):
            assert edited  # noqa: S101
            with suppress(SpecError):
                programs = self._programs(edited, reading, causes, wanted)
                if programs is None:
                    continue
                state, touched = self._whole.chain(edited, programs, reading)
                as_ruled = edited.key == self._as_ruled
                if as_ruled and not touched.any():
                    continue
                outline = partial(self._outline, number, touched) if as_ruled else None
                yield WrongCall(state, partial(self._answer, edited.made, state), outline=outline)

    def _may_convert(self, causes: Sequence[Cause]) -> bool:
        """Return whether causes may be what is wrong with a conversion under some reading."""
        some = tuple(cause for cause in causes if cause.rules or cause.rounds)
        return any(_converting(some, *ends) for ends in self._ends)

    @cached_property
    def _ends(self) -> set[tuple[DType, DType]]:
        """The types between which the lines convert, under every reading."""
        if self._unedited is None:
            return set()
        made, readings = self._unedited.made, self._unedited.readings
        lines = [line for line in made.lines if line.be is None]
        return {_ends(made, line, reading) for line in lines for reading in readings}

    def _programs(
        self,
        edited: _Edited,
        reading: StepsReading,
        causes: Sequence[Cause],
        wanted: WantedElements | None,
    ) -> Programs | None:
        """Return the program of each conversion; None where causes change nothing, or do not give
        the elements that are wanted.
        """
        programs = _programs(self.spec, edited.made, reading, causes)
        if programs is None or not wanted:
            return programs
        return programs if self._gives(edited, programs, reading, wanted) else None

    def _gives(
        self,
        edited: _Edited,
        programs: Programs,
        reading: StepsReading,
        wanted: WantedElements,
    ) -> bool:
        """Return whether steps give the elements that are wanted."""
        few = self._at(wanted)
        state, _ = few.chain(edited, programs, reading)
        key = wanted, state
        if key not in self._accepted:
            finished = edited.made.finished(few.run(state))
            self._accepted[key] = bool(wanted.accepts(*finished).all())
        return self._accepted[key]

    def _at(self, wanted: WantedElements) -> _Computed:
        """Return what is made of the elements that are wanted."""
        if wanted not in self._few:
            at = np.concatenate([self._parts[i].start + some for i, some in wanted.elements])

            me = proxy(self)

            def taken(made: CompiledSteps) -> Mapping[str, Rational]:
                return {name: take(x, at) for name, x in me._decoded(made).items()}

            def unpaired() -> Mask:
                return cast(Mask, me._unpaired[at])

            self._few[wanted] = _Computed(self.spec, self.case, taken, unpaired)
        return self._few[wanted]

    def _decoded(self, made: CompiledSteps) -> Mapping[str, Rational]:
        """Return the values of the inputs of all calls; attributes and meetings change them."""
        given = made.case.attributes, made.meets, made.meeting
        if given not in self._inputs:
            self._inputs[given] = made.decoded(self.calls)
        return self._inputs[given]

    @cached_property
    def _unpaired(self) -> Mask:
        """Which elements are unpaired, of all calls."""
        assert self._unedited  # noqa: S101
        found = [unpaired(self._unedited.made, call) for call in self.calls]
        return np.concatenate(found)

    def _edited(self, causes: Sequence[Cause]) -> _Edited | None:
        """Return the steps with the edits of causes, None where one has no meaning for the case."""
        if not any(cause.call or cause.under for cause in causes):
            return self._unedited
        attributes = dict(self.case.attributes)
        if any(name not in attributes for cause in causes for name, _ in cause.under):
            return None
        ends = self.case.inputs[0], self.case.outputs[0]
        if not all(cause.is_for(*ends) for cause in causes if cause.call):
            return None
        for cause in causes:
            attributes |= dict(cause.under)
        edits = tuple(cause.call for cause in causes if isinstance(cause.call, StepsEdit))
        return self._with(edits, tuple(attributes.items()))

    @cached_property
    def _unedited(self) -> _Edited | None:
        return self._with((), self.case.attributes)

    def _with(self, edits: tuple[StepsEdit, ...], attributes: Attributes) -> _Edited | None:
        """Return the steps with edits, under attributes."""
        steps, mode, through = self.spec.body_as(Steps), NEAREST, None
        rest, readings, data = steps, list(steps.readings), self.case.inputs[0]
        meets, meeting, first = "", "", dict[str, tuple[Hop, ...]]()
        for edit in edits:
            if not self._fits(edit):
                return None
            meets, meeting = (edit.meets, edit.meeting) if edit.meets else (meets, meeting)
            first |= {name: hops for name, hops in edit.inputs if name in dict(self.layout.shapes)}
            steps = _with_lines(steps, edit)
            rest = rest if edit.only else _with_lines(rest, edit)
            mode = edit.rounds or mode
            through = cast(Float, edit.cast.format) if edit.cast else through
            readings = [_reading(reading, edit, data) for reading in readings]
            steps = replace(steps, free_rest=False)  # a text may leave open what a runtime gives
        if not _is_computable(steps, self.layout):
            return None
        case = replace(self.case, attributes=attributes)
        names = tuple(name for name, _ in self.layout.shapes)
        made = CompiledSteps(
            case, steps, names, False, (), {},
            mode=mode, through=through, first=first, meets=meets, meeting=meeting,
        )  # fmt: skip
        paired = replace(made, steps=rest) if any(edit.only for edit in edits) else None
        apart = tuple(made.distinct(readings).values())
        return _Edited((edits, attributes), made, paired, apart)

    def _fits(self, edit: StepsEdit) -> bool:
        """Return whether an edit has a meaning for the case: it has these lines and inputs, or the
        inputs are not all that is edited, and tensors of several elements that may meet the first.
        """
        shapes = dict(self.layout.shapes)
        several = any(dims for dims in [*shapes.values()][1:])
        known = {edit.meeting} <= {"", *shapes}
        known &= bool(edit.lines) or dict(edit.inputs).keys() <= shapes.keys()
        return edit.names in ((), self._names) and known and (several or not edit.meets)

    def _outline(self, number: int, touched: Mask, i: int) -> CallReading | None:
        """Return what a call gives by the rules under a reading, with what is touched left open."""
        if number not in self._right:
            self._right[number] = self._by_the_rules(number)
        found = self._answer(*self._right[number], i)
        if found is None:
            return None
        output, *others = found.outputs
        patterns = np.where(touched[self._parts[i]], UNDEFINED, output.patterns).astype(np.uint8)
        return replace(found, outputs=(replace(output, patterns=patterns), *others))

    def _by_the_rules(self, number: int) -> tuple[CompiledSteps, int]:
        """Return the steps without edits, and what there is after their last line."""
        assert self._unedited  # noqa: S101
        made, reading = self._unedited.made, self._unedited.readings[number]
        programs = _all_programs(self.spec, made, reading, ())
        return made, self._whole.chain(self._unedited, programs, reading)[0]

    def _answer(self, made: CompiledSteps, state: int, i: int) -> CallReading | None:
        if state not in self._given:
            self._given[state] = [None] * len(self.calls)
            with suppress(SpecError):
                self._given[state] = list(self._split(made, self._whole.run(state)))
        return self._given[state][i]

    def _split(self, made: CompiledSteps, run: Run) -> Iterator[CallReading | None]:
        """Yield what each call gives, None where that is not known."""
        found = made.all_finished(run)
        for call, part in zip(self.calls, self._parts, strict=True):
            known = call[0].size or not made.reduces  # of no elements none is the largest
            outputs = made.outputs(found, call[0].shape, part)
            yield CallReading("", outputs) if known else None


def _done(before: Callable[[], Run], step: Step, line: StepsLine, reading: StepsReading) -> Run:
    """Return what there is after a step in the computation of a line."""
    after = before().copy()
    step(line, reading, after)
    return after


def _taken(before: Callable[[], Run], line: StepsLine, target: Format, answer: Reading) -> Run:
    """Return what there is after a line that is a conversion."""
    after = before().copy()
    after.convert(line, target, answer)
    return after


def _either(made: CompiledSteps, unpaired: Callable[[], Mask], *runs: Callable[[], Run]) -> Run:
    """Return what there is after the last line, of unpaired elements that of one run, of the others
    that of another.
    """
    one, other = (made.finished(run()) for run in runs)
    [codes, patterns] = (np.where(unpaired(), a, b) for a, b in zip(one, other, strict=True))
    after = Run.of(runs[0]().values)
    after.converted[made.lines[-1].name] = Reading(codes, patterns)
    return after


def unpaired(made: CompiledSteps, call: Call) -> Mask:
    """Return which elements of a call share their byte with none, or with one that meets another
    element of the second input; shape (n,). No output of a byte or more has any.
    """
    data, bits = call[0], cast(Numeric, made.output.format).bits
    together = max(8 // bits, 1)
    met = np.full(-(-data.size // together) * together, -1)
    index = np.arange(call[1].size).reshape(call[1].shape)
    met[: data.size] = made.met(index, data.shape).reshape(-1)
    bytes_ = met.reshape(-1, together)
    apart = (bytes_ != bytes_[:, :1]).any(axis=1)
    return np.asarray(np.repeat(apart, together)[: data.size])


def _with_lines(steps: Steps, edit: StepsEdit) -> Steps:
    """Return steps with the lines of an edit."""
    edits = dict(edit.lines)
    lines = (_line(x, edits[x.name]) if x.name in edits else x for x in steps.lines)
    return replace(steps, lines=tuple(lines)) if edits else steps


def _line(line: StepsLine, found: LineEdit) -> StepsLine:
    """Return a line with the expressions that an edit gives it."""
    return replace(
        line,
        through=found.through or line.through,
        conversions=found.conversions or line.conversions,
        be=found.be if found.be and line.be else line.be,
        branches=found.branches if found.be and line.be else line.branches,
        otherwise=found.otherwise if found.otherwise and line.otherwise else line.otherwise,
    )


def _is_computable(steps: Steps, layout: Layout) -> bool:
    """Return whether each expression is over inputs that there are, and lines before it."""
    known = {*steps.numbers, *(name for name, _ in layout.shapes)}
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
    if (once, narrow) != (reading.once, reading.narrow):
        reading = replace(reading, once=once, narrow=narrow)
    return replace(reading, exact=False, fixed=edit.within, by="") if edit.within else reading


def _programs(
    spec: Spec, made: CompiledSteps, reading: StepsReading, causes: Sequence[Cause]
) -> Programs | None:
    """Return the program of each conversion, None where causes change nothing, or what they give
    cannot be held.
    """
    with suppress(SpecError):
        return _all_programs(spec, made, reading, causes)
    return None


def _all_programs(
    spec: Spec, made: CompiledSteps, reading: StepsReading, causes: Sequence[Cause]
) -> Programs:
    """Return the program of each conversion with the edits of the causes that apply to it. Raises
    SpecError where the destination cannot hold what they give.
    """
    programs = {}
    given = asked_by_rules(spec, made.case)
    for line in (line for line in made.lines if line.be is None):
        source, target = _ends(made, line, reading)
        applied = _converting(tuple(causes), source, target)
        program = _program(spec, line.rule, applied, source, target, given)
        programs[source.name, line.name] = program
    return programs


def _ends(made: CompiledSteps, line: StepsLine, reading: StepsReading) -> tuple[DType, DType]:
    """Return the types between which a line converts."""
    return made.taken_as(line, reading), target_of(line, made.case)


@lru_cache(_KEPT)
def _converting(causes: tuple[Cause, ...], source: DType, target: DType) -> tuple[Cause, ...]:
    """Return the causes that may be what is wrong with a conversion."""
    return tuple(cause for cause in causes if cause.converts(source, target))


@lru_cache(_KEPT)
def _program(
    spec: Spec, rule: str, causes: tuple[Cause, ...], source: DType, target: DType,
    attributes: tuple[tuple[str, str], ...],
) -> Program:  # fmt: skip
    """Return a conversion by a rule, or by all, with the edits of causes. Raises SpecError."""
    return compile_edited(_named(spec, rule), source, target, causes, attributes)


@lru_cache(_KEPT)
def _named(spec: Spec, rule: str) -> Spec:
    """Return a spec with one rule, or with all."""
    return replace(spec, rules=tuple(r for r in spec.rules if rule in ("", r.name)))
