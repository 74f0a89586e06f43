import json
from pathlib import Path
from typing import NamedTuple

import pytest
from command import convcheck
from planted.float19 import UE5M3, WIDEN, in_folder


class Report(NamedTuple):
    """A reported case: inputs, and the right answers. With `any` no answer is wrong."""

    report: str
    question: str
    case: str
    inputs: list[str]
    right: list[str]
    note: str


FILE = Path(__file__).with_name("field_reports.json")
REPORTS = [Report(**entry) for entry in json.loads(FILE.read_text(encoding="utf-8"))]
ORDINARY = [one for one in REPORTS if one.case.startswith(("onnx.", "openvino."))]
MX = """
op: mx.Quantize
version: 1
sources: {text: {title: OCP Microscaling Formats 1.0, section: "6.3", url: "https://example.org"}}
inputs: {x: T}
outputs: {y: F, scale: E}
shape: {cite: "The output has the shape of the input."}
types: {T: [float32], F: [float8e4m3fn], E: [float8e8m0]}
attributes: {scale_type: {type: string, values: [e8m0], default: e8m0}}
layouts: {tensor: {x: [n]}}
steps:
  level: normative
  agreed: normative
  cite: "X is the largest power of two in the block, divided by that of the element type."
  lines:
    - {let: high, be: "max(largest(x), 0 - smallest(x))"}
    - {let: top, be: high / 256}
    - {let: scale, convert: top, by: power, as: float64, to: {scale_type: {e8m0: float8e8m0}}}
    - {let: quotient, be: x / scale}
    - {let: y, convert: quotient, by: element, as: float64, to: output}
  readings:
    - {name: exactly, in: exact, cite: "P_i is V_i / X, converted to the element type."}
  zero: either-sign
  not-finite: exact
  undefined:
    - {name: a block of zeros, when: top <= 0, cite: "X is the largest power of two."}
  back: y * scale
  ends: [["-957", "3"]]
rules:
  - name: power
    level: normative
    cite: "X is the largest power of two."
    when: {from: float64, to: float8e8m0}
    round: toward-zero
    table:
      nan: {gives: undefined, level: undefined}
      "+inf": {gives: undefined, level: undefined}
      "[x] > max": +max
      "x < 0": {gives: undefined, level: undefined}
      else: "[x]"
  - name: element
    level: normative
    cite: "Normal numbers beyond the maximum are clamped to it."
    when: {from: float64, to: float8e4m3fn}
    round: nearest-even
    table:
      nan: {gives: undefined, level: undefined}
      "[x] > max": +max
      "[x] < -max": -max
      else: "[x]"
"""


def of(name):
    return [one for one in REPORTS if name in one.report]


def judged(case, inputs, got, *more):
    done = convcheck("explain", case, *inputs, "--got", *got, *more)
    assert done.returncode in (0, 1), done.stderr
    return done


@pytest.mark.parametrize("entry", ORDINARY, ids=lambda one: f"{one.report} {one.inputs}")
def test_right_answers_are_right_and_others_wrong(entry):
    got = entry.right
    if got == ["any"] * len(got):
        got = ["0x5"] * len(got)
        done = judged(entry.case, entry.inputs, got)
        assert (done.returncode, "NOT JUDGED" in done.stdout) == (0, True)
        return
    assert judged(entry.case, entry.inputs, got).returncode == 0
    wrong = [*got[:-1], hex(int(got[-1], 16 if got[-1].startswith("0x") else 10) ^ 1)]
    assert judged(entry.case, entry.inputs, wrong).returncode == 1


def test_a_neighbour_is_no_name_of_the_other_end():
    [entry] = [one for one in of("pytorch/pytorch#116992") if "neighbour" in one.question]
    done = judged(entry.case, entry.inputs, ["-128"])
    assert (done.returncode, "off by one" in done.stdout) == (1, False)


def test_a_range_is_judged_as_people_print_it_with_and_without_its_limit():
    [entry] = of("apache/tvm#20109")
    for got in (["0", "0.1", "0.2"], ["0", "0.1", "0.2", "0.3"]):
        assert judged(entry.case, entry.inputs, got).returncode == 0
    assert judged(entry.case, entry.inputs, ["0", "0.1"]).returncode == 1


def test_a_chain_is_no_identity_and_its_right_answers_are_the_inputs():
    [entry] = of("apple/coremltools#2626")
    done = convcheck("chain", "int32", "uint16", "int32", "--spec", "onnx.Cast-13")
    assert (done.returncode, "different from the identity" in done.stdout) == (1, True)
    assert judged("onnx.Cast-13/int32-to-int32", entry.inputs, entry.right).returncode == 0


def test_who_keeps_all_casts_of_chains_passes():
    [entry] = of("onnx/optimizer#273")
    assert "4,012 chains of Cast-13" in entry.case
    done = convcheck("run", "--chains", "onnx.Cast-13", "--backend", "reference", "--dry-run")
    assert f"{4012 // 4:,} cases" in done.stdout
    words = "run --chains onnx.Cast-13 --from int32 --to uint16 --backend reference"
    done = convcheck(*words.split())
    assert done.returncode == 0


def test_a_block_of_the_mx_formats(tmp_path):
    [entry] = of("microsoft/microxcaling#4")
    (tmp_path / "mx.yaml").write_text(MX, encoding="utf-8")
    case = "mx.Quantize-1/float32-to-float8e4m3fn"
    right = [entry.right[1].split()[1], "2"]
    assert entry.right[0] == "scale 2^1"
    for got, code in ((right, 0), (["448", "4"], 1), (["416", "2"], 1)):
        assert judged(case, entry.inputs, got, "--specs", tmp_path).returncode == code


def test_a_type_of_ones_own(tmp_path):
    [entry] = of("NVIDIA/cutlass#3602")
    own = ("--specs", in_folder(tmp_path, UE5M3, WIDEN))
    for last, code in ((entry.right[-1], 0), ("inf", 1)):
        got = [*entry.right[:-1], last]
        done = judged("acme.Convert-1/ue5m3-to-float32", entry.inputs, got, *own)
        assert done.returncode == code


def test_a_zero_point_that_the_text_rules_out_is_answered_with_its_sentence():
    [entry] = of("onnx/onnx#7752")
    case = "onnx.DequantizeLinear-21/int32-float32-int32/tensor"
    done = convcheck("explain", case, *entry.inputs, "--got", "7")
    assert (done.returncode, "NOT JUDGED" in done.stdout) == (0, True), done.stderr
    assert "zero point is supposed to be 0" in " ".join(done.stdout.split())


def test_every_report_is_judged():
    special = ("coremltools#2626", "optimizer#273", "microxcaling#4", "cutlass#3602", "onnx#7752")
    others = [one for one in REPORTS if one not in ORDINARY]
    assert len(REPORTS) == 25
    assert all(any(name in one.report for name in special) for one in others)
    assert len(others) == len(special)
