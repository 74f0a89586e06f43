"""`lint` reports all slips of a file at once, and each only once."""

from pathlib import Path

import pytest
from body_specs import SCALE
from command import convcheck

from specs import GOOD, write_spec

CHILD = "op: acme.Convert\nversion: {0}\nextends: convert-{1}\nnotes: [nothing else]\n"


def linted(folder, code=2):
    done = convcheck("lint", "--specs", folder, "acme.*")
    assert done.returncode == code, done
    return done.stderr


def family(folder, text):
    write_spec(folder, text)
    for version in (2, 3):
        write_spec(folder, CHILD.format(version, version - 1), f"convert-{version}")
    return folder


def test_all_files_that_are_no_yaml_are_told_at_once(tmp_path):
    folder = write_spec(tmp_path / "mine")
    write_spec(folder, "op: [acme\n", "a")
    write_spec(folder, CHILD.format(2, 1) + "rules: {\n", "b")
    write_spec(folder, CHILD.format(3, 1) + "rulez: []\nexmples: []\n", "c")
    said = linted(folder)
    for line in (
        "mine/a.yaml:2: not YAML",
        "mine/b.yaml:6: not YAML",
        "mine/c.yaml:5: unknown key `rulez`\n  hint: did you mean rules?",
        "mine/c.yaml:6: unknown key `exmples`\n  hint: did you mean examples?",
    ):
        assert said.count(line) == 1, line


def test_all_rules_that_cannot_be_read_are_told_at_once(tmp_path):
    slips = GOOD.replace("round: nearest-even", "rond: nearest-even")
    slips = slips.replace("when: {to: int8, clamp: 0}", "when: {to: int8, clmap: 0}")
    slips = slips.replace(
        "nan:       {gives: undefined, level:", "nan:       {gives: nan, levle:", 1
    )
    said = linted(family(tmp_path / "mine", slips))
    assert said.count("convert-1.yaml:18: unknown key `rond`\n  hint: did you mean round?") == 1
    assert said.count("unknown key `clmap`\n  hint: did you mean clamp?") == 1
    assert said.count("unknown key `levle`\n  hint: did you mean level?") == 1
    assert said.count("\n  hint: ") == 3


def test_all_types_that_are_unknown_are_told_at_once(tmp_path):
    slips = GOOD.replace("T: [float32, int8]", "T: [flaot32, itn8]")
    said = linted(write_spec(tmp_path / "mine", slips))
    assert "unknown type 'flaot32'\n  hint: did you mean float32?" in said
    assert "unknown type 'itn8'\n  hint: did you mean int8 or " in said


def test_all_words_that_are_unknown_are_told_once(tmp_path):
    slips = GOOD.replace("nan:          nan", "nna:          nan")
    slips = slips.replace('"[x] > max":  +max', '"[x] > max":  +mxa')
    slips = slips.replace("round: toward-zero", "round: toward_zero", 1)
    said = linted(family(tmp_path / "mine", slips))
    where = "mine/convert-1.yaml:{}: acme.Convert-1 and 2 more: unknown {}\n  hint: did you mean "
    assert where.format(20, "case word 'nna'") + "nan" in said
    assert where.format(21, "outcome word '+mxa'") + "+max" in said
    assert where.format(24, "rounding mode 'toward_zero'") + "toward-zero?" in said
    assert said.endswith("3 errors in 3 specs\n")


def test_a_fault_of_a_rule_is_told_once_for_all_that_extend_it(tmp_path):
    row = '      "[x] > max":  +max\n'
    swapped = GOOD.replace(row, '      "x > max":  +max\n' + row)
    said = linted(family(tmp_path / "mine", swapped))
    assert said == (
        "mine/convert-1.yaml:22: acme.Convert-1 and 2 more: row '[x] > max' is unreachable\n"
        "  hint: rows above it match everything that it would\n"
        "1 error in 3 specs\n"
    )


@pytest.mark.parametrize(("edit", "said"), [
    ("rules: [{name: to-flaot8, before: to-itn8}]", "there is no rule 'to-itn8' here\n"
     "  hint: did you mean to-int8"),
    ("rules: [{name: new, after: to_float8}]", "hint: did you mean to-float8"),
    ("rules: {remove: [to-int8-unclampd]}", "hint: did you mean to-int8-unclamped?"),
    ("types: {remove: {T: [itn8]}}", "the parent does not list itn8\n  hint: did you mean int8?"),
    ("types: {add: {t: [int16]}}", "no type variable 't'\n  hint: did you mean T?"),
    ("attributes: {remove: [clmap]}", "no attribute 'clmap'\n  hint: did you mean clamp?"),
])  # fmt: skip
def test_a_slip_in_what_is_changed_of_a_parent(edit, said, tmp_path):
    folder = write_spec(tmp_path / "mine")
    write_spec(folder, f"op: acme.Convert\nversion: 2\nextends: convert-1\n{edit}\n", "convert-2")
    assert said in linted(folder)


def test_a_slip_in_what_is_extended(tmp_path):
    folder = write_spec(tmp_path / "mine")
    write_spec(folder, CHILD.format(2, 1).replace("convert-1", "convret-1"), "convert-2")
    assert "no spec 'convret-1' to extend\n  hint: did you mean convert-1?" in linted(folder)


@pytest.mark.parametrize("name", ["convert-2.yml", "dtypes.yml", "more/convert-2.yml"])
@pytest.mark.parametrize("command", [("lint",), ("show", "specs"), ("run", "--backend", "ort")])
def test_a_file_that_would_not_be_read(command, name, tmp_path):
    folder = write_spec(tmp_path / "mine")
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(CHILD.format(2, 1))
    done = convcheck(*command, "--specs", folder)
    assert (done.returncode, done.stdout) == (2, "")
    right = Path(name).with_suffix(".yaml").name
    assert f"mine/{name}: would not be read" in done.stderr
    assert f"hint: rename it to {right}" in done.stderr


# two int32 have products of 62 bits, and a sum adds more
WIDE = SCALE.replace("T: [float32], S: [float32]", "T: [int32], S: [int32]")
WIDE = WIDE.replace("x * scale", "x * scale + scale").replace('"0.1"', '"2147483647"')


@pytest.mark.parametrize("spec", [SCALE, WIDE], ids=["back divides", "sums of products"])
def test_a_spec_of_two_inputs_is_run(spec, tmp_path):
    folder = write_spec(tmp_path / "mine", spec, "scale-1")
    assert convcheck("lint", "--specs", folder, "acme.*").returncode == 0
    done = convcheck("run", "--backend", "reference", "--specs", folder, "acme.*")
    assert done.returncode == 0, done
