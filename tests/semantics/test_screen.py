"""A cause that gives all wrong answers is never taken for one that does not. Of a table, it is
known whether it does.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from catalogue import CATALOG

from convcheck.causes.catalogue import causes_of
from convcheck.judge.matching import Mask, matching
from convcheck.numerics.codes import Bits
from convcheck.rules.cases import cases
from convcheck.rules.causes import Cause
from convcheck.rules.find import find_case
from convcheck.rules.load import load
from convcheck.rules.model import Case, Spec
from convcheck.semantics.evaluate import points_of
from convcheck.semantics.expected import UNDEFINED, Reading
from convcheck.semantics.screen import Screen, is_mode
from convcheck.semantics.wrong import compile_wrong, readings_at, right_program
from convcheck.vectors.inputs import numeric_inputs
from specs import write_spec

CASES = (
    "onnx.Cast-21/float64-to-float8e4m3fn/saturate=0",
    "onnx.Cast-21/float32-to-float8e5m2fnuz/saturate=1",
    "onnx.Cast-21/float16-to-int8",
    "onnx.Cast-21/float32-to-int4",
    "onnx.Cast-21/int32-to-float16",
    "onnx.Cast-21/float64-to-bool",
    "onnx.Cast-24/float32-to-float8e8m0/saturate=1/round_mode=up",
    "pypto.cast-0.2/float32-to-int16/mode=CAST_RINT/satmode=ON",
    "openvino.Convert-1/float64-to-float16",
)


class Planted:
    """What a cause gives in the place of the rules, where these never give it."""

    def __init__(self, spec: Spec, case: Case, cause: Cause) -> None:
        self.spec, self.case = spec, case
        bits = numeric_inputs(case.inputs[0].format, case.outputs[0].format, "edge", 0)[0]
        said = self.said(cause, bits)
        rules = readings_at(right_program(spec, case), points_of(case, bits))
        asked = np.logical_and.reduce([one.patterns != UNDEFINED for one in [said, *rules]])
        right = np.logical_or.reduce([self.as_said(one, said.codes, bits) for one in rules])
        wrong = asked & ~right
        self.bits, self.got = bits[wrong], said.codes[wrong]
        self.screen = Screen(points_of(case, self.bits), self.answered)

    def said(self, cause: Cause, bits: Bits) -> Reading:
        program = compile_wrong(self.spec, self.case, (cause,)) or right_program(
            self.spec, self.case
        )
        return readings_at(program, points_of(self.case, bits))[0]

    def as_said(self, reading: Reading, got: Bits, bits: Bits) -> Mask:
        ends = self.case.outputs[0].format, self.case.inputs[0].format
        return matching(reading, got, *ends, bits) & (reading.patterns != UNDEFINED)

    def answered(self, reading: Reading) -> Mask:
        return self.as_said(reading, self.got, self.bits)

    def gives(self, cause: Cause) -> bool:
        return bool(self.answered(self.said(cause, self.bits)).all())


def planted(case: Case, causes: list[Cause]) -> Iterator[Planted]:
    for cause in causes[::3]:
        one = Planted(CATALOG.specs[case.spec], case, cause)
        if len(one.bits):
            yield one


@pytest.mark.parametrize("name", CASES)
def test_what_gives_all_wrong_answers_may_give_them(name: str) -> None:
    case = find_case(CATALOG, name, None, None, ())
    spec = CATALOG.specs[case.spec]
    causes = [cause for cause in causes_of(CATALOG) if cause.applies_to(case)]
    tables = [c for c in causes if c.rules and not (c.hops or c.rounds or c.under)]
    told = refuted = 0
    for one in planted(case, causes):
        for cause in causes:
            may = one.screen.may_give(cause, spec)
            refuted += not may
            assert may or not one.gives(cause), cause.name
        for cause in tables:
            told += one.screen.may_give(cause, spec) == one.gives(cause)
    assert told > 0.95 * len(tables) * len(list(planted(case, causes)))
    assert refuted > len(causes)


FLIPPING = """\
op: acme.Flipping
version: 1
sources:
  text: {title: Acme manual, section: Flipping, url: "https://example.org"}
inputs: {x: T}
outputs: {y: U}
shape: {cite: "The shape of y is that of x."}
types: {T: [float32], U: [float16]}
rules:
  - name: flips
    level: normative
    cite: "Where x is rounded to a subnormal, or into the next binade, y is something else."
    when: {to: float16}
    round: nearest-even
    table:
      nan: nan
      "[x] is subnormal": +0
      "[x] carries": -max
      "[x] > max": +inf
      "[x] < -max": -inf
      else: "[x]"
"""


def test_a_mode_may_give_what_rules_say_of_other_neighbours(tmp_path: Path) -> None:
    """Of two neighbours of x, a rule may take one for subnormal, or for a carry: then a mode gives
    neither of them.
    """
    catalog = load([write_spec(tmp_path / "own", FLIPPING)])
    spec = catalog.specs["acme.Flipping-1"]
    [case] = cases(spec)
    modes = [cause for cause in causes_of(CATALOG) if is_mode(cause)]
    found = {cause: Planted(spec, case, cause) for cause in modes}
    shown = {cause: one for cause, one in found.items() if len(one.bits)}  # not by the rules' own
    assert len(shown) > 5
    for cause, one in shown.items():
        assert one.screen.may_give(cause, spec), cause.name
