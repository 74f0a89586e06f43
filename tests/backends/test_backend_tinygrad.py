import shutil
from importlib.util import find_spec

import numpy as np
import pytest
from catalogue import CATALOG
from command import convcheck
from library_cases import cast_case

from convcheck.backends.protocol import Declined, Refused
from convcheck.backends.tinygrad import Tinygrad
from convcheck.errors import UnavailableError

pytestmark = pytest.mark.skipif(
    find_spec("tinygrad") is None, reason="needs tinygrad: pip install '.[tinygrad]'"
)
needs_clang = pytest.mark.skipif(shutil.which("clang") is None, reason="needs clang")


@pytest.fixture(scope="module")
def interpreted():
    return Tinygrad("python", catalog=CATALOG)


def test_an_exception_on_values_is_a_refusal(interpreted):
    answer = interpreted.answer(cast_case("float32", "int8"), [np.array([0x7F800000], np.uint32)])
    assert answer == Refused("cannot convert float infinity to integer")


def clang_without(word, folder):
    compiler = folder / "clang-of-old"
    compiler.write_text(
        f"#!/bin/sh\ntext=$(cat)\ncase $text in *{word}*) exit 1;; esac\n"
        'printf "%s" "$text" | exec clang "$@"\n'
    )
    compiler.chmod(0o755)
    return compiler


@needs_clang
def test_what_is_not_compiled_is_declined(tmp_path, monkeypatch):
    compiler = clang_without("977", tmp_path)
    monkeypatch.setenv("CC", str(compiler))
    from tinygrad.helpers import getenv

    getenv.cache_clear()
    backend = Tinygrad(catalog=CATALOG)
    assert str(compiler) in backend.version
    answer = backend.answer(cast_case("float32", "int16"), [np.zeros(977, np.uint32)])
    getenv.cache_clear()
    assert answer == Declined(f"{compiler} does not compile the kernel", missing=True)


def test_a_compiler_that_compiles_nothing_makes_it_unavailable():
    done = convcheck("run", "--backend", "tinygrad", "onnx.Cast-21", "--to", "int32",
                     "--from", "int8", CC="false")  # fmt: skip
    assert done.returncode == 4
    assert "false compiles no kernel of tinygrad's CPU device" in " ".join(done.stderr.split())


@needs_clang
def test_no_kernel_of_another_compiler_answers(tmp_path):
    """An earlier process with another compiler leaves its kernels on disk."""
    older = clang_without("short", tmp_path)
    asked = "explain", "--backend", "tinygrad", "onnx.Cast-21/int8-to-int16", "7"
    kept = str(tmp_path / "cache.db")
    first, second = (
        convcheck(*asked, CC=str(compiler), CACHEDB=kept).stdout for compiler in ("clang", older)
    )
    assert "answer    0000 0000 0000 0111  7" in first
    assert "does not compile the kernel" in " ".join(second.split())


def test_without_a_compiler_it_is_unavailable(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(UnavailableError, match="compiles with no-such-compiler"):
        Tinygrad(catalog=CATALOG)
