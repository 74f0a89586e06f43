"""The LiteRT adapter: what goes in and out, what it declines, chains. Bits are written by hand."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from catalogue import CATALOG
from library_cases import cast_case, chain_case, codes_of

from convcheck.backends.litert import Litert
from convcheck.backends.protocol import Declined, open_backend
from convcheck.errors import UsageError

pytestmark = pytest.mark.skipif(
    find_spec("ai_edge_litert") is None, reason="needs litert: pip install '.[litert]'"
)
CASTS: list[tuple[str, str, list[int], list[int]]] = [
    ("float32", "float16", [0x3F800000, 0x477FF000, 0x80000000], [0x3C00, 0x7C00, 0x8000]),
    ("float32", "bfloat16", [0x3F808000, 0x3F818000], [0x3F80, 0x3F82]),
    ("bfloat16", "float64", [0xBFC0], [0xBFF8 << 48]),
    ("int8", "int16", [0xFF], [0xFFFF]),
    ("uint4", "float32", [0x1, 0xF], [0x3F800000, 0x41700000]),
    ("int4", "float32", [0x7, 0x8, 0xF], [0x40E00000, 0xC1000000, 0xBF800000]),
    ("float32", "int4", [0xC0400000], [0xD]),  # -3
    ("bool", "float32", [0, 1], [0, 0x3F800000]),
    ("float32", "bool", [0x80000000, 0x3F800000, 0x7FC00000], [0, 1, 1]),
]


@pytest.fixture(scope="module", params=["", "xnnpack", "reference"])
def backend(request: pytest.FixtureRequest) -> Litert:
    return Litert(request.param, catalog=CATALOG)


@pytest.mark.parametrize(("source", "target", "given", "due"), CASTS)
def test_casts_bit_by_bit(
    backend: Litert, source: str, target: str, given: list[int], due: list[int]
) -> None:
    case = cast_case(source, target)
    assert backend.support(case) is None
    assert [hex(c) for c in codes_of(backend, case, given)] == [hex(c) for c in due]


@pytest.mark.parametrize("shape", [(), (0,), (1, 2, 3, 1)], ids=str)
def test_shapes_are_kept(backend: Litert, shape: tuple[int, ...]) -> None:
    assert codes_of(backend, cast_case("float32", "int64"), np.zeros(shape)).shape == shape


def test_answers_outlive_the_call(backend: Litert) -> None:
    case = cast_case("float32", "int32")
    held = codes_of(backend, case, [0x40400000])
    codes_of(backend, case, [0x40800000])
    assert held.tolist() == [3]


def test_what_litert_has_not_is_declined(backend: Litert) -> None:
    said = backend.support(cast_case("float32", "float6e2m3"))
    assert said == Declined("litert has no type float6e2m3", missing=True)
    said = backend.support(cast_case("float32", "float8e5m2", (("saturate", 1),)))
    assert said == Declined("litert's CAST has no saturate=1", missing=True)
    for source in ("uint64", "float8e5m2"):  # there is no kernel, and no array
        answer = backend.answer(cast_case(source, "float32"), [np.zeros(2, np.uint64)])
        assert isinstance(answer, Declined)
        assert answer.missing


@pytest.mark.parametrize("middle", ["hidden", "exposed"])
def test_a_chain_is_one_graph(backend: Litert, middle: str) -> None:
    case = chain_case("float32", "bfloat16", "float32", input="fed", middle=middle)
    assert backend.support(case) is None
    assert codes_of(backend, case, [0x3F818000]).tolist() == [0x3F820000]
    assert backend.support(chain_case("int8", "int16", "int8", input="constant"))


def test_its_name_and_version() -> None:
    backend = open_backend("litert:reference")
    assert backend.name == "litert:reference"
    assert backend.version.endswith(", CPU, reference kernels, 1 thread")
    with pytest.raises(UsageError, match="no variant 'x'"):
        open_backend("litert:x")
