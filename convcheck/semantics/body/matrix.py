"""Promote two inputs to their common type, or refuse them.

A call with values 0 and 1 only, which every type has, is decided by the cell of the pair. Other
calls are decided by the row of the value rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from convcheck.errors import SpecError
from convcheck.numerics.codes import Bits, Codes
from convcheck.numerics.format import Float, Format
from convcheck.rules.body.matrix import CellAnswer, Matrix, MatrixCell, MatrixTable
from convcheck.rules.model import LEVELS, Attributes, Case, DType, Spec
from convcheck.semantics.answers_at import run_conversion
from convcheck.semantics.compile import compile_conversion
from convcheck.semantics.expected import (
    REFUSED,
    UNDEFINED,
    Decision,
    Expected,
    Reading,
    decision_of,
)
from convcheck.semantics.expected_calls import (
    CallReading,
    CompiledCalls,
    ExpectedCall,
    ExpectedOutput,
)
from convcheck.semantics.program import Program
from convcheck.wording import meant

Pair = tuple[str, str]
_KEPT = 4096  # small calls of a conversion whose result is cached


@dataclass(frozen=True)
class FoundCell:
    """A cell of a matrix, its pair as (row, column), and the common type.

    `answer` depends on the attributes.
    """

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
    """Look up the common type of two inputs. Raises SpecError if no table has the pair."""
    matrix = spec.body_as(Matrix)
    said = dict(spec.in_force(attributes))
    for table in matrix.tables:
        if all(said.get(name) in allowed for name, allowed in table.when):
            pair = _pair(table, (inputs[0].name, inputs[1].name), ranks)
            if pair:
                cell = table.cells[pair]
                answer = _answer(matrix, cell, said)
                return FoundCell(table, pair, cell, answer, _target(spec, matrix, cell, said))
    names = " and ".join(t.name for t in inputs)
    message = f"{spec.id}: no table has {names} of ranks {', '.join(map(str, ranks))}"
    raise SpecError(message, place=spec.place, hint="add the pair to a table, or a table")


def _pair(table: MatrixTable, names: Pair, ranks: Sequence[int]) -> Pair | None:
    for first, second in ((0, 1), (1, 0)):
        pair = (names[first], names[second])
        kinds = tuple("dimensioned" if ranks[i] else "scalar" for i in (first, second))
        if pair in table.cells and table.ranks in ((), kinds):
            return pair
    return None


def _answer(matrix: Matrix, cell: MatrixCell, said: dict[str, int | str]) -> CellAnswer:
    if matrix.refused_unless and all(said.get(k) == v for k, v in matrix.refused_unless):
        return cell.free
    return cell.guarded


def _target(spec: Spec, matrix: Matrix, cell: MatrixCell, said: dict[str, int | str]) -> DType:
    if cell.gives not in matrix.targets:
        return next(t for t in matrix.named.values() if t.name == cell.gives)
    word = str(said.get(matrix.targets[cell.gives], ""))
    if word not in matrix.named:
        message = f"{spec.id}: {matrix.targets[cell.gives]} names no type: {word!r}"
        raise SpecError(message, place=cell.place, hint=meant(word, matrix.named))
    return matrix.named[word]


# Values --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Became:
    """The converted codes, and the rows that decide nontrivial ones."""

    reading: Reading
    rows: frozenset[int]


@dataclass(eq=False)
class Conversion:
    """A conversion with a cache of small calls."""

    source: DType
    #: the common type
    target: DType
    program: Program
    #: bytes of small inputs -> result
    known: dict[bytes, Became] = field(default_factory=dict)

    def expect(self, codes: Bits) -> Became:
        """Return the converted codes, shape (n,)."""
        key = codes.tobytes()
        if key not in self.known:
            if len(self.known) > _KEPT:
                self.known.clear()
            self.known[key] = self._became(codes)
        return self.known[key]

    def _became(self, codes: Bits) -> Became:
        expected = self.run(codes)
        special = ~np.isin(codes, plain_codes(self.source.format))
        return Became(expected.readings[0], frozenset(expected.rows[special].tolist()))

    def run(self, codes: Bits) -> Expected:
        """Evaluate the value rules, shape (n,)."""
        return run_conversion(self.program, self.source.format, self.target.format, codes)


@lru_cache(1024)
def conversion(spec: Spec, source: DType, target: DType) -> Conversion:
    """Return a conversion by the spec's value rules."""
    return Conversion(source, target, compile_conversion(spec, source, target))


def plain_codes(fmt: Format) -> Codes:
    """Return the codes of 0 and 1, which every type can represent."""
    one = fmt.bias << fmt.mantissa if isinstance(fmt, Float) else 1
    return np.array([0, one], fmt.storage)


# Calls ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CompiledMatrix(CompiledCalls):
    """A compiled case. `decisions` are the cell's, then those of both conversions."""

    found: FoundCell
    conversions: tuple[Conversion, ...]
    decisions: tuple[Decision, ...]
    #: index of each conversion's first decision
    offsets: tuple[int, ...]

    def size(self, inputs: Sequence[Bits]) -> int:
        """Return the number of elements of the larger output."""
        return max(bits.size for bits in inputs)

    def expect(self, inputs: Sequence[Bits]) -> ExpectedCall:
        """Return the expectation of a call of two tensors."""
        pairs = zip(self.conversions, inputs, strict=True)
        values = [each.expect(bits.reshape(-1)) for each, bits in pairs]
        row = self._row(values)
        free = self.decisions[row].level == "undefined"
        outputs = tuple(
            _due(self.found.target, bits.shape, became.reading, free)
            for bits, became in zip(inputs, values, strict=True)
        )
        return ExpectedCall(
            row,
            tuple(
                CallReading(r.name, pattern=REFUSED) if r.refused else CallReading(r.name, outputs)
                for r in self.found.answer.readings
            ),
        )

    def _row(self, values: Sequence[Became]) -> int:
        """Return the weakest row of the values that leaves nothing open."""
        pairs = zip(self.offsets, values, strict=True)
        rows = [offset + row for offset, became in pairs for row in became.rows]
        if not rows or not self.found.certain:
            return 0
        known = [row for row in rows if self.decisions[row].level != "undefined"] or rows
        return max(known, key=lambda row: (LEVELS.index(self.decisions[row].level), -row))


def _due(target: DType, shape: tuple[int, ...], reading: Reading, free: bool) -> ExpectedOutput:
    patterns = np.full_like(reading.patterns, UNDEFINED) if free else reading.patterns
    return ExpectedOutput(target, shape, reading.codes, patterns)


def compile_matrix(spec: Spec, case: Case) -> CompiledMatrix:
    """Compile a case and its two conversions. Raises SpecError."""
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
