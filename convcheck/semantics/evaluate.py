"""Evaluate a case on inputs."""

from collections.abc import Sequence

from convcheck.numerics.number import Bits
from convcheck.rules.model import Case, Spec
from convcheck.semantics.answers_at import run_program
from convcheck.semantics.body.fixed_steps import compile_fixed
from convcheck.semantics.compile import compile_table
from convcheck.semantics.expected import Decision, Expected
from convcheck.semantics.program import Program


def evaluate(spec: Spec, case: Case, bits: Bits) -> Expected:
    """Return the expectation of each code or text, shape (n,). Raises SpecError."""
    return run_program(compile_case(spec, case), case, bits)


def compile_case(spec: Spec, case: Case) -> Program:
    """Return the program of a case of elements. Raises SpecError."""
    return compile_fixed(spec, case) if case.fixed else compile_table(spec, case)


def decisions_named(
    spec: Spec, case: Case, named: Sequence[tuple[str, str, str]]
) -> tuple[Decision, ...]:
    """Return the decisions of a case by (rule, row, level). Raises KeyError."""
    known = {(d.rule, d.row, str(d.level)): d for d in compile_case(spec, case).decisions}
    return tuple(known[one] for one in named)
