import pytest

from convcheck.rules.cases import cases
from convcheck.rules.load import load
from convcheck.semantics.evaluate import compile_case
from specs import findings, slip, write_spec

# An operator without versions, two of four pairs, and a default equal to another value.
SMALL = """\
op: acme.Cast
sources:
  text: {title: Acme manual, section: Cast, url: "https://example.org"}
inputs: {x: T}
outputs: {y: U}
shape:
  cite: "The shape of y is that of x."
  supported: {ranks: [1, 2], empty: no, cite: "Vectors and matrices."}
types:
  T: [float32, int16]
  U: [int8, int16]
pairs:
  cite: "These are supported."
  listed: {float32: [int8], int16: [int8]}
attributes:
  mode: {type: string, values: [NONE, UP, DOWN], usual: NONE}
rules:
  - name: others
    level: undefined
    cite: "These are supported."
    when: {pair: unlisted}
    table: {else: undefined}
  - name: default
    level: normative
    cite: "NONE is UP."
    when: {mode: NONE}
    table: {else: as mode=UP}
  - name: rounded
    level: implied
    cite: "Up or down."
    when: {mode: [UP, DOWN]}
    round: {by: mode, UP: ceil, DOWN: floor}
    table:
      nan:       {gives: undefined, level: undefined}
      "x > max": +max
      "x < min": min
      else:      "[x]"
examples:
  - {from: float32, to: int8, x: "1.5", gives: "2"}
"""


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    return load([write_spec(tmp_path_factory.mktemp("specs") / "s", SMALL)]).specs["acme.Cast"]


def test_an_operator_without_versions_is_known_by_its_name(spec, tmp_path):
    assert spec.version == 0
    assert findings(write_spec(tmp_path / "s", SMALL), "acme.Cast") == []


def test_listed_pairs_are_asked_in_every_mode_and_others_by_default(spec):
    asked = {case.id.removeprefix("acme.Cast/"): case.refusal for case in cases(spec)}
    listed = [f"{t}-to-int8/mode={m}" for t in ("float32", "int16") for m in ("NONE", "UP", "DOWN")]
    others = [f"{t}-to-int16/mode=NONE" for t in ("float32", "int16")]
    assert asked == {**dict.fromkeys(listed, False), **dict.fromkeys(others, True)}


def test_lists_of_pairs_are_for_attribute_values(tmp_path):
    lists = """\
  - {cite: "In every mode.", listed: {float32: [int8]}}
  - {when: {mode: [UP, DOWN]}, cite: "In two.", listed: {int16: [int8]}}
"""
    text = SMALL.replace(
        '  cite: "These are supported."\n  listed: {float32: [int8], int16: [int8]}\n', lists
    )
    assert text != SMALL
    own = load([write_spec(tmp_path / "s", text)]).specs["acme.Cast"]
    asked = {case.name: case.refusal for case in cases(own) if case.outputs[0].name == "int8"}
    listed = [f"float32-to-int8/mode={mode}" for mode in ("NONE", "UP", "DOWN")]
    listed += ["int16-to-int8/mode=UP", "int16-to-int8/mode=DOWN"]
    assert asked == {**dict.fromkeys(listed, False), "int16-to-int8/mode=NONE": True}


def test_a_case_knows_the_supported_shapes(spec):
    for case in cases(spec):
        assert case.shapes
        assert case.shapes.ranks == {1, 2}
        assert not case.shapes.empty


@pytest.mark.parametrize(("old", "new", "line", "message"), [
    ("{float32: [int8]", "{float99: [int8]", 14, "unknown type 'float99'"),
    ("{float32: [int8]", "{float32: [int99]", 14, "unknown type 'int99'"),
    (
        "listed: {float32",
        "when: {colour: NONE}\n  listed: {float32",
        14,
        "unknown key `colour`",
    ),
    ("listed: {float32", "when: {mode: LEFT}\n  listed: {float32", 14, "unknown value 'LEFT'"),
    ("ranks: [1, 2]", "ranks: [one]", 8, "expected a whole number"),
    ("empty: no", "empty: never", 8, "expected yes or no"),
    ("supported: {", "supported: {sizes: 3, ", 8, "unknown key `sizes`"),
    ("pair: unlisted", "pair: other", 21, "unlisted"),
])  # fmt: skip
def test_slips_are_told_with_their_place(tmp_path, old, new, line, message):
    assert SMALL.count(old) == 1
    error = slip(write_spec(tmp_path / "s", SMALL.replace(old, new)))
    assert str(error.place).endswith(f":{line}")
    assert message in f"{error.message} {error.hint}"


@pytest.mark.parametrize(("change", "message"), [
    ("mode=SIDEWAYS", "`as mode=SIDEWAYS` is not a value"),
    ("colour=UP", "`as colour=UP` is not a value"),
    ("mode=NONE", "`as mode=NONE` goes in a circle"),
])  # fmt: skip
def test_as_names_another_value(tmp_path, change, message):
    folder = write_spec(tmp_path / "s", SMALL.replace("as mode=UP", f"as {change}"))
    assert message in {finding.message for finding in findings(folder, "acme.Cast")}


def test_the_weaker_level_counts(spec):
    """The default is normative, its meaning only implied."""
    case = next(case for case in cases(spec) if case.name == "float32-to-int8/mode=NONE")
    levels = {d.name: d.level for d in compile_case(spec, case).decisions}
    assert levels["default > rounded / else"] == "implied"
