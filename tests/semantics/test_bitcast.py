import numpy as np
from catalogue import CATALOG

from convcheck.numerics.format import Bool
from convcheck.rules.cases import cases
from convcheck.semantics.evaluate import compile_case
from convcheck.semantics.expected import EXACT
from convcheck.vectors.generate import vectors_of

SPEC = CATALOG.specs["onnx.BitCast-26"]
CASES = list(cases(SPEC))


def width(fmt):
    return 8 if isinstance(fmt, Bool) else fmt.bits


def test_pairs_are_those_of_one_width():
    types = {t.name: width(t.format) for t in SPEC.types["T1"]}
    wanted = {(a, b) for a in types for b in types if types[a] == types[b]}
    wanted -= {(a, "bool") for a in types if a != "bool"}  # bytes other than 0 and 1 are invalid
    assert {(c.inputs[0].name, c.outputs[0].name) for c in CASES} == wanted
    assert len(CASES) == len(wanted) == 96 + 8 + 7


def test_every_bit_stays():
    for case in CASES:
        vectors = vectors_of(SPEC, case, "edge", 0)
        [reading] = vectors.expected.readings
        assert (reading.patterns == EXACT).all()
        assert (reading.codes == vectors.inputs[0]).all()
        source = case.inputs[0].format
        if width(source) <= 8:
            assert len(vectors) == 1 << source.bits
        else:  # no byte or half looks like another
            told = np.unpackbits(vectors.inputs[0][:, None].view(np.uint8), axis=1)
            columns = {column.tobytes() for column in told.T}
            assert len(columns) == width(source)


def test_what_the_text_says_is_normative_and_the_width_of_bool_implied():
    levels = {(c.inputs[0].name, compile_case(SPEC, c).decisions[-1].level) for c in CASES}
    assert ("complex64", "normative") in levels
    assert {name for name, level in levels if level == "implied"} == {"bool"}
