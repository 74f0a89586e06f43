"""(Spec, Case, causes) -> what a wrong promotion gives for a call: another cell, other attributes,
or the values converted otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import cast

import numpy as np

from convcheck.errors import SpecError
from convcheck.numerics.codec import decode
from convcheck.numerics.codes import Codes
from convcheck.numerics.format import Float, Int, Text
from convcheck.rules.body.matrix import Matrix
from convcheck.rules.call_edits import CellEdit, MatrixEdit
from convcheck.rules.causes import Cause
from convcheck.rules.model import Case, DType, Spec
from convcheck.semantics.body.matrix import FoundCell, find
from convcheck.semantics.expected import EXACT, REFUSED
from convcheck.semantics.expected_calls import (
    Call,
    CallReading,
    ExpectedOutput,
    WrongCall,
)
from convcheck.semantics.program import Meaning, Program
from convcheck.semantics.vocabulary import Points
from convcheck.semantics.wrong import compile_edited, readings_at

_KEPT = 4096  # conversions
_SHARED = 64  # inputs with what became of them


class WrongMatrices:
    """What becomes of some calls by wrong promotions. Each conversion is computed once."""

    def __init__(self, spec: Spec, case: Case, calls: Sequence[Call]) -> None:
        """Take the calls of a case."""
        self.spec, self.case, self.calls = spec, case, calls
        self.right = find(spec, case.inputs, case.ranks, case.attributes)
        self._given: dict[Hashable, CallReading] = {}
        ends = np.cumsum([[bits.size for bits in call] for call in calls], axis=0).tolist()
        self._ends = [[0] * len(case.inputs), *ends]

    def __call__(self, causes: Sequence[Cause]) -> Iterator[WrongCall]:
        """Yield what the calls become, one for each reading of the cell: if causes act on all
        values, and if they leave those alone that have the common type already.
        """
        with suppress(SpecError):
            found = self._found(causes)
            sources = self.case.inputs
            applied = tuple(_applied(causes, source, found.target) for source in sources)
            yield from self._with(causes, found, applied)
            pairs = zip(sources, applied, strict=True)
            converted = tuple(() if t == found.target else each for t, each in pairs)
            if converted != applied:
                yield from self._with(causes, found, converted)

    def _with(
        self, causes: Sequence[Cause], found: FoundCell, applied: Sequence[tuple[Cause, ...]]
    ) -> Iterator[WrongCall]:
        """Yield what the calls become, if of each input some causes apply to its values."""
        flushed = tuple(_flushes(causes, source, found.target) for source in self.case.inputs)
        if found is self.right and not any(applied) and not any(flushed):
            return
        programs = _programs(self.spec, self.case, found, applied)
        said = tuple(each.meaning for each in programs)
        if found is self.right and said == self._said and not any(flushed):
            return
        for reading in found.answer.readings:
            key = reading.refused or (found.target, said, flushed)
            answer = partial(self._answer, key, found.target, programs, flushed)
            yield WrongCall(key, answer)

    @cached_property
    def _said(self) -> tuple[Meaning, ...]:
        """What the right conversions say."""
        none = ((),) * len(self.case.inputs)
        return tuple(each.meaning for each in _programs(self.spec, self.case, self.right, none))

    @cached_property
    def _codes(self) -> list[bytes]:
        """All that comes by each input, end to end."""
        inputs = zip(*self.calls, strict=True)
        return [np.concatenate([bits.reshape(-1) for bits in each]).tobytes() for each in inputs]

    def _found(self, causes: Sequence[Cause]) -> FoundCell:
        """Return the cell with the edits of causes. Raises SpecError where there is none."""
        attributes = dict(self.case.attributes)
        for cause in causes:
            if any(name not in attributes for name, _ in cause.under):
                raise SpecError(f"{self.spec.id} has no such attribute", place=cause.place)
            attributes |= dict(cause.under)
        said = tuple(attributes.items())
        found = find(self.spec, self.case.inputs, self.case.ranks, said)
        edits = [cause.call for cause in causes if isinstance(cause.call, MatrixEdit)]
        found = _with_edits(self.spec, self.case, found, edits, _guarded(self.spec, said))
        return self.right if _alike(self.right, found) else found

    def _answer(
        self,
        key: Hashable,
        target: DType,
        programs: Sequence[Program],
        flushed: Sequence[bool],
        i: int,
    ) -> CallReading:
        """Return what a call gives; `key` is True where it is refused."""
        if key is True:
            return CallReading("", pattern=REFUSED)
        if (key, i) not in self._given:
            outputs = [self._output(target, each, i, place) for place, each in enumerate(programs)]
            pairs = zip(outputs, flushed, strict=True)
            given = tuple(_with_zeros(each) if some else each for each, some in pairs)
            self._given[key, i] = CallReading("", given)
        return self._given[key, i]

    def _output(self, target: DType, program: Program, i: int, place: int) -> ExpectedOutput:
        part = slice(self._ends[i][place], self._ends[i + 1][place])
        points = _points_of(self.case.inputs[place], target, self._codes[place])
        became = readings_at(program, points)[0]
        shape = self.calls[i][place].shape
        return ExpectedOutput(target, shape, became.codes[part], became.patterns[part])


def _flushes(causes: Sequence[Cause], source: DType, target: DType) -> bool:
    """Return whether causes flush what comes of a type."""
    some = (cause for cause in causes if isinstance(cause.call, MatrixEdit) and cause.call.flushes)
    floats = isinstance(target.format, Float)
    return floats and any(cause.is_for(source, target) for cause in some)


def _with_zeros(output: ExpectedOutput) -> ExpectedOutput:
    """Return an output with +0 in the place of subnormal numbers and zeros, if it has any of the
    former.
    """
    fmt = cast(Float, output.dtype.format)
    magnitude = output.codes & output.codes.dtype.type(fmt.magnitude_mask)
    little = (output.patterns == EXACT) & (magnitude >> fmt.mantissa == 0)
    if not (little & (magnitude != 0)).any():
        return output
    codes = np.where(little, output.codes.dtype.type(0), output.codes)
    return replace(output, codes=cast(Codes, codes))


@lru_cache(_SHARED)
def _points_of(source: DType, target: DType, codes: bytes) -> Points:
    """Return codes on their way to a type. Cases of other shapes and attributes often have the same
    ones: what becomes of them by each program is kept.
    """
    bits = np.frombuffer(codes, source.format.storage)
    return Points(source.format, target.format, bits, decode(source.format, bits), _kept={})


def _guarded(spec: Spec, attributes: tuple[tuple[str, int | str], ...]) -> bool:
    """Return whether the attributes do not allow what is unsafe."""
    said = dict(spec.in_force(attributes))
    unless = spec.body_as(Matrix).refused_unless
    return not all(said.get(name) == value for name, value in unless)


def _alike(a: FoundCell, b: FoundCell) -> bool:
    refused = ([reading.refused for reading in cell.answer.readings] for cell in (a, b))
    return a.target == b.target and next(refused) == next(refused)


def _applied(causes: Sequence[Cause], source: DType, target: DType) -> tuple[Cause, ...]:
    """Return the causes that change how values of a type are converted."""
    some = (cause for cause in causes if cause.rules or cause.rounds)
    return tuple(c for c in some if c.is_for(source, target) and c.converts(source, target))


def _programs(
    spec: Spec, case: Case, found: FoundCell, applied: Sequence[tuple[Cause, ...]]
) -> tuple[Program, ...]:
    if all(reading.refused for reading in found.answer.readings):
        return ()
    pairs = zip(case.inputs, applied, strict=True)
    return tuple(_program(spec, causes, source, found.target) for source, causes in pairs)


@lru_cache(_KEPT)
def _program(spec: Spec, causes: tuple[Cause, ...], source: DType, target: DType) -> Program:
    """Return a conversion by the value rules with the edits of causes. Raises SpecError."""
    return compile_edited(spec, source, target, causes)


# Cells -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Asked:
    """What words for a type are about: the pair, and the type that it has in common."""

    inputs: tuple[DType, ...]
    ranks: tuple[int, ...]
    target: DType
    types: tuple[DType, ...]


def _with_edits(
    spec: Spec, case: Case, found: FoundCell, edits: Sequence[MatrixEdit], guarded: bool
) -> FoundCell:
    """Return a cell with what the first fitting entry of each edit says of it."""
    types = tuple(spec.body_as(Matrix).named.values())
    for edit in edits:
        asked = _Asked(case.inputs, case.ranks, found.target, types)
        cell = next((cell for cell in edit.cells if _has(cell, asked)), None)
        if cell is not None:
            found = _edited(found, cell, asked, guarded)
    return found


def _has(cell: CellEdit, asked: _Asked) -> bool:
    """Return whether an edit is for a pair of two types, in either order."""
    one, other = cell.of
    if asked.inputs[0] == asked.inputs[1]:
        return False
    for first, second in ((0, 1), (1, 0)):
        kinds = tuple("dimensioned" if asked.ranks[i] else "scalar" for i in (first, second))
        names = asked.inputs[first].name, asked.inputs[second].name
        if names[0] in one and names[1] in other and cell.ranks in ((), kinds):
            return True
    return False


def _edited(found: FoundCell, cell: CellEdit, asked: _Asked, guarded: bool) -> FoundCell:
    target = found.target
    if cell.gives:
        named = (dtype for dtype in asked.types if dtype.name == cell.gives)
        word = _TYPES.get(cell.gives)
        target = (word(asked) if word else next(named, None)) or target
    if cell.guarded is None:
        return replace(found, target=target)
    refused = cell.free or (cell.guarded and guarded)
    readings = (replace(found.answer.readings[0], name="", refused=refused),)
    return replace(found, target=target, answer=replace(found.answer, readings=readings))


def _of_width(asked: _Asked, wider: bool) -> DType | None:
    """Return the next type of the kind."""
    own = asked.target.format
    alike = [
        t for t in asked.types if type(t.format) is type(own) and _sign(t) == _sign(asked.target)
    ]
    rest = [
        t
        for t in alike
        if (_bits(t) > _bits(asked.target) if wider else _bits(t) < _bits(asked.target))
    ]
    choose = min if wider else max
    return choose(rest, key=_bits, default=None)


def _bits(dtype: DType) -> int:
    return 0 if isinstance(dtype.format, Text) else dtype.format.bits


def _sign(dtype: DType) -> bool:
    return isinstance(dtype.format, Int) and dtype.format.signed


def _other_sign(asked: _Asked) -> DType | None:
    own = asked.target.format
    if not isinstance(own, Int):
        return None
    return next((t for t in asked.types if t.format == Int(own.bits, not own.signed)), None)


_TYPES: Mapping[str, Callable[[_Asked], DType | None]] = {
    "first": lambda asked: asked.inputs[0],
    "second": lambda asked: asked.inputs[1],
    "wider": lambda asked: max(asked.inputs, key=_bits),
    "narrower": lambda asked: min(asked.inputs, key=_bits),
    "one-wider": lambda asked: _of_width(asked, wider=True),
    "one-narrower": lambda asked: _of_width(asked, wider=False),
    "other-sign": _other_sign,
}
