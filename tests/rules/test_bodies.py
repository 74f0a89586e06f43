import pytest
from body_specs import FORMULA, LIKE, MATRIX, STEPS

from convcheck.errors import SpecError
from convcheck.rules.body.formula import Formula
from convcheck.rules.cases import cases
from convcheck.rules.digest import digest_of_spec
from convcheck.rules.load import load
from convcheck.vectors.generate import vectors_of
from specs import GOOD, findings, slip, write_spec

GOODS = {"elements": GOOD, "table": LIKE, "matrix": MATRIX, "formula": FORMULA, "steps": STEPS}


def asked(folder, text):
    catalog = load([write_spec(folder, text)])
    [spec] = [spec for name, spec in catalog.specs.items() if name.startswith("acme.")]
    return sum(len(vectors_of(spec, case, "edge")) for case in cases(spec))


@pytest.mark.parametrize("body", GOODS)
def test_a_good_one_asks_something(body, tmp_path):
    assert asked(tmp_path / "mine", GOODS[body]) > 20
    catalog = load([tmp_path / "mine"])
    assert [s.body.name for n, s in catalog.specs.items() if n.startswith("acme.")] == [
        "table" if body == "elements" else body
    ]


REFUSED = {
    "elements": {
        "layouts in a table": (
            "attributes:", "layouts: {one: {x: [n]}}\nattributes:",
            "a table converts elements, in any shape", 11,
        ),
        "int default": ("usual: 1", "usual: x", "expected a whole number, found 'x'", 12),
        "output var unknown table": (
            "outputs: {y: U}", "outputs: {y: V}",
            "`types` does not list V, the type of y", 6,
        ),
        "no inputs": ("inputs: {x: T}", "inputs: {}", "no inputs", 5),
        "no outputs": ("outputs: {y: U}", "outputs: {}", "no outputs", 6),
        "two outputs table": (
            "outputs: {y: U}", "outputs: {y: U, z: U}",
            "a table has one output", 6,
        ),
    },
    "table": {
        "type-only unknown": ("[like]", "[liek]", "'liek' is not an input after the first", 6),
        "type-only first": ("[like]", "[x]", "'x' is not an input after the first", 6),
        "type-only both": ("[like]", "[x, like]", "'x' is not an input after the first", 6),
        "no type-only": ("type-only: [like]", "", "a table converts one input", 5),
        "type-only other var": (
            "like: U", "like: T",
            "like does not have the type of the output", 6,
        ),
        "input var unknown": ("x: T", "x: S", "`types` does not list S, the type of x", 5),
    },
    "matrix": {
        "bad dim": ("y: [m]", "y: [mm]", "'mm' is not a dimension", 12),
        "upper-case layout": ("  one: {", "  One: {", "'One' cannot stand in an id", 13),
        "empty layout": ("  one: {x: [n], y: []}", "  one: {}", "the layout leaves out x, y", 13),
        "no layouts": (
            "layouts:\n  both: {x: [n], y: [m]}\n  one: {x: [n], y: []}", "",
            "a whole call needs layouts", 15,
        ),
        "comb where no output types": (
            "attributes:", "combinations: [[int8, int16]]\nattributes:",
            "they are made with types of the output alone", 14,
        ),
        "bool value": (
            "values: [false, true]", "values: [no, yes]",
            "unknown value of a bool 'no'", 15,
        ),
        "bool default": ("usual: false", "usual: maybe", "unknown value of a bool 'maybe'", 15),
        "one output": (
            "outputs: {p: C, q: C}", "outputs: {p: C}",
            "1 output instead of 2", 6,
        ),
        "output types given": (
            "outputs: {p: C, q: C}", "outputs: {p: A, q: A}",
            "`types` lists A, the type that the matrix gives", 6,
        ),
        "names": ("names: openvino", "names: klingon", "unknown runtime 'klingon'", 17),
        "unknown type": ("i16: [i16!, i16]", "i16: [i17!, i16]", "unknown type 'i17'", 23),
        "refused-unless value": (
            "{widen: true}", "{widen: maybe}",
            "unknown value of widen 'maybe'", 18,
        ),
        "example layout": (
            "{inputs: [i8, i16], widen", "{inputs: [i8, i16], layout: none, widen",
            "unknown layout 'none'", 36,
        ),
        "no refused cite": (
            "          refused: {cite: \"Unless told so, nothing is widened.\"}", "",
            "a refusal is not cited", 25,
        ),
        "rank2 letters huge": (
            "{x: [n], y: [m]}", "{x: [9999, 9999, 9999], y: [m]}",
            "a tensor with too many elements", 12,
        ),
    },
    "formula": {
        "two bodies": (
            "examples:", "steps: {lines: []}\nexamples:",
            "there is already a formula here", 34,
        ),
        "rules with a formula": (
            "examples:", "rules: []\nexamples:",
            "a formula does not use these rules", 34,
        ),
        "layout unknown input": (
            "  scalars: {first: [], last: []}", "  scalars: {first: [], lost: []}",
            "unknown key `lost`", 12,
        ),
        "layouts empty": (
            "layouts:\n  scalars: {first: [], last: []}", "layouts: {}",
            "a whole call needs layouts", 11,
        ),
        "no layouts": (
            "layouts:\n  scalars: {first: [], last: []}", "",
            "a whole call needs layouts", 15,
        ),
        "comb width": (
            "  - [output, output]", "  - [output]",
            "1 type, the operator has 2 inputs", 14,
        ),
        "comb unknown": ("  - [output, output]", "  - [output, int33]", "unknown type 'int33'", 14),
        "comb of a type outside": (
            "  - [output, output]", "  - [output, float16]",
            "float16 is not a type of last", 14,
        ),
        "comb empty": (
            "combinations:\n  - [output, output]", "combinations: []",
            "no combinations", 13,
        ),
        "two outputs": (
            "outputs: {y: U}", "outputs: {y: U, z: U}",
            "2 outputs instead of 1", 6,
        ),
        "expr unknown name": ("element: first + i", "element: first + j", "unknown name 'j'", 17),
        "expr syntax": (
            "element: first + i", "element: first +",
            "'first +' is not an expression", 17,
        ),
        "expr call": (
            "element: first + i", "element: __import__('os')",
            "unknown function '__import__'", 17,
        ),
        "string types": (
            "  T: [int8, int16]", "  T: [int8, string]",
            "a formula works on numbers only, string is none", 9,
        ),
        "bool types": (
            "  T: [int8, int16]\n  U: [int8, int16]",
            "  T: [int8, int16, bool]\n  U: [int8, int16, bool]",
            "no rule is for bool-bool-to-bool", 16,
        ),
        "calls width": ("[5, 5]", "[5, 5, 5]", "a call with another number of arguments", 32),
        "calls bad": ("[5, 5]", "[5, five]", "'five' is not a number", 32),
        "layout not scalar": (
            "first: [], last: []", "first: [n], last: []",
            "the arguments of a formula are scalars", 12,
        ),
        "no rule applies": (
            "when: {to: fixed}", "when: {to: float}",
            "no rule is for int8-int8-to-int8", 16,
        ),
        "rules empty readings": (
            "        - {length: {in: exact}, element: {in: exact}, cite: \"One more each time.\"}",
            "        []",
            "no readings", 28,
        ),
        "undefined unknown": (
            "when: overflow,", "when: rainbow,",
            "unknown condition 'rainbow'", 20,
        ),
        "undefined zero unknown": (
            "when: overflow,", "when: stop = 0,",
            "unknown input 'stop'", 20,
        ),
    },
    "steps": {
        "no condition": (
            "be: data * scale}", "be: data * scale, branches: [{if: data + scale, be: data}]}",
            "'data + scale' is not a condition", 17,
        ),
        "two conditions": (
            "be: data * scale}", "be: data * scale, branches: [{if: 1 < data < 2, be: data}]}",
            "'1 < data < 2' is not a condition", 17,
        ),
        "words in a line": (
            "be: data * scale}", "be: data * kind}", "unknown name 'kind'", 17,
        ),
        "back of nothing": (
            "  zero: either", "  back: {of: nothing, be: moved}\n  zero: either",
            "unknown line 'nothing'", 25,
        ),
        "back by another line": (
            "  zero: either", "  back: {of: moved, be: y}\n  zero: either",
            "unknown name 'y'", 25,
        ),
        "ties nowhere": (
            "{name: plain,", "{name: plain, round: nowhere,", "unknown rounding mode 'nowhere'", 24,
        ),
        "no layouts": (
            "layouts:\n  whole: {data: [n], scale: [1]}", "",
            "a whole call needs layouts", 13,
        ),
        "layout leaves out needed input": (
            "  whole: {data: [n], scale: [1]}", "  whole: {data: [n]}",
            "the layout leaves out scale", 10,
        ),
        "does not broadcast": (
            "scale: [1]}", "scale: [3]}",
            "scale does not broadcast to the shape of data", 10,
        ),
        "more dimensions": (
            "scale: [1]}", "scale: [1, n]}",
            "scale does not broadcast to the shape of data", 10,
        ),
        "rule unknown": ("by: to-float8", "by: to-float9", "no rule is named 'to-float9'", 18),
        "attribute": ("{kind: {f8e4m3", "{kynd: {f8e4m3", "unknown key `kynd`", 21),
        "last line not output": ("let: y", "let: z", "the last line is not the output", 22),
        "missing target value": (
            "{f8e4m3: float8e4m3fn, f8e5m2: float8e5m2}", "{f8e4m3: float8e4m3fn}",
            "kind=f8e5m2 names no type", 18,
        ),
        "ask bad word": ("{scale: \"2\"}", "{scale: \"two\"}", "'two' is not a number", 28),
        "no readings": (
            "  readings:\n    - {name: plain, cite: \"In the type of the data.\"}",
            "  readings: []",
            "no readings", 23,
        ),
        "int types": (
            "types: {T: [float16, float32]}", "types: {T: [float16, int8]}",
            "a computed output is a float, int8 is none", 8,
        ),
        "string types": (
            "types: {T: [float16, float32]}", "types: {T: [float16, string]}",
            "steps work on numbers only, string is none", 8,
        ),
        "layout outside unknown": (
            "  zero: either-sign",
            "  outside: [{name: a, layouts: [hole], cite: x}]\n  zero: either-sign",
            "unknown layout 'hole'", 25,
        ),
    },
}  # fmt: skip


@pytest.mark.parametrize(("body", "name"), [(b, n) for b, rows in REFUSED.items() for n in rows])
def test_a_bad_one_is_refused(body, name, tmp_path):
    old, new, message, line = REFUSED[body][name]
    text = GOODS[body]
    assert old in text
    with pytest.raises(SpecError) as caught:
        asked(tmp_path / "mine", text.replace(old, new, 1))
    assert message in caught.value.message
    assert caught.value.place is not None
    assert str(caught.value.place) == f"mine/convert-1.yaml:{line}"
    assert caught.value.hint


@pytest.mark.parametrize(
    ("said", "message"),
    [("[nope]", "the parent has no attribute 'nope'"), ("[clamp]", "unknown key `clamp`")],
)
def test_attributes_that_a_child_removes(said, message, tmp_path):
    child = f"op: acme.Convert\nversion: 2\nextends: convert-1\nattributes: {{remove: {said}}}\n"
    folder = write_spec(write_spec(tmp_path / "mine"), child, "convert-2")
    error = str(slip(folder))
    assert f": {message}" in error
    assert "\n  hint: " in error


PLAIN = '    - {name: plain, cite: "In the type of the data."}\n'
LINTED = [
    (PLAIN, PLAIN + PLAIN, "two readings have the same name"),
    (PLAIN, PLAIN + PLAIN.replace("plain", "again"), "'plain' and 'again' never differ"),
    ("{name: plain,", "{name: plain, in: {float32: float16},", "float16 does not hold every fl"),
    ("  zero:", "  outside: [{name: a, layouts: [], cite: x}]\n  zero:", "'a' leaves nothing out"),
    ("      else:", '      "x < -4 max": -max\n      else:', "row 'x < -4 max' of to-float8 is u"),
    ("data * scale}", "data, branches: [{if: data > 1, be: data}, {if: data > 2, be: scale}]}",
     "nothing that was tried takes branch 2 of moved"),
    ("rules:\n", "examples: [{type: float16, layout: whole, kind: f8e4m3, gives: [\"1\"], values: "
     '{data: ["2"], scale: ["1"]}}]\nrules:\n', "example: it gives 0x4000"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), LINTED)
def test_lint_sees_what_is_wrong_with_steps(old, new, message, tmp_path):
    assert old in STEPS
    found = findings(write_spec(tmp_path / "mine", STEPS.replace(old, new, 1)), "acme.Halve-1")
    assert [message in one.message for one in found] == [True]


CHANGES = [
    ("table", "table: {else: low-bits}", "table: {else: saturate}"),
    ("matrix", "i16: [i16!, i16]", "i16: [i16, i16]"),
    ("matrix", "one: {x: [n], y: []}", "one: {x: [], y: []}"),
    ("matrix", "refused-unless: {widen: true}", "refused-unless: {widen: false}"),
    ("formula", "element: first + i", "element: first - i"),
    ("formula", "to-integer: toward-zero", "to-integer: nearest-even"),
    ("formula", "[5, 5]", "[5, 6]"),
    ("formula", "[output, output]", "[int8, output]"),
    ("formula", "when: overflow", "when: not finite"),
    ("formula", "element: {in: exact}", "element: {in: float32}"),
    ("steps", "be: data * scale", "be: data / scale"),
    ("steps", "zero: either-sign", "zero: signed"),
    ("steps", 'scale: "2"', 'scale: "3"'),
    ("steps", "scale: [1]", "scale: []"),
    ("steps", "name: plain,", "name: plain, narrow: [y],"),
    ("steps", "round: nearest-even", "round: toward-zero"),
]


@pytest.mark.parametrize(("body", "old", "new"), CHANGES)
def test_what_decides_vectors_is_in_the_digest(body, old, new, tmp_path):
    text = GOODS[body]
    assert old in text
    digests = []
    for number, content in enumerate((text, "# a comment\n" + text, text.replace(old, new, 1))):
        catalog = load([write_spec(tmp_path / str(number), content)])
        digests += [digest_of_spec(s) for n, s in catalog.specs.items() if n.startswith("acme.")]
    assert digests[0] == digests[1] != digests[2]


CHILD = """\
op: acme.Count
version: 2
extends: count-1
formula:
  undefined:
    - {name: odd ends, when: last = 0, before: overflow, cite: "Nothing ends at 0."}
  rules:
    - {name: counting, level: implied}
    - name: narrow
      before: counting
      when: {to: int8}
      level: normative
      cite: "Two more."
      differing: "Two more."
      readings:
        - {length: {in: exact}, element: {in: exact}, cite: "Two more."}
  calls:
    lists:
      - listed: [[1, 2]]
"""


def test_what_a_child_states_goes_where_it_says(tmp_path):
    folder = write_spec(tmp_path / "own", FORMULA, "count-1")
    write_spec(folder, CHILD, "count-2")
    specs = load([folder]).specs
    old, new = (specs[f"acme.Count-{v}"].body_as(Formula) for v in (1, 2))
    assert [u.name for u in new.undefined] == ["odd ends", "overflow"]
    assert [(r.name, r.level) for r in new.rules] == [
        ("narrow", "normative"), ("counting", "implied"),
    ]  # fmt: skip
    assert [r.cite.text for r in new.rules] == ["Two more.", old.rules[0].cite.text]
    assert len(new.asked.lists) == len(old.asked.lists) + 1
    assert (new.length, new.asked.limit) == (old.length, old.asked.limit)


@pytest.mark.parametrize(("text", "name", "words"), [
    (CHILD.replace("before: counting", "before: nothing"), "count-2", "no rule 'nothing'"),
    (
        FORMULA.replace("name: overflow,", "name: overflow, after: x,"),
        "count-1",
        "extends noth",
    ),
])  # fmt: skip
def test_what_goes_nowhere_is_refused(tmp_path, text, name, words):
    folder = write_spec(tmp_path / "own", FORMULA, "count-1")
    assert words in str(slip(write_spec(folder, text, name)))
