"""Evaluator and oracle agree on edge vectors of OpenVINO Convert and ConvertLike, bit for bit."""

import numpy as np
import pytest
from catalogue import CATALOG
from comparing import held_against_the_oracle
from oracle.convert import expect

from convcheck.rules.cases import cases
from convcheck.semantics.evaluate import evaluate
from convcheck.vectors.generate import inputs_of

SPECS = ("openvino.Convert-1", "openvino.ConvertLike-1")


@pytest.mark.parametrize("spec", SPECS)
def test_edge_vectors_of_every_case(spec: str) -> None:
    every = [case for case in cases(CATALOG.specs[spec]) if not case.outside]
    assert len(every) == 17 * 17
    for case in every:
        bits = inputs_of(case, "edge")[0][:: 1 if spec == SPECS[0] else 5]
        pair = case.inputs[0].name, case.outputs[0].name
        held_against_the_oracle(
            case, bits, wants=[expect(case.op, *pair, x) for x in bits.tolist()]
        )


def test_what_the_second_input_of_a_conversion_says_is_its_type_alone() -> None:
    case = next(cases(CATALOG.specs[SPECS[1]]))
    assert [t.name for t in case.inputs] == ["bool", "bool"]
    assert len(case.sources) == 1


def test_the_pages_differ_on_negative_integers() -> None:
    minus = np.array([0xFFFFFFFF], np.uint32)
    levels = []
    for spec in SPECS:
        names = ("int32-to-uint8", "int32-uint8")
        case = next(c for c in cases(CATALOG.specs[spec]) if c.name in names)
        expected = evaluate(CATALOG.specs[spec], case, minus)
        levels.append(expected.decisions[expected.rows[0]].level)
    assert levels == ["normative", "undefined"]
