"""Small good spec files for the tests to break: one of each body, and a type-only input."""

_HEAD = """\
op: acme.{op}
version: 1
sources:
  text: {{title: Acme manual, section: {op}, url: "https://example.org"}}
"""

MATRIX = (
    _HEAD.format(op="Meet")
    + """\
inputs: {x: A, y: B}
outputs: {p: C, q: C}
shape: {cite: "Shapes are kept."}
types:
  A: [int8, int16]
  B: [int8, int16]
layouts:
  both: {x: [n], y: [m]}
  one: {x: [n], y: []}
attributes:
  widen: {type: bool, values: [false, true], usual: false}
matrix:
  names: openvino
  refused-unless: {widen: true}
  tables:
    - name: meeting
      triangle:
        i8: [i8]
        i16: [i16!, i16]
      cells:
        - of: [fixed, fixed]
          level: normative
          cite: "They become the wider one."
          refused: {cite: "Unless told so, nothing is widened."}
rules:
  - name: integers
    level: normative
    cite: "They become the wider one."
    when: {from: fixed, to: fixed}
    table: {else: low-bits}
examples:
  - {inputs: [i8, i16], widen: true, gives: i16}
"""
)

FORMULA = (
    _HEAD.format(op="Count")
    + """\
inputs: {first: T, last: T}
outputs: {y: U}
shape: {cite: "A list."}
types:
  T: [int8, int16]
  U: [int8, int16]
layouts:
  scalars: {first: [], last: []}
combinations:
  - [output, output]
formula:
  length: max(last - first, 0)
  element: first + i
  convert: {to-float: [nearest-even], to-integer: toward-zero, cite: "Cut off."}
  undefined:
    - {name: overflow, when: overflow, cite: "No word on it."}
  rules:
    - name: counting
      when: {to: fixed}
      level: normative
      cite: "One more each time."
      differing: "One more each time."
      readings:
        - {length: {in: exact}, element: {in: exact}, cite: "One more each time."}
  calls:
    limit: last
    lists:
      - listed: [[0, 3], [5, 5], [-3, 2], [100, 127], [7, 0]]
  length-cite: "As many as between them."
examples:
  - {from: [int8, int8], to: int8, x: [1, 4], gives: [1, 2, 3]}
"""
)

STEPS = (
    _HEAD.format(op="Halve")
    + """\
inputs: {data: T, scale: T}
outputs: {y: T}
shape: {cite: "As the data."}
types: {T: [float16, float32]}
layouts:
  whole: {data: [n], scale: [1]}
attributes:
  kind: {type: string, values: [f8e4m3, f8e5m2]}
steps:
  level: implied
  cite: "Scaled, emulated and scaled back."
  lines:
    - {let: moved, be: data * scale}
    - let: emulated
      convert: moved
      by: to-float8
      to: {kind: {f8e4m3: float8e4m3fn, f8e5m2: float8e5m2}}
    - {let: y, be: emulated / scale}
  readings:
    - {name: plain, cite: "In the type of the data."}
  zero: either-sign
  not-finite: undefined
  ask:
    - {scale: "2"}
rules:
  - name: to-float8
    level: normative
    cite: "To nearest even."
    when: {to: [float8e4m3fn, float8e5m2]}
    round: nearest-even
    table:
      nan: {gives: undefined, level: undefined}
      "+inf": {gives: undefined, level: undefined}
      "-inf": {gives: undefined, level: undefined}
      "-0": {gives: undefined, level: undefined}
      "[x] > max": {gives: undefined, level: undefined}
      "[x] < -max": {gives: undefined, level: undefined}
      else: "[x]"
"""
)

SCALE = (
    _HEAD.format(op="Scale")
    + """\
inputs: {x: T, scale: S}
outputs: {y: U}
shape: {cite: "As x."}
types: {T: [float32], S: [float32], U: [int8]}
layouts:
  tensor: {x: [n], scale: []}
steps:
  level: normative
  cite: "x times scale, saturated."
  lines:
    - {let: product, be: x * scale}
    - {let: y, convert: product, as: float64, to: output}
  readings:
    - {name: exact, in: exact, cite: "The product."}
  zero: signed
  not-finite: exact
  undefined:
    - {name: a scale that is not finite, when: scale not finite, cite: "A scale."}
  back: y / scale
  ask:
    - {scale: "3"}
    - {scale: "0.1"}
rules:
  - name: saturate
    level: normative
    cite: "Saturates."
    when: {from: float64, to: int8}
    round: nearest-even
    table:
      nan: {gives: undefined, level: undefined}
      "[x] > max": +max
      "[x] < min": min
      else: "[x]"
"""
)

LIKE = (
    _HEAD.format(op="Like")
    + """\
inputs: {x: T, like: U}
type-only: [like]
outputs: {y: U}
shape: {cite: "As x."}
types:
  T: [int8, int16]
  U: [int8, int16]
rules:
  - name: low
    level: normative
    cite: "The low bits."
    when: {from: fixed, to: fixed}
    table: {else: low-bits}
"""
)
