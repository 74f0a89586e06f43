"""`generate SPEC --out DIR` keeps DIR's other specs, and runs read vectors of a user's specs."""

import json
from pathlib import Path

import pytest
from command import convcheck, report_at

from convcheck.rules.load import load
from convcheck.vectors.corpus import open_corpus
from convcheck.vectors.store.stored import MANIFEST
from specs import GOOD, write_spec

FIRST = GOOD.replace("[float32, int8]", "[float16, int8]").replace("from: float32", "from: float16")
SECOND = "op: acme.Convert\nversion: 2\nextends: convert-1\n"
OWN = ("acme.Convert-1", "acme.Convert-2")
OTHER = "acme.Other-1"
PASSES = ("run", "--backend", "reference", "acme.Convert-*")


@pytest.fixture
def specs(tmp_path):
    folder = write_spec(tmp_path / "specs", FIRST)
    write_spec(folder, SECOND, "convert-2")
    return write_spec(folder, FIRST.replace("acme.Convert", "acme.Other"), "other-1")


def generate(specs, out, *patterns):
    folder = specs.parent / out
    done = convcheck("generate", *patterns, "--specs", specs, "--out", folder)
    assert done.returncode == 0, done.stderr
    return contents(folder)


def contents(folder):
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def edit(specs):
    edited = FIRST.replace('"[x] > max":  +max', '"[x] > max":  nan')
    assert edited != FIRST
    write_spec(specs, edited)


@pytest.mark.parametrize("order", [(*OWN, OTHER), (OTHER, *OWN), (OWN[1], OTHER, OWN[0])])
def test_specs_one_by_one_make_the_folder_of_all_at_once(order, specs):
    found = {}
    for name in order:
        found = generate(specs, "v", name)
    assert found == generate(specs, "all", *order)
    assert set(json.loads(found[MANIFEST])["specs"]) == set(order)


def test_vectors_of_other_specs_stay_also_in_files_that_are_written(specs):
    before = generate(specs, "v", *OWN, OTHER)
    edit(specs)
    after = generate(specs, "v", OWN[0])
    assert after != before
    assert after != generate(specs, "all", *OWN, OTHER)
    assert set(json.loads(after[MANIFEST])["specs"]) == {*OWN, OTHER}
    assert generate(specs, "v", OWN[1]) == generate(specs, "all", *OWN, OTHER)


def test_vectors_of_a_spec_that_is_gone_stay(specs):
    before = generate(specs, "v", *OWN)
    (specs / "convert-2.yaml").unlink()
    assert generate(specs, "v", OWN[0]) == before


@pytest.mark.parametrize("words", [("--tier", "boundary"), ("--seed", "1")])
def test_vectors_that_cannot_stay_are_an_error(words, specs):
    before = generate(specs, "v", *OWN)
    folder = specs.parent / "v"
    done = convcheck("generate", OTHER, *words, "--specs", specs, "--out", folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert "has vectors of other specs, of tier edge, seed 0" in done.stderr
    assert contents(folder) == before
    alone = generate(specs, "v", *OWN, *words)  # no others are in the way
    assert words[1] in {str(json.loads(alone[MANIFEST])[key]) for key in ("tier", "seed")}


def test_a_check_of_one_spec_is_of_that_alone(specs):
    generate(specs, "v", *OWN)
    check = ("generate", OWN[1], "--specs", specs, "--out", specs.parent / "v", "--check")
    done = convcheck(*check)
    assert (done.returncode, done.stdout) == (0, f"{specs.parent / 'v'} is up to date\n")
    edit(specs)
    assert convcheck(*check).returncode == 1


def test_a_run_asks_the_vectors_among_its_specs(specs, tmp_path):
    generate(specs, "specs/vectors", *OWN)
    catalog = load([specs])
    corpus = open_corpus(catalog, "edge", 0, Path("none"))
    assert all(one.folder == specs / "vectors" for one in corpus.manifests)
    done = convcheck(*PASSES, "--specs", specs)
    assert done.returncode == 0, done.stdout + done.stderr

    path = specs / "vectors" / "acme/Convert/float16.json"
    path.write_text(path.read_text().replace(" 3c00 ", " 3c01 "))
    done = convcheck(*PASSES, "--specs", specs, "-o", tmp_path / "r.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert not (tmp_path / "r.json").exists()
    assert f"{path}: vector file: its hash is not the one in the manifest" in done.stderr


def test_of_an_edited_spec_they_are_made_again_and_a_note_says_so(specs, tmp_path):
    generate(specs, "specs/vectors", *OWN)
    edit(specs)
    done = convcheck(*PASSES, "--specs", specs, "-o", tmp_path / "r.json")
    assert done.returncode == 0, done.stdout + done.stderr
    said = "was edited since its vectors were made: made again in memory"
    assert report_at(tmp_path / "r.json")["notes"] == [f"{name} {said}" for name in OWN]
