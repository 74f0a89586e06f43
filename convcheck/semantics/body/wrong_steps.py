"""The answers of wrong steps: steps with the edits of causes."""

from collections.abc import Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from itertools import pairwise
from typing import cast

import numpy as np

from convcheck.errors import SpecError
from convcheck.numerics.format import Numeric
from convcheck.numerics.modes import NEAREST
from convcheck.rules.body.steps import Steps, StepsLine, StepsReading
from convcheck.rules.causes import Cause, Changes, StepsEdit
from convcheck.rules.expression import names_in
from convcheck.rules.model import Case, Spec
from convcheck.semantics.body.steps import (
    CompiledSteps,
    Run,
    asked_by_rules,
    layout_of,
    outside_of,
    target_of,
)
from convcheck.semantics.compile import compile_edited
from convcheck.semantics.expected import REFUSED, Call, CallReading, Reading, WrongCall
from convcheck.semantics.program import Program
from convcheck.semantics.vocabulary import Mask

_REFUSED = CallReading("", pattern=REFUSED)
Outputs = list[Reading]  # each of all calls, end to end


class WrongCalls:
    """Wrong steps for some calls, computed at once, end to end."""

    def __init__(self, spec: Spec, case: Case, calls: Sequence[Call]) -> None:
        self.spec, self.case, self.calls = spec, case, calls
        self.steps, layout = spec.body_as(Steps), layout_of(spec, case)
        self._shapes = dict(layout.shapes)
        self._outside = outside_of(self.steps, layout, case) is not None
        self._kept: dict[Hashable, Run] = {}
        ends = np.cumsum([0, *(call[0].size for call in calls)]).tolist()
        self._parts = [slice(*ends_of) for ends_of in pairwise(ends)]

    def __call__(self, causes: Sequence[Cause]) -> Iterator[WrongCall]:
        """Yield the wrong calls, one for each reading."""
        edits = [cause.call for cause in causes if isinstance(cause.call, StepsEdit)]
        if equal := [edit.equal for edit in edits if edit.equal]:
            types = dict(zip(self._shapes, self.case.inputs, strict=True))
            if any(len({types[name] for name in each if name in types}) > 1 for each in equal):
                yield WrongCall(REFUSED, lambda _: _REFUSED)
            return
        if not (self._has(causes) and all(map(self._fits, edits))):
            return
        plain = not any(cause.call or cause.under for cause in causes)
        made = self._plain if plain else self._made(edits, causes)
        if made is None:
            return
        found = self._run(made, causes)
        if any(edit.unpaired for edit in edits):
            rest = self._made([edit for edit in edits if not edit.unpaired], causes)
            assert rest  # noqa: S101
            found = [*map(self._merged, found, self._run(rest, causes))]
        for outputs in found:
            if (key := _key(outputs)) not in (self._right if plain else ()):
                yield WrongCall(key, partial(self._answer, made, outputs))

    def _made(self, edits: Sequence[StepsEdit], causes: Sequence[Cause]) -> CompiledSteps | None:
        """The steps with edits, without programs; None if they cannot be computed."""
        attributes = dict(self.case.attributes)
        for cause in causes:
            attributes |= dict(cause.under)
        inputs = list(self._shapes)
        read = inputs[:1] if any(edit.meets for edit in edits) else inputs
        undefined = tuple(one for one in self.steps.undefined if one.input in read)
        steps = replace(self.steps, undefined=undefined)
        for edit in edits:
            steps = _edited(steps, edit)
        mode = next((edit.rounds for edit in reversed(edits) if edit.rounds), NEAREST)
        meets = next((edit.meets for edit in reversed(edits) if edit.meets), None)
        hops = {name: hops for edit in edits for name, hops in edit.inputs.items()}
        first = {name: of for name, of in hops.items() if name in inputs}
        case = replace(self.case, attributes=tuple(attributes.items()))
        made = CompiledSteps(
            case, steps, tuple(inputs), False, (), {},
            mode=mode, first=first, meets=meets,
        )  # fmt: skip
        known = {*made.steps.numbers, *made.names}
        for line in made.lines:
            if not all(names_in(expression) <= known for expression in line.expressions):
                return None
            known.add(line.name)
        return made

    def _has(self, causes: Sequence[Cause]) -> bool:
        ends = self.case.inputs[0], self.case.outputs[0]
        converts = any(line.be is None for line in self.steps.lines)
        return (
            not self._outside
            and (converts or not any(cause.rules for cause in causes))
            and all(cause.is_for(*ends) for cause in causes if cause.call)
        )

    def _fits(self, edit: StepsEdit) -> bool:
        several = any(dims for dims in [*self._shapes.values()][1:])
        return (
            edit.lines.keys() <= {line.name for line in self.steps.lines}
            and edit.inputs.keys() <= dict(self.spec.inputs).keys()
            and (bool(edit.lines) or edit.inputs.keys() <= self._shapes.keys())
            and (not edit.meets or (several and edit.meets[1] in ("", *self._shapes)))
        )

    def _run(self, made: CompiledSteps, causes: Sequence[Cause]) -> list[Outputs]:
        """Only readings whose conversions the causes leave possible."""
        programs: dict[tuple[str, str], Program] = {}
        readings: list[StepsReading] = []
        given = asked_by_rules(self.spec, made.case)
        for reading in made.distinct(made.steps.readings).values():
            with suppress(SpecError):
                for line in (line for line in made.lines if line.be is None):
                    source, target = made.taken_as(line, reading), target_of(line, made.case)
                    applied = tuple(cause for cause in causes if cause.converts(source, target))
                    ends = source, target, applied, given, line.rule
                    programs[source.name, line.name] = compile_edited(self.spec, *ends)
                readings.append(reading)
        steps = replace(made.steps, readings=tuple(readings))
        return replace(made, steps=steps, programs=programs).due(self.calls, self._kept)[0]

    @cached_property
    def _plain(self) -> CompiledSteps:
        return cast(CompiledSteps, self._made((), ()))

    @cached_property
    def _right(self) -> set[object]:
        return {_key(outputs) for outputs in self._run(self._plain, ())}

    @cached_property
    def _unpaired(self) -> Mask:
        return np.concatenate([unpaired(self._plain, call) for call in self.calls])

    def _merged(self, outputs: Outputs, others: Outputs) -> Outputs:
        [one], [other] = outputs, others
        codes = np.where(self._unpaired, one.codes, other.codes)
        return [Reading(codes, np.where(self._unpaired, one.patterns, other.patterns))]

    def _answer(self, made: CompiledSteps, found: Outputs, i: int) -> CallReading | None:
        """None of no elements, of which none is the largest."""
        data = self.calls[i][0]
        if made.reduces and not data.size:
            return None
        return CallReading("", made.outputs(found, data.shape, self._parts[i]))


def _key(found: Outputs) -> object:
    return tuple((one.codes.tobytes(), one.patterns.tobytes()) for one in found)


def unpaired(made: CompiledSteps, call: Call) -> Mask:
    """Return a mask of elements alone in their byte, or there with one that meets another."""
    data, bits = call[0], cast(Numeric, made.output.format).bits
    together = max(8 // bits, 1)
    met = np.full(-(-data.size // together) * together, -1)
    index = np.arange(call[1].size).reshape(call[1].shape)
    met[: data.size] = made.met(index, data.shape).reshape(-1)
    bytes_ = met.reshape(-1, together)
    apart = (bytes_ != bytes_[:, :1]).any(axis=1)
    return np.asarray(np.repeat(apart, together)[: data.size])


def _edited(steps: Steps, edit: StepsEdit) -> Steps:
    """A text may leave open what is not finite: a runtime gives it."""
    return replace(
        steps,
        lines=tuple(_line(line, edit.lines.get(line.name, {})) for line in steps.lines),
        readings=tuple(replace(reading, **edit.reading) for reading in steps.readings),
        free_rest=False,
    )


def _line(line: StepsLine, changes: Changes) -> StepsLine:
    """A conversion keeps its rule, and what needs no input the same."""
    kept = {"be", "branches"} if line.be is None else set()
    kept |= set() if line.otherwise else {"otherwise"}
    return replace(line, **{field: one for field, one in changes.items() if field not in kept})
