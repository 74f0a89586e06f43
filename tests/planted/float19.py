"""A spec with a source of 19 bits, swept in two spans of four chunks."""

from pathlib import Path

from specs import head

TYPES = """\
floats:
  float19: {exponent: 8, mantissa: 10, bias: 127, infinity: yes, nan: ieee, negative_zero: yes}
"""
SPEC = (
    head("float19", "bfloat16, int8")
    + """\
rules:
  - name: to-bfloat16
    level: normative
    cite: "Rounds to nearest even."
    when: {to: bfloat16}
    round: nearest-even
    table: {nan: nan, "[x] > max": +inf, "[x] < -max": -inf, else: "[x]"}
  - name: to-int8
    level: normative
    cite: "Rounds toward zero; beyond the range it is undefined."
    when: {to: int8}
    round: toward-zero
    table:
      nan:       {gives: undefined, level: undefined}
      "x > max": {gives: undefined, level: undefined}
      "x < min": {gives: undefined, level: undefined}
      else:      "[x]"
examples:
  - {from: float19, to: bfloat16, x: "1", gives: "1"}
"""
)


def in_folder(folder: Path) -> Path:
    (folder / "dtypes.yaml").write_text(TYPES)
    (folder / "acme.yaml").write_text(SPEC)
    return folder
