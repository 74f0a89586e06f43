"""Small spec files for the tests: a good one, and edits that break it."""

import pytest

from convcheck.errors import SpecError
from convcheck.rules.load import load
from convcheck.semantics.lint import lint_spec

HEAD = """\
op: acme.Convert
version: 1
sources:
  text: {title: Acme manual, section: Convert, url: "https://example.org"}
inputs: {x: T}
outputs: {y: U}
shape: {cite: "The shape of y is that of x."}
types:
"""


def head(sources, targets):
    """Return the head of a spec from some types, 'float32, int8', to some."""
    return f"{HEAD}  T: [{sources}]\n  U: [{targets}]\n"


GOOD = (
    head("float32, int8", "float8e4m3fn, int8")
    + """\
attributes:
  clamp: {type: int, values: [0, 1], usual: 1, applies: {to: int8}}
rules:
  - name: to-float8
    level: normative
    cite: "Rounds to nearest even and saturates."
    when: {to: float8e4m3fn}
    round: nearest-even
    table:
      nan:          nan
      "[x] > max":  +max
      "[x] < -max": -max
      else:         "[x]"
  - name: to-int8
    level: normative
    cite: "Rounds toward zero; with clamp, out-of-range values become the nearest."
    when: {to: int8, clamp: 1}
    round: toward-zero
    table:
      nan:       {gives: undefined, level: undefined}
      "x > max": +max
      "x < min": min
      else:      "[x]"
  - name: to-int8-unclamped
    level: normative
    cite: "Without clamp they are undefined."
    when: {to: int8, clamp: 0}
    round: toward-zero
    table:
      nan:       {gives: undefined, level: undefined}
      "x > max": {gives: undefined, level: undefined}
      "x < min": {gives: undefined, level: undefined}
      else:      "[x]"
examples:
  - {from: float32, to: int8, x: "300", gives: "127"}
  - {from: float32, to: float8e4m3fn, x: "464", gives: "448"}
"""
)


def wrapping():
    table = GOOD[: GOOD.index("examples:")].replace("round: toward-zero", "round: nearest-even")
    for line, end in (("> max", "+max"), ("< min", "min")):
        table = table.replace(f'      "x {line}": {end}\n', "", 1)
    return table


def write_spec(folder, text=GOOD, name="convert-1"):
    """Write a spec file into a new folder, and return the folder."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return folder


def slip(folder):
    """Return the error of a folder that cannot be loaded. Every fault has a place."""
    with pytest.raises(SpecError) as caught:
        load([folder])
    assert all(error.place for error in getattr(caught.value, "errors", (caught.value,)))
    return caught.value


def findings(folder, spec="acme.Convert-1"):
    catalog = load([folder])
    return lint_spec(catalog.specs[spec]).diagnostics
