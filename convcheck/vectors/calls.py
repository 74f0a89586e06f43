"""Spec -> CallSets of a tier: the calls worth asking of an operator, with their expectations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from convcheck.rules.model import Case, Spec
from convcheck.semantics.body import compile_calls
from convcheck.semantics.expected_calls import Call
from convcheck.vectors.model import CallSet, Coverage, Tier
from convcheck.vectors.store.write_calls import rows_of, rule_key


def call_set(spec: Spec, case: Case, tier: Tier, seed: int = 0) -> CallSet:
    """Make a case's calls with their expectations."""
    calls, coverage = calls_of(spec, case, tier, seed)
    return expecting(spec, case, calls, coverage)


def expecting(spec: Spec, case: Case, calls: Iterable[Call], coverage: Coverage) -> CallSet:
    """Say what is expected of calls."""
    from convcheck.vectors.generate import form

    compiled = compile_calls(spec, case)
    rows = rows_of(compiled.decisions)
    asked = tuple(calls)
    found = (compiled.expect(call) for call in asked)
    expected = tuple(replace(e, row=rows[rule_key(compiled.decisions[e.row])]) for e in found)
    return CallSet(case, asked, expected, compiled.decisions, coverage, form(spec))


def calls_of(spec: Spec, case: Case, tier: Tier, seed: int) -> tuple[Sequence[Call], Coverage]:
    """Choose a case's calls, and say how far they cover what can be asked."""
    if spec.body == "matrix":
        from convcheck.vectors.body.matrix import matrix_calls

        return matrix_calls(spec, case, tier, seed), "edge"
    if spec.body == "formula":
        from convcheck.vectors.body.formula import formula_calls

        return formula_calls(spec, case, tier, seed), "edge"
    from convcheck.vectors.body.steps import steps_calls

    # every rounding boundary of the emulated type, under the few scales and shifts asked
    return steps_calls(spec, case, tier, seed), "edge" if tier == "edge" else "sampled"
