"""Results of ONNX's own code are among the readings of the specs.

Function bodies run on every vector. Casts and quantisations follow the specs; other operations are
exact, then rounded to the tensor's type. The onnx package computes lengths by shape inference.
"""

from fractions import Fraction
from functools import cache, partial, reduce
from itertools import product
from math import ceil
from typing import NamedTuple

import numpy as np
import onnx
import pytest
from catalogue import CATALOG, CORPUS
from definitions import bodies, has_body
from numpy.typing import NDArray
from onnx import AttributeProto, numpy_helper

from convcheck.backends.onnx.model import build, tensor_type_number
from convcheck.judge.matching import matching
from convcheck.numerics.modes import NEAREST, BeyondError, grid_of
from convcheck.numerics.number import Bits
from convcheck.numerics.words import spell_special, value_of
from convcheck.rules.body.formula import Formula
from convcheck.rules.cases import cases, defaults, make_case
from convcheck.rules.model import DType
from convcheck.semantics.body import compile_calls
from convcheck.semantics.evaluate import evaluate
from convcheck.semantics.expected import EXACT, UNDEFINED, Reading
from convcheck.vectors.model import CallSet

ONNX = [spec for spec in CATALOG.specs.values() if spec.op.startswith("onnx.")]
WITH_BODY = [spec for spec in ONNX if has_body(spec)]
FORMULAS = [spec for spec in ONNX if isinstance(spec.body, Formula)]
NUMBERS = {tensor_type_number(t): t for t in CATALOG.types.types.values() if t.name_in("onnx")}


class Tensor(NamedTuple):
    """Codes of a type with their patterns, all of one shape."""

    dtype: DType
    codes: Bits
    patterns: NDArray[np.uint8]

    def reshaped(self, *shape):
        return Tensor(self.dtype, self.codes.reshape(shape), self.patterns.reshape(shape))


class OpenError(Exception):
    """The body leaves the result open."""


def exactly(dtype, codes):
    return Tensor(dtype, codes, np.full(codes.shape, EXACT, np.uint8))


def element(work, tensors, at):
    """Return the code and the pattern of one element, open if an operand or the result is."""
    fmt = tensors[0].dtype.format
    numbers = []
    for tensor in tensors:
        i = at if tensor.codes.ndim else 0
        code = int(tensor.codes.reshape(-1)[i])
        if tensor.patterns.reshape(-1)[i] != EXACT or spell_special(fmt, code) not in ("", "-0"):
            return 0, UNDEFINED
        numbers.append(value_of(fmt, code))
    try:
        return grid_of(fmt, NEAREST).code(work(*numbers)), EXACT
    except (BeyondError, ZeroDivisionError):
        return 0, UNDEFINED


def arithmetic(work, *tensors):
    dtype, shape = tensors[0].dtype, max((t.codes.shape for t in tensors), key=len)
    assert all(t.dtype == dtype and t.codes.shape in (shape, ()) for t in tensors)
    made = [element(work, tensors, at) for at in range(int(np.prod(shape)))]
    codes, patterns = zip(*made, strict=True) if made else ((), ())
    made_of = np.array(codes, dtype.format.storage), np.array(patterns, np.uint8)
    return Tensor(dtype, *made_of).reshaped(*shape)


def reduced(work, tensor):
    if not tensor.codes.size:
        raise OpenError
    both = zip(tensor.codes.reshape(-1), tensor.patterns.reshape(-1), strict=True)
    elements = (Tensor(tensor.dtype, code, pattern) for code, pattern in both)
    return reduce(partial(arithmetic, work), elements)


ARITHMETIC = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Div": lambda a, b: a / b,
    "Min": min,
    "Max": max,
    "Clip": lambda x, low, high: min(max(x, low), high),
    "Ceil": lambda x: Fraction(ceil(x)),
    "Relu": lambda x: max(x, Fraction(0)),
    "Round": lambda x: Fraction(round(x)),
}


def spec_at(op, opset):
    return CATALOG.specs[f"onnx.{op}-{onnx.defs.get_schema(op, opset, '').since_version}"]


def converted(tensor, to, said, opset):
    if (tensor.patterns != EXACT).any():
        raise OpenError
    spec = spec_at("Cast", opset)
    attributes = {**dict(defaults(spec, to)), **said}
    case = make_case(spec, tensor.dtype, to, tuple(attributes.items()))
    found = evaluate(spec, case, tensor.codes.reshape(-1)).readings
    return [Tensor(to, r.codes, r.patterns).reshaped(*tensor.codes.shape) for r in found]


def quantized(tensors, opset):
    if any((tensor.patterns != EXACT).any() for tensor in tensors):
        raise OpenError
    spec, types = spec_at("QuantizeLinear", opset), tuple(t.dtype for t in tensors)
    case = next(c for c in cases(spec) if c.inputs == types and c.ranks == (1, 0, 0))
    x, *others = (t.codes for t in tensors)
    readings = compile_calls(spec, case).expect([x.reshape(-1), *others]).readings
    outputs = [output for reading in readings for output in reading.outputs]
    if not outputs:
        raise OpenError
    return [Tensor(o.dtype, o.codes, o.patterns).reshaped(*x.shape) for o in outputs]


def outcomes(nodes, known, case, opset):
    """Yield every outcome of consecutive nodes, one for each combination of readings."""
    if not nodes:
        yield known
        return
    first, *others = nodes
    for made in outputs_of(first, known, case, opset):
        now = {**known, **dict(zip(first.output, made, strict=True))}
        yield from outcomes(others, now, case, opset)


def outputs_of(node, known, case, opset):
    tensors = [known[name] for name in node.input]
    said = dict(attributes_of(node, case))
    match node.op_type:
        case "Identity":
            yield tensors
        case "Constant":
            [tensor] = [a.t for a in node.attribute]
            dtype = NUMBERS[tensor.data_type]
            yield [exactly(dtype, numpy_helper.to_array(tensor).view(dtype.format.storage))]
        case "Cast":
            to = NUMBERS[said.pop("to")]
            yield from ([each] for each in converted(tensors[0], to, said, opset))
        case "QuantizeLinear":
            yield from ([each] for each in quantized(tensors, opset))
        case "Loop":
            yield from looped(node, tensors, known, case, opset)
        case "ReduceMin" | "ReduceMax" as name:
            assert said == {"keepdims": 0}
            yield [reduced(ARITHMETIC[name.removeprefix("Reduce")], *tensors)]
        case name:
            assert not said
            yield [arithmetic(ARITHMETIC[name], *tensors)]


def attributes_of(node, case):
    theirs = onnx.defs.get_schema(case.op.partition(".")[2], case.version, "").attributes
    given = dict(case.given)
    for each in node.attribute:
        if each.ref_attr_name:
            default = onnx.helper.get_attribute_value(theirs[each.ref_attr_name].default_value)
            yield each.name, given.get(each.ref_attr_name, default)
        elif each.type == AttributeProto.INT:
            yield each.name, each.i


def looped(node, tensors, known, case, opset):
    """Run a loop of one variable and one list, whose body has one reading."""
    [body] = [a.g for a in node.attribute]
    count, condition, variable = tensors
    if count.patterns != EXACT or condition.patterns != EXACT:
        raise OpenError
    _, going, name = (i.name for i in body.input)
    goes_on, following, listed = (o.name for o in body.output)
    found = []
    for _ in range(int(count.codes)):
        if not condition.codes:
            break
        [after] = outcomes(body.node, {**known, going: condition, name: variable}, case, opset)
        condition, variable = after[goes_on], after[following]
        found.append(after[listed])
    dtype = variable.dtype
    codes = np.array([each.codes for each in found], dtype.format.storage)
    yield variable, Tensor(dtype, codes, np.array([e.patterns for e in found], np.uint8))


def results(body, case, inputs):
    given = zip(body.input, case.inputs, inputs, strict=False)
    known = {name: exactly(dtype, bits) for name, dtype, bits in given}
    [opset] = [each.version for each in body.opset_import]
    try:
        found = list(outcomes(body.node, known, case, opset))
    except OpenError:
        return None
    return [[each[name] for name in body.output] for each in found]


@cache
def bodies_of(case):
    types = [tensor_type_number(dtype) for dtype in case.inputs]
    return bodies(case.op.partition(".")[2], case.version, types, dict(case.given))


class Expectation(NamedTuple):
    """A question's inputs, and the outputs of each reading; none if undefined."""

    inputs: tuple[Bits, ...]
    readings: list[list[Tensor]]


def expectations(case):
    """Return a spec's expectations for a case: of all elements together, or of each call."""
    vectors = CORPUS.vectors(case)
    if not isinstance(vectors, CallSet):
        readings = vectors.expected.readings
        due = [[Tensor(case.outputs[0], r.codes, r.patterns)] for r in readings]
        yield Expectation(vectors.inputs, due)
        return
    for call, expected in zip(vectors.calls, vectors.expected, strict=True):
        outputs = [r.outputs for r in expected.readings if r.pattern != UNDEFINED]
        yield Expectation(call, [[*map(tensor_of, each)] for each in outputs])


def tensor_of(output):
    return Tensor(output.dtype, output.codes, output.patterns).reshaped(*output.shape)


def is_wanted(output, wanted, first):
    if (output.dtype, output.codes.shape) != (wanted.dtype, wanted.codes.shape):
        return False
    fmt, reading = output.dtype.format, Reading(wanted.codes, wanted.patterns)
    same = (output.patterns == wanted.patterns) & (output.patterns != EXACT)
    fits = matching(reading, output.codes, fmt, first.dtype.format, first.codes)
    fits &= output.patterns == EXACT
    return bool((same | fits | (wanted.patterns == UNDEFINED)).all())


def missing(spec, most=None):
    """Name the questions for which a body's result is in none of the first readings."""
    found = []
    for case in (case for case in cases(spec) if not case.outside):
        for body, (inputs, readings) in product(bodies_of(case), expectations(case)):
            given = results(body, case, inputs) if readings else []
            first, some = exactly(case.inputs[0], inputs[0]), readings[:most]
            if given is None or not all(
                any(
                    all(is_wanted(*pair, first) for pair in zip(outputs, each, strict=True))
                    for each in some
                )
                for outputs in given
            ):
                found.append(f"{case.id} {[i.tolist() for i in inputs if i.size < 9]}")
    return found


def test_operators_that_have_function_bodies():
    assert {spec.op for spec in WITH_BODY} == {
        *("onnx.CastLike", "onnx.DynamicQuantizeLinear", "onnx.Range")
    }


@pytest.mark.parametrize("spec", WITH_BODY, ids=lambda s: s.id)
def test_what_a_function_body_gives_is_a_reading(spec):
    assert missing(spec) == []


@pytest.mark.parametrize("name", ["CastLike-24", "DynamicQuantizeLinear-11", "Range-27"])
def test_a_body_that_is_no_reading_is_found(name):
    assert len(missing(CATALOG.specs[f"onnx.{name}"], most=1)) > 10


@pytest.mark.parametrize("spec", FORMULAS, ids=lambda s: s.id)
def test_a_length_that_shape_inference_computes_is_a_reading(spec):
    differing = 0
    for case in cases(spec):
        for asked in (one for one in expectations(case) if one.readings):
            inferred = onnx.shape_inference.infer_shapes(build(case, asked.inputs))
            [size] = inferred.graph.output[0].type.tensor_type.shape.dim
            lengths = [len(output.codes) for [output] in asked.readings]
            if size.HasField("dim_value"):
                assert size.dim_value in lengths, (case.id, asked.inputs)
                differing += size.dim_value != lengths[0]
    assert differing, "the first reading has the lengths of the formula"
