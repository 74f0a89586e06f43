"""ONNX Runtime in JavaScript, under Node (docs/contributing.md). Expected bits are by hand."""

import numpy as np
import pytest
from catalogue import CATALOG
from library_cases import codes_of
from places import ROOT

from convcheck.backends.protocol import LIMIT_VARIABLE, Declined, Oversized, open_backend, takes
from convcheck.errors import UnavailableError
from convcheck.plan.select import select
from convcheck.plan.selection import Selection


def package(name):
    installed = (ROOT / "node_modules" / f"onnxruntime-{name}").is_dir()
    missing = pytest.mark.skipif(not installed, reason=f"needs npm install onnxruntime-{name}")
    return pytest.param(f"ort-{name}:{ROOT}", marks=[pytest.mark.slow, missing], id=name)


each = pytest.mark.parametrize("address", [package("node"), package("web")])


def cast_21(source, target):
    return select(CATALOG, Selection(("onnx.Cast-21",), (source,), (target,)))[0]


@each
def test_casts_bit_by_bit(address):
    backend = open_backend(address, CATALOG)
    for source, target, given, due in (
        ("float32", "float16", [0x3F800000, 0x477FF000, 0x80000000], [0x3C00, 0x7C00, 0x8000]),
        ("float64", "float32", [0x3FF8 << 48], [0x3FC00000]),
        ("uint64", "int64", [(1 << 63) + 5], [(1 << 63) + 5]),
        ("int16", "int8", [0x00C8], [0xC8]),
        ("bool", "float32", [0, 1], [0, 0x3F800000]),
        ("float32", "bool", [0x80000000, 0x7FC00000], [0, 1]),
        ("string", "float32", ["1.5", "-inf"], [0x3FC00000, 0xFF800000]),
    ):
        case = cast_21(source, target)
        assert codes_of(backend, case, given).tolist() == due, case.id
    shaped = codes_of(backend, cast_21("int8", "int64"), np.zeros((1, 2, 3, 1)))
    assert shaped.shape == (1, 2, 3, 1)
    assert codes_of(backend, cast_21("int8", "int64"), 5).shape == ()


@each
@pytest.mark.parametrize(("source", "target"), [("float32", "bfloat16"), ("uint4", "float32")])
def test_types_without_tensors_are_declined(address, source, target):
    case = cast_21(source, target)
    said = open_backend(address, CATALOG).answer(case, [np.zeros(2, case.inputs[0].format.storage)])
    assert isinstance(said, Declined)
    assert said.missing
    assert "has no tensors of" in said.message


@each
def test_what_is_too_large_is_not_sent(address, monkeypatch):
    monkeypatch.setenv(LIMIT_VARIABLE, "1000")
    case = select(CATALOG, Selection(("onnx.Range-11",), ("int32",)))[0]
    backend = open_backend(address, CATALOG)
    answer = backend.answer(case, [np.array(x, np.uint32) for x in (0, 1001, 1)])
    assert answer == Oversized(((1001,),), ("int32",))


@each
def test_names_and_versions(address):
    backend = open_backend(address, CATALOG)
    assert backend.name == address
    assert "graph inputs, optimisation off, 1 thread, Node " in backend.version
    assert takes(address, CATALOG.specs["onnx.Cast-21"])
    assert not takes(address, CATALOG.specs["openvino.Convert-1"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["node", "web"])
def test_a_package_that_is_not_there(name, tmp_path):
    package = f"onnxruntime-{name}"
    with pytest.raises(UnavailableError, match=f"Cannot find module '{package}'") as caught:
        open_backend(f"ort-{name}:{tmp_path}", CATALOG)
    assert caught.value.hint == f"npm install {package}, and name the folder: ort-{name}:FOLDER"


def test_without_node(tmp_path, monkeypatch):
    from convcheck.backends.process.environment import OrtWeb

    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnavailableError, match=r"onnxruntime-web needs Node\.js") as caught:
        OrtWeb(catalog=CATALOG)
    assert caught.value.hint == "install Node.js 18 or newer"
