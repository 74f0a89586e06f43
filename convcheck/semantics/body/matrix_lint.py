"""Check that a matrix is complete, its cells are reached, and its examples hold."""

from collections.abc import Iterator
from dataclasses import replace

from convcheck.rules.body.matrix import REFUSED, Matrix, MatrixExample
from convcheck.rules.model import Spec
from convcheck.semantics.body.table_lint import (
    Diagnostic,
    Proof,
    representatives,
    rows_reached,
    rows_unreached,
)


def check(spec: Spec, proof: Proof) -> Iterator[Diagnostic]:
    """Yield tables of one name, and refusals that nothing allows."""
    matrix = spec.body_as(Matrix)
    names = [table.name for table in matrix.tables]
    for table in matrix.tables:
        if names.count(table.name) > 1:
            yield Diagnostic(table.place, f"two tables are named {table.name!r}", "name them apart")
        for cell in table.cells.values():
            if any(r.refused for r in cell.guarded.readings) and not matrix.refused_unless:
                message = f"{cell.text!r} can be allowed by nothing"
                yield Diagnostic(cell.place, message, "refused-unless")


def prove(spec: Spec, proof: Proof) -> Iterator[Diagnostic]:
    """Yield cells, targets and rows that no case reaches."""
    matrix, decided = spec.body_as(Matrix), [case.found for case in proof.compiled.values()]
    reached = {(found.table.name, found.pair) for found in decided}
    for table in matrix.tables:
        for pair, cell in table.cells.items():
            if (table.name, pair) not in reached:
                message = f"cell {' x '.join(pair)} of {table.name} is unreachable"
                yield Diagnostic(cell.place, message, "no case has the types, or an earlier table")
    for target in matrix.targets.keys() - {found.cell.gives for found in decided}:
        yield Diagnostic(spec.place, f"target {target} stands in no cell")
    yield from _values(spec, proof)


def _values(spec: Spec, proof: Proof) -> Iterator[Diagnostic]:
    reached: set[tuple[str, str]] = set()
    some_case = next(iter(proof.compiled))
    needed = {each: 0 for compiled in proof.compiled.values() for each in compiled.conversions}
    for each in needed:
        for decision in each.program.decisions:
            if len(decision.readings) > 1:
                message = f"{decision.name}: values beside a common type have one reading"
                yield Diagnostic(decision.place, message, "a reading is of a whole call")
        alone = replace(some_case, inputs=(each.source,), outputs=(each.target,))
        reached |= rows_reached(each.program, alone, representatives(spec, alone, each.program))
    yield from rows_unreached(spec, reached, "no conversion needs it, or rows above match")


def replay(spec: Spec, example: MatrixExample, proof: Proof) -> Iterator[Diagnostic]:
    """Yield the cases that an example contradicts."""
    said = dict(example.attributes)
    attributes = tuple((a.name, said.get(a.name, a.default)) for a in spec.attributes)
    replayed = False
    for case, compiled in proof.compiled.items():
        types = tuple(t.name for t in case.inputs)
        here = (types, case.attributes) == (example.inputs, attributes)
        if here and example.layout in ("", case.layout):
            replayed, found = True, compiled.found
            given = {REFUSED if r.refused else found.target.name for r in found.answer.readings}
            if given != {example.gives}:
                gives = " or ".join(sorted(given))
                message = f"example: {case.name} gives {gives}, not {example.gives}"
                yield Diagnostic(example.place, message, "the matrix, or the example, is wrong")
    if not replayed:
        yield Diagnostic(example.place, "example: no case asks it", "types, layout, attributes")
