"""The tinygrad adapter: what goes in and out, what it declines, chains. Bits are written by hand.

The device PYTHON answers where clang may be too old for a type.
"""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from catalogue import CATALOG
from command import convcheck
from library_cases import cast_case, chain_case, codes_of

from convcheck.backends.protocol import Declined, Refused, open_backend
from convcheck.backends.tinygrad import Tinygrad
from convcheck.errors import UnavailableError, UsageError
from convcheck.rules.model import Attributes

pytestmark = pytest.mark.skipif(
    find_spec("tinygrad") is None, reason="needs tinygrad: pip install '.[tinygrad]'"
)
needs_clang = pytest.mark.skipif(shutil.which("clang") is None, reason="needs clang")

SATURATING = (("saturate", 1),)
EVERYWHERE: list[tuple[str, str, Attributes, list[int], list[int]]] = [
    ("float32", "float16", (), [0x3F800000, 0x477FE000, 0x80000000], [0x3C00, 0x7BFF, 0x8000]),
    ("float32", "float8e4m3fn", SATURATING, [0x3F800000, 0x447A0000], [0x38, 0x7E]),  # 1, 1000
    ("float8e5m2", "float32", (), [0x3C, 0xC0], [0x3F800000, 0xC0000000]),
    ("int16", "int8", (), [0x00C8, 0xFFFF], [0xC8, 0xFF]),
    ("bool", "float32", (), [0, 1], [0, 0x3F800000]),
    ("float32", "bool", (), [0x80000000, 0x3F800000, 0x7FC00000], [0, 1, 1]),
    ("uint64", "float64", (), [1 << 63, 7], [0x43E0 << 48, 0x401C << 48]),
]
INTERPRETED: list[tuple[str, str, Attributes, list[int], list[int]]] = [
    ("float32", "bfloat16", (), [0x3F808000, 0x3F818000], [0x3F80, 0x3F82]),
    ("float32", "float8e5m2fnuz", SATURATING, [0, 0x3F800000], [0, 0x40]),
    ("float8e4m3fn", "float32", (), [0x01], [0x3B000000]),
]


@pytest.fixture(scope="module")
def interpreted() -> Tinygrad:
    return Tinygrad("python", catalog=CATALOG)


@pytest.mark.parametrize(
    ("source", "target", "attributes", "given", "due"), [*EVERYWHERE, *INTERPRETED]
)
def test_casts_bit_by_bit(
    interpreted: Tinygrad, source: str, target: str, attributes: Attributes,
    given: list[int], due: list[int],
) -> None:  # fmt: skip
    case = cast_case(source, target, attributes)
    assert interpreted.support(case) is None
    assert [hex(c) for c in codes_of(interpreted, case, given)] == [hex(c) for c in due]


@needs_clang
@pytest.mark.parametrize(("source", "target", "attributes", "given", "due"), EVERYWHERE)
def test_casts_of_compiled_kernels(
    source: str, target: str, attributes: Attributes, given: list[int], due: list[int]
) -> None:
    backend = Tinygrad(catalog=CATALOG)
    case = cast_case(source, target, attributes)
    assert [hex(c) for c in codes_of(backend, case, given)] == [hex(c) for c in due]


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (1, 2, 3, 1)], ids=str)
def test_shapes_are_kept(interpreted: Tinygrad, shape: tuple[int, ...]) -> None:
    assert codes_of(interpreted, cast_case("uint8", "int64"), np.zeros(shape)).shape == shape


def test_an_exception_on_values_is_a_refusal(interpreted: Tinygrad) -> None:
    answer = interpreted.answer(cast_case("float32", "int8"), [np.array([0x7F800000], np.uint32)])
    assert answer == Refused("cannot convert float infinity to integer")


@needs_clang
def test_what_the_compiler_does_not_take_is_declined(
    tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tmp_path / "clang-of-old"
    compiler.write_text(
        "#!/bin/sh\ntext=$(cat)\ncase $text in *977*) exit 1;; esac\n"
        'printf "%s" "$text" | exec clang "$@"\n'
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    from tinygrad.helpers import getenv

    getenv.cache_clear()
    backend = Tinygrad(catalog=CATALOG)
    assert str(compiler) in backend.version
    answer = backend.answer(cast_case("float32", "int16"), [np.zeros(977, np.uint32)])
    getenv.cache_clear()
    assert answer == Declined(f"{compiler} does not compile the kernel", missing=True)


def test_a_compiler_that_compiles_nothing_makes_it_unavailable() -> None:
    done = convcheck("run", "--backend", "tinygrad", "onnx.Cast-21", "--to", "int32",
                     "--from", "int8", CC="false")  # fmt: skip
    assert done.returncode == 4
    assert "false compiles no kernel of tinygrad's CPU device" in " ".join(done.stderr.split())


@needs_clang
def test_no_kernel_of_another_compiler_answers(tmp_path: Path) -> None:
    """A process that asked the same before, with another compiler, leaves its kernels on disk."""
    older = tmp_path / "older"
    older.write_text(
        '#!/bin/sh\ntext=$(cat)\ncase $text in *short*) exit 1;; esac\n'
        'printf "%s" "$text" | exec clang "$@"\n'
    )  # fmt: skip
    older.chmod(0o755)
    asked = "explain", "--backend", "tinygrad", "onnx.Cast-21/int8-to-int16", "7"
    kept = str(tmp_path / "cache.db")
    first, second = (
        convcheck(*asked, CC=str(compiler), CACHEDB=kept).stdout for compiler in ("clang", older)
    )
    assert "answer    0000 0000 0000 0111  7" in first
    assert "does not compile the kernel" in second


def test_without_a_compiler_it_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(UnavailableError, match="compiles with no-such-compiler"):
        Tinygrad(catalog=CATALOG)


@pytest.mark.parametrize("middle", ["hidden", "exposed"])
def test_a_chain_is_one_graph(interpreted: Tinygrad, middle: str) -> None:
    case = chain_case("float32", "bfloat16", "float32", input="fed", middle=middle)
    assert interpreted.support(case) is None
    assert codes_of(interpreted, case, [0x3F818000]).tolist() == [0x3F820000]


def test_what_tinygrad_has_no_way_to_say_is_declined(interpreted: Tinygrad) -> None:
    said = interpreted.support(cast_case("string", "float32"))
    assert said == Declined("tinygrad has no type string", missing=True)
    said = interpreted.support(cast_case("float32", "float8e5m2", (("saturate", 0),)))
    words = "tinygrad's cast has no saturate=0: what it does is saturate=1"
    assert said == Declined(words, missing=True)
    assert interpreted.support(chain_case("int8", "int16", "int8", input="constant"))


def test_its_name_and_version() -> None:
    backend = open_backend("tinygrad:python")
    assert backend.name == "tinygrad:python"
    assert backend.version.endswith(", device PYTHON, kernels interpreted")
    with pytest.raises(UsageError, match="no variant 'gpu'"):
        open_backend("tinygrad:gpu")
