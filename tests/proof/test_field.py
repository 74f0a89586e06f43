"""At least three edge vectors catch each publicly reported wrong conversion.

Fewer suffice only if fewer inputs show it: of the whole source of up to 16 bits, or else of the
rich inputs and the report's example with one or two bits flipped. Run with `-n 0 -s` to see the
table.
"""

import re
from functools import cache, partial
from itertools import combinations

import numpy as np
import pytest
from comparing import array
from planted.field import float8, widening
from planted.field.bits import BFLOAT16, E5M2, FLOAT16, FLOAT32, FLOAT64, to_ieee
from planted.field.bugs import BUGS
from planted.field.caught import case_of, caught_by, demanded, latest_cases, refuted
from planted.proof import NARROW, edge, only, rich_inputs

ENOUGH = 3
LINK = re.compile(r"[\w.-]+/[\w.-]+/(issues|pull)/\d+")


def telling_inputs(bug):
    case = case_of(bug)
    source, target = case.inputs[0].format, case.outputs[0].format
    bits = rich_inputs(source, target)
    if source.bits <= NARROW:
        return bits
    flips = [1 << i for i in range(source.bits)]
    flips += [a | b for a, b in combinations(flips, 2)]
    return np.union1d(bits, array(case, [bug.example[0] ^ flip for flip in flips]))


@cache
def counts(bug):
    case = case_of(bug)
    shown = caught_by(bug.convert, only(case, telling_inputs(bug)))
    return caught_by(bug.convert, edge(case)), shown


def test_every_bug_is_caught_by_three_vectors_wherever_so_many_show_it(record_property):
    for bug in BUGS:
        caught, shown = counts(bug)
        vectors = f"{caught} of {len(edge(case_of(bug)))}"
        print(f"\n{bug.name:52} {vectors:>11} {shown:>6} shown  {bug.link}", end="")
    least, name = min((counts(bug)[0], bug.name) for bug in BUGS if counts(bug)[1] >= ENOUGH)
    print(f"\n{len(BUGS)} bugs from the field; the least: {name}, {least} vectors", end="")
    enough = [bug for bug in BUGS if counts(bug)[0] >= min(ENOUGH, counts(bug)[1])]
    record_property("planted (field)", (len(BUGS), len(enough)))
    assert all(counts(bug)[1] for bug in BUGS)
    assert not [bug.name for bug in BUGS if bug not in enough]


def by_oracle(bug, bits):
    case = case_of(bug)
    return refuted(case.outputs[0].name, demanded(case, bits), bug.convert(bits).tolist())


@pytest.mark.parametrize("bug", BUGS, ids=[bug.name for bug in BUGS])
def test_what_catches_it_is_wrong_by_the_oracle(bug):
    bits = edge(case_of(bug)).inputs[0]
    assert by_oracle(bug, bits) == counts(bug)[0]


@pytest.mark.parametrize("bug", BUGS, ids=[bug.name for bug in BUGS])
def test_it_does_what_its_report_shows(bug):
    case = case_of(bug)
    given, gave = bug.example
    got = bug.convert(array(case, [given]))
    assert (got.dtype, got.tolist()) == (case.outputs[0].format.storage, [gave])
    assert by_oracle(bug, array(case, [given])) == 1


RIGHT = {
    "float32-to-bfloat16": partial(to_ieee, source=FLOAT32, target=BFLOAT16),
    "float32-to-float16": partial(to_ieee, source=FLOAT32, target=FLOAT16),
    "float64-to-float16": partial(to_ieee, source=FLOAT64, target=FLOAT16),
    "float64-to-bfloat16": partial(to_ieee, source=FLOAT64, target=BFLOAT16),
    "float32-to-float8e5m2/saturate=0": partial(to_ieee, source=FLOAT32, target=E5M2),
    "float32-to-float8e4m3fn/saturate=0": float8.unsaturated,
    "float32-to-float8e4m3fn/saturate=1": float8.saturated,
    "float32-to-float4e2m1": float8.to_e2m1,
    "float16-to-float32": widening.half_right,
}


@pytest.mark.parametrize("name", RIGHT)
def test_without_the_fault_nothing_is_caught(name):
    assert caught_by(RIGHT[name], edge(latest_cases("onnx.Cast")[name])) == 0


def test_each_has_a_name_and_a_report_of_its_own():
    assert len(BUGS) >= 25
    assert len({bug.name for bug in BUGS}) == len(BUGS) == len({bug.link for bug in BUGS})
    assert not [bug.link for bug in BUGS if not LINK.fullmatch(bug.link)]
    assert len({bug.link.split("/")[0] for bug in BUGS}) > 25
