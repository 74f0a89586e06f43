"""`convcheck chain --backend` finds an optimiser that removes casts, and accuses no other."""

import json

import jsonschema
import pytest
from catalogue import CATALOG
from command import convcheck

from convcheck.chains.asked import MOST, chain_of, made, shorter
from convcheck.chains.type_chain import CompiledCasts
from convcheck.documents.schemas import schema
from convcheck.plan.chains import asked_chain

PLANTED = "tests.planted.chained"
CAST = ("--spec", "onnx.Cast-21", "--no-progress")


def ask(types, backend, *more):
    return convcheck("chain", *types.split(), *CAST, "--backend", backend, *more, COLUMNS="80")


def shown(done):
    return " ".join((done.stdout + done.stderr).split())


@pytest.mark.parametrize("types", ["float64 float32 float16", "float64 float32 float16 uint8"])
def test_who_makes_every_cast_is_not_accused(types):
    done = ask(types, f"{PLANTED}:Faithful")
    assert (done.returncode, done.stderr) == (0, "")
    assert "every cast is made in 8 of 8 settings" in done.stdout


def test_a_cast_that_is_left_out_is_found_in_its_setting(tmp_path):
    out = tmp_path / "graphs.json"
    done = ask("uint8 int8 int16", f"{PLANTED}:Fuses", "-o", out)
    assert done.returncode == 1
    said = "optimisation all, input fed, middle hidden: leaves out casts in the middle"
    assert f"{said}, 31 of 31 answers" in shown(done)
    assert "cast by cast in 6 settings" in done.stdout
    assert "got       0000 0000 1000 0000  128  (0x0080)" in done.stdout
    found = json.loads(out.read_text())
    jsonschema.validate(found, schema("graphs"))
    [chain] = found["chains"]
    made = {tuple(one["setting"].values()): one["made"] for one in chain["graphs"]}
    left_out = {
        setting for setting, said in made.items() if said == "leaves out casts in the middle"
    }
    assert left_out == {("all", "fed", "hidden"), ("all", "constant", "hidden")}
    assert set(made.values()) == {"leaves out casts in the middle", "cast by cast"}
    assert {one["of"] >= MOST for one in chain["graphs"]} == {True}


def test_of_a_runtime_with_a_wrong_kernel_nothing_is_told():
    done = ask("float64 float32 float16", f"{PLANTED}:Misrounds")
    assert done.returncode == 3
    assert "nothing can be told: a cast alone is wrong" in shown(done)


@pytest.mark.parametrize(("types", "backend", "code", "said"), [
    ("float32 float64 float32", "ort", 3, "no input tells whether a cast is left out"),
    ("float8e4m3fn float16 float8e4m3fn", "ort", 3, "or disputed"),
    ("float64 float32 int8", "torch", 0, "every cast is made in 1 of 1 setting"),
    ("float64 float32 int8", "otr", 2, "otr"),
])  # fmt: skip
def test_what_cannot_be_asked_is_said(types, backend, code, said):
    done = ask(types, backend)
    assert done.returncode == code
    assert said in shown(done)


@pytest.mark.parametrize(
    ("types", "changed"),
    [("float64 float32 int8", True), ("uint8 int8 int16", False), ("float32 int8 float32", False)],
)
def test_onnx_runtime(types, changed):
    done = ask(types, "ort")
    assert done.returncode == changed, done.stdout
    said = "optimisation off, input fed, middle hidden: leaves out casts in the middle"
    assert (said in shown(done)) == changed
    assert "middle exposed" not in done.stdout


def test_each_input_tells_some_cast():
    casts = CompiledCasts(CATALOG, CATALOG.specs["onnx.Cast-21"])
    names = ("float64", "float32", "float16", "int8")
    asked = asked_chain(casts, names)
    assert asked is not None
    due = chain_of(made(casts, names)).results(asked.codes)
    others = [chain_of(hops).results(asked.codes) for _, hops in shorter(casts, names)]
    told = [bool((due.codes != other.codes).any()) for other in others]
    assert told == [False, True, True]
    assert not any((each.patterns != 0).any() for each in (due, *others))
