"""Quantisation with one scale: expected values of runs of codes, compared with the oracle."""

import numpy as np
import pytest
from catalogue import CATALOG, WORDS, compiled, element
from oracle.quantize import UNDEFINED, quantize

from convcheck.numerics.words import code_of
from convcheck.plan.select import cases_of_tier
from convcheck.semantics.answers_at import run_program
from convcheck.semantics.runs import Constant, runs
from convcheck.vectors.corpus import WHOLE_SPAN

FIXED = [case for name, spec in CATALOG.specs.items() if "QuantizeLinear-" in name
         for case in cases_of_tier(spec) if case.fixed]  # fmt: skip


def of(spec, start):
    return [case for case in FIXED if case.id.startswith(f"onnx.{spec}/{start}")]


def due(case, code):
    [x, scale, *_], y = (t.name for t in case.inputs), case.outputs[0].name
    words = dict(case.fixed)
    zero = code_of(case.outputs[0].format, words["y_zero_point"])[0] if len(words) > 1 else None
    of_scale = code_of(case.inputs[1].format, words["y_scale"])[0]
    named, saturate = case.attribute("precision"), case.attribute("saturate")
    return quantize(
        case.version, (x, scale, y), (code, of_scale, zero), None if named is None else int(named),
        saturate=saturate != 0,
    )  # fmt: skip


def told(flat):
    return {WORDS.get(kind, code) for code, kind in flat.outcomes}


def flats(case, first=0, count=0):
    program, source, size = compiled(case), case.inputs[0].format, count or WHOLE_SPAN
    firsts = [first] if count else range(0, 1 << 32, WHOLE_SPAN)
    found = [each for one in firsts
             for each in runs(program, source, case.outputs[0].format, one, size)]  # fmt: skip
    assert all(isinstance(each, Constant) for each in found)
    return found


@pytest.mark.parametrize("name", ["int8/tensor", "float8e4m3fn/tensor/saturate=1"])
def test_all_runs_of_a_scale_against_the_oracle(name):
    """The first and the last code of each run. x / scale is monotone, so y is constant between."""
    target = name.split("/")[0]
    [case, *_] = of("QuantizeLinear-21", f"float32-float32-{target}/{name.split('/', 1)[1]}")
    runs = flats(case)
    assert [runs[0].first, *(run.end for run in runs)] == [*(run.first for run in runs), 1 << 32]
    for run in runs:
        for code in {run.first, run.end - 1, (run.first + run.end) // 2}:
            assert told(run) == due(case, code), (case.id, hex(code))
    assert 600 < len(runs) < 700


@pytest.mark.parametrize("case", of("QuantizeLinear-25", "float16-float16-uint8/tensor")[:4]
                         + of("QuantizeLinear-21", "bfloat16-bfloat16-float8e5m2/tensor/sat")[:4]
                         + of("QuantizeLinear-19", "float16-float16-float8e4m3fnuz/tensor/")[-4:],
                         ids=lambda case: case.id)  # fmt: skip
def test_runs_are_what_the_evaluator_says_of_each_code(case):
    for first in (0, 1 << 15):
        codes = np.arange(first, first + (1 << 15)).astype(np.uint16)
        expected = run_program(compiled(case), case, codes)
        for run in flats(case, first, 1 << 15):
            part = slice(run.first - first, run.end - first)
            assert (expected.rows[part] == run.row).all()
            for reading, (code, kind) in zip(expected.readings, run.outcomes, strict=True):
                assert (reading.patterns[part] == kind).all()
                assert (reading.codes[part] == code).all()


def test_a_sample_of_every_case_against_the_oracle():
    rng, defined = np.random.default_rng(0), 0
    for case in FIXED[::23]:
        if case.op != "onnx.QuantizeLinear":
            continue
        bits = case.inputs[0].format.bits
        codes = rng.integers(0, 1 << bits, 40).astype(case.inputs[0].format.storage)
        expected = run_program(compiled(case), case, codes)
        for i, code in enumerate(codes.tolist()):
            said = {element(reading, i) for reading in expected.readings}
            assert said == due(case, code), (case.id, hex(code))
            defined += said != {UNDEFINED}
    assert defined > 1_000
