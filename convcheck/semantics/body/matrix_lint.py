"""Check that a matrix is complete, its cells are reached, and its examples hold.

Every case is looked up. Values are checked for each conversion that a case needs, as for a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from convcheck.errors import SpecError
from convcheck.rules.body.matrix import REFUSED, Matrix, MatrixExample
from convcheck.rules.cases import cases, count_cases
from convcheck.rules.model import Case, Spec
from convcheck.semantics.body.matrix import Conversion, FoundCell, conversion, find
from convcheck.semantics.body.table_lint import (
    Diagnostic,
    Proof,
    representatives,
    rows_reached,
    rows_unreached,
)


def lint_matrix(spec: Spec) -> Proof:
    """Check the matrix of a spec. Stops at undecided cases."""
    asked = list(cases(spec))
    decided, found = _decided(spec, asked)
    found += _shape(spec)
    if not found:
        found += [*_unreached(spec, decided), *_values(spec, asked, decided)]
    for example in spec.body_as(Matrix).examples:
        found += _replay(spec, example, asked)
    return Proof(spec.id, count_cases(spec), diagnostics=list(dict.fromkeys(found)))


def _decided(spec: Spec, asked: list[Case]) -> tuple[list[FoundCell], list[Diagnostic]]:
    decided, found = [], []
    for case in asked:
        if len(case.inputs) != 2:
            found.append(Diagnostic(spec.place, "a matrix is of two inputs"))
            break
        try:
            decided.append(find(spec, case.inputs, case.ranks, case.attributes))
        except SpecError as error:
            found.append(Diagnostic.of_error(error, spec))
    return decided, found


def _shape(spec: Spec) -> Iterator[Diagnostic]:
    matrix = spec.body_as(Matrix)
    names = [table.name for table in matrix.tables]
    for table in matrix.tables:
        if names.count(table.name) > 1:
            yield Diagnostic(table.place, f"two tables are named {table.name!r}", "name them apart")
        for cell in table.cells.values():
            if any(r.refused for r in cell.guarded.readings) and not matrix.refused_unless:
                yield Diagnostic(
                    cell.place, f"{cell.text!r} can be allowed by nothing", "refused-unless"
                )


def _unreached(spec: Spec, decided: list[FoundCell]) -> Iterator[Diagnostic]:
    matrix = spec.body_as(Matrix)
    reached = {(found.table.name, found.pair) for found in decided}
    for table in matrix.tables:
        for pair, cell in table.cells.items():
            if (table.name, pair) not in reached:
                message = f"cell {' x '.join(pair)} of {table.name} is unreachable"
                yield Diagnostic(cell.place, message, "no case has the types, or an earlier table")
    for target in matrix.targets.keys() - {found.cell.gives for found in decided}:
        yield Diagnostic(spec.place, f"target {target} stands in no cell")


# Values --------------------------------------------------------------------------------------


def _values(spec: Spec, asked: list[Case], decided: list[FoundCell]) -> Iterator[Diagnostic]:
    reached: set[tuple[str, str]] = set()
    needed = {(t, found.target): 0 for case, found in zip(asked, decided, strict=True)
              for t in case.inputs}  # fmt: skip
    for source, target in needed:
        try:
            each = conversion(spec, source, target)
        except SpecError as error:
            yield Diagnostic.of_error(error, spec)
            continue
        yield from _single(each)
        alone = replace(asked[0], inputs=(source,), outputs=(target,))
        reached |= rows_reached(each.program, alone, representatives(spec, alone, each.program))
    yield from rows_unreached(spec, reached, "no conversion needs it, or rows above match")


def _single(each: Conversion) -> Iterator[Diagnostic]:
    for decision in each.program.decisions:
        if len(decision.readings) > 1:
            message = f"{decision.name}: values beside a common type have one reading"
            yield Diagnostic(decision.place, message, "a reading is of a whole call")


# Examples ------------------------------------------------------------------------------------


def _replay(spec: Spec, example: MatrixExample, asked: Iterable[Case]) -> Iterator[Diagnostic]:
    said = dict(example.attributes)
    attributes = tuple((a.name, said.get(a.name, a.default)) for a in spec.attributes)
    replayed = 0
    for case in asked:
        types = tuple(t.name for t in case.inputs)
        here = (types, case.attributes) == (example.inputs, attributes)
        if here and example.layout in ("", case.layout):
            replayed += 1
            yield from _held(spec, example, case)
    if not replayed:
        yield Diagnostic(example.place, "example: no case asks it", "types, layout, attributes")


def _held(spec: Spec, example: MatrixExample, case: Case) -> Iterator[Diagnostic]:
    found = find(spec, case.inputs, case.ranks, case.attributes)
    given = {REFUSED if r.refused else found.target.name for r in found.answer.readings}
    if given != {example.gives}:
        gives = " or ".join(sorted(given))
        message = f"example: {case.name} gives {gives}, not {example.gives}"
        yield Diagnostic(example.place, message, "the matrix, or the example, is wrong")
