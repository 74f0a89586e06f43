"""The ml_dtypes adapter: what goes in and out, what it declines. Bits are written by hand."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from catalogue import CATALOG

from convcheck.backends.ml_dtypes import MlDtypes
from convcheck.backends.protocol import Declined, Outputs, open_backend
from convcheck.errors import UsageError
from convcheck.rules.load import Catalog
from convcheck.rules.model import Attributes, Case

NEAREST = (("saturate", 1), ("round_mode", "nearest"))
CASTS: list[tuple[str, str, Attributes, list[int], list[int]]] = [
    # 464 is a tie and stays 448, 480 is out of range: NaN, as saturate=0 says; -0
    ("float32", "float8e4m3fn", (("saturate", 0),), [0x43E80000, 0x43F00000, 0x80000000],
     [0x7E, 0x7F, 0x80]),
    ("float32", "float8e5m2", (("saturate", 0),), [0x47700000, 0xFF800000], [0x7C, 0xFC]),
    ("float16", "float8e5m2fnuz", (("saturate", 0),), [0x3C00, 0x8000, 0x7C00], [0x40, 0, 0x80]),
    ("float32", "bfloat16", (), [0x3F808000, 0x3F818000], [0x3F80, 0x3F82]),
    ("float32", "float16", (), [0x477FF000, 0x33800000], [0x7C00, 0x0001]),
    ("float64", "float32", (), [0x3FF8 << 48, 0x7FE0 << 48], [0x3FC00000, 0x7F800000]),
    ("float32", "float8e8m0", NEAREST, [0x3FC00000, 0x3FBFFFFF], [0x80, 0x7F]),
    ("float32", "float4e2m1", (), [0xC0A00000, 0x41200000], [0xE, 0x7]),  # -5 is a tie; 10
    ("float4e2m1", "float32", (), [0x1, 0xF], [0x3F000000, 0xC0C00000]),
    ("float32", "float6e2m3", (), [0x40F00000, 0x3E000000], [0x1F, 0x01]),  # 7.5; 2^-3
    ("float6e3m2", "float16", (), [0x1F, 0x20], [0x4F00, 0x8000]),  # 28; -0
    ("int4", "int8", (), [0x7, 0x8, 0xF], [0x07, 0xF8, 0xFF]),
    ("int8", "int4", (), [0xFF, 0x19], [0xF, 0x9]),
    ("int64", "uint2", (), [7, 4], [3, 0]),
    ("float32", "int4", (), [0xC0400000], [0xD]),  # -3
    ("int16", "int8", (), [0x00C8], [0xC8]),
    ("bool", "float8e5m2", (("saturate", 0),), [0, 1], [0x00, 0x3C]),
    ("float8e4m3fnuz", "bool", (), [0x00, 0x80, 0x01], [0, 1, 1]),  # 0, NaN, the least
]  # fmt: skip
DECLINED: list[tuple[str, str, Attributes, str]] = [
    ("string", "float32", (), "ml_dtypes has no type string"),
    ("float32", "float8e4m3fn", (("saturate", 1),),
     "ml_dtypes's astype has no saturate=1: what it does is saturate=0"),
    ("float32", "float8e8m0", (("saturate", 0), ("round_mode", "nearest")),
     "ml_dtypes's astype has no saturate=0, round_mode=nearest: what it does is "
     "saturate=1, round_mode=nearest"),
]  # fmt: skip


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return CATALOG


@pytest.fixture(scope="module")
def backend(catalog: Catalog) -> MlDtypes:
    return MlDtypes(catalog=catalog)


@pytest.fixture
def make(catalog: Catalog):
    """Make a case of Cast-28; types by name."""

    def case(source: str, target: str, attributes: Attributes = ()) -> Case:
        types = [(catalog.types.types[name],) for name in (source, target)]
        return Case("onnx.Cast-28", "onnx.Cast", 28, types[0], types[1], attributes)

    return case


def ask(backend: MlDtypes, case: Case, values: object) -> np.ndarray:
    answer = backend.answer(case, [np.array(values, case.inputs[0].format.storage)])
    assert isinstance(answer, Outputs), answer
    assert answer.types == (case.outputs[0].name,)
    assert answer.arrays[0].dtype == case.outputs[0].format.storage
    return answer.arrays[0]


@pytest.mark.parametrize(("source", "target", "attributes", "given", "due"), CASTS)
def test_casts_bit_by_bit(
    backend: MlDtypes, make, source: str, target: str, attributes: Attributes,
    given: list[int], due: list[int],
) -> None:  # fmt: skip
    case = make(source, target, attributes)
    assert backend.support(case) is None
    assert [hex(c) for c in ask(backend, case, given)] == [hex(c) for c in due]


@pytest.mark.parametrize("shape", [(), (0,), (5,), (1, 2, 3, 1)], ids=str)
@pytest.mark.parametrize("pair", [("float32", "bfloat16"), ("int4", "int64"), ("bool", "uint8")])
def test_shapes_are_kept(
    backend: MlDtypes, make, shape: tuple[int, ...], pair: tuple[str, str]
) -> None:
    assert ask(backend, make(*pair), np.zeros(shape)).shape == shape


def test_numpy_s_warnings_are_no_noise(backend: MlDtypes, make) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ask(backend, make("float32", "float16"), [0x7F7FFFFF])
        ask(backend, make("float32", "int8"), [0x7FC00000, 0x7F800000])
        ask(backend, make("float32", "bfloat16"), [0x7FFFFFFF])


def test_inputs_need_not_be_contiguous(backend: MlDtypes, make) -> None:
    mine = np.arange(12, dtype=np.uint8)
    assert ask(backend, make("uint8", "int16"), mine[::3]).tolist() == [0, 3, 6, 9]


@pytest.mark.parametrize(("source", "target", "attributes", "words"), DECLINED)
def test_what_it_has_no_way_to_say_is_declined(
    backend: MlDtypes, make, source: str, target: str, attributes: Attributes, words: str
) -> None:
    assert backend.support(make(source, target, attributes)) == Declined(words, missing=True)


def test_pairs_without_a_loop_are_declined(backend: MlDtypes, make) -> None:
    case = make("float8e8m0", "int4")
    assert backend.support(case) is None
    answer = backend.answer(case, [np.array([0x7F], np.uint8)])
    assert isinstance(answer, Declined)
    assert answer.missing
    assert answer.message.startswith("Cannot cast array data from dtype(float8_e8m0fnu)")


def test_functions_that_numpy_has_not_are_declined(backend: MlDtypes, make) -> None:
    other = Case("acme.Thing-3", "acme.Thing", 3, make("int8", "int8").inputs, (), ())
    words = "ml_dtypes has no function for acme.Thing-3"
    assert backend.support(other) == Declined(words, missing=True)


def test_its_name_and_version() -> None:
    import ml_dtypes

    backend = open_backend("ml_dtypes")
    assert backend.name == "ml_dtypes"
    assert backend.version == f"ml_dtypes {ml_dtypes.__version__}, numpy {np.__version__}"


def test_it_has_no_variants() -> None:
    with pytest.raises(UsageError, match="ml_dtypes has no variant 'x'"):
        open_backend("ml_dtypes:x")
