from dataclasses import replace

import numpy as np
import pytest
from catalogue import CATALOG

from convcheck.errors import UsageError, VectorError
from convcheck.files import write_whole
from convcheck.rules.cases import cases
from convcheck.rules.load import Catalog, data_dir
from convcheck.rules.model import Rounding
from convcheck.vectors.corpus import open_corpus, read_words
from convcheck.vectors.generate import vector_set
from convcheck.vectors.store.stored import MANIFEST, read_manifest

SPEC = CATALOG.specs["onnx.Cast-21"]
CASES = [case for case in cases(SPEC) if str(case.inputs[0]) in ("float32", "string", "int4")]


@pytest.fixture
def folder(tmp_path):
    whole, copy = data_dir("vectors"), tmp_path / "vectors"
    for name in {MANIFEST, *map(read_manifest(whole).file_of, CASES)}:
        write_whole(copy / name, (whole / name).read_bytes(), folders=True)
    return copy


def corpus(folder, catalog=CATALOG, seed=0):
    return open_corpus(catalog, "edge", seed, folder)


def test_another_seed_or_no_folder_is_made_in_memory(folder, tmp_path):
    assert not corpus(folder, seed=1).stored(CASES[0])
    assert len(corpus(folder, seed=1).vectors(CASES[0]))
    made, due = corpus(tmp_path / "none").vectors(CASES[0]), vector_set(SPEC, CASES[0], "edge")
    assert np.array_equal(made.inputs[0], due.inputs[0])


def edited(spec):
    rules = tuple(
        replace(r, rounding=Rounding("toward-zero")) if r.name == "float-to-float" else r
        for r in spec.rules
    )
    return replace(spec, rules=rules)


def test_an_edited_spec_never_runs_against_stale_vectors(folder):
    catalog = Catalog(CATALOG.types, {**CATALOG.specs, SPEC.id: edited(SPEC)})
    fresh = corpus(folder, catalog)
    [note] = fresh.check(CASES)
    assert note.startswith("onnx.Cast-21 was edited")
    case = next(c for c in CASES if c.name == "float32-to-float16")
    old, new = corpus(folder).vectors(case), fresh.vectors(case)
    assert (old.expected.readings[0].codes != new.expected.readings[0].codes).any()


def damage(path, how):
    text = path.read_text()
    if how == "missing":
        path.unlink()
    elif how == "binary":
        path.write_bytes(b"\xff\xfe\x00")
    else:
        version = '"convcheck-vectors": '
        path.write_text({
            "truncated": text[: len(text) // 2],
            "edited": text.replace(" 3f800000 ", " 3f800001 "),
            "newer": text.replace(f"{version}3", f"{version}4"),
            "older": text.replace(f"{version}3", f"{version}2"),
            "not an object": "[]",
        }[how])  # fmt: skip


HOW = {
    "truncated": "truncated or edited",
    "edited": "its hash is not the one in the manifest",
    "newer": "of format 4",
    "older": "of format 2",
    "binary": "truncated or edited",
    "missing": "cannot be read",
    "not an object": "truncated or edited: it does not begin with its version",
}


@pytest.mark.parametrize("how", HOW)
def test_a_damaged_file_is_one_clear_error(folder, how):
    case = next(c for c in CASES if c.name == "float32-to-float16")
    [manifest] = corpus(folder).manifests
    path = folder / manifest.file_of(case)
    damage(path, how)
    for use in (lambda: corpus(folder).check([case]), lambda: corpus(folder).vectors(case)):
        with pytest.raises(VectorError) as caught:
            use()
        assert HOW[how] in caught.value.message
        assert str(path) in str(caught.value)
        assert caught.value.hint


def test_own_inputs_are_read_line_by_line(tmp_path):
    path = tmp_path / "inputs"
    path.write_text("# comment\n0x3F800000\n\n3f800000\n7\n")
    source = CATALOG.types.types["float32"].format
    assert read_words(path, source) == ("3f800000", "7")
    path.write_text("# nothing\n")
    with pytest.raises(UsageError, match="has no inputs"):
        read_words(path, source)
    with pytest.raises(UsageError, match="cannot read"):
        read_words(tmp_path / "none", source)
    path.write_text("1e5\n\n INF\n")
    assert read_words(path, CATALOG.types.types["string"].format) == ("1e5", "", " INF")
