"""(Spec, Case, causes) -> what a wrong promotion gives for a call: another cell, other attributes,
or the values converted otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from typing import cast

import numpy as np

from convcheck.errors import SpecError
from convcheck.numerics.codec import decode
from convcheck.numerics.codes import Codes
from convcheck.numerics.format import Float, Int, Numeric
from convcheck.rules.body.matrix import Matrix
from convcheck.rules.call_edits import (
    FIRST,
    ONE_NARROWER,
    ONE_WIDER,
    OTHER_SIGN,
    WIDER,
    CellEdit,
    MatrixEdit,
)
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
_REFUSED = CallReading("", pattern=REFUSED)


class WrongMatrices:
    """What becomes of some calls by wrong promotions."""

    def __init__(self, spec: Spec, case: Case, calls: Sequence[Call]) -> None:
        """Take the calls of a case."""
        self.spec, self.case, self.calls = spec, case, calls
        self.right = find(spec, case.inputs, case.ranks, case.attributes)
        self._said = _meanings(self._programs(self.right, ((), ())))
        ends = np.cumsum([[bits.size for bits in call] for call in calls], axis=0).tolist()
        self._ends = [[0] * len(case.inputs), *ends]

    def __call__(self, causes: Sequence[Cause]) -> Iterator[WrongCall]:
        """Yield what the calls become, one for each reading of the cell: if causes act on all
        values, and if they leave those alone that have the common type already.
        """
        with suppress(SpecError):
            found, sources = self._found(causes), self.case.inputs
            everywhere = tuple(_applied(causes, source, found.target) for source in sources)
            pairs = zip(sources, everywhere, strict=True)
            converted = tuple(() if t == found.target else each for t, each in pairs)
            for applied in dict.fromkeys((everywhere, converted)):
                yield from self._with(causes, found, applied)

    def _with(
        self, causes: Sequence[Cause], found: FoundCell, applied: Sequence[tuple[Cause, ...]]
    ) -> Iterator[WrongCall]:
        """Yield what the calls become, if of each input some causes apply to its values."""
        flushed = tuple(_flushes(causes, source, found.target) for source in self.case.inputs)
        programs = self._programs(found, applied)
        said = _meanings(programs)
        if found is self.right and said == self._said and not any(flushed):
            return
        for reading in found.answer.readings:
            if reading.refused:
                yield WrongCall(REFUSED, lambda _: _REFUSED)
            else:
                key = found.target, said, flushed
                yield WrongCall(key, partial(self._answer, found.target, programs, flushed))

    def _programs(
        self, found: FoundCell, applied: Sequence[tuple[Cause, ...]]
    ) -> tuple[Program, ...]:
        """Return the conversion of each input, none where the pair is refused."""
        if all(reading.refused for reading in found.answer.readings):
            return ()
        pairs = zip(self.case.inputs, applied, strict=True)
        return tuple(_program(self.spec, some, source, found.target) for source, some in pairs)

    def _found(self, causes: Sequence[Cause]) -> FoundCell:
        """Return the cell with the edits of causes. Raises SpecError where there is none."""
        attributes = dict(self.case.attributes)
        for cause in causes:
            if any(name not in attributes for name, _ in cause.under):
                raise SpecError(f"{self.spec.id} has no such attribute", place=cause.place)
            attributes |= dict(cause.under)
        said = tuple(attributes.items())
        found = find(self.spec, self.case.inputs, self.case.ranks, said)
        guarded = found.answer is found.cell.guarded
        for edit in (c.call for c in causes if isinstance(c.call, MatrixEdit)):
            cell = next((cell for cell in edit.cells if _has(cell, self.case)), None)
            if cell:
                found = _edited(self.spec, self.case, found, cell, guarded)
        return self.right if _alike(self.right, found) else found

    @cached_property
    def _codes(self) -> list[bytes]:
        """All that comes by each input, end to end."""
        inputs = zip(*self.calls, strict=True)
        return [np.concatenate([bits.reshape(-1) for bits in each]).tobytes() for each in inputs]

    def _answer(
        self, target: DType, programs: Sequence[Program], flushed: Sequence[bool], i: int
    ) -> CallReading:
        """Return what a call gives."""
        outputs = []
        for place, program in enumerate(programs):
            part = slice(self._ends[i][place], self._ends[i + 1][place])
            points = _points_of(self.case.inputs[place], target, self._codes[place])
            became, shape = readings_at(program, points)[0], self.calls[i][place].shape
            output = ExpectedOutput(target, shape, became.codes[part], became.patterns[part])
            outputs.append(_with_zeros(output) if flushed[place] else output)
        return CallReading("", tuple(outputs))


def _meanings(programs: Sequence[Program]) -> tuple[Meaning, ...]:
    return tuple(program.meaning for program in programs)


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


def _alike(a: FoundCell, b: FoundCell) -> bool:
    refused = ([reading.refused for reading in cell.answer.readings] for cell in (a, b))
    return a.target == b.target and next(refused) == next(refused)


def _applied(causes: Sequence[Cause], source: DType, target: DType) -> tuple[Cause, ...]:
    """Return the causes that change how values of a type are converted."""
    some = (cause for cause in causes if cause.rules or cause.rounds)
    return tuple(c for c in some if c.is_for(source, target) and c.converts(source, target))


@lru_cache(_KEPT)
def _program(spec: Spec, causes: tuple[Cause, ...], source: DType, target: DType) -> Program:
    """Return a conversion by the value rules with the edits of causes. Raises SpecError."""
    return compile_edited(spec, source, target, causes)


# Cells -------------------------------------------------------------------------------------------


def _edited(spec: Spec, case: Case, found: FoundCell, cell: CellEdit, guarded: bool) -> FoundCell:
    """Return a cell with what an edit says of it."""
    if cell.guarded is None:
        types = tuple(spec.body_as(Matrix).named.values())
        return replace(found, target=_type_as(cell.gives, case, found.target, types))
    refused = cell.guarded and guarded
    readings = (replace(found.answer.readings[0], name="", refused=refused),)
    return replace(found, answer=replace(found.answer, readings=readings))


def _type_as(word: str, case: Case, target: DType, types: Sequence[DType]) -> DType:
    """Return a type by its name or the word for it, where there is one; else that of the spec."""
    if word in (FIRST, WIDER):
        return case.inputs[0] if word == FIRST else max(case.inputs, key=_bits)
    kind, bits = _kind(target), _bits(target)
    if word in (ONE_WIDER, ONE_NARROWER):
        more = 1 if word == ONE_WIDER else -1
        rest = (t for t in types if _kind(t) == kind and (_bits(t) - bits) * more > 0)
        return min(rest, key=lambda t: abs(_bits(t) - bits), default=target)
    if word == OTHER_SIGN:
        own = target.format
        other = Int(own.bits, not own.signed) if isinstance(own, Int) else None
        return next((t for t in types if t.format == other), target)
    return next((t for t in types if t.name == word), target)


def _bits(dtype: DType) -> int:
    return cast(Numeric, dtype.format).bits


def _kind(dtype: DType) -> object:
    return type(dtype.format), isinstance(dtype.format, Int) and dtype.format.signed


def _has(cell: CellEdit, case: Case) -> bool:
    """Return whether an edit is for the two types of a case, in either order."""
    one, other = cell.of
    if case.inputs[0] == case.inputs[1]:
        return False
    for first, second in ((0, 1), (1, 0)):
        kinds = tuple("dimensioned" if case.ranks[i] else "scalar" for i in (first, second))
        names = case.inputs[first].name, case.inputs[second].name
        if names[0] in one and names[1] in other and cell.ranks in ((), kinds):
            return True
    return False
