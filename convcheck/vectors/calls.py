"""Make the calls of a case with their expectations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from convcheck.rules.model import Case, Spec
from convcheck.semantics.body import compile_calls
from convcheck.semantics.expected import Decision
from convcheck.semantics.expected_calls import Call
from convcheck.vectors.body import calls_of
from convcheck.vectors.form import form_decision
from convcheck.vectors.model import CallSet, Coverage, Tier

Rule = tuple[str, str, str]


def rule_key(decision: Decision) -> Rule:
    """Return the name of a decision in a file."""
    return decision.rule, decision.row, decision.level


def rows_of(decisions: Sequence[Decision]) -> dict[Rule, int]:
    """Return the row of each decision. The first wins if both conversions of a call have it."""
    return {rule_key(one): row for row, one in reversed([*enumerate(decisions)])}


def call_set(spec: Spec, case: Case, tier: Tier, seed: int = 0) -> CallSet:
    """Return a case's calls with their expectations."""
    calls, coverage = calls_of(spec, case, tier, seed)
    return expecting(spec, case, calls, coverage)


def expecting(spec: Spec, case: Case, calls: Iterable[Call], coverage: Coverage) -> CallSet:
    """Return a call set with the expectation of each call."""
    compiled = compile_calls(spec, case)
    rows = rows_of(compiled.decisions)
    asked = tuple(calls)
    found = compiled.expect_all(asked)
    expected = tuple(replace(e, row=rows[rule_key(compiled.decisions[e.row])]) for e in found)
    decisions, also = compiled.decisions, (compiled.among, compiled.along)
    return CallSet(case, asked, expected, decisions, coverage, form_decision(spec), *also)
