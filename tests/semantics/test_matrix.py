import pytest

from convcheck.errors import SpecError
from convcheck.rules.cases import cases
from convcheck.rules.load import load
from convcheck.semantics.body.matrix import compile_matrix, find
from convcheck.semantics.lint import lint_spec

GOOD = """\
op: acme.Promote
version: 1
sources:
  text: {title: Acme manual, section: Promote, url: "https://example.org"}
inputs: {a: T, b: U}
outputs: {c: R, d: R}
shape: {cite: "Shapes are kept."}
types:
  T: [int8, uint8, uint64]
  U: [int8, uint8, uint64]
layouts:
  both: {a: [n], b: [m]}
  one: {a: [n], b: []}
attributes:
  lax: {type: bool, values: [false, true], usual: false}
  big: {type: string, values: [f32], usual: f32}
matrix:
  names: openvino
  refused-unless: {lax: true}
  targets: {$big: big}
  tables:
    - name: scalars
      when: {lax: true, ranks: [dimensioned, scalar]}
      square:
        i8: [ i8, {gives: i8, level: implied, cite: "By example."} ]
        u8: [ u8, u8 ]
      cells:
        - {of: [fixed, fixed], level: normative, cite: "The tensor's type."}
    - name: common
      triangle:
        i8:  [ i8 ]
        u8:  [ i16|i16!, u8 ]
        u64: [ $big!,    u64, u64 ]
      cells:
        - of: [i8, u64]
          level: normative
          cite: "The type that is named."
          refused: {level: implied, cite: "It is raised."}
        - of: [fixed, fixed]
          level: normative
          cite: "The least type that holds both."
          disputed: {accept: {cite: "Safe."}, refuse: {cite: "Unsafe."}}
rules:
  - name: exact
    level: normative
    cite: "Values are kept."
    when: {from: fixed, to: fixed}
    table:
      "x > max": {gives: undefined, level: undefined}
      "x < min": {gives: undefined, level: undefined}
      else: low-bits
  - name: rounded
    level: implied
    cite: "To nearest."
    when: {from: fixed, to: float}
    round: nearest-even
    table: {else: "[x]"}
examples:
  - {inputs: [i8, u64], layout: both, lax: true, gives: f32}
  - {inputs: [i8, u64], gives: refused}
  - {inputs: [i8, u8], layout: one, lax: true, gives: i8}
  - {inputs: [u8, i8], layout: both, lax: true, gives: i16}
"""


def spec_of(folder, text):
    folder.mkdir(exist_ok=True)
    (folder / "promote-1.yaml").write_text(text, encoding="utf-8")
    return load([folder]).specs["acme.Promote-1"]


def changed(before, after):
    assert before in GOOD
    return GOOD.replace(before, after)


def test_a_good_matrix_has_no_findings(tmp_path):
    assert lint_spec(spec_of(tmp_path, GOOD)).diagnostics == []


def test_a_cell_leads_to_its_line_and_sentence(tmp_path):
    spec = spec_of(tmp_path, GOOD)
    by_name = {case.name: compile_matrix(spec, case).decisions[0] for case in cases(spec)}
    line = 1 + GOOD.splitlines().index("        u64: [ $big!,    u64, u64 ]")
    for lax, level, sentence in (
        ("false", "implied", "It is raised."),
        ("true", "normative", "The type that is named."),
    ):
        decision = by_name[f"int8-uint64/both/lax={lax}/big=f32"]
        assert (decision.rule, decision.row) == ("common", "uint64 x int8")
        assert (decision.level, decision.cite, decision.place.line) == (level, sentence, line)
    disputed = by_name["int8-uint8/one/lax=false/big=f32"]
    assert (disputed.level, disputed.readings) == ("disputed", ("accept", "refuse"))
    own = by_name["int8-uint8/one/lax=true/big=f32"]
    assert (own.level, own.cite) == ("implied", "By example.")
    assert own.row == "int8 dimensioned x uint8 scalar"


def test_readings_are_the_type_and_the_refusal(tmp_path):
    spec = spec_of(tmp_path, GOOD)
    case = next(c for c in cases(spec) if c.name.startswith("int8-uint8/both/lax=false"))
    found = find(spec, case.inputs, case.ranks, case.attributes)
    assert [(r.name, r.refused, r.cite.text) for r in found.answer.readings] == [
        ("accept", False, "Safe."),
        ("refuse", True, "Unsafe."),
    ]
    assert found.target.name == "int16"


@pytest.mark.parametrize(("before", "after", "message"), [
    ("u8:  [ i16|i16!, u8 ]", "u8:  [ i16|i16! ]", "a row of 1 cell instead of 2"),
    ("i16|i16!, u8", "i16|i32!, u8", "is not a cell"),
    ("i16|i16!, u8", "i16!|i16!, u8", "is not a cell"),
    ("i16|i16!, u8", "int16, u8", "unknown type 'int16'"),
    ("$big!,    u64", "$small!,    u64", "unknown type"),
    ("targets: {$big: big}", "targets: {$big: bag}", "unknown attribute"),
    ("refused-unless: {lax: true}", "refused-unless: {lex: true}", "unknown key"),
    ("ranks: [dimensioned, scalar]", "ranks: [scalar]", "two ranks"),
    ("ranks: [dimensioned, scalar]", "ranks: [vector, scalar]", "unknown kind of rank"),
    ("when: {lax: true, ranks: [dimensioned, scalar]}", "when: {lax: true}", "a square here"),
    ("refused: {level: implied, cite", "accepted: {level: implied, cite", "is not cited"),
    ("          disputed: {accept: {cite: \"Safe.\"}, refuse: {cite: \"Unsafe.\"}}\n", "",
     "missing `disputed`"),
    ("of: [i8, u64]", "of: [i8, u64, u8]", "a pair is needed"),
    ("cite: \"The tensor's type.\"}",
     "cite: x}\n        - {of: [f32, f64], level: implied, cite: x}",
     "this rules no cell"),
    ("gives: refused", "gives: refusal", "unknown type 'refusal'"),
])  # fmt: skip
def test_what_breaks_a_matrix(tmp_path, before, after, message):
    with pytest.raises(SpecError, match=r"promote-1\.yaml:") as error:
        spec_of(tmp_path, changed(before, after))
    assert message in str(error.value)


@pytest.mark.parametrize(("before", "after", "message"), [
    ("  T: [int8, uint8, uint64]", "  T: [int8, uint8, uint64, int4]", "no table has int4 and"),
    ("values: [f32]", "values: [f99]", "big names no type: 'f99'"),
    ("  T: [int8, uint8, uint64]", "  T: [int8, uint8]", "uint64 x uint64 of common is unre"),
    ("lax: true, ranks", "lax: false, ranks", "one/lax=true/big=f32 gives int16, not int8"),
    ("name: scalars", "name: common", "two tables are named 'common'"),
    ("  refused-unless: {lax: true}\n", "", "can be allowed by nothing"),
    ("to: float}", "to: float8}", "no rule decides every input of int8 to float32"),
    ("gives: f32}", "gives: i64}", "lax=true/big=f32 gives float32"),
    ("gives: refused}", "lax: true, gives: refused}", "lax=true/big=f32 gives float32"),
    ("inputs: [i8, u64], gives", "inputs: [i8, i4], gives", "no case asks it"),
    ("table: {else: \"[x]\"}", "table: {nan: \"[x]\", \"x < 0\": \"[x]\", else: \"[x]\"}",
     "row 'nan' of rounded is unreachable"),
    ("$big!,    u64", "u64!,    u64", "target $big stands in no cell"),
])  # fmt: skip
def test_what_lint_finds(tmp_path, before, after, message):
    found = lint_spec(spec_of(tmp_path, changed(before, after))).diagnostics
    assert any(message in one.message for one in found), [one.message for one in found]
