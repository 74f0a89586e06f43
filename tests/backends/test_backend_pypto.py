"""The pypto adapter: the real package, its build, missing parts. Expected bits are by hand."""

import functools
import multiprocessing
import os
import time

import numpy as np
import pytest
from catalogue import CATALOG
from planted.identity import ran

from convcheck.backends.protocol import Declined, Outputs, open_backend
from convcheck.backends.pypto import backend as pypto_build
from convcheck.backends.pypto.backend import Pypto, SpoiledError
from convcheck.errors import UnavailableError
from convcheck.rules.model import Case

TYPES = CATALOG.types.types
MODES = ["NONE", "RINT", "ROUND", "FLOOR", "CEIL", "TRUNC", "ODD"]


def case(source, target, mode="NONE", op="pypto.cast", satmode=""):
    attributes = (("mode", f"CAST_{mode}"), *((("satmode", satmode),) if satmode else ()))
    return Case(op, op, 0, (TYPES[source],), (TYPES[target],), attributes, (("dtype", "string"),))


def codes(name, values):
    fmt = TYPES[name].format
    return np.array([value & ((1 << fmt.bits) - 1) for value in values], fmt.storage)


def answered(answer):
    assert isinstance(answer, Outputs), answer
    return answer.arrays[0]


@pytest.fixture(scope="module")
def pypto():
    pytest.importorskip("torch", reason="torch is not installed: pip install '.[pypto]'")
    pytest.importorskip("pypto", reason="pypto is not installed: pip install '.[pypto]'")
    try:
        return open_backend("pypto")
    except UnavailableError as error:
        pytest.skip(f"pypto cannot be used here: {error.message}; {error.hint}")


# float32 -> float16 keeps 10 of 23 mantissa bits. No mode may change exact values. Only integers:
# the interpreter of pypto 0.2.0 rounds others to an integer in four modes.
WHOLE = {
    "3": (0x40400000, 0x4200),
    "-2": (0xC0000000, 0xC000),
    "1023": (0x447FC000, 0x63FE),
    "largest float16": (0x477FE000, 0x7BFF),
    "+0": (0x00000000, 0x0000),
    "-0": (0x80000000, 0x8000),
    "+inf": (0x7F800000, 0x7C00),
    "-inf": (0xFF800000, 0xFC00),
}
NEAREST = {
    "tie, M even": (0x3F801000, 0x3C00),
    "tie, M odd": (0x3F803000, 0x3C02),
    "tie, negative": (0xBF803000, 0xBC02),
    "below a tie": (0x3F800FFF, 0x3C00),
    "above a tie": (0x3F801001, 0x3C01),
    "carry into the exponent": (0x3FFFF000, 0x4000),
    "smallest subnormal": (0x33800000, 0x0001),
    "half of it": (0x33000000, 0x0000),
    "more than half of it": (0x33000001, 0x0001),
}


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_keeps_what_is_exact_and_two_round_to_even(pypto, mode):
    table = [*WHOLE.values(), *(NEAREST.values() if mode in ("NONE", "RINT") else ())]
    given = codes("float32", [value for value, _ in table])
    got = answered(pypto.answer(case("float32", "float16", mode), [given]))
    assert [hex(code) for code in got] == [hex(want) for _, want in table]


def test_a_nan_stays_one(pypto):
    given = codes("float32", [0x7FC00000, 0xFFC00001])
    got = answered(pypto.answer(case("float32", "float16"), [given]))
    assert all(code & 0x7FFF > 0x7C00 for code in got)


@pytest.mark.parametrize(
    ("mode", "want"),
    [("FLOOR", [1, -2, 2, -3]), ("CEIL", [2, -1, 3, -2]), ("TRUNC", [1, -1, 2, -2]),
     ("RINT", [2, -2, 2, -2])],
)  # fmt: skip
def test_modes_are_not_mistaken_for_one_another(pypto, mode, want):
    given = codes("float32", [0x3FC00000, 0xBFC00000, 0x40200000, 0xC0200000])  # 1.5 -1.5 2.5 -2.5
    got = answered(pypto.answer(case("float32", "int32", mode), [given]))
    assert got.tolist() == codes("int32", want).tolist()


@pytest.mark.parametrize(("source", "target", "given", "want"), [
    ("int32", "int64", [1, -1, -(2**31), 2**31 - 1], [1, -1, -(2**31), 2**31 - 1]),
    ("int64", "int32", [0, -5, 2**31 - 1], [0, -5, 2**31 - 1]),
    ("int16", "float32", [1, -1, 32767], [0x3F800000, 0xBF800000, 0x46FFFE00]),
    ("int8", "float16", [1, -1, -128], [0x3C00, 0xBC00, 0xD800]),
    ("float16", "float32", [0x3C00, 0x0001, 0xFBFF], [0x3F800000, 0x33800000, 0xC77FE000]),
    ("bfloat16", "float32", [0x3F81, 0x8000, 0x7F80], [0x3F810000, 0x80000000, 0x7F800000]),
    ("float32", "bfloat16", [0x3F818000, 0x3F828000], [0x3F82, 0x3F82]),
    ("float16", "int8", [0x4000, 0xC500], [2, -5]),
    ("float16", "uint8", [0x4000, 0x5BF8], [2, 255]),
])  # fmt: skip
def test_bits_go_in_and_out_of_every_type(pypto, source, target, given, want):
    got = answered(pypto.answer(case(source, target), [codes(source, given)]))
    assert got.dtype == TYPES[target].format.storage
    assert got.tolist() == codes(target, want).tolist()


def test_the_saturation_mode_goes_in(pypto, monkeypatch):
    """The function gets the argument. Whether the interpreter obeys it is not tested here."""
    called = []
    function = pypto._pypto.cast

    @functools.wraps(function)
    def cast(*operands, **attributes):
        called.append(attributes)
        return function(*operands, **attributes)

    monkeypatch.setattr(pypto._pypto, "cast", cast)
    for satmode in ("ON", "OFF", ""):
        hundred = codes("float16", [0x5640])
        got = answered(pypto.answer(case("float16", "int8", satmode=satmode), [hundred]))
        assert got.tolist() == [100]
        values = pypto._pypto.SaturationMode.__members__
        assert called[-1].get("satmode") == (values[satmode] if satmode else None)


@pytest.mark.parametrize("target", ["int64", "int32"])
@pytest.mark.parametrize("shape", [(6,), (1, 6), (2, 3), (3, 1, 2), (1, 2, 3, 1)])
def test_shapes_go_in_and_out(pypto, shape, target):
    """Also where pypto returns the input itself, and of strided and read-only inputs."""
    plain = codes("int32", range(6)).reshape(shape)
    strided = np.repeat(plain, 2, 0)[::2]
    strided.flags.writeable = False
    for values in (plain, strided):
        got = answered(pypto.answer(case("int32", target), [values]))
        np.testing.assert_array_equal(got, values)


@pytest.mark.parametrize(("question", "words"), [
    (case("float32", "float16", op="onnx.Cast"), "pypto has no onnx.Cast"),
    (case("float32", "float16", op="pypto.warp"), "pypto has no pypto.warp"),
    (case("float32", "float16", "SIDEWAYS"), "pypto has no mode=CAST_SIDEWAYS"),
    (case("float32", "float8e5m2"), "no type float8e5m2 on this route"),
    (case("float64", "float32"), "no type float64 on this route"),
    (case("int4", "int8"), "no type int4 on this route"),
    (case("bool", "int8"), "no type bool on this route"),
])  # fmt: skip
def test_what_it_cannot_be_asked(pypto, question, words):
    assert pypto.support(question) == Declined(words, missing=True)
    assert pypto.support(case("float32", "float16", "ODD")) is None


class Faulty(Pypto):
    def __init__(self, raises):
        self.spoiled, self._plain, self.raises, self.calls = False, None, raises, 0

    def _traced(self, case, inputs):
        self.calls += 1
        if self.raises(inputs[0]):
            raise RuntimeError("Errcode: F1\nfunc f, file g.cpp\nbacktrace")
        return Outputs((inputs[0],), (case.outputs[0].name,))


def test_a_case_that_raises_on_plain_inputs_is_declined_and_spoils():
    backend = Faulty(lambda bits: True)
    answer = backend.answer(case("int8", "int8"), [codes("int8", [5])])
    assert answer == Declined("RuntimeError: Errcode: F1 / func f, file g.cpp")
    assert backend.spoiled
    with pytest.raises(SpoiledError, match="before"):
        backend.answer(case("int8", "int16"), [codes("int8", [5])])
    assert backend.calls == 1


def test_inputs_that_raise_where_plain_ones_do_not_are_no_answer():
    backend = Faulty(lambda bits: 5 in bits)
    with pytest.raises(SpoiledError, match=r"shape \(2,\): RuntimeError: Errcode: F1"):
        backend.answer(case("int8", "int8"), [codes("int8", [5, 6])])
    assert backend.spoiled


class Spoils:
    """Raises in case number 1 of `planted.identity`, and in all later ones."""

    name, version = "spoils", "1"
    spoiled = False

    def support(self, case):
        return None

    def answer(self, case, inputs):
        if self.spoiled:
            raise SpoiledError("poisoned")
        if case.attribute("number") == 1:
            self.spoiled = True
            return Declined("RuntimeError: no such pair")
        return Outputs((np.array(inputs[0]),), (case.outputs[0].name,))


def test_a_spoiled_backend_gets_a_new_worker_and_poisons_no_other_case():
    results = ran("tests.backends.test_backend_pypto:Spoils", *range(4)).cases
    verdicts = [r.verdict for r in results]
    assert verdicts[0] == verdicts[2] == verdicts[3] == "pass"
    assert verdicts[1] not in ("pass", "error", "crashed", "refused")
    assert "no such pair" in results[1].message


# The build, with another command instead of CMake


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def say_nothing(line):
    pass


def build_slowly(folder):
    with (folder.parent / "builds").open("a") as log:
        log.write(f"{os.getpid()}\n")
    time.sleep(0.5)
    (folder / "made").write_text("whole")
    return folder / "made"


def build_once(library, said):
    def say(line):
        with said.open("a") as file:
            file.write(line + "\n")

    pypto_build.once(library, build_slowly, say)


def test_of_several_processes_one_builds_and_the_others_wait(tmp_path):
    library, said = tmp_path / "cache" / "lib.so", tmp_path / "said"
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=build_once, args=(library, said)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert len((library.parent / "builds").read_text().splitlines()) == 1
    assert library.read_text() == "whole"
    assert said.read_text().count("once for these versions") == 1
    assert not list(library.parent.glob("build-*"))


def test_a_build_that_fails_leaves_no_library(tmp_path):
    def fail(folder):
        (folder / "half").write_text("half")
        raise UnavailableError("no")

    library = tmp_path / "lib.so"
    (tmp_path / "build-killed").mkdir()
    with pytest.raises(UnavailableError, match="no"):
        pypto_build.once(library, fail, say_nothing)
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]
    pypto_build.once(library, build_slowly, say_nothing)
    assert library.read_text() == "whole"


def test_a_cache_that_cannot_be_written_is_unavailable(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UnavailableError, match="could not be put") as error:
        pypto_build.once(tmp_path / "file" / "lib.so", build_slowly, say_nothing)
    assert "XDG_CACHE_HOME" in error.value.hint


@pytest.fixture
def packages(tmp_path, cache, monkeypatch):
    (tmp_path / "lib" / "calculator").mkdir(parents=True)
    (tmp_path / "lib" / "calculator" / "CMakeLists.txt").write_text("")
    monkeypatch.setattr(pypto_build, "_folder", lambda name: str(tmp_path))
    monkeypatch.setattr(pypto_build.metadata, "version", {"pypto": "1", "torch": "2+x"}.get)
    return tmp_path


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setattr(pypto_build, "_folder", lambda name: None)
    for ask in (Pypto.available, Pypto):
        with pytest.raises(UnavailableError, match="pypto and torch not installed") as error:
            ask()
        assert error.value.hint == "in a checkout of convcheck: pip install '.[pypto]'"


def test_missing_tools_are_named(packages, monkeypatch):
    for variable in ("CC", "CXX"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", "")
    words = r"without cmake, a C compiler, a C\+\+ compiler, make or ninja"
    for ask in (Pypto.available, lambda: Pypto.prepare(say_nothing), Pypto):
        with pytest.raises(UnavailableError, match=words) as error:
            ask()
        assert "install CMake and a C++ compiler" in error.value.hint


def test_what_is_built_needs_no_tools(packages, monkeypatch):
    monkeypatch.setattr(pypto_build, "check_tools", lambda: None)
    assert "built at the first use" in Pypto.available()
    library = pypto_build.installed().library
    library.parent.mkdir(parents=True)
    library.write_text("")
    monkeypatch.setattr(pypto_build, "check_tools", pytest.fail)
    assert Pypto.available().startswith("pypto 1 golden interpreter (torch 2, ")
    assert "built" not in Pypto.available()
    Pypto.prepare(pytest.fail)
