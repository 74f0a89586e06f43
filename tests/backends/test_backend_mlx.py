"""The MLX adapter: what goes in and out, what it declines, chains. Bits are written by hand."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from catalogue import CATALOG
from library_cases import cast_case, chain_case, codes_of

from convcheck.backends.mlx import Mlx
from convcheck.backends.protocol import Declined, open_backend
from convcheck.errors import UsageError
from convcheck.rules.model import Attributes

pytestmark = pytest.mark.skipif(find_spec("mlx") is None, reason="needs mlx: pip install '.[mlx]'")

SATURATING = (("saturate", 1),)
CASTS: list[tuple[str, str, Attributes, list[int], list[int]]] = [
    ("float32", "float16", (), [0x3F800000, 0x477FF000, 0x80000000], [0x3C00, 0x7C00, 0x8000]),
    ("float32", "bfloat16", (), [0x3F808000, 0x3F818000], [0x3F80, 0x3F82]),
    ("bfloat16", "float64", (), [0xBFC0], [0xBFF8 << 48]),
    ("float32", "float8e4m3fn", SATURATING, [0x43E80000, 0x447A0000, 0x80000000],
     [0x7E, 0x7E, 0x80]),
    ("float8e4m3fn", "float32", (), [0x7E, 0x01], [0x43E00000, 0x3B000000]),
    ("int16", "int8", (), [0x00C8, 0xFFFF], [0xC8, 0xFF]),
    ("bool", "bfloat16", (), [0, 1], [0, 0x3F80]),
    ("float32", "bool", (), [0x80000000, 0x3F800000, 0x7FC00000], [0, 1, 1]),
    ("uint64", "float64", (), [1 << 63, 7], [0x43E0 << 48, 0x401C << 48]),
    ("float32", "complex64", (), [0x3F800000], [0x3F800000]),
]  # fmt: skip


@pytest.fixture(scope="module", params=["", "compile"])
def backend(request: pytest.FixtureRequest) -> Mlx:
    return Mlx(request.param, catalog=CATALOG)


@pytest.mark.parametrize(("source", "target", "attributes", "given", "due"), CASTS)
def test_casts_bit_by_bit(
    backend: Mlx, source: str, target: str, attributes: Attributes,
    given: list[int], due: list[int],
) -> None:  # fmt: skip
    case = cast_case(source, target, attributes)
    assert backend.support(case) is None
    assert [hex(c) for c in codes_of(backend, case, given)] == [hex(c) for c in due]


@pytest.mark.parametrize("shape", [(), (0,), (1, 2, 3, 1)], ids=str)
@pytest.mark.parametrize("source", ["uint8", "bool"])
def test_shapes_are_kept(backend: Mlx, source: str, shape: tuple[int, ...]) -> None:
    assert codes_of(backend, cast_case(source, "int64"), np.zeros(shape)).shape == shape


def test_inputs_need_not_be_contiguous(backend: Mlx) -> None:
    mine = np.arange(12, dtype=np.uint8)
    assert codes_of(backend, cast_case("uint8", "int16"), mine[::3]).tolist() == [0, 3, 6, 9]


def test_what_mlx_has_no_way_to_say_is_declined(backend: Mlx) -> None:
    said = backend.support(cast_case("float32", "float8e5m2", SATURATING))
    assert said == Declined("mlx has no type float8e5m2", missing=True)
    answer = backend.answer(cast_case("int8", "float8e4m3fn", SATURATING), [np.zeros(2, np.uint8)])
    assert isinstance(answer, Declined)
    assert answer.missing


@pytest.mark.parametrize("compile_", ["off", "on"])
@pytest.mark.parametrize("middle", ["hidden", "exposed"])
@pytest.mark.parametrize("input_", ["fed", "constant"])
def test_a_chain_is_one_graph(compile_: str, middle: str, input_: str) -> None:
    chain = ("float32", "bfloat16", "float32")
    case = chain_case(*chain, compile=compile_, input=input_, middle=middle)
    assert codes_of(Mlx(catalog=CATALOG), case, [0x3F818000]).tolist() == [0x3F820000]


def test_options_and_variants() -> None:
    import mlx.core as mx

    backend = open_backend("mlx")
    assert backend.version == f"mlx {mx.__version__}, CPU, eager"
    assert backend.configured({"compile": "on"}).name == "mlx:compile"  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="mlx has no option 'threads'"):
        backend.configured({"threads": "2"})  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="no variant 'x'"):
        open_backend("mlx:x")
