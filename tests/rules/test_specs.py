import pickle

import pytest
from catalogue import CATALOG

from convcheck.errors import SpecError
from convcheck.rules.body import Tables
from convcheck.rules.cases import cases
from convcheck.rules.load import load
from convcheck.rules.source import parse_yaml
from convcheck.semantics.lint import lint_spec
from specs import GOOD, findings, slip, write_spec


@pytest.mark.long
def test_the_built_in_specs_are_clean():
    proofs = [lint_spec(spec) for spec in CATALOG.specs.values()]
    assert [str(f) for p in proofs for f in p.diagnostics] == []
    assert sum(p.cases for p in proofs) > 4000
    tables = {name for name, spec in CATALOG.specs.items() if not spec.body.whole_calls}
    assert all(p.points > 100 for p in proofs if p.spec in tables)


def test_a_good_spec_of_ones_own_is_clean(tmp_path):
    assert findings(write_spec(tmp_path / "mine")) == []


REFUSED = {
    "not YAML": ("op: acme.Convert", "op: [acme.Convert", "not YAML", 2),
    "duplicate key": ("version: 1", "version: 1\nversion: 2", "duplicate key `version`", 3),
    "unknown key": ("version: 1", "version: 1\nverzion: 2", "unknown key `verzion`", 3),
    "unknown dtype": ("T: [float32, int8]", "T: [float33, int8]", "unknown type 'float33'", 9),
    "no citation": ('    cite: "Without clamp they are undefined."\n', "", "missing `cite`", 34),
    "empty citation": ('"Without clamp they are undefined."', '""', "an empty citation", 36),
    "unknown level": ("level: normative", "level: normal", "unknown level 'normal'", 15),
    "unknown source": ('"Without clamp they are undefined."', "{of: manual, says: x}",
                       "unknown source 'manual'", 36),
    "unknown attribute": ("clamp: 0}", "klamp: 0}", "unknown key `klamp`", 37),
    "unknown value": ("clamp: 0}", "clamp: 7}", "unknown value of clamp '7'", 37),
    "missing extends": ("version: 1", "version: 1\nextends: convert-0", "no spec 'convert-0'", 3),
    "a cycle": ("version: 1", "version: 1\nextends: convert-1", "forms a circle", 3),
    "a tag": ("version: 1", "version: !!python/name:os.system 1", "spec files are data", 2),
    "an alias": ("version: 1", "version: &v 1", "anchors and aliases", 2),
    "a bad version": ("version: 1", "version: one", "is not a version", 2),
    "cells and columns": ("nan:          nan", "nan:          [nan, nan]", "2 cells", 20),
    "two rules of a name": ("to-int8-unclamped", "to-int8", "two rules are named", 34),
    "edit verb": ("name: to-int8\n", "name: to-int8\n    before: to-float8\n", "`before`", 25),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_loading_refuses(name, tmp_path):
    old, new, message, line = REFUSED[name]
    assert old in GOOD
    error = slip(write_spec(tmp_path / "mine", GOOD.replace(old, new, 1)))
    assert message in error.message
    assert str(error.place) == f"mine/convert-1.yaml:{line}"
    assert error.hint


FOUND = {
    "unknown case word": ('"[x] > max":  +max', '"[x] >> max":  +max', "unknown case word", 20),
    "unknown outcome word": ("+max\n      \"x < min\"", "+top\n      \"x < min\"",
                             "unknown outcome word '+top'", 31),
    "unknown rounding mode": ("round: nearest-even", "round: nearest", "unknown rounding", 14),
    "no rounding mode": ("    round: nearest-even\n", "", "needs a rounding mode", 0),
    "not in the format": ("else:         \"[x]\"", "else:         +inf", "has no +inf", 22),
    "undecided": ("      else:      \"[x]\"\nexamples", "examples", "no rule decides", 33),
    "row unreachable": ("nan:          nan", "nan:          nan\n      \"-nan\": nan",
                        "row '-nan' is unreachable", 20),
    "rule unreachable": ("when: {to: int8, clamp: 0}", "when: {from: int16, to: int8}", "", 0),
    "undefined at another level": ("nan:       {gives: undefined, level: undefined}",
                                   "nan:       undefined", "outcome 'undefined' at level", 29),
    "a wrong example": ('x: "300", gives: "127"', 'x: "300", gives: "126"', "gives 0x7f", 45),
    "a default outside": ("usual: 1", "usual: 2", "not among the values", 12),
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_lint_finds(name, tmp_path):
    old, new, message, line = FOUND[name]
    assert old in GOOD
    found = findings(write_spec(tmp_path / "mine", GOOD.replace(old, new, 1)))
    assert any(message in f.message for f in found), found
    assert line == 0 or any(abs(f.place.line - line) <= 1 for f in found), found


@pytest.mark.parametrize(("first", "then"), [
    ("x > 2^90", "x >= 2^60"),
    ("x < -2^90", "x <= -2^60"),
    ("x > 4 max", "x > 2 max"),
    ("x < -4 max", "x < -2 max"),
    ("x < -2^90", "x < -4 max"),
])  # fmt: skip
def test_rows_of_which_one_threshold_is_beyond_the_other_are_reachable(first, then, tmp_path):
    rows = f'nan:          nan\n      "{first}": nan\n      "{then}": +max'
    assert findings(write_spec(tmp_path / "a", GOOD.replace("nan:          nan", rows))) == []
    rows = f'nan:          nan\n      "{then}": nan\n      "{first}": +max'
    [found] = findings(write_spec(tmp_path / "b", GOOD.replace("nan:          nan", rows)))
    assert found.message == f"row {first!r} is unreachable"


def test_a_child_states_only_what_changed(tmp_path):
    child = """\
op: acme.Convert
version: 2
extends: convert-1
types: {add: {U: [float16]}, remove: {T: [int8]}}
rules:
  - {name: to-float8, level: implied}
  - name: to-float16
    before: to-int8
    level: implied
    cite: "As to float8."
    when: {to: float16}
    round: nearest-even
    table: {nan: nan, "[x] > max": +inf, "[x] < -max": -inf, else: "[x]"}
"""
    folder = write_spec(write_spec(tmp_path / "mine"), child, "convert-2")
    spec = load([folder]).specs["acme.Convert-2"]
    assert [r.name for r in spec.rules] == [
        "to-float8",
        "to-float16",
        "to-int8",
        "to-int8-unclamped",
    ]
    assert spec.rules[0].level == "implied"
    assert [str(t) for t in spec.types["T"]] == ["float32"]
    assert spec.rules[0].place.file == "mine/convert-2.yaml"
    assert spec.rules[0].rows[0].place.file == "mine/convert-1.yaml"
    assert spec.body == Tables(())


def test_types_of_ones_own(tmp_path):
    text = GOOD.replace("float8e4m3fn", "float8e3m4")
    text = text.replace('x: "464", gives: "448"', 'x: "15.5", gives: "15.5"')
    folder = write_spec(tmp_path / "mine", text)
    row = "{exponent: 3, mantissa: 4, bias: 3, infinity: no, nan: all-ones, negative_zero: yes}"
    (folder / "dtypes.yaml").write_text(f"floats:\n  float8e3m4: {row}\n")
    assert findings(folder) == []
    assert str(load([folder]).types.types["float8e3m4"].format.max) == "30"


def test_scalars_stay_what_was_written():
    node = parse_yaml("a: -0\nb: off\nc: 0x7e\nd: 1e5\n", "f")
    assert [n.text() for n in node.items().values()] == ["-0", "off", "0x7e", "1e5"]


@pytest.mark.parametrize("text", ["", "a: 1\n b: 2", "\t- x", "a: *b", "? [1]\n: 2", "a: !x 1"])
def test_bad_yaml_has_a_place(text):
    with pytest.raises(SpecError) as caught:
        parse_yaml(text, "f.yaml")
    assert str(caught.value).startswith("f.yaml")


def said(spec):
    bare = {name: value for name, value in vars(spec).items() if name != "parent"}
    return [bare, *(said(spec.parent) if spec.parent else [])]


def test_a_catalogue_of_some_specs_travels():
    whole = load()
    some = pickle.loads(pickle.dumps(whole.only(["onnx.Cast-21", "openvino.Range-4"])))
    assert list(some.specs) == ["onnx.Cast-21", "openvino.Range-4"]
    for name, spec in some.specs.items():
        assert said(spec) == said(whole.specs[name])
    assert vars(some.types) == vars(whole.types)


def test_a_users_file_is_no_parent_of_a_built_in_spec(tmp_path):
    own = "op: onnx.Cast\nversion: 99\nextends: cast-28\nnotes: [mine]\n"
    folder = write_spec(tmp_path / "mine", own, "cast-19")
    catalog, built_in = load([folder]), load()
    assert catalog.specs["onnx.Cast-99"].extends == "onnx.Cast-28"
    assert said(catalog.specs["onnx.Cast-21"]) == said(built_in.specs["onnx.Cast-21"])


@pytest.mark.parametrize("head", ["version: 1\n", "op: [acme]\nversion: 1\n", "- op\n"])
def test_a_head_without_an_operator_has_a_place(head, tmp_path):
    error = slip(write_spec(tmp_path / "mine", head))
    assert str(error).startswith("mine/convert-1.yaml:1: ")
    assert error.hint


def test_an_id_that_is_there_already(tmp_path):
    with pytest.raises(SpecError, match=r"is already defined in specs/onnx/cast-21\.yaml"):
        load([write_spec(tmp_path / "mine", "version: 21\nop: onnx.Cast\nextends: cast-21\n")])


def test_one_document_a_file():
    with pytest.raises(SpecError, match="f:2: a second document"):
        parse_yaml("a: 1\n---\na: 2\n", "f")


def test_no_case_is_listed_twice():
    """A value that `also` adds may belong to a pair anyhow: such a run could not be read again."""
    ids = [case.id for spec in CATALOG.specs.values() for case in cases(spec)]
    assert len(ids) == len(set(ids))
