"""The adapters that import ONNX models: tract, IREE and TVM. Expected bits are by hand.

IREE and TVM are large, so their tests are slow ones (command in docs/contributing.md).
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from catalogue import CATALOG
from library_cases import cast_case, chain_case, codes_of

from convcheck.backends.onnx.model import build, serialised
from convcheck.backends.protocol import (
    LIMIT_VARIABLE,
    Backend,
    Declined,
    Outputs,
    Oversized,
    open_backend,
)
from convcheck.errors import UsageError
from convcheck.plan.select import select
from convcheck.plan.selection import Selection
from convcheck.rules.cases import cases
from convcheck.rules.model import Case

RELEASES = {"tract": "tract 0", "iree": "iree compiler 3", "tvm": "tvm 0"}


def runtime(name: str, *marks: Any) -> Any:
    missing = pytest.mark.skipif(
        find_spec(name) is None, reason=f"needs {name}: pip install '.[{name}]'"
    )
    return pytest.param(name, marks=[missing, *marks])


each = pytest.mark.parametrize(
    "name", [runtime("tract"), runtime("iree", pytest.mark.slow), runtime("tvm", pytest.mark.slow)]
)
fed_or_constant = pytest.mark.parametrize("variant", ["", ":const"])


def cast_21(source: str, target: str) -> Case:
    return select(CATALOG, Selection(("onnx.Cast-21",), (source,), (target,)))[0]


@each
@fed_or_constant
def test_casts_bit_by_bit(name: str, variant: str) -> None:
    backend = open_backend(name + variant, CATALOG)
    for source, target, given, due in (
        ("float32", "float16", [0x3F800000, 0x477FF000, 0x80000000], [0x3C00, 0x7C00, 0x8000]),
        ("float32", "float64", [0xBFC00000], [0xBFF8 << 48]),
        ("float32", "bool", [0x80000000, 0x3F800000], [0, 1]),
        ("int32", "int8", [0xFFFFFFFF, 0x000000C8], [0xFF, 0xC8]),
        ("bool", "int8", [0, 1], [0, 1]),
    ):
        case = cast_21(source, target)
        assert backend.support(case) is None
        assert codes_of(backend, case, given).tolist() == due, case.id


@each
@fed_or_constant
def test_shapes_are_kept(name: str, variant: str) -> None:
    backend = open_backend(name + variant, CATALOG)
    for shape in ((), (1, 2, 3, 1), (2, 1), (3, 2)):
        case = cast_21("float32", "int32")
        assert (
            codes_of(backend, case, np.full(shape, 0x40400000)).tolist()
            == np.full(shape, 3).tolist()
        )


@each
def test_answers_outlive_the_call(name: str) -> None:
    backend = open_backend(name, CATALOG)
    held = codes_of(backend, cast_21("float32", "int32"), [0x40400000] * 7)
    while isinstance(held.base, np.ndarray):
        held = held.base
    assert held.flags.owndata


@each
def test_types_that_it_has_not_are_declined(name: str) -> None:
    backend = open_backend(name, CATALOG)
    declined = backend.answer(cast_21("float32", "int4"), [np.zeros(3, np.uint32)])
    assert isinstance(declined, Declined), declined
    assert declined.missing
    texts = backend.support(cast_21("string", "float32"))
    assert texts is not None
    assert "texts" in texts.message


@each
def test_sequences(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = open_backend(name, CATALOG)
    case = select(CATALOG, Selection(("onnx.Range-11",), ("int32",)))[0]
    answer = backend.answer(case, [np.array(x, np.uint32) for x in (2, 8, 3)])
    assert isinstance(answer, Outputs), answer
    assert (answer.types, answer.arrays[0].tolist()) == (("int32",), [2, 5])
    monkeypatch.setenv(LIMIT_VARIABLE, "1000")
    huge = backend.answer(case, [np.array(x, np.uint32) for x in (0, 1001, 1)])
    assert huge == Oversized(((1001,),), ("int32",))


@each
@pytest.mark.parametrize("middle", ["hidden", "exposed"])
@pytest.mark.parametrize("input_", ["fed", "constant"])
def test_a_chain_is_one_graph(name: str, middle: str, input_: str) -> None:
    backend = open_backend(name, CATALOG)
    hops = (cast_21("float32", "float16"), cast_21("float16", "float32"))
    setting = {"input": input_, "middle": middle}
    case = chain_case("float32", "float16", "float32", hops=hops, **setting)
    assert backend.support(case) is None
    assert codes_of(backend, case, [0x3F801001]).tolist() == [0x3F802000]


@each
def test_names_versions_and_variants(name: str) -> None:
    assert open_backend(name).version.startswith(RELEASES[name])
    constant = open_backend(f"{name}:const")
    assert constant.name == f"{name}:const"
    fed = cast_case("int8", "int16", setting=(("input", "fed"),))
    assert constant.support(fed) == Declined(f"{name}:const has constants as inputs")
    with pytest.raises(UsageError, match="no variant 'x'"):
        open_backend(f"{name}:x")


@pytest.mark.slow
@pytest.mark.skipif(find_spec("iree") is None, reason="needs iree: pip install '.[iree]'")
def test_iree_keeps_float64_and_has_a_machine_of_its_own() -> None:
    case = cast_21("float32", "float64")
    for address in ("iree", "iree:vmvx"):
        backend: Backend = open_backend(address, CATALOG)
        assert codes_of(backend, case, [0x3DCCCCCD]).tolist() == [0x3FB99999A0000000]


@pytest.mark.parametrize("spec", ["onnx.Cast-13", "onnx.Cast-25", "onnx.QuantizeLinear-23"])
def test_a_serialised_model_is_the_one_that_is_built(spec: str) -> None:
    from onnx import ModelProto

    for case in list(cases(CATALOG.specs[spec]))[::11]:
        assert ModelProto.FromString(serialised(case)) == build(case), case.id
