"""(Spec, Case, causes) -> what wrong steps give for a call: lines, readings and the rules of
conversions with their edits.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from typing import cast

import numpy as np

from convcheck.errors import SpecError
from convcheck.numerics.codec import decode
from convcheck.numerics.codes import Codes
from convcheck.numerics.format import Float, Numeric
from convcheck.numerics.modes import NEAREST
from convcheck.rules.body.steps import Steps, StepsLine, StepsReading
from convcheck.rules.call_edits import UNEQUAL, LineEdit, StepsEdit
from convcheck.rules.causes import Cause
from convcheck.rules.expression import names_in
from convcheck.rules.hop import Hop
from convcheck.rules.model import Attributes, Case, DType, Layout, Spec
from convcheck.semantics.body.steps import (
    CompiledSteps,
    Finished,
    Run,
    asked_by_rules,
    layout_of,
    outside_of,
    target_of,
)
from convcheck.semantics.expected import REFUSED
from convcheck.semantics.expected_calls import (
    Call,
    CallReading,
    WrongCall,
)
from convcheck.semantics.program import Program
from convcheck.semantics.vocabulary import Mask, Points
from convcheck.semantics.wrong import compile_edited, readings_at

_KEPT = 4096  # programs
_REFUSED = CallReading("", pattern=REFUSED)
Programs = Mapping[tuple[str, str], Program]  # the type and the line that are converted


@dataclass(frozen=True)
class _Edited:
    """Steps with the edits of causes, but for those of conversions."""

    #: The steps, without the programs of conversions; if only unpaired elements have all edits, the
    #: steps of the others, too.
    made: tuple[CompiledSteps, ...]
    #: One of each that rounds alike.
    readings: tuple[StepsReading, ...]


class WrongSteps:
    """What becomes of some calls by wrong steps. All calls are computed at once, end to end."""

    def __init__(self, spec: Spec, case: Case, calls: Sequence[Call]) -> None:
        """Take the calls of a case."""
        self.spec, self.case, self.calls = spec, case, calls
        self.layout = layout_of(spec, case)
        steps = spec.body_as(Steps)
        self.outside = outside_of(steps, self.layout, case)
        lines = (line.name for line in steps.lines)
        self._names = (*(name for name, _ in spec.inputs), *lines, *steps.numbers)
        self._sizes = tuple(call[0].size for call in calls)
        ends = np.cumsum([0, *self._sizes]).tolist()
        self._parts = [slice(*ends_of) for ends_of in pairwise(ends)]
        self._converts = any(line.be is None for line in steps.lines)
        #: What there is before the first conversion with the last edits, by steps and reading:
        #: most causes are wrong conversions, and edit no lines.
        self._begun: dict[tuple[int, int], tuple[Run, Points | None]] = {}
        self._last: _Edited | None = None
        self._known: dict[int, Hashable] = {}

    def __call__(self, causes: Sequence[Cause]) -> Iterator[WrongCall]:
        """Yield what the calls become, one for each reading that is left. Steps that refuse nothing
        give an output for each call.
        """
        words = {cause.call.refuses for cause in causes if isinstance(cause.call, StepsEdit)}
        if UNEQUAL in words:
            if len({t.name for t in self.case.inputs[:2]}) > 1:
                yield WrongCall(UNEQUAL, lambda _: _REFUSED)
            return
        if not self._converts and any(cause.rules for cause in causes):
            return  # rules that nothing is converted by
        edited = None if self.outside else self._edited(causes)
        for number in range(len(edited.readings) if edited else 0):
            assert edited  # noqa: S101
            with suppress(SpecError):
                found = self._finished(edited, causes, number)
                if edited is not self._unedited or _key(found) != self._right(number):
                    yield WrongCall(_key(found), partial(self._answer, edited.made[0], found))

    def _right(self, number: int) -> Hashable:
        """Return what is equal for all that gives the same as the rules, under a reading."""
        assert self._unedited  # noqa: S101
        if number not in self._known:
            self._known[number] = _key(self._finished(self._unedited, (), number))
        return self._known[number]

    def _finished(self, edited: _Edited, causes: Sequence[Cause], number: int) -> list[Finished]:
        """Return codes and patterns of each output, of all calls."""
        programs = _programs(self.spec, edited.made[0], edited.readings[number], causes)
        if edited is not self._last:
            self._last, self._begun = edited, {}
        found, *others = (self._made(made, programs, edited.readings[number], (i, number))
                          for i, made in enumerate(edited.made))  # fmt: skip
        if others:  # which has one output
            pairs = zip(found[0], others[0][0], strict=True)
            codes, patterns = (np.where(self._unpaired, *pair) for pair in pairs)
            return [(cast(Codes, codes), patterns)]
        return found

    def _made(
        self, made: CompiledSteps, programs: Programs, reading: StepsReading, key: tuple[int, int]
    ) -> list[Finished]:
        """Return what steps give; `key` is the number of the steps and that of the reading."""
        lines = list(made.lines)
        first = next((i for i, line in enumerate(lines) if line.be is None), len(lines))
        if key not in self._begun:
            self._begun[key] = self._before(made, lines, first, reading)
        run, points = self._begun[key]
        run = run.copy()
        for line in lines[first:]:
            if line.be is not None:
                made.compute(line, reading, run)
                continue
            points = points or _points(made, line, reading, run)
            program = programs[made.taken_as(line, reading).name, line.name]
            run.convert(line, target_of(line, made.case).format, readings_at(program, points)[0])
            points = None
        return made.all_finished(run)

    def _before(
        self, made: CompiledSteps, lines: Sequence[StepsLine], first: int, reading: StepsReading
    ) -> tuple[Run, Points | None]:
        """Return what there is before the first conversion, and what that gets."""
        run = made.begun(reading, made.decoded(self.calls))
        run.sizes = self._sizes or run.sizes
        for line in lines[:first]:
            made.compute(line, reading, run)
        return run, _points(made, lines[first], reading, run) if first < len(lines) else None

    @cached_property
    def _unpaired(self) -> Mask:
        """Which elements are unpaired, of all calls."""
        assert self._unedited  # noqa: S101
        found = [unpaired(self._unedited.made[0], call) for call in self.calls]
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
        paired = (replace(made, steps=rest),) if any(edit.only for edit in edits) else ()
        apart = tuple(made.distinct(readings).values())
        return _Edited((made, *paired), apart)

    def _fits(self, edit: StepsEdit) -> bool:
        """Return whether an edit has a meaning for the case: it has these lines and inputs, or the
        inputs are not all that is edited, and tensors of several elements that may meet the first.
        """
        shapes = dict(self.layout.shapes)
        several = any(dims for dims in [*shapes.values()][1:])
        known = {edit.meeting} <= {"", *shapes}
        known &= bool(edit.lines) or dict(edit.inputs).keys() <= shapes.keys()
        return edit.names in ((), self._names) and known and (several or not edit.meets)

    def _answer(self, made: CompiledSteps, found: Sequence[Finished], i: int) -> CallReading | None:
        """Return what a call gives; None of no elements, of which none is the largest."""
        shape = self.calls[i][0].shape
        if made.reduces and not self._sizes[i]:
            return None
        return CallReading("", made.outputs(found, shape, self._parts[i]))


def _key(found: Sequence[Finished]) -> Hashable:
    return tuple((codes.tobytes(), patterns.tobytes()) for codes, patterns in found)


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
) -> Programs:
    """Return the program of each conversion with the edits of the causes that apply to it. Raises
    SpecError where the destination cannot hold what they give.
    """
    programs = {}
    given = asked_by_rules(spec, made.case)
    for line in (line for line in made.lines if line.be is None):
        source, target = _ends(made, line, reading)
        applied = tuple(cause for cause in causes if cause.converts(source, target))
        program = _program(spec, line.rule, applied, source, target, given)
        programs[source.name, line.name] = program
    return programs


def _ends(made: CompiledSteps, line: StepsLine, reading: StepsReading) -> tuple[DType, DType]:
    """Return the types between which a line converts."""
    return made.taken_as(line, reading), target_of(line, made.case)


def _points(made: CompiledSteps, line: StepsLine, reading: StepsReading, run: Run) -> Points:
    """Return what a conversion gets."""
    source, target = (each.format for each in _ends(made, line, reading))
    codes = made.reached(line, reading, run)
    return Points(source, target, codes, decode(cast(Numeric, source), codes), _kept={})


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
