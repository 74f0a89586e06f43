from functools import cache

import numpy as np
import pytest
from catalogue import CATALOG
from oracle import Want, answer, question

from convcheck.chains.cast import Chain
from convcheck.chains.type_chain import CompiledCasts
from convcheck.semantics.expected import ANY_NAN, EXACT, UNDEFINED

SPEC = CATALOG.specs["onnx.Cast-21"]
DUE = {"nan": ANY_NAN, "undefined": UNDEFINED}
FEW = ("float8e4m3fn", "float8e5m2", "uint8", "int8", "bool", "float16")


@cache
def converted(source, target, code):
    ask = question(21, source, target, {})
    return (ask if isinstance(ask, Want) else answer(ask, code)).readings[0]


def onward(source, target, due):
    if due[0] == "undefined":
        return due
    fmt = CATALOG.types.types[source].format
    if due[0] == "nan":
        return converted(source, target, fmt.nan_code)
    assert due[0] == "bits"
    return converted(source, target, int(due[1]))


def same(found, due):
    patterns = [DUE.get(one[0], EXACT) for one in due]
    codes = [int(one[1]) if one[0] == "bits" else 0 for one in due]
    return found.patterns.tolist() == patterns and found.codes.tolist() == codes


def check(source, middle, target):
    way = next(CompiledCasts(CATALOG, SPEC).chain((source, middle, target)).ways())
    fmt = way.chain.source
    codes = np.arange(1 << fmt.bits, dtype=np.uint64)
    hops = [converted(source, middle, code) for code in codes.tolist()]
    assert same(way.chain.results(codes), [onward(middle, target, due) for due in hops])
    if source != target:
        direct = [converted(source, target, code) for code in codes.tolist()]
        assert same(Chain((way.direct,)).results(codes), direct)


@pytest.mark.parametrize("source", [name for name in FEW if name != "float16"])
def test_narrow_chains_are_what_the_oracle_composes(source):
    for middle in FEW:
        for target in FEW:
            check(source, middle, target)


@pytest.mark.parametrize(
    "names", [("float16", "float8e5m2", "int8"), ("bfloat16", "float16", "float8e4m3fn")]
)
def test_every_input_of_16_bits(names):
    check(*names)
