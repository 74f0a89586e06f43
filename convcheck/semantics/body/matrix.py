"""Promote two inputs to their common type, or refuse them.

The cell of the pair decides a call with values 0 and 1 only, a row of the value rules any other.
"""

from collections.abc import Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import cast

import numpy as np

from convcheck.errors import SpecError
from convcheck.numerics.format import Float, Format, Int, Numeric
from convcheck.numerics.number import Bits, Codes
from convcheck.rules.body.matrix import CellAnswer, Matrix, MatrixCell, MatrixTable
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
from convcheck.rules.model import LEVELS, Attributes, Case, DType, Spec
from convcheck.semantics.answers_at import run_conversion
from convcheck.semantics.compile import compile_conversion, compile_edited
from convcheck.semantics.expected import (
    EXACT,
    REFUSED,
    UNDEFINED,
    Call,
    CallReading,
    CompiledCalls,
    Decision,
    Expected,
    ExpectedCall,
    ExpectedOutput,
    WrongCall,
    decision_of,
)
from convcheck.semantics.program import Program
from convcheck.streams import meant

Pair = tuple[str, str]
_KEPT = 4096  # small calls of a conversion whose result is cached


@dataclass(frozen=True)
class FoundCell:
    """A cell of a matrix, and its answer under the attributes."""

    table: MatrixTable
    pair: Pair
    cell: MatrixCell
    answer: CellAnswer
    target: DType

    @property
    def certain(self) -> bool:
        """Whether there is one answer and no refusal."""
        return [r.refused for r in self.answer.readings] == [False]


def find(
    spec: Spec, inputs: Sequence[DType], ranks: Sequence[int], attributes: Attributes
) -> FoundCell:
    """Look up the common type of two inputs. Raises SpecError."""
    matrix = spec.body_as(Matrix)
    said = dict(spec.in_force(attributes))
    for table in matrix.tables:
        if all(said.get(name) in allowed for name, allowed in table.when):
            for pair, kinds in pairs_of(inputs, ranks):
                if pair in table.cells and table.ranks in ((), kinds):
                    cell, unless = table.cells[pair], matrix.refused_unless
                    is_free = unless and all(said.get(k) == v for k, v in unless)
                    answer = cell.free if is_free else cell.guarded
                    return FoundCell(table, pair, cell, answer, _target(spec, matrix, cell, said))
    names = " and ".join(t.name for t in inputs)
    message = f"{spec.id}: no table has {names} of ranks {', '.join(map(str, ranks))}"
    raise SpecError(message, place=spec.place, hint="add the pair to a table, or a table")


def pairs_of(inputs: Sequence[DType], ranks: Sequence[int]) -> list[tuple[Pair, Pair]]:
    """Return the names and kinds of rank of two inputs, in both orders."""
    kinds = ["dimensioned" if rank else "scalar" for rank in ranks]
    return [((inputs[i].name, inputs[k].name), (kinds[i], kinds[k])) for i, k in ((0, 1), (1, 0))]


def _target(spec: Spec, matrix: Matrix, cell: MatrixCell, said: dict[str, int | str]) -> DType:
    if cell.gives not in matrix.targets:
        return next(t for t in matrix.named.values() if t.name == cell.gives)
    word = str(said.get(matrix.targets[cell.gives], ""))
    if word not in matrix.named:
        message = f"{spec.id}: {matrix.targets[cell.gives]} names no type: {word!r}"
        raise SpecError(message, place=cell.place, hint=meant(word, matrix.named))
    return matrix.named[word]


@dataclass(eq=False)
class Conversion:
    """A conversion with a cache of small calls."""

    source: DType
    target: DType
    program: Program
    known: dict[bytes, Expected] = field(default_factory=dict)

    def expect(self, codes: Bits) -> Expected:
        """Return the expectations of codes, shape (n,), cached."""
        key = codes.tobytes()
        if key not in self.known:
            if len(self.known) > _KEPT:
                self.known.clear()
            self.known[key] = self.run(codes)
        return self.known[key]

    def run(self, codes: Bits) -> Expected:
        """Evaluate the value rules, shape (n,)."""
        return run_conversion(self.program, self.source.format, self.target.format, codes)


@lru_cache(_KEPT)
def conversion(
    spec: Spec, source: DType, target: DType, causes: tuple[Cause, ...] = ()
) -> Conversion:
    """Return a conversion by the value rules with edits of causes. Raises SpecError."""
    convert = partial(compile_edited, causes=causes) if causes else compile_conversion
    return Conversion(source, target, convert(spec, source, target))


def plain_codes(fmt: Format) -> Codes:
    """Return the codes of 0 and 1."""
    one = fmt.bias << fmt.mantissa if isinstance(fmt, Float) else 1
    return np.array([0, one], fmt.storage)


@dataclass(frozen=True)
class CompiledMatrix(CompiledCalls):
    """A compiled case. `decisions` are the cell's, then those of both conversions."""

    found: FoundCell
    conversions: tuple[Conversion, ...]
    decisions: tuple[Decision, ...]
    #: of each conversion's decisions
    offsets: tuple[int, ...]

    def size(self, inputs: Sequence[Bits]) -> int:
        """Return the number of elements of the larger output."""
        return max(bits.size for bits in inputs)

    def expect(self, inputs: Sequence[Bits]) -> ExpectedCall:
        """Return the expectation of a call of two tensors."""
        outputs, row = self.outputs(inputs), self._row(inputs)
        if self.decisions[row].level == "undefined":
            outputs = tuple(
                replace(one, patterns=np.full_like(one.patterns, UNDEFINED)) for one in outputs
            )
        readings = (
            CallReading(r.name, pattern=REFUSED) if r.refused else CallReading(r.name, outputs)
            for r in self.found.answer.readings
        )
        return ExpectedCall(row, tuple(readings))

    def outputs(self, inputs: Sequence[Bits]) -> tuple[ExpectedOutput, ...]:
        """Return both converted tensors."""
        due = (each.expect(bits.reshape(-1)).readings[0] for each, bits in self._pairs(inputs))
        return tuple(
            ExpectedOutput(self.found.target, bits.shape, one.codes, one.patterns)
            for bits, one in zip(inputs, due, strict=True)
        )

    def _pairs(self, inputs: Sequence[Bits]) -> list[tuple[Conversion, Bits]]:
        return [*zip(self.conversions, inputs, strict=True)]

    def _row(self, inputs: Sequence[Bits]) -> int:
        """The weakest row of values other than 0 and 1 that leaves nothing open."""
        found: set[int] = set()
        for offset, (each, bits) in zip(self.offsets, self._pairs(inputs), strict=True):
            codes = bits.reshape(-1)
            rows = each.expect(codes).rows[~np.isin(codes, plain_codes(each.source.format))]
            found |= set((rows + offset).tolist())
        if not found or not self.found.certain:
            return 0
        known = [row for row in found if self.decisions[row].level != "undefined"] or found
        return max(known, key=lambda row: (LEVELS.index(self.decisions[row].level), -row))


def compile_matrix(spec: Spec, case: Case) -> CompiledMatrix:
    """Compile a case. Raises SpecError."""
    found = find(spec, case.inputs, case.ranks, case.attributes)
    conversions = tuple(conversion(spec, source, found.target) for source in case.inputs)
    decisions = [_decision(spec, found)]
    offsets = []
    for each in conversions:
        offsets.append(len(decisions))
        decisions += each.program.decisions
    return CompiledMatrix(found, conversions, tuple(decisions), tuple(offsets))


def _decision(spec: Spec, found: FoundCell) -> Decision:
    ruling, table = found.answer.ruling, found.table
    parts = zip(found.pair, table.ranks or ("", ""), strict=True)
    row = " x ".join(f"{name} {rank}".strip() for name, rank in parts)
    readings = found.answer.readings
    names = tuple(one.name for one in readings)
    cites = [(one.name, one.cite) for one in readings] if len(readings) > 1 else []
    place = found.cell.place
    return decision_of(spec, (table.name, row), ruling.level, ruling.cite, place, names, cites)


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
