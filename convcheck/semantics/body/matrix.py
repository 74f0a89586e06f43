"""Promote two inputs to their common type, or refuse them.

The cell of the pair decides a call with values 0 and 1 only, a row of the value rules any other.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial

import numpy as np

from convcheck.errors import SpecError
from convcheck.numerics.format import Float, Format
from convcheck.numerics.number import Bits, Codes
from convcheck.rules.body.matrix import CellAnswer, Matrix, MatrixCell, MatrixTable
from convcheck.rules.causes import Cause
from convcheck.rules.model import LEVELS, Attributes, Case, DType, Spec
from convcheck.semantics.answers_at import run_conversion
from convcheck.semantics.compile import compile_conversion, compile_edited
from convcheck.semantics.expected import (
    REFUSED,
    UNDEFINED,
    CallReading,
    CompiledCalls,
    Decision,
    Expected,
    ExpectedCall,
    ExpectedOutput,
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
