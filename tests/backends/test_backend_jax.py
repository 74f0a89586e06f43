"""The JAX adapter: what goes in and out, what it declines, chains. Bits are written by hand."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from catalogue import CATALOG
from library_cases import cast_case, chain_case, codes_of

from convcheck.backends.jax import Jax
from convcheck.backends.protocol import Declined, open_backend
from convcheck.errors import UsageError
from convcheck.rules.model import Attributes

# JAX is found, not imported: collecting the tests would take as long again.
pytestmark = pytest.mark.skipif(find_spec("jax") is None, reason="needs jax: pip install '.[jax]'")

NEAREST = (("saturate", 1), ("round_mode", "nearest"))
CASTS: list[tuple[str, str, Attributes, list[int], list[int]]] = [
    # 464 is a tie and stays 448, 480 is out of range: NaN, as saturate=0 says; -0
    ("float32", "float8e4m3fn", (("saturate", 0),), [0x43E80000, 0x43F00000, 0x80000000],
     [0x7E, 0x7F, 0x80]),
    ("float16", "float8e5m2fnuz", (("saturate", 0),), [0x3C00, 0x8000, 0x7C00], [0x40, 0, 0x80]),
    ("float32", "bfloat16", (), [0x3F808000, 0x3F818000], [0x3F80, 0x3F82]),
    ("float64", "float32", (), [0x3FF8 << 48, 0x7FE0 << 48], [0x3FC00000, 0x7F800000]),
    ("float32", "float8e8m0", NEAREST, [0x3FC00000, 0x3FBFFFFF], [0x80, 0x7F]),
    ("float32", "float4e2m1", (), [0xC0A00000, 0x41200000], [0xE, 0x7]),  # -5 is a tie; 10
    ("int8", "int4", (), [0xFD, 0x19], [0xD, 0x9]),
    ("int4", "int8", (), [0x7, 0x8, 0xF], [0x07, 0xF8, 0xFF]),
    ("uint64", "float64", (), [1 << 63, (1 << 64) - 1], [0x43E0 << 48, 0x43F0 << 48]),
    ("bool", "bfloat16", (), [0, 1], [0x0000, 0x3F80]),
    ("float32", "bool", (), [0x80000000, 0x3F800000, 0x7FC00000], [0, 1, 1]),
]  # fmt: skip
DECLINED: list[tuple[str, str, Attributes, str]] = [
    # jax.numpy has the type, and XLA aborts where it is a constant
    ("float32", "float6e2m3", (),
     "INVALID_ARGUMENT: Unknown NumPy dtype dtype(float6_e2m3fn) char 8 kind V itemsize 1"),
    ("string", "float32", (), "jax has no type string"),
    ("float32", "float8e4m3fn", (("saturate", 1),),
     "jax's convert_element_type has no saturate=1: what it does is saturate=0"),
]  # fmt: skip


@pytest.fixture(scope="module", params=["", "eager", "const"])
def backend(request: pytest.FixtureRequest) -> Jax:
    return Jax(request.param, catalog=CATALOG)


@pytest.mark.parametrize(("source", "target", "attributes", "given", "due"), CASTS)
def test_casts_bit_by_bit(
    backend: Jax, source: str, target: str, attributes: Attributes,
    given: list[int], due: list[int],
) -> None:  # fmt: skip
    case = cast_case(source, target, attributes)
    assert backend.support(case) is None
    assert [hex(c) for c in codes_of(backend, case, given)] == [hex(c) for c in due]


@pytest.mark.parametrize("shape", [(), (0,), (1, 2, 3, 1)], ids=str)
def test_shapes_are_kept(backend: Jax, shape: tuple[int, ...]) -> None:
    assert codes_of(backend, cast_case("int4", "int64"), np.zeros(shape)).shape == shape


def test_inputs_need_not_be_contiguous(backend: Jax) -> None:
    mine = np.arange(12, dtype=np.uint8)
    assert codes_of(backend, cast_case("uint8", "int16"), mine[::3]).tolist() == [0, 3, 6, 9]


@pytest.mark.parametrize(("source", "target", "attributes", "words"), DECLINED)
def test_what_jax_has_no_way_to_say_is_declined(
    source: str, target: str, attributes: Attributes, words: str
) -> None:
    backend = Jax(catalog=CATALOG)
    assert backend.support(cast_case(source, target, attributes)) == Declined(words, missing=True)


@pytest.mark.parametrize("jit", ["on", "off"])
@pytest.mark.parametrize("middle", ["hidden", "exposed"])
@pytest.mark.parametrize("input_", ["fed", "constant"])
def test_a_chain_is_one_function(jit: str, middle: str, input_: str) -> None:
    case = chain_case("float32", "bfloat16", "float32", jit=jit, input=input_, middle=middle)
    backend = Jax(catalog=CATALOG)
    assert backend.support(case) is None
    assert codes_of(backend, case, [0x3F808001]).tolist() == [0x3F810000]  # through bfloat16


def test_constants_are_constants_and_arguments_are_arguments() -> None:
    """What the adapter compiles has the array in the code, or it has not."""
    import jax

    code = {}
    for variant in ("", "const"):
        jax.clear_caches()
        seen: list[str] = []
        backend = Jax(variant, catalog=CATALOG)
        jit = jax.jit
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(jax, "jit", lambda f, jit=jit, seen=seen: _seen(jit(f), seen))
            codes_of(backend, cast_case("float32", "bfloat16"), [0x3F800000, 0x40000000])
        code[variant] = seen[0]
    assert "stablehlo.constant" in code["const"]
    assert "@main()" in code["const"]
    assert "stablehlo.constant" not in code[""]


def _seen(compiled, seen: list[str]):
    def call(*arrays):
        seen.append(compiled.lower(*arrays).as_text())
        return compiled(*arrays)

    return call


def test_options_and_variants() -> None:
    import jax

    backend = open_backend("jax")
    assert backend.version == f"jax {jax.__version__}, XLA on the CPU, jit, arrays as arguments"
    assert backend.configured({"jit": "off"}).name == "jax:eager"  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="jax has no option 'threads'"):
        backend.configured({"threads": "2"})  # type: ignore[attr-defined]
    constant = cast_case("int8", "int4", setting=(("input", "fed"),))
    assert open_backend("jax:const").support(constant) == Declined(
        "jax:const has constants as inputs"
    )
    with pytest.raises(UsageError, match="no variant 'x'"):
        open_backend("jax:x")


def test_a_fault_of_the_adapter_accuses_nobody(
    backend: Jax, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mistaken(*arguments: object) -> None:
        raise TypeError("an argument too many")

    monkeypatch.setattr(type(backend), "cast", mistaken)
    with pytest.raises(TypeError, match="too many"):
        codes_of(backend, cast_case("int8", "int4"), [1])
