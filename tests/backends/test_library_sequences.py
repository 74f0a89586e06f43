"""Sequences of libraries that have a function of three numbers: bits are written by hand."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from catalogue import CATALOG

from convcheck.backends.protocol import (
    LIMIT_VARIABLE,
    Backend,
    Outputs,
    Oversized,
    Refused,
    open_backend,
)
from convcheck.rules.model import Case

FLOATS = {0: 0, 1: 0x3F800000, 2: 0x40000000, 3: 0x40400000, 4: 0x40800000, 5: 0x40A00000,
          -1: 0xBF800000, -2: 0xC0000000}  # fmt: skip
SEQUENCES = [
    ((0, 5, 2), [0, 2, 4]),  # a part of a step is left over
    ((0, 4, 2), [0, 2]),  # none is
    ((5, 0, -2), [5, 3, 1]),
    ((5, 0, 1), []),  # the wrong way
    ((3, 3, 1), []),
]
ADDRESSES = ["jax", "jax:eager", "mlx", "tinygrad:python"]


@pytest.fixture(scope="module", params=ADDRESSES)
def backend(request: pytest.FixtureRequest) -> Backend:
    package = request.param.partition(":")[0]
    if find_spec(package) is None:
        pytest.skip(f"needs {package}: pip install '.[{package}]'")
    return open_backend(request.param, CATALOG)


def asked(backend: Backend, name: str, codes: list[int]) -> object:
    kind = CATALOG.types.types[name]
    case = Case("onnx.Range-11", "onnx.Range", 11, (kind,) * 3, (kind,), (), ((),) * 3)
    assert backend.support(case) is None
    tensors = [np.array(code, kind.format.storage) for code in codes]
    return backend.answer(case, tensors)


@pytest.mark.parametrize(("arguments", "expected"), SEQUENCES)
@pytest.mark.parametrize("name", ["int32", "int64", "float32"])
def test_sequences_bit_by_bit(
    backend: Backend, name: str, arguments: tuple[int, ...], expected: list[int]
) -> None:
    bits = CATALOG.types.types[name].format.bits
    codes, due = (
        [FLOATS[n] if name == "float32" else n % (1 << bits) for n in some]
        for some in (arguments, expected)
    )
    answer = asked(backend, name, codes)
    assert isinstance(answer, Outputs), answer
    assert answer.types == (name,)
    assert answer.arrays[0].tolist() == due
    assert answer.arrays[0].dtype == f"uint{bits}"


def test_a_sequence_that_is_too_large_is_not_made(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LIMIT_VARIABLE, "100")
    assert asked(backend, "int64", [0, 1 << 20, 1]) == Oversized(((1 << 20,),), ("int64",))


def test_what_has_no_end_is_refused(backend: Backend) -> None:
    assert isinstance(asked(backend, "int32", [0, 5, 0]), Refused)
    nan = asked(backend, "float32", [0x7FC00000, FLOATS[4], FLOATS[1]])
    assert isinstance(nan, Refused), nan
