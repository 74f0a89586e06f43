"""Converting through bound buffers equals `answer`. Codes that share bytes are packed."""

import gc
from dataclasses import dataclass, replace
from functools import cache
from weakref import ref

import numpy as np
import pytest
from catalogue import CATALOG
from hypothesis import given
from hypothesis import strategies as st

from convcheck.backends.onnx.runtime import OnnxRuntime
from convcheck.backends.packing import pack, unpack, unpack_into
from convcheck.backends.protocol import Declined, Outputs, Oversized, Refused, bound
from convcheck.numerics.format import Float, Int, Text
from convcheck.rules.cases import cases

WIDE = ("float32", "int32", "uint32")


@cache
def catalog_cases():
    return {case.name: case for case in cases(CATALOG.specs["onnx.Cast-21"])}


def asked(name):
    return catalog_cases()[name]


def numeric_cases():
    return [
        name
        for name, case in catalog_cases().items()
        if case.inputs[0].name in WIDE
        and not case.outside
        and not isinstance(case.outputs[0].format, Text)
    ]


@pytest.fixture(scope="module")
def ort():
    return OnnxRuntime()


SPECIAL = np.array(
    [0, 1, 0x007FFFFF, 0x00800000, 0x3F000000, 0x3F800000, 0x3FC00000, 0x40FFFFFF, 0x43E00000,
     0x477FE000, 0x477FF000, 0x4EFFFFFF, 0x4F000000, 0x5F800000, 0x7F7FFFFF, 0x7F800000,
     0x7F800001, 0x7FC00000, 0x7FFFFFFF],
    np.uint32,
)  # fmt: skip
CODES = np.concatenate([SPECIAL, SPECIAL | np.uint32(1 << 31)])


def chunk(random, size):
    codes = random.integers(0, 1 << 32, size, dtype=np.uint32)
    codes[: min(size, CODES.size)] = random.permutation(CODES)[:size]
    return random.permutation(codes)


def buffers(case, shape):
    first, last = case.inputs[0].format, case.outputs[0].format
    return np.zeros(shape, first.storage), np.zeros(shape, last.storage)


def poison(out):
    out.fill(np.iinfo(out.dtype).max // 3 * 2)


def codes_of(answer):
    assert isinstance(answer, Outputs), answer
    return answer.arrays[0]


# no session can be made of these
DECLINED = [
    f"float32-to-{name}/saturate=0"
    for name in ("float16", "bfloat16", "int8", "int32", "uint8", "bool")
]


@pytest.mark.parametrize("name", ["int4-to-float32", "uint4-to-int4", "int4-to-bool"])
def test_codes_that_share_bytes_are_packed_for_each_run(ort, name):
    case = asked(name)
    codes, out = buffers(case, 7)
    convert = ort.bind(case, codes, out)
    for first in (0, 1):
        codes[:] = (np.arange(7) + first) % (1 << case.inputs[0].format.bits)
        poison(out)
        said, expected = convert(), ort.answer(case, [codes])
        if isinstance(expected, Outputs):
            np.testing.assert_array_equal(out, codes_of(expected))
        assert said is None or said == expected


@pytest.mark.parametrize("size", [1, 513])
def test_a_bound_case_gives_the_bits_of_an_answer(ort, size):
    random = np.random.default_rng(size)
    for name in numeric_cases():
        case = asked(name)
        codes, out = buffers(case, size)
        convert = ort.bind(case, codes, out)
        assert convert is not None, name
        for _ in range(3):
            codes[:] = chunk(random, size)
            poison(out)
            said = convert()
            expected = ort.answer(case, [codes])
            if name in DECLINED:
                assert said == expected
                assert isinstance(said, Declined)
                continue
            assert said is None, (name, said)
            np.testing.assert_array_equal(out, codes_of(expected), err_msg=name)


def test_binding_survives_other_questions_and_keeps_its_buffers(ort):
    """Each convert has its own session. Unreferenced arrays are not freed."""
    made = []
    for name in ("float32-to-int8", "float32-to-int4", "float32-to-float8e5m2/saturate=0"):
        codes, out = buffers(asked(name), 4097)
        convert = ort.bind(asked(name), codes, out)
        made.append((asked(name), convert, ref(codes), ref(out)))
        del codes, out
    ort.answer(asked("uint32-to-int8"), [np.ones(3, np.uint32)])
    gc.collect()
    for case, convert, *kept in made:
        codes, out = (array() for array in kept)
        assert out is not None
        codes[:] = 0x40400000
        poison(out)
        assert convert() is None
        np.testing.assert_array_equal(out, codes_of(ort.answer(case, [codes])))


REFUSED = Refused("RUNTIME: no")


def test_what_is_not_bound(ort):
    case = asked("float32-to-int8")
    codes, out = buffers(case, 4)
    assert ort.bind(case, codes, out) is not None
    for x, y in [(codes[::2], out[::2]), (codes[:0], out[:0]), (codes[:2], out),
                 (codes, out.astype(np.uint16)), (codes.astype(np.uint64), out)]:  # fmt: skip
        assert ort.bind(case, x, y) is None
    out.flags.writeable = False
    assert ort.bind(case, codes, out) is None
    two = replace(case, inputs=case.inputs * 2)
    assert ort.bind(two, *buffers(case, 4)) is None
    text = asked("float32-to-string")
    assert ort.bind(text, *buffers(text, 4)) is None


@dataclass
class Plain:
    said: object
    calls: int = 0
    name: str = "plain"
    version: str = "1"

    def support(self, case):
        return None

    def answer(self, case, inputs):
        self.calls += 1
        return self.said


CASE = "float32-to-int8"
GOOD = np.array([1, 2, 3], np.uint8)


def converting(backend):
    codes, out = buffers(asked(CASE), 3)
    return bound(backend, asked(CASE), codes, out), out


def test_a_backend_without_bind_is_asked_each_time():
    backend = Plain(Outputs((GOOD,), ("int8",)))
    convert, out = converting(backend)
    assert backend.calls == 0
    for _ in range(2):
        poison(out)
        assert convert() is None
        np.testing.assert_array_equal(out, GOOD)
    assert backend.calls == 2


@pytest.mark.parametrize("said", [
    Outputs((GOOD,), ("uint8",)),
    Outputs((GOOD, GOOD), ("int8", "int8")),
    Outputs((GOOD, GOOD), ("int8",)),
    Outputs((), ("int8",)),
    Outputs((GOOD.astype(np.int8),), ("int8",)),
    Outputs((GOOD[:2],), ("int8",)),
    Outputs((GOOD[:1],), ("int8",)),
    Outputs((GOOD[None],), ("int8",)),
    Outputs(([1, 2, 3],), ("int8",)),
    Outputs(None, ("int8",)),
    Outputs((GOOD,), None),
    Outputs((np.ma.masked_array(GOOD, mask=True),), ("int8",)),
    Refused("no"),
    Declined("none"),
    Oversized(((3,),), ("int8",)),
    "a text",
], ids=repr)  # fmt: skip
def test_any_other_answer_comes_as_it_is(said):
    convert, out = converting(Plain(said))
    poison(out)
    before = out.copy()
    assert convert() is said
    np.testing.assert_array_equal(out, before)


def test_a_bind_is_used_unless_it_gives_none():
    class Binding(Plain):
        def bind(self, case, codes, out):
            return (lambda: REFUSED) if case.name == CASE else None

    backend = Binding(Outputs((GOOD,), ("uint8",)))
    assert converting(backend)[0]() is REFUSED
    assert backend.calls == 0
    other = asked("float32-to-uint8")
    codes, out = buffers(other, 3)
    assert bound(backend, other, codes, out)() is None
    np.testing.assert_array_equal(out, GOOD)
    backend.bind = {"a table": 1}
    assert converting(backend)[0]() is backend.said


PACKED = [Int(2, True), Int(4, False), *(Float(2, m, 1, "none") for m in (1, 3))]


def bit_by_bit(fmt, codes):
    flat = np.ascontiguousarray(codes, np.uint8).reshape(-1)
    bits = np.unpackbits(flat[:, None], axis=1, count=fmt.bits, bitorder="little")
    return np.packbits(bits, bitorder="little")


@pytest.mark.parametrize("fmt", PACKED, ids=str)
@given(st.lists(st.integers(0, 255), max_size=40), st.randoms(use_true_random=False))
def test_packing_is_as_a_stream_of_bits(fmt, values, random):
    codes = np.array(values, np.uint8)
    want = bit_by_bit(fmt, codes)
    np.testing.assert_array_equal(pack(fmt, codes), want)
    mask = np.uint8((1 << fmt.bits) - 1)
    padding = np.uint8(0xFF << random.randint(0, 8) & 0xFF)
    memory = want.copy()
    if -len(values) * fmt.bits % 8:
        memory[-1] |= padding & np.uint8(0xFF << (len(values) * fmt.bits % 8) & 0xFF)
    back = unpack(fmt, memory, codes.shape)
    np.testing.assert_array_equal(back, codes & mask)
    assert back.dtype == np.uint8
    into = np.full(codes.shape, 0x55, np.uint8)
    unpack_into(fmt, memory, into)
    np.testing.assert_array_equal(into, back)
