from fractions import Fraction

import numpy as np
import pytest
from catalogue import CATALOG, CORPUS
from comparing import (
    LAYOUTS,
    VERSIONS,
    array,
    asked,
    cast,
    held_against_the_oracle,
    neighbours,
    numeric,
    pattern,
    questions,
    type_names,
    wanted,
)
from oracle import boundaries, decode
from oracle.convert import expect

from convcheck.rules.cases import cases
from convcheck.vectors.generate import inputs_of

COMPLETE = (21, 25)


SOURCES = type_names(COMPLETE[-1], 9, 16)


def by_question(source):
    """Group both versions' cases by the oracle's question, which is often the same."""
    found = {}
    for version in COMPLETE:
        for case in questions(version, source):
            found.setdefault(asked(case), []).append(case)
    return found


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("part", range(4))
def test_every_input_of_16_bits(source, part):
    """The oracle answers both versions' common questions once.

    A quarter of the codes at a time, whose texts stay in its cache.
    """
    every = np.arange(1 << 16, dtype=np.uint16)
    for ask, alike in list(by_question(source).items())[part::4]:
        for codes in np.split(every, 4):
            wants = wanted(ask, codes)
            for case in alike:
                assert held_against_the_oracle(case, codes, wants=wants) == 1 << 14


def test_no_case_of_16_bits_is_left_out():
    cases = [case for name in SOURCES for alike in by_question(name).values() for case in alike]
    assert len(set(cases)) == len(cases) == 4 * (24 + 33)


@pytest.mark.parametrize(
    ("version", "source"), [(v, name) for v in (*COMPLETE, 28) for name in type_names(v, 1, 8)]
)
def test_every_input_of_up_to_8_bits(version, source):
    bits = numeric(source).bits
    codes = np.arange(1 << bits, dtype=np.uint8)
    for case in questions(version, source):
        assert held_against_the_oracle(case, codes) == 1 << bits


@pytest.mark.parametrize("version", VERSIONS)
def test_every_edge_vector(version):
    compared = 0
    for vectors in map(CORPUS.vectors, cases(cast(version))):
        compared += held_against_the_oracle(vectors.case, vectors.inputs[0], vectors.expected)
    assert compared > 10_000


def test_a_difference_is_found_and_shown():
    vectors = CORPUS.vectors(next(c for c in cases(cast(21)) if c.name == "int8-to-int16"))
    with pytest.raises(
        AssertionError,
        match=r"of 256 differ\n  '0x80': .*fixed-to-fixed / else at specs/onnx/cast-\d+\.yaml:\d+",
    ):
        held_against_the_oracle(
            vectors.case, vectors.inputs[0], vectors.expected.take(np.arange(len(vectors))[::-1])
        )


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
