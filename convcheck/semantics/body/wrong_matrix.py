"""The answers of wrong promotions: a matrix with the edits of causes."""

from collections.abc import Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np

from convcheck.errors import SpecError
from convcheck.numerics.format import Float, Int, Numeric
from convcheck.numerics.number import Codes
from convcheck.rules.body.matrix import Matrix
from convcheck.rules.causes import (
    ACCEPTED,
    FIRST,
    ONE_NARROWER,
    ONE_WIDER,
    OTHER_SIGN,
    REFUSED_UNSAFE,
    WIDER,
    Cause,
    CellEdit,
    MatrixEdit,
)
from convcheck.rules.model import Case, DType, Spec
from convcheck.semantics.body.matrix import CompiledMatrix, FoundCell, conversion, find, pairs_of
from convcheck.semantics.expected import (
    EXACT,
    REFUSED,
    Call,
    CallReading,
    ExpectedOutput,
    WrongCall,
)

_REFUSED = CallReading("", pattern=REFUSED)


class WrongCalls:
    """Wrong promotions of some calls."""

    def __init__(self, spec: Spec, case: Case, calls: Sequence[Call]) -> None:
        self.spec, self.case, self.calls = spec, case, calls
        found = find(spec, case.inputs, case.ranks, case.attributes)
        self._right = _key(self._compiled(found, ((), ())), _flushed((), case, found))

    def __call__(self, causes: Sequence[Cause]) -> Iterator[WrongCall]:
        """Yield each reading with all values converted, and without needless conversions."""
        with suppress(SpecError):
            found, sources = self._found(causes), self.case.inputs
            changing = [cause for cause in causes if cause.rules or cause.rounds]
            everywhere = tuple(
                tuple(c for c in changing if c.is_for(*ends) and c.converts(*ends))
                for ends in ((source, found.target) for source in sources)
            )
            pairs = zip(sources, everywhere, strict=True)
            converted = tuple(() if t == found.target else each for t, each in pairs)
            flushed = _flushed(causes, self.case, found)
            for applied in dict.fromkeys((everywhere, converted)):
                made = self._compiled(found, applied)
                if (key := _key(made, flushed)) == self._right:
                    continue
                for reading in found.answer.readings:
                    if reading.refused:
                        yield WrongCall(REFUSED, lambda _: _REFUSED)
                    else:
                        yield WrongCall(key, partial(self._answer, made, flushed))

    def _compiled(self, found: FoundCell, applied: Sequence[tuple[Cause, ...]]) -> CompiledMatrix:
        if all(reading.refused for reading in found.answer.readings):
            return CompiledMatrix(found, (), (), ())
        pairs = zip(self.case.inputs, applied, strict=True)
        made = (conversion(self.spec, source, found.target, some) for source, some in pairs)
        return CompiledMatrix(found, tuple(made), (), ())

    def _found(self, causes: Sequence[Cause]) -> FoundCell:
        """Raises SpecError."""
        attributes = dict(self.case.attributes)
        for cause in causes:
            attributes |= dict(cause.under)
        found = find(self.spec, self.case.inputs, self.case.ranks, tuple(attributes.items()))
        guarded = found.answer is found.cell.guarded
        for edit in (c.call for c in causes if isinstance(c.call, MatrixEdit)):
            cell = next((cell for cell in edit.cells if _has(cell, self.case)), None)
            found = _edited(self.spec, self.case, found, cell, guarded) if cell else found
        return found

    def _answer(self, made: CompiledMatrix, flushed: Sequence[bool], i: int) -> CallReading:
        pairs = zip(made.outputs(self.calls[i]), flushed, strict=True)
        return CallReading("", tuple(_with_zeros(one) if flush else one for one, flush in pairs))


def _key(made: CompiledMatrix, flushed: Sequence[bool]) -> Hashable:
    refused = tuple(reading.refused for reading in made.found.answer.readings)
    said = tuple(each.program.meaning for each in made.conversions)
    return made.found.target, refused, said, tuple(flushed)


def _flushed(causes: Sequence[Cause], case: Case, found: FoundCell) -> tuple[bool, ...]:
    """Whether causes flush what comes of each input."""
    some = [c for c in causes if isinstance(c.call, MatrixEdit) and c.call.flushes]
    floats = isinstance(found.target.format, Float)
    return tuple(floats and any(c.is_for(t, found.target) for c in some) for t in case.inputs)


def _with_zeros(output: ExpectedOutput) -> ExpectedOutput:
    fmt = cast(Float, output.dtype.format)
    magnitude = output.codes & output.codes.dtype.type(fmt.magnitude_mask)
    little = (output.patterns == EXACT) & (magnitude >> fmt.mantissa == 0)
    if not (little & (magnitude != 0)).any():
        return output
    codes = np.where(little, output.codes.dtype.type(0), output.codes)
    return replace(output, codes=cast(Codes, codes))


def _has(cell: CellEdit, case: Case) -> bool:
    """Whether an edit is for the two types of a case, in either order."""
    return case.inputs[0] != case.inputs[1] and any(
        pair[0] in cell.of[0] and pair[1] in cell.of[1] and cell.ranks in ((), kinds)
        for pair, kinds in pairs_of(case.inputs, case.ranks)
    )


def _edited(spec: Spec, case: Case, found: FoundCell, cell: CellEdit, guarded: bool) -> FoundCell:
    if cell.gives not in (REFUSED_UNSAFE, ACCEPTED):
        types = tuple(spec.body_as(Matrix).named.values())
        return replace(found, target=_type_as(cell.gives, case, found.target, types))
    refused = cell.gives == REFUSED_UNSAFE and guarded
    readings = (replace(found.answer.readings[0], name="", refused=refused),)
    return replace(found, answer=replace(found.answer, readings=readings))


def _type_as(word: str, case: Case, target: DType, types: Sequence[DType]) -> DType:
    """The type that a word means, else that of the spec."""
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
