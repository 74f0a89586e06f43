from functools import cache

import pytest
from catalogue import CATALOG
from oracle import promotion
from oracle.promotion import REFUSED, Wanted, answer
from planted.calls import question

from convcheck.rules.cases import cases
from convcheck.rules.model import LEVELS
from convcheck.semantics import expected as pattern
from convcheck.semantics.body.matrix import find
from convcheck.vectors.generate import call_set

SPEC = CATALOG.specs["openvino.ConvertPromoteTypes-14"]
TYPES = {t.name: t for t in SPEC.types["T1"]}
UNSAFE, SCALARS, TARGET = (a.name for a in SPEC.attributes)
became = cache(promotion.convert)


@cache
def asked():
    return tuple(cases(SPEC))


@cache
def edge(case):
    return call_set(SPEC, case, "edge")


def given(calls, index=0):
    expected = calls.expected[index]
    answers = set()
    for reading in expected.readings:
        if reading.pattern == pattern.REFUSED:
            answers.add(REFUSED)
        else:
            assert len({due.dtype.name for due in reading.outputs}) == 1
            answers.add(reading.outputs[0].dtype.name)
    return Wanted(calls.decisions[expected.row].level, frozenset(answers))


def test_every_case_is_asked_for_its_type():
    left_out = 3 * 3 * 17 * 4
    others = 14 * 17 * 4
    assert len(asked()) == 17 * 17 * 2 * 2 * 4 * 3 + left_out + others
    assert len({case.id for case in asked()}) == len(asked())


def test_every_type_is_asked_as_the_target_of_u64_and_a_signed_integer():
    """ "Range of values: any element type supported by Convert operator." """
    for signed in ("int4", "int8", "int16", "int32", "int64"):
        given = {
            find(SPEC, case.inputs, case.ranks, case.attributes).target.name
            for case in asked()
            if [t.name for t in case.inputs] == ["uint64", signed]
            and (case.attribute(UNSAFE), case.attribute(SCALARS)) == ("true", "false")
        }
        assert given == set(TYPES), signed


@pytest.mark.parametrize("part", range(4))
def test_the_type_of_every_case_is_the_oracles(part):
    for case in asked()[part::4]:
        assert given(edge(case)) == answer(question(case)), case.id


@pytest.mark.parametrize("part", range(4))
def test_the_values_of_every_call_are_the_oracles(part):
    checked = 0
    for case in asked()[part::4]:
        calls = edge(case)
        for call, expected in zip(calls.calls, calls.expected, strict=True):
            level = calls.decisions[expected.row].level
            weakest = 0
            for reading in expected.readings:
                for source, codes, due in zip(case.inputs, call, reading.outputs, strict=False):
                    assert due.shape == codes.shape
                    levels = agree(source, codes.reshape(-1), due, level)
                    checked += len(levels)
                    if expected.row:
                        weakest = max([weakest, *(LEVELS.index(one) for one in levels)])
                if expected.row:
                    assert weakest == LEVELS.index(level), (case.id, call)
    assert checked > 5000


def agree(source, codes, due, level):
    """Compare an output with the oracle's; return its elements' levels."""
    levels = []
    for code, got, said in zip(
        codes.tolist(), due.codes.tolist(), due.patterns.tolist(), strict=True
    ):
        want = became(source.name, due.dtype.name, code)
        levels.append(want.level)
        if level == "undefined" or want.level == "undefined":
            assert said == pattern.UNDEFINED
        elif want.code == "nan":
            assert said == pattern.ANY_NAN
        else:
            assert (said, got) == (pattern.EXACT, want.code), (source.name, due.dtype, hex(code))
    return levels


def test_a_call_of_an_undefined_row_asks_for_something_undefined():
    free = 0
    for case in asked():
        calls = edge(case)
        for call, expected in zip(calls.calls, calls.expected, strict=True):
            if calls.decisions[expected.row].level == "undefined":
                due = expected.readings[0].outputs[0].dtype.name
                words = [
                    became(t.name, due, code).level
                    for t, codes in zip(case.inputs, call, strict=True)
                    for code in codes.reshape(-1).tolist()
                ]
                assert "undefined" in words, case.id
                free += 1
    assert free > 100
