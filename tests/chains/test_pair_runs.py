"""`run --chains` of quantisation: quantise and dequantise in one graph, with constant scales."""

import sys

import numpy as np
import pytest
from catalogue import CATALOG
from command import convcheck, report_at
from oracle.quantize import dequantize, quantize
from places import ROOT

from convcheck.causes.catalogue import causes_of
from convcheck.causes.search import PairSearch
from convcheck.chains.asked import ChainCorpus, pairs_of
from convcheck.judge.answers import ANSWERED, Answers
from convcheck.numerics.words import code_of
from convcheck.semantics.evaluate import evaluate

PLANTED = "tests.planted.chained"
SMALL = "*/float32-float32-int8-to-int8-to-float32/*y_scale=5.224/*"


def report(backend, path, *specs):
    done = convcheck("run", "--chains", "--no-progress", "--backend", backend, *specs,
                     "--case", SMALL, "-o", path)  # fmt: skip
    assert not done.stderr, done.stderr
    return done.returncode, report_at(path)["cases"]


def test_who_keeps_both_nodes_passes(tmp_path):
    code, found = report(f"{PLANTED}:Faithful", tmp_path / "r.json", "onnx.QuantizeLinear-21")
    assert (code, len(found)) == (0, 8)
    assert {case["verdict"] for case in found} == {"pass"}
    assert found[0]["fixed"] == {"y_scale": "5.224", "y_zero_point": "0"}


@pytest.mark.slow
def test_both_nodes_taken_for_nothing_are_found_without_a_spec(tmp_path):
    """Each in the newest version that has it."""
    path = tmp_path / "r.json"
    code, found = report(f"{PLANTED}:Drops", path)
    assert code == 1
    versions = {case["id"].partition("/")[2]: case["spec"] for case in found}
    assert len(versions) == len(found)
    assert set(versions.values()) == {"onnx.QuantizeLinear-23", "onnx.QuantizeLinear-25"}
    for case in found:
        assert case["verdict"] == ("fail" if case["setting"]["optimisation"] == "all" else "pass")
    said = " ".join(convcheck("report", path).stdout.replace("\\\n", " ").split())
    assert "chain / both nodes are there" in said
    assert "convcheck run --chains --backend" in said


def test_pairs_of_one_version_have_ids_of_their_own():
    ids = [case.id for case, _ in pairs_of(CATALOG, CATALOG.specs["onnx.QuantizeLinear-25"])]
    assert len(ids) == len(set(ids)) > 50


@pytest.mark.parametrize("value", ["14", "nothing"])
def test_values_of_the_constants_are_chosen(value):
    done = convcheck("run", "--chains", "--backend", f"{PLANTED}:Faithful", "--dry-run",
                     "onnx.QuantizeLinear-10", "--where", f"y_scale={value}")  # fmt: skip
    assert done.returncode == (2 if value == "nothing" else 0)
    assert ("y_scale=nothing matches no case" in done.stderr) == (value == "nothing")


@pytest.mark.parametrize(("command", "more"), [("explain", "1"), ("repro", "--backend=ort")])
def test_commands_for_one_node_name_the_one_for_pairs(command, more):
    name = f"onnx.QuantizeLinear-21/{SMALL[2:-3]}"
    done = convcheck(command, name, more)
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert f"convcheck run --chains --backend NAME onnx.QuantizeLinear-21 --case '{name}" in said


def test_what_is_due_of_both_is_what_the_oracle_composes():
    """Every pair of a version with float32, on the two oracles in fractions."""
    count = 0
    for case, codes in pairs_of(CATALOG, CATALOG.specs["onnx.QuantizeLinear-21"]):
        first, second = case.hops
        if case.inputs[0].name != "float32" or case.attribute("saturate") == 0:
            continue
        words = zip(first.inputs[1:], first.fixed, strict=True)
        scale, zero = (code_of(t.format, word)[0] for t, (_, word) in words)
        names = (first.inputs[0].name, first.inputs[1].name, first.outputs[0].name)
        bits = codes.astype(np.uint32)
        q = evaluate(CATALOG.specs[first.spec], first, bits).readings[0].codes
        y = evaluate(CATALOG.specs[second.spec], second, q).readings[0].codes
        for x, middle, end in zip(
            bits[::7].tolist(), q[::7].tolist(), y[::7].tolist(), strict=True
        ):
            assert quantize(21, names, (x, scale, zero)) == {middle}
            back = (names[2], names[1], case.outputs[0].name)
            assert dequantize(21, back, (middle, scale, zero)) == {end}
            count += 1
    assert count > 500


def by_a_factor(x, scale, zero, shifts):
    """In numpy, as OpenVINO was observed: to int8 by 255 over the width of the range, which is
    infinite for a tiny scale. With an int8 output and no zero point, nothing is added first.
    """
    f = np.float32
    low, high = f(-128 - zero) * f(scale), f(127 - zero) * f(scale)
    with np.errstate(all="ignore"):
        factor = f(255) / (high - low)
        level = np.clip(x.view(f), low, high) * factor
        if shifts:
            level = np.rint(level - low * factor) - 128
        level = np.where(np.isfinite(level), np.rint(level), -128)
    return ((level.astype(np.int32) - zero).astype(f) * f(scale)).view(np.uint32)


@pytest.mark.parametrize(("scale", "zero", "shifts", "cause"), [
    ("0.1", "3", True, "factor-of-the-range-of-int8"),
    ("0x0.00001ap-126", "-128", True, "factor-of-the-range-of-int8"),
    ("0x1.234566p+96", "0", False, "factor-of-the-range-of-int8-before-the-zero-point"),
])  # fmt: skip
def test_what_becomes_of_a_pair_is_named_and_one_other_answer_refutes_it(
    scale, zero, shifts, cause
):
    spec = CATALOG.specs["onnx.QuantizeLinear-13"]
    chosen = (("y_scale", scale), ("y_zero_point", zero))
    case, codes = next(
        (case, codes) for case, codes in pairs_of(CATALOG, spec)
        if (case.hops[0].fixed, case.hops[0].outputs[0].name) == (chosen, "int8")
    )  # fmt: skip
    vectors = ChainCorpus(CATALOG, "edge", 0, (), codes={case.unset_id: codes}).vectors(case)
    value = float.fromhex(scale) if "p" in scale else float(scale)
    got = by_a_factor(codes.astype(np.uint32), value, int(zero), shifts)
    state = np.full(len(got), ANSWERED, np.uint8)
    search = PairSearch(causes_of(CATALOG), CATALOG)
    found = search.diagnose(vectors, Answers(got, state, {}))
    assert found is not None
    assert (found.fits[0], found.answers) == ((cause,), len(codes))
    got[0] ^= np.uint32(1)
    found = search.diagnose(vectors, Answers(got, state, {}))
    assert found is not None
    assert found.fits == ()


def by_levels(x, scale, how):
    """In numpy, as OpenVINO folds both nodes into one of 256 levels, from 0 to 255 times the scale;
    or with the exact quotient, or with an extra level.
    """
    f = np.float32
    high = f(255) * f(scale)
    place = np.rint(x.view(f) / f(scale) if how == "quotient" else x.view(f) / high * f(255))
    place = np.clip(place, f(0), f(255))
    place = place + (place == f(64)) if how == "other" else place
    return (place / f(255) * high + f(0)).astype(f).view(np.uint32)


@pytest.mark.parametrize(("how", "fits"), [
    ("quotient", ("levels-of-the-range-of-uint8",)),
    ("range", ("within-the-range-of-uint8", "levels-of-the-range-of-uint8")),
    ("other", None),
])  # fmt: skip
def test_what_becomes_of_both_nodes_is_named(how, fits):
    """Edits of the second node are tried if no edit of the first gives every answer."""
    chosen = (("y_scale", "234567.8"), ("y_zero_point", "min"))
    case, codes = next(
        (case, codes) for case, codes in pairs_of(CATALOG, CATALOG.specs["onnx.QuantizeLinear-13"])
        if (case.hops[0].fixed, case.hops[0].outputs[0].name) == (chosen, "uint8")
    )  # fmt: skip
    vectors = ChainCorpus(CATALOG, "edge", 0, (), codes={case.unset_id: codes}).vectors(case)
    got = by_levels(codes.astype(np.uint32), 234567.8, how)
    answers = Answers(got, np.full(len(got), ANSWERED, np.uint8), {})
    found = PairSearch(causes_of(CATALOG), CATALOG).diagnose(vectors, answers)
    assert found is not None
    assert next(iter(found.fits), None) == fits


def test_the_example_program_answers_pairs(tmp_path):
    program = tmp_path / "cast.py"
    program.write_text(convcheck("backend", "example", "python").stdout)
    done = convcheck("run", "--chains", "--no-progress", "onnx.QuantizeLinear-13",
                     "--backend", f"process:{sys.executable} {program}")  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_operator_that_is_not_there_is_an_error(tmp_path):
    text = (ROOT / "specs" / "onnx" / "quantizelinear-10.yaml").read_text()
    mine = text.replace("op: onnx.QuantizeLinear", "op: acme.QuantizeLinear")
    (tmp_path / "mine.yaml").write_text(mine.replace("onnx.DequantizeLinear,", "acme.NoSuch,"))
    run = ("run", "--chains", "--backend", "reference", "acme.QuantizeLinear-10")
    done = convcheck(*run, "--specs", tmp_path)
    assert done.returncode == 2
    assert "`undone-by`: there is no spec of acme.NoSuch, version 10" in done.stderr
    assert "mine.yaml:" in done.stderr
    found = convcheck("lint", "acme.QuantizeLinear-10", "--specs", tmp_path)
    assert (found.returncode, found.stderr.count("there is no spec of acme.NoSuch")) == (2, 1)
