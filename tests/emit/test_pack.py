"""A pack of vectors: its readers, its schema, and its versions."""

import hashlib
import json
import shutil
import subprocess
import sys

import jsonschema
import pytest
from c_compiler import c_compiler
from catalogue import CATALOG, CORPUS
from command import convcheck, refused

from convcheck.emit import pack
from convcheck.rules.find import find_case

NAMES = (
    "onnx.Cast-21/float32-to-float8e4m3fn/saturate=1",
    "onnx.Cast-21/string-to-float16",
    "onnx.Cast-21/float32-to-string",
    "onnx.QuantizeLinear-21/float32-float32-int8/scalar",
    "onnx.Range-11/float32-float32-float32",
)
CASE = NAMES[0]


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pack")
    done = convcheck("export", *NAMES, "--as", "pack", "--out", folder)
    assert done.returncode == 0, done.stderr
    return folder


def content(folder, name=CASE):
    return json.loads((folder / "cases" / f"{name}.json").read_text())


def test_it_has_the_vectors_of_the_corpus(packed):
    vectors = CORPUS.vectors(find_case(CATALOG, CASE, None, None, ()))
    lines = content(packed)["vectors"]
    assert [int(one[0], 16) for one in lines] == vectors.inputs[0].tolist()
    assert ["0x7f800000", 3, "0x7e"] in lines  # infinity saturates to 448
    assert ["0x7fc00001", 2, "<nan>"] in lines
    infinity = content(packed)["rules"][3]
    assert infinity["sentences"][0]["id"] == "onnx.Cast-21#436736"
    assert infinity["level"] == "normative"


def test_every_case_fits_the_schema(packed):
    schema = jsonschema.Draft202012Validator(json.loads((packed / "schema.json").read_text()))
    for name in NAMES:
        schema.validate(content(packed, name))
    broken = content(packed)
    broken["vectors"][0] = [0, "0x00"]
    assert not schema.is_valid(broken)


def test_every_file_has_its_hash(packed):
    sums = dict(reversed(line.split("  ")) for line in
                (packed / "SHA256SUMS").read_text().splitlines())  # fmt: skip
    files = {p.relative_to(packed).as_posix() for p in packed.rglob("*") if p.is_file()}
    assert files - sums.keys() == {"SHA256SUMS", "convcheck-export.json"}
    for name, digest in sums.items():
        assert hashlib.sha256((packed / name).read_bytes()).hexdigest() == digest


def readers(folder):
    """Return the commands of the readers whose language is here."""
    found = {"py": [sys.executable, str(folder / "reader.py")]}
    if node := shutil.which("node"):
        found["js"] = [node, str(folder / "reader.js")]
    if rustc := shutil.which("rustc"):
        found["rs"] = [str(folder / "reader-rs")]
        subprocess.run([rustc, "-o", found["rs"][0], folder / "reader.rs"], check=True)
    found["c"] = [str(folder / "reader-c")]
    strict = ("-std=c99", "-Wall", "-Wextra", "-Werror")
    subprocess.run([c_compiler(), *strict, "-o", found["c"][0], folder / "reader.c"], check=True)
    return found


def test_the_readers_agree(packed, tmp_path):
    shutil.copytree(packed, tmp_path / "pack")
    files = [str(packed / "cases" / f"{name}.json") for name in NAMES]
    said = {
        name: subprocess.run([*command, *files], capture_output=True, check=True).stdout.decode()
        for name, command in readers(tmp_path / "pack").items()
    }
    assert len(set(said.values())) == 1
    lines = [line.split("\t") for line in said["c"].splitlines()]
    assert len(lines) == sum(len(content(packed, name)["vectors"]) for name in NAMES)
    own = [
        [pack.vector_id(name, json.dumps(one)), one[1] if isinstance(one, list) else one["rule"]]
        for name in NAMES
        for one in content(packed, name)["vectors"]
    ]
    assert [[line[0], int(line[2])] for line in lines] == own


def test_ids_are_permanent():
    assert pack.vector_id(CASE, '["0x7f800000",3,"0x7e"]') == "c50fe1cee759140c"


@pytest.mark.parametrize(("edit", "version"), [
    (lambda lines: lines, "1.0.0"),
    (lambda lines: lines[1:], "1.1.0"),
    (lambda lines: [lines[0].replace('"0x', '"0xf'), *lines[1:]], "2.0.0"),
    (lambda lines: ['["0xffffffffff",0,"0x00"]', *lines], "2.0.0"),
])  # fmt: skip
def test_a_version_says_what_changed(packed, tmp_path, edit, version):
    """`edit` turns today's vectors into those of the pack before."""
    folder = tmp_path / "pack"
    shutil.copytree(packed, folder)
    file = folder / "cases" / f"{CASE}.json"
    head, lines = pack.parsed(file.read_text())
    file.write_text(pack.text_of(head, edit(lines)))
    assert convcheck("export", *NAMES, "--as", "pack", "--out", folder).returncode == 0
    assert json.loads((folder / "MANIFEST.json").read_text())["version"] == version
    assert content(folder) == content(packed)


def test_calls_that_are_written_alike_are_one_vector(tmp_path):
    name = "onnx.DynamicQuantizeLinear-11/float32-to-uint8/tensor"
    for _ in range(2):
        assert convcheck("export", name, "--as", "pack", "--out", tmp_path / "p").returncode == 0
    assert json.loads((tmp_path / "p/MANIFEST.json").read_text())["version"] == "1.0.0"
    inputs = [json.dumps(one["input"]) for one in content(tmp_path / "p", name)["vectors"]]
    assert len(set(inputs)) == len(inputs)


def test_a_changed_answer_is_listed(packed, tmp_path):
    folder = tmp_path / "pack"
    shutil.copytree(packed, folder)
    file = folder / "cases" / f"{CASE}.json"
    file.write_text(file.read_text().replace('["0x7f800000",3,"0x7e"]', '["0x7f800000",3,"<nan>"]'))
    convcheck("export", *NAMES, "--as", "pack", "--out", folder)
    [change] = json.loads((folder / "CHANGES.json").read_text())["releases"][0]["changed"]
    assert change == {
        "id": pack.vector_id(CASE, '["0x7f800000",3,"0x7e"]'),
        "case": CASE,
        "input": "0x7f800000",
        "old": ["<nan>"],
        "new": ["0x7e"],
        "sentence": "onnx.Cast-21#436736",
    }


def test_a_damaged_pack_is_refused(packed, tmp_path):
    folder = tmp_path / "pack"
    shutil.copytree(packed, folder)
    (folder / "CHANGES.json").write_text("{}")
    assert "CHANGES.json is damaged" in refused("export", *NAMES, "--as", "pack", "--out", folder)
    (folder / "cases" / f"{CASE}.json").write_text("{")
    assert f"{CASE}.json is damaged" in refused("export", CASE, "--as", "pack", "--out", folder)
