"""Specs of own formats: one of 19 bits, swept in two spans of four chunks, and ue5m3."""

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


UE5M3 = """\
floats:
  ue5m3: {exponent: 5, mantissa: 3, bias: 15, infinity: no, nan: all-ones, negative_zero: no,
          signed: no}
"""
WIDEN = (
    head("ue5m3", "float32")
    + """\
rules:
  - name: widen
    level: normative
    cite: "A value of the format is a value of float32."
    when: {from: ue5m3, to: float32}
    round: nearest-even
    table: {nan: nan, else: "[x]"}
"""
)


def in_folder(folder, types=TYPES, spec=SPEC):
    (folder / "dtypes.yaml").write_text(types)
    (folder / "acme.yaml").write_text(spec)
    return folder
