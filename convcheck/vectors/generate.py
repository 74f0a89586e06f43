"""Generate a spec's vectors of a tier."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pkgutil import resolve_name

from convcheck.numerics.format import Text
from convcheck.numerics.number import Bits
from convcheck.rules.model import Case, Spec
from convcheck.semantics.body import compile_calls
from convcheck.semantics.evaluate import evaluate
from convcheck.semantics.expected import Call, Decision
from convcheck.vectors.body.scaled import fixed_inputs
from convcheck.vectors.inputs import (
    carried_inputs,
    few_inputs,
    few_texts,
    numeric_inputs,
    text_inputs,
)
from convcheck.vectors.model import CallSet, Coverage, Tier, Vectors, VectorSet


def form_decision(spec: Spec) -> Decision:
    """Return a spec's sentence on its output as a decision."""
    cite, names = spec.output_cite, ("output", "type and shape")
    document = spec.document_of(cite)
    return Decision(*names, "normative", cite.text, document, cite.place, gloss=cite.gloss)


Rule = tuple[str, str, str]


def rule_key(decision: Decision) -> Rule:
    """Return a decision's name in a file."""
    return decision.rule, decision.row, decision.level


def rows_of(decisions: Sequence[Decision]) -> dict[Rule, int]:
    """Return each decision's row. The first wins."""
    return {rule_key(one): row for row, one in reversed([*enumerate(decisions)])}


def calls_of(spec: Spec, case: Case, tier: Tier, seed: int) -> tuple[Sequence[Call], Coverage]:
    """Return a case's calls and their coverage, as the body of the spec chooses them."""
    body = spec.body.name
    choose: Callable[[Spec, Case, Tier, int], tuple[Sequence[Call], Coverage]]
    choose = resolve_name(f"convcheck.vectors.body.{body}:{body}_calls")
    return choose(spec, case, tier, seed)


def call_set(spec: Spec, case: Case, tier: Tier, seed: int = 0) -> CallSet:
    """Return a case's calls with their expectations."""
    calls, coverage = calls_of(spec, case, tier, seed)
    return expecting(spec, case, calls, coverage)


def expecting(spec: Spec, case: Case, calls: Iterable[Call], coverage: Coverage) -> CallSet:
    """Return a call set with each call's expectation."""
    compiled = compile_calls(spec, case)
    rows = rows_of(compiled.decisions)
    asked = tuple(calls)
    found = compiled.expect_all(asked)
    expected = tuple(replace(e, row=rows[rule_key(compiled.decisions[e.row])]) for e in found)
    decisions, also = compiled.decisions, (compiled.among, compiled.along)
    return CallSet(case, asked, expected, decisions, coverage, form_decision(spec), *also)


def vector_set(spec: Spec, case: Case, tier: Tier, seed: int = 0) -> VectorSet:
    """Return a case's vectors, of the boundary tier at most for a wide source."""
    bits, coverage = _inputs(spec, case, tier, seed)
    return VectorSet(case, (bits,), evaluate(spec, case, bits), coverage, form_decision(spec))


def _inputs(spec: Spec, case: Case, tier: Tier, seed: int) -> tuple[Bits, Coverage]:
    if case.fixed:
        return fixed_inputs(spec, case, tier, seed)
    source = case.inputs[0].format
    if tier == "edge" and not isinstance(source, Text):
        cells = (cell for rule in spec.rules for row in rule.rows for cell in row.cells)
        if all(outcome.word == "same" for cell in cells for outcome in cell.outcomes):
            return carried_inputs(source, seed)
    return inputs_of(case, tier, seed)


def inputs_of(case: Case, tier: Tier, seed: int = 0) -> tuple[Bits, Coverage]:
    """Return a case's inputs and their coverage."""
    source, target = case.inputs[0].format, case.outputs[0].format
    if case.outside:
        return few_texts() if isinstance(source, Text) else few_inputs(source), "edge"
    if isinstance(source, Text):
        return text_inputs(target, tier, seed)
    return numeric_inputs(source, target, tier, seed)


def vectors_of(spec: Spec, case: Case, tier: Tier, seed: int = 0) -> Vectors:
    """Return a case's vectors: elements, or whole calls."""
    make = call_set if case.whole_calls else vector_set
    return make(spec, case, tier, seed)


def count_vectors(spec: Spec, case: Case, tier: Tier, seed: int = 0) -> int:
    """Count a case's vectors without evaluating expectations."""
    if case.whole_calls:
        return len(calls_of(spec, case, tier, seed)[0])
    return len(_inputs(spec, case, tier, seed)[0])
