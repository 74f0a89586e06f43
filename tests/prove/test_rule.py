"""A rule as a term of the solver says what the evaluator says."""

import random
from dataclasses import replace

import pytest
import z3
from catalogue import CATALOG, CORPUS

from convcheck.chains.asked import chain_case, chain_vectors
from convcheck.chains.judgement import triples
from convcheck.chains.type_chain import CompiledCasts, ways
from convcheck.plan.select import select
from convcheck.plan.selection import Selection
from convcheck.prove.ir import UndecidedError
from convcheck.prove.prove import changes
from convcheck.prove.rule import rules_of
from convcheck.rules.find import find_case
from convcheck.semantics.expected import PATTERNS
from convcheck.vectors.model import VectorSet

INPUTS = 6


def is_right(rule, x, y):
    sizes = (8 * fmt.storage.itemsize for fmt in (rule.first.source, rule.target))
    one, other = (z3.BitVecVal(code, size) for code, size in zip((x, y), sizes, strict=True))
    return z3.is_true(z3.simplify(rule.holds(one, other)))


def vectors_of(case):
    """Return the edge inputs of a case, or those where the rules of a chain change."""
    spec = CATALOG.specs[case.spec]
    if case.hops:
        return chain_vectors(spec, case, ways(spec, case), changes(spec, case))
    vectors = CORPUS.vectors(case)
    assert isinstance(vectors, VectorSet)
    return vectors


def is_kept(case, draw):
    """Return whether the rules of a case hold for some of its inputs, and no others do."""
    vectors = vectors_of(case)
    inputs, each = vectors.inputs[0], vectors.expected.readings
    for number, rule in enumerate(rules_of(CATALOG.specs[case.spec], case)):
        reading = each[min(number, len(each) - 1)]
        for i in draw.sample(range(len(inputs)), min(INPUTS, len(inputs))):
            x, due, kind = int(inputs[i]), int(reading.codes[i]), PATTERNS[reading.patterns[i]]
            if kind == "exact":
                kept = is_right(rule, x, due) and not is_right(rule, x, due ^ 1)
            else:
                kept = is_right(rule, x, 1) == (kind == "undefined")
            if not kept:
                return False
    return True


@pytest.mark.parametrize("spec", ["onnx.Cast-28", "openvino.Convert-1", "pypto.cast-9.2"])
def test_rules_agree_with_the_evaluator(spec):
    draw = random.Random(1)
    cases = [case for case in select(CATALOG, Selection((spec,))) if len(case.inputs) == 1]
    asked = 0
    for case in draw.sample(cases, 20):
        try:
            assert is_kept(case, draw), case.id
            asked += 1
        except UndecidedError:
            assert "string" in case.name
    assert asked > 12


@pytest.mark.parametrize("spec", ["onnx.Cast-28", "openvino.Convert-1", "pypto.cast-9.2"])
def test_rules_of_chains_agree_with_the_evaluator(spec):
    draw = random.Random(2)
    casts = CompiledCasts(CATALOG, CATALOG.specs[spec])
    for types in draw.sample(triples(casts.spec), 15):
        assert is_kept(chain_case(casts, types), draw), types


def test_a_chain_reads_a_row_alike_in_all_casts():
    casts = CompiledCasts(CATALOG, CATALOG.specs["onnx.Cast-21"])
    case = chain_case(casts, ["float32", "uint8", "uint4"])
    assert {rule.name for rule in rules_of(casts.spec, case)} == {""}
    case = chain_case(casts, ["float64", "float32", "uint4"])
    rules = {rule.name: rule for rule in rules_of(casts.spec, case)}
    assert set(rules) == {"nearest-even", "toward-zero"}
    x = 0x3FFC000000000000  # 1.75
    assert is_right(rules["nearest-even"], x, 2)
    assert is_right(rules["toward-zero"], x, 1)


def test_readings_have_their_names():
    case = find_case(CATALOG, "onnx.Cast-21/float32-to-uint4", None, None, ())
    rules = {rule.name: rule for rule in rules_of(CATALOG.specs[case.spec], case)}
    assert set(rules) == {"nearest-even", "toward-zero"}
    x = 0x3FE00000  # 1.75
    assert is_right(rules["nearest-even"], x, 2)
    assert is_right(rules["toward-zero"], x, 1)
    assert not is_right(rules["toward-zero"], x, 2)


@pytest.mark.parametrize("mode", ["toward-zero", "nearest-away"])
def test_another_rounding_mode_shows(mode):
    case = find_case(CATALOG, "onnx.Cast-28/float32-to-bfloat16", None, None, ())
    [rule] = rules_of(CATALOG.specs[case.spec], case)
    parts = tuple(replace(part, mode=mode) if part.compute else part for part in rule.parts)
    x, y, solver = z3.BitVec("x", 32), z3.BitVec("y", 16), z3.Solver()
    solver.add(replace(rule, parts=parts).holds(x, y), z3.Not(rule.holds(x, y)))
    assert solver.check() == z3.sat
