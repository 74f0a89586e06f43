import numpy as np
import pytest
from catalogue import CATALOG, calls_asked

from convcheck.numerics.words import code_of, spell
from convcheck.rules.cases import cases
from convcheck.semantics.body.formula import TooLongError, compile_formula
from convcheck.semantics.expected import ANY_ZERO, EXACT, UNDEFINED

OPENVINO, ONNX = (CATALOG.specs[name] for name in ("openvino.Range-4", "onnx.Range-11"))
SPECS = (OPENVINO, ONNX)
RANGE_27 = CATALOG.specs["onnx.Range-27"]
CASES = {case.id: (spec, case) for spec in SPECS for case in cases(spec)}


def compiled(name):
    return compile_formula(*CASES[name])


def call(case, *words):
    return tuple(
        np.array(code_of(t.format, w)[0], t.format.storage)
        for t, w in zip(case.inputs, words, strict=True)
    )


def ask(name, *words):
    return compiled(name).expect(call(CASES[name][1], *words))


def sequences(name, *words):
    expected = ask(name, *words)
    fmt = CASES[name][1].outputs[0].format
    if expected.readings[0].pattern == UNDEFINED:
        return "undefined"
    return [[spell(fmt, c) for c in r.outputs[0].codes.tolist()] for r in expected.readings]


def openvino(inputs, output):
    """Name a case by its types; one input type stands for all three."""
    types = inputs if "-" in inputs else "-".join([inputs] * 3)
    return f"openvino.Range-4/{types}-to-{output}"


def onnx_case(dtype):
    return f"onnx.Range-11/{dtype}-{dtype}-{dtype}"


@pytest.mark.parametrize(("name", "words", "due"), [
    (openvino("int32", "int32"), "2 23 3", "2 5 8 11 14 17 20"),
    (openvino("int32", "int32"), "23 2 -3", "23 20 17 14 11 8 5"),
    (openvino("float32", "float32"), "1 2.5 0.5", "1 1.5 2"),
    (onnx_case("int64"), "3 9 3", "3 6"),
    (onnx_case("float32"), "10 4 -2", "10 8 6"),
])  # fmt: skip
def test_the_examples_of_the_texts(name, words, due):
    assert sequences(name, *words.split()) == [due.split()]


def test_every_output_type_is_asked_of_mixed_inputs():
    outputs = {}
    for case in cases(OPENVINO):
        types = tuple(t.name for t in case.inputs)
        outputs.setdefault(case.outputs[0].name, set()).add(types)
    assert set(outputs) == {t.name for t in CATALOG.types.types.values() if t.name in WIDE}
    assert all(any(len(set(types)) == 3 for types in asked) for asked in outputs.values())
    assert len(list(cases(OPENVINO))) <= 130


WIDE = {
    *("float8e4m3fn", "float8e5m2", "float16", "bfloat16", "float32", "float64"),
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (4, 8, 16, 32, 64)),
}


def test_the_edge_calls_reach_every_decision():
    for spec in SPECS:
        reached, known = set(), set()
        for case in cases(spec):
            whole = calls_asked(case)
            known |= {d.name for d in whole.decisions}
            reached |= {whole.decisions[e.row].name for e in whole.expected}
            assert len({alike(call) for call in whole.calls}) == len(whole.calls)
        assert known - reached <= NEVER


def alike(call):
    return tuple((tensor.shape, int(tensor.reshape(()))) for tensor in call)


def test_tensors_in_the_place_of_scalars_are_asked_and_nothing_is_expected():
    for spec in SPECS:
        asked = 0
        for case in cases(spec):
            whole = calls_asked(case)
            for tensors, expected in zip(whole.calls, whole.expected, strict=True):
                if all(tensor.shape == (1,) for tensor in tensors):
                    assert expected.readings[0].pattern == UNDEFINED
                    assert whole.decisions[expected.row].name == "undefined / no scalar"
                    scalars = tuple(tensor.reshape(()) for tensor in tensors)
                    made = compile_formula(spec, case)
                    assert made.size(scalars) == 5
                    assert made.expect(tensors).readings[0].pattern == UNDEFINED
                    asked += 1
            assert all(tensor.ndim == 0 for tensor in whole.calls[0])
        assert asked


NEVER = {  # not asked: results that agree in float32 are exact, and so are integers
    "float64 / every reading agrees",
    "integers-from-integers / every reading agrees",
    "integers / every reading agrees",
}


def test_minus_zero_is_a_zero_of_which_the_sign_is_open():
    for name in (openvino("float32", "float32"), onnx_case("float32")):
        assert sequences(name, "-0", "2", "1") == [["0", "1"]]
        assert patterns(name, "-0", "2", "1") == [ANY_ZERO, EXACT]
        assert sequences(name, "2", "-0", "-1") == [["2", "1"]]
        assert patterns(name, "0", "2", "1") == [EXACT, EXACT]


def patterns(name, *words):
    return ask(name, *words).readings[0].outputs[0].patterns.tolist()


def test_what_reaches_the_limit_once_rounded_may_end_before_it():
    """In bfloat16, 256 is followed by 258. 257 becomes 256, so the formula has it twice."""
    for words in (("250", "257", "1"), ("0", "2.1", "0.3")):
        found = sequences(openvino("bfloat16", "bfloat16"), *words)
        past = [one for one in found if float(one[-1]) >= float(words[1])]
        assert all(one[:-1] in found for one in past)
    name = openvino("float16", "float16")
    found = sequences(name, "2040", "2049", "1")  # limit 2048 in float16: 2049 ties to it
    assert [str(n) for n in range(2040, 2048)] in found


def test_no_accumulate_type_is_less_accurate_than_the_output():
    """Steps of 0.1 added up in float32 match no reading of float64."""
    words = ("0", "1", "0.1")
    found = sequences(openvino("float64", "float64"), *words)
    single, value = [], np.float32(0)
    for _ in range(10):
        single.append(float(value))
        value = np.float32(value + np.float32(0.1))
    readings = [[float(word) for word in one] for one in found]
    assert all(one[1:] != single[1:] and one[1] == 0.1 for one in readings)


@pytest.mark.parametrize(
    ("dtype", "words"), [("bfloat16", "241 274 1"), ("float16", "2041 2075 1")]
)
def test_a_long_sequence_starts_between_groups_of_16(dtype, words):
    """Each element is rounded once: 257 to 256, 259 to 260."""
    case = next(c for c in cases(RANGE_27) if c.outputs[0].name == dtype)
    expected = calls_asked(case)
    at = [alike(one) for one in expected.calls].index(alike(call(case, *words.split())))
    codes = expected.expected[at].readings[0].outputs[0].codes.tolist()
    elements = [int(spell(case.outputs[0].format, code)) for code in codes]
    start, gap = int(words.split()[0]), {"bfloat16": 256, "float16": 2048}[dtype]
    after = [gap, gap, gap + 2, gap + 4, gap + 4, gap + 4, gap + 6]
    assert elements[: gap - start + 7] == [*range(start, gap), *after]


def test_a_huge_length_is_told_but_not_made():
    name = openvino("int64", "int64")
    huge = call(CASES[name][1], "0", "9223372036854775807", "1")
    assert compiled(name).size(huge) == 2**63
    with pytest.raises(TooLongError, match="9,223,372,036,854,775,808 elements"):
        compiled(name).expect(huge)
    assert compiled(name).size(call(CASES[name][1], "0", "5", "0")) == 1


@pytest.mark.parametrize("words", ["5 0 1", "0 5 -1", "3 3 1", "3 3 -1"])
def test_the_wrong_direction_is_empty(words):
    for name in (openvino("int32", "int32"), openvino("float32", "float16"), onnx_case("int16")):
        assert sequences(name, *words.split()) == [[]]


def test_a_length_of_none_of_the_readings_fails():
    """In 3·2^60 + 1 with steps of 2^60, neither float64 nor float32 sees a remainder."""
    words = ["0", "3458764513820540929", "1152921504606846976"]
    lengths = [len(s) for s in sequences(openvino("int64", "int64"), *words)]
    assert lengths == [4, 3]
    assert [len(s) for s in sequences(onnx_case("int64"), *words)] == [4, 3]


@pytest.mark.parametrize(("dtype", "words"), [
    ("float64", "3.8 0.9199999999999998 -0.96"),
    ("int64", "0 3458764719978968065 1152921573326322688"),
])  # fmt: skip
def test_a_length_in_float64_is_a_reading(dtype, words):
    assert {len(s) for s in sequences(onnx_case(dtype), *words.split())} == {3, 4}


def test_integers_are_exact_to_the_end_of_their_range():
    words = ["-9223372036854775808", "9223372036854775807", "6148914691236517205"]
    due = [["-9223372036854775808", "-3074457345618258603", "3074457345618258602"]]
    assert sequences(openvino("int64", "int64"), *words) == due
    last = ["9223372036854775800", "9223372036854775807", "2"]
    found = sequences(openvino("int64", "int64"), *last)
    assert found == [[str(2**63 - 8 + 2 * i) for i in range(4)], []]


def test_fractions_into_integers_are_cast_first_or_last():
    found = sequences(openvino("float32", "int32"), "-0.5", "3", "1")
    assert sorted(found) == sorted([["0", "0", "1", "2"], ["0", "1", "2"], ["0", "1", "2", "3"]])


def test_a_fraction_above_the_largest_integer_is_cast_into_range():
    assert sequences(openvino("float32", "int8"), "127.6", "125.9", "-1") == [["127", "126"]]


def test_a_running_sum_sticks():
    found = sequences(openvino("float32", "float16"), "2048", "2056", "1")
    assert ["2048"] * 8 in found
    assert ["2048", "2048", "2050", "2052", "2052", "2052", "2054", "2056"] in found


def test_between_readings_is_tolerated_where_something_is_rounded():
    assert ask(openvino("float32", "float16"), "0", "1", "0.1").between
    assert ask(openvino("float32", "float32"), "1", "0x1.000002p0", "0x1p-24").between
    assert not ask(openvino("float32", "float32"), "0", "3", "0.5").between
    assert not ask(openvino("float32", "int32"), "0", "3", "1.5").between
    assert not ask(onnx_case("float32"), "0", "1", "0.1").between


@pytest.mark.parametrize(("name", "words", "row"), [
    (openvino("float32", "int32"), "0 5 0.5", "step 0"),
    (openvino("int32", "int32"), "0 5 0", "step 0"),
    (openvino("float64", "float16"), "0 1 1e-9", "step 0"),
    (openvino("float32", "float32"), "0 nan 1", "no number"),
    (openvino("float32", "int8"), "0 inf 1", "no number"),
    (openvino("int32", "int8"), "0 300 100", "overflow"),
    (openvino("int32", "uint8"), "10 0 -2", "overflow"),
    (openvino("float32", "float16"), "0 70000 30000", "overflow"),
    (onnx_case("int16"), "-30000 30000 20000", "overflow"),
    (onnx_case("float64"), "0 1e300 1e299", "overflow"),
    (onnx_case("float64"), "0 1e-300 1e-301", "overflow"),
    (onnx_case("int64"), "0 5 0", "delta 0"),
])  # fmt: skip
def test_where_the_texts_are_silent(name, words, row):
    assert sequences(name, *words.split()) == "undefined"
    decision = compiled(name).decisions[ask(name, *words.split()).row]
    assert (decision.rule, decision.row, decision.level) == ("undefined", row, "undefined")


def test_readings_that_agree_are_one_and_normative():
    name = openvino("float32", "float32")
    expected = ask(name, "0", "3", "0.5")
    decision = compiled(name).decisions[expected.row]
    assert [r.name for r in expected.readings] == [""]
    assert (decision.row, decision.level) == ("no element is rounded", "normative")
    rounded = ask(name, "1", "0x1.000002p0", "0x1p-24")
    assert [r.name for r in rounded.readings] == [""]
    decision = compiled(name).decisions[rounded.row]
    assert (decision.row, decision.level) == ("every reading agrees", "implied")
    differing = ask(name, "0", "3", "0.1")
    assert compiled(name).decisions[differing.row].level == "disputed"
    names = [reading.name for reading in differing.readings]
    assert len(names) == len(set(names)) > 1
    assert names[0] == "length exact; elements exact, by index; conversions nearest-even"
