"""The adapter of Triton's interpreter: what goes in and out, what it declines. Bits by hand.

Triton is large, and its tests are slow ones: docs/contributing.md has the command.
"""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from catalogue import CATALOG
from library_cases import cast_case, codes_of

from convcheck.backends.protocol import Declined, open_backend
from convcheck.backends.triton import Triton
from convcheck.errors import UsageError
from convcheck.rules.model import Attributes

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("triton") is None, reason="needs triton: pip install '.[triton]'"),
]
SATURATING = (("saturate", 1),)
CASTS: list[tuple[str, str, Attributes, list[int], list[int]]] = [
    ("float32", "float16", (), [0x3F800000, 0x80000000], [0x3C00, 0x8000]),
    ("float32", "bfloat16", (), [0x3F800000, 0xC0000000], [0x3F80, 0xC000]),
    ("float32", "float8e4m3fn", SATURATING, [0x3F800000, 0x3F880001], [0x38, 0x39]),
    ("float8e5m2", "float32", (), [0x3C, 0xC0], [0x3F800000, 0xC0000000]),
    ("int16", "int8", (), [0x00C8, 0xFFFF], [0xC8, 0xFF]),
    ("bool", "float32", (), [0, 1], [0, 0x3F800000]),
    ("float32", "bool", (), [0x80000000, 0x3F800000], [0, 1]),
    ("uint64", "float64", (), [1 << 63, 7], [0x43E0 << 48, 0x401C << 48]),
]


@pytest.fixture(scope="module")
def backend() -> Triton:
    return Triton(catalog=CATALOG)


@pytest.mark.parametrize(("source", "target", "attributes", "given", "due"), CASTS)
def test_casts_bit_by_bit(
    backend: Triton, source: str, target: str, attributes: Attributes,
    given: list[int], due: list[int],
) -> None:  # fmt: skip
    case = cast_case(source, target, attributes)
    assert backend.support(case) is None
    assert [hex(c) for c in codes_of(backend, case, given)] == [hex(c) for c in due]


@pytest.mark.parametrize("shape", [(), (0,), (1, 2, 3, 1), (2049,)], ids=str)
def test_shapes_are_kept_over_several_programs(backend: Triton, shape: tuple[int, ...]) -> None:
    due = np.full(shape, 3)
    assert codes_of(backend, cast_case("uint8", "int64"), due).tolist() == due.tolist()


def test_what_triton_has_no_way_to_say_is_declined(backend: Triton) -> None:
    said = backend.support(cast_case("bfloat16", "int8"))
    assert said == Declined("triton's cast has no such pair of types", missing=True)
    said = backend.support(cast_case("float32", "float8e5m2", (("saturate", 0),)))
    words = "triton's cast has no saturate=0: what it does is saturate=1"
    assert said == Declined(words, missing=True)


def test_its_name_and_version() -> None:
    import triton

    backend = open_backend("triton")
    assert backend.version == f"triton {triton.__version__}, interpreter on the CPU"
    with pytest.raises(UsageError, match="no variant 'x'"):
        open_backend("triton:x")
