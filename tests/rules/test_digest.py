import shutil

import pytest
from command import convcheck

from convcheck.rules import load as loading
from convcheck.rules.cases import cases
from convcheck.rules.digest import digest_of_spec
from convcheck.rules.load import data_dir, load
from convcheck.vectors.corpus import open_corpus
from convcheck.vectors.store.stored import read_manifest
from specs import GOOD, slip, write_spec

ROW = "{exponent: 3, mantissa: 4, bias: 3, infinity: no, nan: all-ones, negative_zero: yes}"
NEW = f"floats:\n  float8e3m4: {ROW}\n"
BUILT_IN = load().specs
CAST = ["onnx.Cast-21", "--from", "float32", "--to", "float16"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    copied = tmp_path / "specs"
    shutil.copytree(data_dir("specs"), copied)
    monkeypatch.setattr(loading, "data_dir", lambda name: copied)
    return copied


def change(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def changed(*folders):
    specs = load(folders).specs
    return {
        name
        for name, spec in BUILT_IN.items()
        if digest_of_spec(specs[name]) != digest_of_spec(spec)
    }


def those_with(specs, *types):
    return {
        name
        for name, spec in specs.items()
        if any(t.name in types for listed in spec.types.values() for t in listed)
        or any(t.name in types for e in spec.outside for t in (*e.sources, *e.targets))
    }


def test_a_new_type_changes_no_digest(folder):
    change(folder / "dtypes.yaml", "floats:\n", NEW)
    assert "float8e3m4" in load().types.types
    assert changed() == set()


def test_a_new_member_of_a_family_in_conditions_alone_changes_no_digest(folder):
    change(folder / "dtypes.yaml", "floats:\n", NEW)
    change(folder / "dtypes.yaml", "  float:  [", "  float:  [float8e3m4, ")
    rule = next(r for r in load().specs["onnx.Cast-28"].rules if r.name == "float-to-float")
    assert "float8e3m4" in dict(rule.when)["from"]
    assert changed() == set()


def test_a_new_member_of_a_family_that_is_asked_changes_those_that_ask_it(folder):
    change(folder / "dtypes.yaml", "floats:\n", NEW)
    change(folder / "dtypes.yaml", "  float8: [", "  float8: [float8e3m4, ")
    users = those_with(dict(load().specs), "float8e3m4")
    assert {"onnx.Cast-19", "onnx.CastLike-25"} <= users
    assert "onnx.Range-27" not in users
    assert changed() == users


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [("mantissa: 3,  bias: 7, ", "mantissa: 3,  bias: 6, ", "float8e4m3fn"),
     ("{bits: 2,  signed: no", "{bits: 3,  signed: no", "uint2")],
)  # fmt: skip
def test_another_format_of_a_type_changes_those_that_name_it(old, new, name, folder):
    change(folder / "dtypes.yaml", old, new)
    users = those_with(dict(BUILT_IN), name)
    if name == "float8e4m3fn":
        users.add("openvino.FakeConvert-13")
    assert changed() == users


def test_a_condition_on_types_that_are_asked_is_in_the_digest(folder):
    change(folder / "onnx/cast-28.yaml", "when: {", "when: {round_mode: up, ")
    assert changed() == {"onnx.Cast-28"}


@pytest.fixture
def own(tmp_path):
    text = GOOD.replace("[float8e4m3fn, int8]", "[float8e4m3fn, mine]")
    text = text.replace("when: {to: float8e4m3fn}", "when: {to: [float8e4m3fn, float8e3m4]}")
    own = write_spec(tmp_path / "own", text)
    row = ROW.replace("}", ", openvino: f32, onnx: FLOAT}")
    (own / "dtypes.yaml").write_text(
        f"floats:\n  float8e3m4: {row}\nsets:\n  mine: [int8, float8e3m4]\n"
    )
    return own


def test_types_of_a_users_own_change_no_digest_and_no_vectors(own):
    assert changed(own) == set()
    corpus = open_corpus(load([own]), "edge", 0, data_dir("vectors"))
    assert corpus.check([*_cases("onnx.Cast-21"), *_cases("openvino.ConvertPromoteTypes-14")]) == ()
    said = convcheck("run", "--backend", "reference", *CAST, "--specs", own)
    assert (said.returncode, "edited" in said.stdout + said.stderr) == (0, False)


def test_the_stored_vectors_are_of_the_built_in_specs(own):
    known = read_manifest(data_dir("vectors")).specs
    assert {name: entry.spec_sha256 for name, entry in known.items()} == {
        name: digest_of_spec(spec) for name, spec in BUILT_IN.items()
    }
    done = convcheck("generate", "--check", "onnx.Cast-1", "pypto.cast-0.1", "--specs", own)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "text", ["sets:\n  float8: [int8]\n", f"floats:\n  float16: {ROW}\n",
             f"floats:\n  ieee: {ROW}\n", "sets:\n  float16: [int8]\n"]
)  # fmt: skip
def test_a_user_does_not_change_built_in_types_or_families(text, own):
    (own / "dtypes.yaml").write_text(text)
    assert slip(own).hint


def _cases(name):
    return list(cases(BUILT_IN[name]))
