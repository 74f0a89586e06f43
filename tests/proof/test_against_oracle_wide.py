from fractions import Fraction

import pytest
from comparing import (
    LAYOUTS,
    array,
    held_against_the_oracle,
    neighbours,
    numeric,
    pattern,
    questions,
    type_names,
)
from oracle import boundaries, decode

DESTINATIONS = [(25, name) for name in type_names(25, 1, 8)]
DESTINATIONS += [(28, "float6e2m3"), (28, "float6e3m2")]


@pytest.mark.parametrize("source", LAYOUTS)
@pytest.mark.parametrize(("version", "destination"), DESTINATIONS)
def test_every_rounding_boundary(version, destination, source):
    near = (neighbours(source, pattern(source, x)) for x in boundaries(destination))
    codes = sorted({code for some in near for code in some})
    assert len(codes) > 2 * len(boundaries(destination))
    asked = questions(version, source, [destination])
    for case in asked:
        assert held_against_the_oracle(case, array(case, codes)) == len(codes)
    assert {case.outputs[0].name for case in asked} == {destination}


@pytest.mark.parametrize("source", LAYOUTS)
def test_the_inputs_are_next_to_each_other(source):
    fmt = numeric(source)
    assert neighbours(source, pattern(source, Fraction(464)))[1] == pattern(source, Fraction(464))
    for x in (Fraction(464), Fraction(-3, 1024), Fraction(1, 2**129)):
        below, at, above = (decode(source, c) for c in neighbours(source, pattern(source, x)))
        assert at == x
        low, high = sorted((below, above))
        assert low < x < high
    assert pattern("float32", Fraction(2) ** 129) == 0x7F800000
    assert fmt.bits == LAYOUTS[source][2] + 1
