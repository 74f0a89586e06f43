import numpy as np
import pytest
from catalogue import CORPUS
from comparing import (
    VERSIONS,
    asked,
    cast,
    held_against_the_oracle,
    numeric,
    questions,
    type_names,
    wanted,
)

from convcheck.rules.cases import cases

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
