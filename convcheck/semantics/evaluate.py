"""(Spec, Case, input bits) -> Expected, with the row that decided each element."""

from __future__ import annotations

from collections.abc import Sequence

from convcheck.numerics.codes import Bits
from convcheck.rules.model import Case, Spec
from convcheck.semantics.answers_at import run_program
from convcheck.semantics.body.fixed_steps import compile_fixed
from convcheck.semantics.compile import compile_table
from convcheck.semantics.expected import Decision, Expected
from convcheck.semantics.program import Program


def evaluate(spec: Spec, case: Case, bits: Bits) -> Expected:
    """Return what a case expects of each input, `bits` of shape (n,): codes, or texts.

    Raises SpecError where the spec does not decide the case (see `compile_case`).
    """
    return run_program(compile_case(spec, case), case, bits)


def compile_case(spec: Spec, case: Case) -> Program:
    """Return the program of a case of elements. Raises SpecError with the place of an unknown word,
    an outcome that the destination cannot hold, or a point that no rule decides.
    """
    return compile_fixed(spec, case) if case.fixed else compile_table(spec, case)


def decisions_named(
    spec: Spec, case: Case, named: Sequence[tuple[str, str, str]]
) -> tuple[Decision, ...]:
    """Return the decisions of a case that are told by rule, row and level. Raises KeyError for one
    that it does not have.
    """
    known = {(d.rule, d.row, str(d.level)): d for d in compile_case(spec, case).decisions}
    return tuple(known[one] for one in named)
