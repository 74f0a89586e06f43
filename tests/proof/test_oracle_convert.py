import pytest
from catalogue import CATALOG
from comparing import held_against_the_oracle
from oracle.convert import expect

from convcheck.rules.cases import cases
from convcheck.vectors.generate import inputs_of

SPECS = ("openvino.Convert-1", "openvino.ConvertLike-1")


@pytest.mark.parametrize("spec", SPECS)
def test_edge_vectors_of_every_case(spec):
    every = [case for case in cases(CATALOG.specs[spec]) if not case.outside]
    assert len(every) == 17 * 17
    for case in every:
        bits = inputs_of(case, "edge")[0][:: 1 if spec == SPECS[0] else 5]
        pair = case.inputs[0].name, case.outputs[0].name
        held_against_the_oracle(
            case, bits, wants=[expect(case.op, *pair, x) for x in bits.tolist()]
        )
