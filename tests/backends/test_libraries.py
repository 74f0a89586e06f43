"""Libraries as backends, bits by hand. tinygrad's PYTHON answers where clang may be too old."""

import shutil
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from itertools import product

import numpy as np
import pytest
from catalogue import CATALOG
from library_cases import cast_case, chain_case, codes_of

from convcheck.backends.protocol import (
    LIMIT_VARIABLE,
    Declined,
    Outputs,
    Oversized,
    Refused,
    open_backend,
)
from convcheck.errors import UsageError
from convcheck.rules.model import Case

MODULES = {"litert": "ai_edge_litert", "ort": "onnxruntime", "onnx-reference": "onnx"}


def library(address, *marks):
    """Return a parameter that is skipped without the library, which is not imported."""
    name = address.partition(":")[0]
    there = find_spec(MODULES.get(name, name)) is not None
    missing = pytest.mark.skipif(not there, reason=f"needs {name}: pip install '.[{name}]'")
    slow = [pytest.mark.slow] * (name in ("triton", "iree", "tvm"))
    return pytest.param(address, marks=[missing, *slow, *marks], id=address)


def each(*addresses):
    return pytest.mark.parametrize("address", [library(address) for address in addresses])


of_clang = pytest.mark.skipif(shutil.which("clang") is None, reason="needs clang")
IMPORTERS = ("tract", "iree", "tvm")  # of ONNX models
EVERY = pytest.mark.parametrize("address", [
    *map(library, ("jax", "jax:eager", "jax:const", "litert", "litert:xnnpack", "litert:reference",
                   "ml_dtypes", "mlx", "mlx:compile", "tinygrad:python", "torch", "triton", "tract",
                   "tract:const", "iree", "iree:const", "tvm", "tvm:const")),
    library("tinygrad", of_clang),
])  # fmt: skip


@cache
def opened(address):
    return open_backend(address, CATALOG)


def cast_by(address, source, target, attributes=(), **more):
    """Return a case of Cast-28, or of Cast-21 for the importers, which have no later opset."""
    case = cast_case(source, target, attributes, **more)
    importer = address.partition(":")[0] in IMPORTERS
    return cast_21(case) if importer else case


def cast_21(case):
    return replace(case, spec="onnx.Cast-21", version=21, carried=(("to", "int"),))


NEVER, ALWAYS = (("saturate", 0),), (("saturate", 1),)
NEAREST = (*ALWAYS, ("round_mode", "nearest"))
# libraries, source, target, attributes, inputs, expected codes
CASTS = [
    ("all", "float32", "float16", (), [0x3F800000, 0x477FE000, 0x80000000],
     [0x3C00, 0x7BFF, 0x8000]),
    ("tract iree tvm", "float32", "float16", (), [0x3F800000, 0x477FF000, 0x80000000],
     [0x3C00, 0x7C00, 0x8000]),
    # the tie between max and 2^16; the least subnormal; half of it, a tie to 0
    ("litert ml_dtypes mlx torch", "float32", "float16", (), [0x477FF000, 0x33800000, 0x33000000],
     [0x7C00, 0x0001, 0x0000]),
    # 1 + 2^-8 and 1 + 3·2^-8 are ties, both rounded to even
    ("jax litert ml_dtypes mlx tinygrad:python torch", "float32", "bfloat16", (),
     [0x3F808000, 0x3F818000], [0x3F80, 0x3F82]),
    ("all", "float32", "bool", (), [0, 0x80000000, 0x3F800000], [0, 0, 1]),
    ("jax litert mlx tinygrad torch", "float32", "bool", (), [0x7FC00000], [1]),
    ("tract iree tvm", "float32", "bool", (), [0x80000000, 0x3F800000], [0, 1]),
    ("all", "bool", "float32", (), [0, 1], [0, 0x3F800000]),
    ("tract iree tvm", "bool", "int8", (), [0, 1], [0, 1]),
    ("jax mlx torch", "bool", "bfloat16", (), [0, 1], [0, 0x3F80]),
    ("ml_dtypes", "bool", "float8e5m2", NEVER, [0, 1], [0x00, 0x3C]),
    ("all", "int8", "int16", (), [0xFF, 0x03], [0xFFFF, 0x0003]),
    ("tract iree tvm", "int32", "int8", (), [0xFFFFFFFF, 0x000000C8], [0xFF, 0xC8]),
    ("ml_dtypes mlx tinygrad torch triton", "int16", "int8", (), [0x00C8, 0xFFFF], [0xC8, 0xFF]),
    ("jax mlx tinygrad torch triton", "uint64", "float64", (), [1 << 63, 7],
     [0x43E0 << 48, 0x401C << 48]),
    ("jax torch", "uint64", "float64", (), [(1 << 64) - 1], [0x43F0 << 48]),
    ("litert mlx", "bfloat16", "float64", (), [0xBFC0], [0xBFF8 << 48]),
    ("jax ml_dtypes", "float64", "float32", (), [0x3FF8 << 48, 0x7FE0 << 48],
     [0x3FC00000, 0x7F800000]),
    ("tract iree tvm", "float32", "float64", (), [0xBFC00000, 0x3DCCCCCD],
     [0xBFF8 << 48, 0x3FB99999A0000000]),
    ("torch", "float16", "float64", (), [0xBE00, 0x0001], [0xBFF8 << 48, 0x3E70 << 48]),
    ("torch", "float32", "int8", (), [0xBFC00000, 0x42FE0000], [0xFF, 0x7F]),
    ("torch", "uint64", "int64", (), [(1 << 63) + 5, 7], [(1 << 63) + 5, 7]),
    ("torch", "uint32", "uint16", (), [0x00012345], [0x2345]),
    ("mlx", "float32", "complex64", (), [0x3F800000], [0x3F800000]),
    # 464 is a tie and stays 448, 480 is out of range: NaN, as saturate=0 says; -0
    ("jax ml_dtypes", "float32", "float8e4m3fn", NEVER, [0x43E80000, 0x43F00000, 0x80000000],
     [0x7E, 0x7F, 0x80]),
    ("mlx torch", "float32", "float8e4m3fn", ALWAYS, [0x43E80000, 0x447A0000, 0x80000000],
     [0x7E, 0x7E, 0x80]),
    ("tinygrad", "float32", "float8e4m3fn", ALWAYS, [0x3F800000, 0x447A0000], [0x38, 0x7E]),
    ("triton", "float32", "float8e4m3fn", ALWAYS, [0x3F800000, 0x3F880001], [0x38, 0x39]),
    ("mlx tinygrad:python", "float8e4m3fn", "float32", (), [0x01], [0x3B000000]),
    ("mlx", "float8e4m3fn", "float32", (), [0x7E], [0x43E00000]),
    ("torch ml_dtypes", "float32", "float8e5m2", NEVER, [0x47700000, 0x476FFFFF], [0x7C, 0x7B]),
    ("tinygrad triton", "float8e5m2", "float32", (), [0x3C, 0xC0], [0x3F800000, 0xC0000000]),
    ("jax ml_dtypes", "float16", "float8e5m2fnuz", NEVER, [0x3C00, 0x8000, 0x7C00],
     [0x40, 0, 0x80]),
    ("torch", "float32", "float8e4m3fnuz", NEVER, [0x43780000, 0x80000000], [0x80, 0x00]),
    ("torch", "float8e5m2fnuz", "float32", (), [0x40, 0xC0], [0x3F800000, 0xBF800000]),
    ("ml_dtypes", "float8e4m3fnuz", "bool", (), [0x00, 0x80, 0x01], [0, 1, 1]),
    ("tinygrad:python", "float32", "float8e5m2fnuz", ALWAYS, [0, 0x3F800000], [0, 0x40]),
    ("jax ml_dtypes torch", "float32", "float8e8m0", NEAREST, [0x3F800000, 0x3FC00000, 0x3FBFFFFF],
     [0x7F, 0x80, 0x7F]),
    ("jax ml_dtypes", "float32", "float4e2m1", (), [0xC0A00000, 0x41200000], [0xE, 0x7]),
    ("ml_dtypes", "float4e2m1", "float32", (), [0x1, 0xF], [0x3F000000, 0xC0C00000]),
    ("ml_dtypes", "float32", "float6e2m3", (), [0x40F00000, 0x3E000000], [0x1F, 0x01]),
    ("ml_dtypes", "float6e3m2", "float16", (), [0x1F, 0x20], [0x4F00, 0x8000]),
    ("jax ml_dtypes", "int4", "int8", (), [0x7, 0x8, 0xF], [0x07, 0xF8, 0xFF]),
    ("jax ml_dtypes", "int8", "int4", (), [0xFD, 0x19], [0xD, 0x9]),
    ("ml_dtypes", "int64", "uint2", (), [7, 4], [3, 0]),
    ("litert ml_dtypes", "float32", "int4", (), [0xC0400000], [0xD]),
    ("litert", "int4", "float32", (), [0x7, 0x8, 0xF], [0x40E00000, 0xC1000000, 0xBF800000]),
    ("litert", "uint4", "float32", (), [0x1, 0xF], [0x3F800000, 0x41700000]),
]  # fmt: skip


@EVERY
def test_casts_bit_by_bit(address):
    name = address.partition(":")[0]
    known = {address, name, "" if name in IMPORTERS else "all"}
    backend, asked = opened(address), [cast for cast in CASTS if known & set(cast[0].split())]
    assert len(asked) >= (5 if name in IMPORTERS else 8)
    for _, source, target, attributes, given, due in asked:
        case = cast_by(address, source, target, attributes)
        assert backend.support(case) is None, case.id
        found = codes_of(backend, case, given)
        assert [hex(c) for c in found] == [hex(c) for c in due], case.id


@each("iree:vmvx")
def test_iree_has_a_machine_of_its_own(address):
    case = cast_by(address, "float32", "float64")
    assert codes_of(opened(address), case, [0x3DCCCCCD]).tolist() == [0x3FB99999A0000000]


@EVERY
@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (5,), (1, 2, 3, 1), (2049,)], ids=str)
def test_shapes_are_kept(address, shape):
    if 0 in shape and address.partition(":")[0] in IMPORTERS:
        return  # they take no tensors without elements
    case, three = cast_by(address, "float32", "int32"), np.full(shape, 0x40400000)
    assert codes_of(opened(address), case, three).tolist() == np.full(shape, 3).tolist()


@EVERY
def test_inputs_stay_as_they_are_and_answers_outlive_the_call(address):
    backend, case = opened(address), cast_by(address, "int32", "int8")
    mine = np.arange(12, dtype=np.uint32)
    mine.flags.writeable = False
    held = backend.answer(case, [mine[::3]])
    codes_of(backend, case, [7, 7, 7, 7])
    assert held.arrays[0].tolist() == [0, 3, 6, 9]


def test_an_identity_gives_memory_of_its_own():
    pytest.importorskip("torch")
    mine = np.arange(12, dtype=np.uint8)
    answer = opened("torch").answer(cast_case("int8", "int8"), [mine])
    answer.arrays[0][:] = 9
    np.testing.assert_array_equal(mine, np.arange(12))


DECLINED = [
    *((name, "string", "float32", (), "texts") for name in IMPORTERS),
    # jax.numpy has the type, and XLA aborts if it is a constant
    ("jax", "float32", "float6e2m3", (), "INVALID_ARGUMENT: Unknown NumPy dtype"),
    ("jax", "float32", "float8e4m3fn", ALWAYS, "no saturate=1: what it does is saturate=0"),
    ("litert", "float32", "float6e2m3", (), "litert has no type float6e2m3"),
    ("litert", "float32", "float8e5m2", ALWAYS, "litert's CAST has no saturate=1"),
    ("ml_dtypes", "string", "float32", (), "ml_dtypes has no type string"),
    ("ml_dtypes", "float32", "float8e8m0", (*NEVER, ("round_mode", "nearest")),
     "has no saturate=0, round_mode=nearest: what it does is saturate=1, round_mode=nearest"),
    ("mlx", "float32", "float8e5m2", ALWAYS, "mlx has no type float8e5m2"),
    ("tinygrad:python", "string", "float32", (), "tinygrad has no type string"),
    ("tinygrad:python", "float32", "float8e5m2", NEVER, "what it does is saturate=1"),
    ("torch", "int4", "int8", (), "torch has no type int4"),
    ("torch", "float32", "float8e5m2", (("saturate", 2),), "what it does is saturate=0"),
    ("torch", "float32", "int8", NEVER, "torch's to has no saturate=0"),
    ("torch", "float32", "float8e8m0", (*ALWAYS, ("round_mode", "up")),
     "has no saturate=1, round_mode=up: what it does is saturate=1, round_mode=nearest"),
    ("triton", "bfloat16", "int8", (), "triton's cast has no such pair of types"),
    ("triton", "float32", "float8e5m2", NEVER, "what it does is saturate=1"),
]  # fmt: skip


@EVERY
def test_what_it_has_no_way_to_say_is_declined(address):
    for of, source, target, attributes, words in DECLINED:
        if of == address:
            said = opened(address).support(cast_by(address, source, target, attributes))
            assert said is not None, (source, target)
            assert said.missing
            assert words in said.message
    other = Case("acme.Thing-3", "acme.Thing", 3, cast_case("int8", "int8").inputs, (), ())
    name = address.partition(":")[0]
    words = f"{name} has no function for acme.Thing-3"
    if name in IMPORTERS:
        words = "acme.Thing is not an ONNX operator"
    assert opened(address).support(other) == Declined(words, missing=True)


@pytest.mark.parametrize(("address", "source", "target", "attributes"), [
    *(pytest.param(name, "float32", "int4", (), marks=library(name).marks) for name in IMPORTERS),
    (*library("litert").values, "uint64", "float32", ()),
    (*library("litert").values, "float8e5m2", "float32", ()),
    (*library("ml_dtypes").values, "float8e8m0", "int4", ()),
    (*library("mlx").values, "int8", "float8e4m3fn", ALWAYS),
])  # fmt: skip
def test_missing_kernels(address, source, target, attributes):
    pytest.importorskip(MODULES.get(address, f"{address}.core" if address == "mlx" else address))
    case = cast_by(address, source, target, attributes)
    answer = opened(address).answer(case, [np.zeros(2, case.inputs[0].format.storage)])
    assert isinstance(answer, Declined)
    assert answer.missing


BOTH, MIDDLES = ("fed", "constant"), ("hidden", "exposed")
CHAINS = {
    "jax": {"jit": ("on", "off"), "input": BOTH, "middle": MIDDLES},
    "mlx": {"compile": ("off", "on"), "input": BOTH, "middle": MIDDLES},
    "litert": {"input": BOTH[:1], "middle": MIDDLES},
    "litert:reference": {"input": BOTH[:1], "middle": MIDDLES},
    "tinygrad:python": {"input": BOTH[:1], "middle": MIDDLES},
    "tract": {"input": BOTH, "middle": MIDDLES},
    "iree": {"input": BOTH, "middle": MIDDLES},
    "tvm": {"input": BOTH, "middle": MIDDLES},
}


@each(*CHAINS)
def test_a_chain_is_one_graph(address):
    backend, options = opened(address), CHAINS[address]
    half, given, due = "bfloat16", [0x3F818000, 0x3F808001], [0x3F820000, 0x3F810000]
    if address in IMPORTERS:
        half, given, due = "float16", [0x3F801001], [0x3F802000]
    hops = cast_by(address, "float32", half), cast_by(address, half, "float32")
    for values in product(*options.values()):
        setting = dict(zip(options, values, strict=True))
        case = chain_case("float32", half, "float32", hops=hops, **setting)
        assert backend.support(case) is None, values
        assert codes_of(backend, case, given).tolist() == due, values
    constant = chain_case("int8", "int16", "int8", input="constant")
    assert (backend.support(constant) is None) == ("constant" in options["input"])


SAYS = {
    "jax": "XLA on the CPU, jit, arrays as arguments",
    "litert:reference": "CPU, reference kernels, 1 thread",
    "ml_dtypes": f"numpy {np.__version__}",
    "mlx": "CPU, eager",
    "tinygrad:python": "device PYTHON, kernels interpreted",
    "torch": "CPU, 1 thread",
    "triton": "interpreter on the CPU",
}


@EVERY
def test_its_name_version_and_variants(address):
    backend, name = opened(address), address.partition(":")[0]
    assert backend.name == address
    assert backend.version.startswith(f"{name} ")
    assert backend.version.endswith(SAYS.get(address, ""))
    with pytest.raises(UsageError, match=f"{name} has no variant 'x'"):
        open_backend(f"{name}:x")
    if address.endswith(":const"):
        fed = cast_by(address, "int8", "int4", setting=(("input", "fed"),))
        assert backend.support(fed) == Declined(f"{address} has constants as inputs")


@pytest.mark.parametrize(("address", "choice", "name"), [
    (*library("jax").values, {"jit": "off"}, "jax:eager"),
    (*library("mlx").values, {"compile": "on"}, "mlx:compile"),
])  # fmt: skip
def test_options(address, choice, name):
    pytest.importorskip("mlx.core" if address == "mlx" else address)
    backend = opened(address)
    assert backend.configured(choice).name == name
    with pytest.raises(UsageError, match=f"{address} has no option 'threads'"):
        backend.configured({"threads": "2"})


FLOATS = {0: 0, 1: 0x3F800000, 2: 0x40000000, 3: 0x40400000, 4: 0x40800000, 5: 0x40A00000,
          -1: 0xBF800000, -2: 0xC0000000}  # fmt: skip
SEQUENCES = [
    ((0, 5, 2), [0, 2, 4]),
    ((0, 4, 2), [0, 2]),
    ((5, 0, -2), [5, 3, 1]),
    ((5, 0, 1), []),
    ((3, 3, 1), []),
    ((4, 5, 2), [4]),
]
of_sequences = each("jax", "jax:eager", "mlx", "tinygrad:python", "ort", "onnx-reference")


def asked(backend, name, codes):
    kind = CATALOG.types.types[name]
    case = Case("onnx.Range-11", "onnx.Range", 11, (kind,) * 3, (kind,), ())
    assert backend.support(case) is None
    tensors = [np.array(code, kind.format.storage) for code in codes]
    return backend.answer(case, tensors)


@of_sequences
@pytest.mark.parametrize("name", ["int32", "int64", "float32"])
def test_sequences_bit_by_bit(address, name):
    bits = CATALOG.types.types[name].format.bits
    for each_one in SEQUENCES:
        codes, due = (
            [FLOATS[n] if name == "float32" else n % (1 << bits) for n in some] for some in each_one
        )
        answer = asked(opened(address), name, codes)
        assert isinstance(answer, Outputs), answer
        assert answer.types == (name,)
        assert answer.arrays[0].tolist() == due
        assert answer.arrays[0].dtype == f"uint{bits}"


@of_sequences
def test_a_sequence_too_large_stays_there(address, monkeypatch):
    monkeypatch.setenv(LIMIT_VARIABLE, "4")
    backend = opened(address)
    assert isinstance(asked(backend, "int64", [0, 4, 1]), Outputs)
    assert asked(backend, "int64", [0, 5, 1]) == Oversized(((5,),), ("int64",))
    assert codes_of(backend, cast_21(cast_case("int8", "int16")), [1, 2, 3, 4, 5]).size == 5


@each(*IMPORTERS)
def test_sequences_of_importers(address, monkeypatch):
    answer = asked(opened(address), "int32", [2, 8, 3])
    assert isinstance(answer, Outputs), answer
    assert (answer.types, answer.arrays[0].tolist()) == (("int32",), [2, 5])
    monkeypatch.setenv(LIMIT_VARIABLE, "1000")
    assert asked(opened(address), "int32", [0, 1001, 1]) == Oversized(((1001,),), ("int32",))


@of_sequences
def test_what_has_no_end_is_refused(address):
    assert isinstance(asked(opened(address), "int32", [0, 5, 0]), Refused)
    nan = asked(opened(address), "float32", [0x7FC00000, FLOATS[4], FLOATS[1]])
    assert isinstance(nan, Refused), nan
