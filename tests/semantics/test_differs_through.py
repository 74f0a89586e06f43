"""`differs through TYPE` weakens the level of values that double rounding changes."""

import pytest
from catalogue import CATALOG

from convcheck.rules.find import find_case
from convcheck.semantics.evaluate import evaluate
from convcheck.vectors.generate import vectors_of
from specs import GOOD, findings, write_spec

RULE = """rules:
  - name: once
    level: implied
    cite: Once.
    when: {from: float32, to: float8e4m3fn}
    table: {ROW}
"""


@pytest.mark.parametrize("saturate", [0, 1])
def test_only_the_level_is_another(saturate):
    """Each vector that double rounding gets wrong is implied, and no other."""
    spec = CATALOG.specs["onnx.Cast-24"]
    name = f"{spec.id}/float64-to-float8e5m2/saturate={saturate}"
    case = find_case(CATALOG, name, None, None, ())
    vectors = vectors_of(spec, case, "edge", 0)
    with_numbers = vectors.inputs[0].view("float64")
    finite = abs(with_numbers) < 1e30
    twice = with_numbers[finite].astype("float32")
    through = find_case(CATALOG, name.replace("float64", "float32"), None, None, ())
    due = evaluate(spec, through, twice.view("uint32")).readings[0]
    once = vectors.expected.readings[0]
    apart = (due.codes != once.codes[finite]) | (due.patterns != once.patterns[finite])
    said = [vectors.expected.decisions[row].rule for row in vectors.expected.rows[finite]]
    assert apart.any()
    assert [rule.startswith("float64-rounded-once") for rule in said] == apart.tolist()
    assert {d.level for d in vectors.expected.decisions if d.rule.startswith("float64")} == {
        "implied"
    }


@pytest.mark.parametrize(("row", "words"), [
    ("differs through int8: as-below", "no float with infinities"),
    ("differs through float8e4m3fn: as-below", "no float with infinities"),
    ('differs through float32: "+0"', "needs a cell that hands on"),
])  # fmt: skip
def test_what_it_cannot_mean_is_said(tmp_path, row, words):
    text = GOOD.replace("rules:\n", RULE.replace("ROW", row))
    assert any(words in found.message for found in findings(write_spec(tmp_path / "own", text)))
