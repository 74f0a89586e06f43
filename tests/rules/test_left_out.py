import pytest
from catalogue import CATALOG

from convcheck.backends.onnx.model import build
from convcheck.backends.openvino import attributes_of
from convcheck.backends.process.backend import template_of
from convcheck.rules.cases import cases
from convcheck.rules.find import find_case
from convcheck.rules.load import load
from convcheck.semantics.evaluate import compile_case
from convcheck.vectors.generate import vectors_of
from specs import GOOD, findings, slip, write_spec

LISTED = "  clamp: {type: int, values: [0, 1], usual: 1, applies: {to: int8}}\n"
DEFAULT = LISTED.replace("usual", "default")
ALSO = 'also: [{values: [default], from: int8, to: int8, cite: "It clamps by default."}]'


def cast(name):
    return find_case(CATALOG, f"onnx.Cast-24/{name}", None, None, ())


def spec_with(tmp_path, old, new):
    assert old in GOOD
    return write_spec(tmp_path / "own", GOOD.replace(old, new))


def test_each_default_of_cast_is_asked_once_a_destination():
    names = [
        c.name
        for c in cases(CATALOG.specs["onnx.Cast-24"])
        if "default" in c.name and not c.outside
    ]
    assert names == [
        "float32-to-float8e4m3fn/saturate=default",
        "float32-to-float8e4m3fnuz/saturate=default",
        "float32-to-float8e5m2/saturate=default",
        "float32-to-float8e5m2fnuz/saturate=default",
        "float32-to-float8e8m0/saturate=default/round_mode=up",
        "float32-to-float8e8m0/saturate=1/round_mode=default",
    ]


@pytest.mark.parametrize(("left_out", "stated"), [
    ("float32-to-float8e5m2/saturate=default", "float32-to-float8e5m2/saturate=1"),
    ("float32-to-float8e8m0/saturate=1/round_mode=default",
     "float32-to-float8e8m0/saturate=1/round_mode=up"),
])  # fmt: skip
def test_what_is_due_is_what_the_default_gives(left_out, stated):
    spec = CATALOG.specs["onnx.Cast-24"]
    one, other = (vectors_of(spec, cast(name), "edge", 0) for name in (left_out, stated))
    assert (one.inputs[0] == other.inputs[0]).all()
    assert (one.expected.rows == other.expected.rows).all()
    readings = zip(one.expected.readings, other.expected.readings, strict=True)
    assert all((a.codes == b.codes).all() for a, b in readings)
    decided = [
        [(d.rule, d.row, d.level) for d in e.decisions] for e in (one.expected, other.expected)
    ]
    assert decided[0] == decided[1]


def test_no_adapter_sends_it():
    case = cast("float32-to-float8e8m0/saturate=1/round_mode=default")
    assert case.attributes == (("saturate", 1), ("round_mode", "default"))
    assert case.given == (("saturate", 1),)
    node = build(case).graph.node[0]
    assert sorted(a.name for a in node.attribute) == ["saturate", "to"]
    assert [name for name, _ in attributes_of(case)] == ["saturate", "to"]
    assert template_of(case, CATALOG).start["attributes"] == {"saturate": 1}


def test_a_rule_can_be_for_where_it_is_left_out(tmp_path):
    own = DEFAULT.replace("}}", "}, " + ALSO + "}")
    rule = (
        "rules:\n  - name: left-out\n    level: normative\n    cite: Left out.\n"
        "    when: {from: int8, to: int8, clamp: default}\n    table: {else: same}\n"
    )
    folder = write_spec(tmp_path / "own", GOOD.replace(LISTED, own).replace("rules:\n", rule))
    spec = load([folder]).specs["acme.Convert-1"]
    programs = {c.name: compile_case(spec, c).decisions[0].rule for c in cases(spec)}
    assert programs["int8-to-int8/clamp=default"] == "left-out"
    assert programs["int8-to-int8/clamp=1"] == "to-int8"
    assert programs["float32-to-int8/clamp=1"] == "to-int8"
    assert "float32-to-int8/clamp=default" not in programs
    assert findings(folder) == []


def test_other_attributes_can_have_values_of_their_own(tmp_path):
    more = '  odd: {type: int, values: [0, 1], default: 0, applies: {to: int8}, also: [{values: ' \
           '[default], from: int8, to: int8, with: {clamp: 0}, cite: "Odd."}]}\n'  # fmt: skip
    spec = load([spec_with(tmp_path, LISTED, LISTED + more)]).specs["acme.Convert-1"]
    names = [c.name for c in cases(spec) if "default" in c.name]
    assert names == ["int8-to-int8/clamp=0/odd=default"]
    assert next(c for c in cases(spec) if c.name == names[0]).attribute("clamp") == 0


def test_a_default_that_no_case_leaves_out_is_refused(tmp_path):
    [found] = findings(spec_with(tmp_path, LISTED, DEFAULT))
    assert found.message == "clamp has a default, and no case leaves it out"
    own = DEFAULT.replace("}}", "}, " + ALSO + "}")
    assert findings(spec_with(tmp_path, LISTED, own)) == []


@pytest.mark.parametrize(("line", "words"), [
    ("clamp: {type: int, values: [0, 1], " + ALSO + "}", "clamp has no default"),
    ("clamp: {type: int, values: [0, 1], usual: 1, " + ALSO + "}", "clamp has no default"),
    ("clamp: {type: int, values: [0, 1], usual: 1, default: 1}", "clamp has a default, too"),
    ("clamp: {type: string, values: [default, on], default: on}", "`default` is not a value"),
    ("clamp: {type: int, values: [0, 1], default: 1, "
     + ALSO.replace("cite", "with: {clamp: 1}, cite") + "}", "clamp"),
])  # fmt: skip
def test_what_cannot_be_left_out_is_refused(tmp_path, line, words):
    assert words in str(slip(spec_with(tmp_path, LISTED, f"  {line}\n")))
