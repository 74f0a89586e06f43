"""Wrong kernels of whole calls by hand: on numpy, on Fractions and by the oracle."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from catalogue import CATALOG
from ml_dtypes import float8_e4m3fn, float8_e5m2
from numpy.typing import NDArray
from oracle import promotion
from oracle.formats import FLOATS, SilentError
from planted import quantize_bugs, range_bugs
from planted.causes import answered_calls

from convcheck.backends.protocol import Answer, Outputs, Refused
from convcheck.judge.calls import judge
from convcheck.judge.result import FAILURES
from convcheck.numerics.number import Bits
from convcheck.rules.model import Case
from convcheck.semantics.expected import EXACT, REFUSED

Kernel = Callable[[Case, Sequence[Bits]], Answer | None]  # None without an answer
Floats = NDArray[np.float32]
F32 = np.float32


@dataclass(frozen=True)
class Operator:
    cases: tuple[str, ...]
    right: Kernel
    wrong: dict[str, Kernel]


def given(kernel, calls):
    pairs = zip(calls.calls, calls.expected, strict=True)
    return [
        kernel(calls.case, call) if due.readings[0].pattern in (EXACT, REFUSED) else None
        for call, due in pairs
    ]


def wrong_in(calls, answers):
    groups = judge(calls, answered_calls(answers)).groups
    return sum(group.count for group in groups if group.verdict in FAILURES)


def _one(case, codes):
    [output] = case.outputs
    return Outputs((np.asarray(codes, output.format.storage),), (output.name,))


# Sequences ----------------------------------------------------------------------------------------


def _sequence(bug, case, call):
    types = tuple(t.name for t in case.inputs)
    try:
        asked = range_bugs.question(types, case.outputs[0].name, tuple(int(t) for t in call))
        return _one(case, range_bugs.answer(bug, asked))
    except (SilentError, TypeError):
        return None


RANGE = Operator(
    (
        *(f"openvino.Range-4/{t}-{t}-{t}-to-{t}" for t in ("int32", "int64", "uint8")),
        "openvino.Range-4/float32-float32-float32-to-int32",
        "openvino.Range-4/float64-float64-float64-to-float16",
        "onnx.Range-11/int64-int64-int64",
        "onnx.Range-27/bfloat16-bfloat16-bfloat16/stash_type=1",
    ),
    partial(_sequence, range_bugs.Bug("none", range_bugs.right)),
    {bug.name: partial(_sequence, bug) for bug in range_bugs.BUGS},
)


# Quantisation -------------------------------------------------------------------------------------


def by_way(way):
    return lambda case, call: _one(case, quantize_bugs.answer(way, case, call))


def _quantising(op, *cases):
    bugs = (bug for bug in quantize_bugs.BUGS if f"onnx.{op}" in bug.ops)
    return Operator(
        tuple(f"onnx.{op}-{case}" for case in cases),
        by_way(quantize_bugs.Way()),
        {bug.name: by_way(bug.way) for bug in bugs},
    )


QUANTIZE = _quantising(
    "QuantizeLinear",
    *(f"23/float32-float32-{t}/tensor" for t in ("int8", "uint8", "int16")),
    *(f"23/float32-float32-float8e4m3fn/tensor/saturate={n}" for n in (0, 1)),
    "23/float32-float32-float8e5m2fnuz/tensor/saturate=default",
    "23/float32-float32-to-uint8/tensor-default",
    "23/float16-float16-int8/in-float32/precision=1",
    "23/float32-float32-int8/axis", "23/float32-float32-int8/axis-0/axis=0",
    "23/float32-float32-uint8/axis-last/axis=-1", "23/float32-float32-int8/blocks/block_size=3",
)  # fmt: skip
DEQUANTIZE = _quantising(
    "DequantizeLinear",
    *(f"23/{t}-float32-{t}-to-float32/tensor" for t in ("int8", "uint8", "float8e4m3fn")),
    "23/int8-float32-int8-to-float32/blocks-1d/axis=0/block_size=3",
    "21/int8-float32-int8/axis", "21/uint8-float32-uint8/axis-last/axis=-1",
    "21/int16-bfloat16-int16/tensor",
)  # fmt: skip


# Quantise and dequantise --------------------------------------------------------------------------

_NARROW = {"f8e4m3": (float8_e4m3fn, 448), "f8e5m2": (float8_e5m2, 57344)}
_OTHER = {"f8e4m3": "f8e5m2", "f8e5m2": "f8e4m3"}


def emulated(x, to):
    kind, most = _NARROW[to]
    return np.clip(x, -most, most).astype(kind).astype(F32)


def flushed(x, to):
    least = 2.0 ** (-6 if to == "f8e4m3" else -14)
    return np.where(np.abs(x) < least, np.copysign(F32(0), x), x)


def truncated(x, to):
    kind, _ = _NARROW[to]
    near = emulated(x, to)
    codes = near.astype(kind).view(np.uint8)
    less = (codes - (np.abs(near) > np.abs(x))).astype(np.uint8)
    return less.view(kind).astype(F32)


def first_only(tensor):
    return tensor.reshape(-1)[:1]


def next_channel(tensor):
    return np.roll(tensor.reshape(-1), 1).reshape(tensor.shape)


def tail_as_it_was(output, data):
    whole = data.size // 8 * 8
    both = np.concatenate([output.reshape(-1)[:whole], data.reshape(-1)[whole:]])
    return both.reshape(data.shape)


@dataclass(frozen=True)
class Way:
    tensors: Callable[[Floats], Floats] = lambda tensor: tensor
    before: Callable[[Floats, Floats, Floats], Floats] = lambda x, s, z: x * s - z
    narrow: Callable[[Floats, str], Floats] = emulated
    after: Callable[[Floats, Floats, Floats], Floats] = lambda y, s, z: (y + z) / s
    last: Callable[[Floats, Floats], Floats] = lambda output, data: output


def _there_and_back(way, case, call):
    data, *others = (tensor.view(F32) for tensor in call)
    scale, shift = map(way.tensors, others)
    with np.errstate(all="ignore"):
        narrow = way.narrow(way.before(data, scale, shift), str(case.attribute("destination_type")))
        output = way.last(way.after(narrow, scale, shift), data)
    return _one(case, np.ascontiguousarray(output, F32).view(np.uint32).reshape(data.shape))


FAKE_CONVERT = Operator(
    tuple(
        f"openvino.FakeConvert-13/float32-float32-float32/{layout}-shift/destination_type={to}"
        for layout in ("per-tensor", "per-channel", "images") for to in _NARROW
    ),
    partial(_there_and_back, Way()),
    {
        name: partial(_there_and_back, way)
        for name, way in {
            "shift added first": Way(before=lambda x, s, z: x * s + z),
            "shift not given back": Way(after=lambda y, s, z: y / s),
            "divided first": Way(before=lambda x, s, z: x / s - z),
            "scale not undone": Way(after=lambda y, s, z: y + z),
            "reciprocal for a division": Way(after=lambda y, s, z: (y + z) * (F32(1) / s)),
            "rounded twice": Way(narrow=lambda x, to: emulated(x.astype(np.float16), to)),
            "truncated": Way(narrow=truncated),
            "the other type": Way(narrow=lambda x, to: emulated(x, _OTHER[to])),
            "subnormal results flushed": Way(narrow=lambda x, to: flushed(emulated(x, to), to)),
            "the first scale for all": Way(tensors=first_only),
            "scales one channel off": Way(tensors=next_channel),
            "the tail as it was": Way(last=tail_as_it_was),
            "nothing done": Way(last=lambda output, data: data),
        }.items()
    },
)  # fmt: skip


# Promotions ---------------------------------------------------------------------------------------

_FLAGS = ("promote_unsafe", "pytorch_scalar_promotion", "u64_integer_promotion_target")
_WIDER = {"int8": "int16", "int16": "int32", "int32": "int64", "float16": "float32"}


def question(case):
    unsafe, scalars, target = (str(dict(case.attributes)[flag]) for flag in _FLAGS)
    names = {t.name_in("openvino"): name for name, t in CATALOG.types.types.items()}
    names["default"] = "float32"  # "by default set to f32"
    left, right = (t.name for t in case.inputs)
    ranks = (case.ranks[0], case.ranks[1])
    return promotion.Question(
        left, right, ranks, unsafe == "true", scalars == "true", names[target]
    )


def _type_of(asked):
    answers = promotion.answer(asked).answers
    return min(answers - {promotion.REFUSED}, default=promotion.REFUSED)


def _to(case, call, name):
    if name == promotion.REFUSED:
        return Refused("unsafe")
    pairs = zip(case.inputs, call, strict=True)
    return Outputs(tuple(_converted(t.name, name, bits) for t, bits in pairs), (name, name))


def _converted(source, target, bits):
    storage = CATALOG.types.types[target].format.storage
    if source in FLOATS and target not in FLOATS:
        return np.zeros(bits.shape, storage)
    words = {"nan": 2 * FLOATS[target].sign - 1 if target in FLOATS else 0, "": 0}
    codes = [promotion.convert(source, target, code).code for code in bits.reshape(-1).tolist()]
    return np.array([words.get(str(c), c) for c in codes], storage).reshape(bits.shape)


def _promoted(case, call):
    return _to(case, call, _type_of(question(case)))


def asked_as(change):
    return lambda case, call: _to(case, call, _type_of(change(question(case))))


def _of_type(change):
    def kernel(case, call):
        name = _type_of(question(case))
        return _to(case, call, name if name == promotion.REFUSED else change(case, name))

    return kernel


def _with_outputs(change):
    def kernel(case, call):
        right = _promoted(case, call)
        if isinstance(right, Refused):
            return right
        return replace(right, arrays=tuple(change(case, call, right)))

    return kernel


def _as_they_are(case, call, right):
    kinds = [array.dtype for array in right.arrays]
    return [bits.astype(kind) for bits, kind in zip(call, kinds, strict=True)]


def _without_nan(case, call, right):
    name = right.types[0]
    top = FLOATS[name].largest + 1 if name in FLOATS else None
    return [
        a if top is None else np.where(a % FLOATS[name].sign > top, 0, a).astype(a.dtype)
        for a in right.arrays
    ]


PROMOTE = Operator(
    tuple(
        f"openvino.ConvertPromoteTypes-14/{pair}/{layout}/"
        + "/".join(f"{flag}={value}" for flag, value in zip(_FLAGS, values, strict=True))
        for pair in ("int8-uint8", "uint64-int32", "float16-bfloat16", "int16-float32",
                     "float8e4m3fn-float8e5m2", "bool-int16", "float64-float32", "int8-int16")
        for layout, values in (
            ("tensor-tensor", ("true", "false", "i64")),
            ("tensor-tensor", ("false", "false", "f32")),
            ("scalar-tensor", ("false", "true", "f32")),
        )
    ),
    _promoted,
    {
        "the first input's type": _of_type(lambda case, name: case.inputs[0].name),
        "one width too wide": _of_type(lambda case, name: _WIDER.get(name, name)),
        "f16 and bf16 to f16": _of_type(
            lambda case, name: "float16" if case.name.startswith("float16-bfloat16") else name
        ),
        "refusal missing": asked_as(lambda asked: asked._replace(unsafe=True)),
        "promote_unsafe ignored": asked_as(lambda asked: asked._replace(unsafe=False)),
        "scalar flag ignored": asked_as(lambda asked: asked._replace(scalars=False)),
        "u64 target ignored": asked_as(lambda asked: asked._replace(target="float32")),
        "first output not converted": _with_outputs(
            lambda case, call, right: (call[0].astype(right.arrays[0].dtype), right.arrays[1])
        ),
        "outputs swapped": _with_outputs(lambda case, call, right: right.arrays[::-1]),
        "outputs flattened": _with_outputs(
            lambda case, call, right: [a.reshape(-1) for a in right.arrays]
        ),
        "values reinterpreted": _with_outputs(_as_they_are),
        "NaN to 0": _with_outputs(_without_nan),
    },
)  # fmt: skip

OPERATORS = {
    "Range": RANGE, "QuantizeLinear": QUANTIZE, "DequantizeLinear": DEQUANTIZE,
    "FakeConvert": FAKE_CONVERT, "ConvertPromoteTypes": PROMOTE,
}  # fmt: skip
