"""Vector files of whole calls are read back unchanged, and damage gives one clear error."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from catalogue import CATALOG
from command import convcheck, report_at

from convcheck.cli import asking
from convcheck.errors import VectorError
from convcheck.files import write_whole
from convcheck.rules.cases import cases
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case, Spec
from convcheck.semantics.expected_calls import CallReading, ExpectedCall, ExpectedOutput
from convcheck.vectors.corpus import Corpus, open_corpus
from convcheck.vectors.generate import vectors_of
from convcheck.vectors.model import CallSet, Tier, Vectors
from convcheck.vectors.store.manifest import MANIFEST, sha256
from convcheck.vectors.store.write import Files, path_of
from convcheck.vectors.store.write_calls import file_key

SAMPLE = {
    "openvino.ConvertPromoteTypes-14": ("int8-uint8", "float16-float8e5m2", "bool-int4"),
    "openvino.FakeConvert-13": ("bfloat16-bfloat16", "bfloat16-bfloat16-bfloat16"),
    "openvino.Range-4": (
        "int8-int8-int8-to-int8",
        "float16-int64-float32-to-bfloat16",
        "int32-float32-bfloat16-to-float16",
    ),
    "onnx.Range-11": ("int16-int16-int16", "float32-float32-float32"),
}
LIKE = ("onnx.Cast-13", "onnx.CastLike-15")


def asked(spec: Spec) -> list[Case]:
    names = SAMPLE[spec.id]
    return [case for case in cases(spec) if file_key(case) in names]


def sets(tier: Tier = "edge") -> Iterator[tuple[Spec, Iterable[Vectors]]]:
    for name in SAMPLE:
        spec = CATALOG.specs[name]
        yield spec, (vectors_of(spec, case, tier) for case in asked(spec))


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return dict(Files(sets(), "edge", 0))


@pytest.fixture
def folder(files: dict[str, str], tmp_path: Path) -> Path:
    for name, text in files.items():
        write_whole(tmp_path / "vectors" / name, text.encode(), folders=True)
    return tmp_path / "vectors"


def corpus(folder: Path, catalog: Catalog = CATALOG) -> Corpus:
    return open_corpus(catalog, "edge", 0, folder)


@pytest.mark.parametrize("name", SAMPLE)
def test_files_give_what_the_generator_gives(name: str, folder: Path) -> None:
    spec, stored = CATALOG.specs[name], corpus(folder)
    assert stored.check(asked(spec)) == ()
    for case in asked(spec):
        assert stored.stored(case)
        made, read = vectors_of(spec, case, "edge"), stored.vectors(case)
        assert isinstance(made, CallSet)
        assert isinstance(read, CallSet)
        assert len(made), case.id
        assert_same(made, read)


def assert_same(made: CallSet, read: CallSet) -> None:
    assert (made.case, made.coverage, made.form) == (read.case, read.coverage, read.form)
    assert made.decisions == read.decisions
    for one, other in zip(made.calls, read.calls, strict=True):
        for a, b in zip(one, other, strict=True):
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            assert np.array_equal(a, b)
    for due, again in zip(made.expected, read.expected, strict=True):
        assert said(due) == said(again)


def said(expected: ExpectedCall) -> object:
    return expected.row, expected.between, [of_reading(r) for r in expected.readings]


def of_reading(reading: CallReading) -> object:
    return reading.name, reading.pattern, [of_due(due) for due in reading.outputs]


def of_due(due: ExpectedOutput) -> object:
    free = np.where(due.patterns == 0, due.codes, 0)  # a code counts only if one is expected
    assert due.codes.dtype == due.dtype.format.storage
    return due.dtype, due.shape, free.tolist(), due.patterns.tolist()


def test_the_manifest_counts_calls(files: dict[str, str]) -> None:
    listed = json.loads(files[MANIFEST])["files"]["openvino/FakeConvert-13"]
    spec = CATALOG.specs["openvino.FakeConvert-13"]
    of_file = [c for c in asked(spec) if file_key(c) == "bfloat16-bfloat16"]
    assert listed["bfloat16-bfloat16"][1] == sum(len(vectors_of(spec, c, "edge")) for c in of_file)


def test_what_only_gives_a_type_has_no_files_of_its_own() -> None:
    specs = [CATALOG.specs[name] for name in LIKE]
    words = ("float16-to-int8", "string-to-float16", "float16-int8", "string-float16")
    made = ((s, (vectors_of(s, c, "edge") for c in cases(s) if c.name in words)) for s in specs)
    files = dict(Files(made, "edge", 0))
    manifest = json.loads(files[MANIFEST])["specs"]
    assert sorted(files) == [
        MANIFEST, "onnx/Cast-13/float16-to-int8.json", "onnx/Cast-13/string-to-float16.json",
    ]  # fmt: skip
    assert manifest["onnx.CastLike-15"]["cases"] == manifest["onnx.Cast-13"]["cases"]


def test_what_only_gives_a_type_is_read_from_those_files(tmp_path: Path) -> None:
    specs = [CATALOG.specs[name] for name in LIKE]
    words = ("float16-to-int8", "float16-int8")
    made = ((s, (vectors_of(s, c, "edge") for c in cases(s) if c.name in words)) for s in specs)
    for name, text in Files(made, "edge", 0):
        write_whole(tmp_path / name, text.encode(), folders=True)
    [like] = [c for c in cases(specs[1]) if c.name == "float16-int8"]
    [cast] = [c for c in cases(specs[0]) if c.name == "float16-to-int8"]
    stored = corpus(tmp_path)
    assert stored.stored(like)
    read, made_again = stored.vectors(like), vectors_of(specs[1], like, "edge")
    assert len(read.inputs) == len(made_again.inputs) == 1  # type: ignore[union-attr]
    for other in (made_again, stored.vectors(cast)):
        assert np.array_equal(read.inputs[0], other.inputs[0])  # type: ignore[union-attr]
        ours, theirs = read.expected.readings, other.expected.readings  # type: ignore[union-attr]
        assert np.array_equal(ours[0].codes, theirs[0].codes)
        assert np.array_equal(ours[0].patterns, theirs[0].patterns)


# Damage --------------------------------------------------------------------------------------

RANGE = "openvino/Range-4/int8-int8-int8-to-int8.json"


def first_line(data: Any) -> Any:
    return data["sets"][0][0]


def of_output(data: Any) -> list[Any]:
    lines = (line for one in data["sets"] for line in one)
    found = next(r[1] for line in lines for r in line[2] if isinstance(r[1], list) and r[1][0][2])
    return found[0]  # type: ignore[no-any-return]


def patterns_of_output(data: Any, word: str) -> None:
    of_output(data)[2] = " ".join(word for _ in of_output(data)[2].split())


def put(place: Any, key: object, value: object) -> None:
    place[key] = value


EDITS: dict[str, Callable[[Any], object]] = {
    "no case": lambda d: put(d, "cases", []),
    "no sets": lambda d: d.pop("sets"),
    "sets are a number": lambda d: put(d, "sets", 7),
    "another set": lambda d: put(d, "cases", [[*row, 99] for *row, _ in d["cases"]]),
    "a case twice": lambda d: put(d, "cases", d["cases"] * 2),
    "unknown coverage": lambda d: put(
        d, "cases", [[*row, "whole", number] for *row, _, number in d["cases"]]
    ),
    "no hexadecimal": lambda d: put(first_line(d)[0][0], 1, "xyz"),
    "too wide": lambda d: put(first_line(d)[0][0], 1, "1ff"),
    "negative": lambda d: put(first_line(d)[0][0], 1, "-1"),
    "few inputs": lambda d: first_line(d)[0].pop(),
    "many inputs": lambda d: first_line(d)[0].append([[], "00"]),
    "another shape": lambda d: put(first_line(d)[0][0], 0, [2]),
    "another rank": lambda d: put(first_line(d)[0][0], 0, [1]),
    "no readings": lambda d: put(first_line(d), 2, []),
    "unknown type": lambda d: put(of_output(d), 0, "int33"),
    "unknown pattern": lambda d: patterns_of_output(d, "whatever"),
    "output too wide": lambda d: patterns_of_output(d, "fff"),
    "another length": lambda d: put(of_output(d), 1, [99]),
    "unknown whole pattern": lambda d: put(first_line(d), 2, [[0, "whatever"]]),
    "no pattern of a call": lambda d: put(first_line(d), 2, [[0, "nan"]]),
    "unknown reading": lambda d: put(first_line(d)[2][0], 0, 99),
    "negative reading": lambda d: put(first_line(d)[2][0], 0, -1),
    "a reading by its name": lambda d: put(first_line(d)[2][0], 0, d["readings"][0]),
    "no names of readings": lambda d: put(d, "readings", []),
    "numbers for names": lambda d: put(d, "readings", [7 for _ in d["readings"]]),
    "negative rule": lambda d: put(first_line(d), 1, -1),
    "unknown rule": lambda d: put(d, "rules", [["no", "such", "rule"] for _ in d["rules"]]),
    "unknown flag": lambda d: first_line(d).append("beside"),
    "other attributes": lambda d: put(d, "attributes", ["stash_type"]),
}


def rewrite(folder: Path, text: str) -> None:
    path, manifest = folder / RANGE, folder / MANIFEST
    old = sha256(path.read_text(encoding="utf-8"))
    path.write_text(text, encoding="utf-8")
    listed = manifest.read_text(encoding="utf-8")
    assert old in listed
    manifest.write_text(listed.replace(old, sha256(text)), encoding="utf-8")


def case_of_file() -> Case:
    return next(c for c in asked(CATALOG.specs["openvino.Range-4"]) if path_of(c) == RANGE)


@pytest.mark.parametrize("edit", EDITS)
def test_a_file_of_nonsense_with_a_right_hash(edit: str, folder: Path) -> None:
    data = json.loads((folder / RANGE).read_text(encoding="utf-8"))
    EDITS[edit](data)
    rewrite(folder, json.dumps(data))
    refuses(folder, "not vectors of openvino.Range-4/int8")


def refuses(folder: Path, words: str) -> None:
    with pytest.raises(VectorError) as caught:
        corpus(folder).vectors(case_of_file())
    assert words in caught.value.message
    assert str(folder / RANGE) in str(caught.value)
    assert caught.value.hint
    assert caught.value.exit_code == 2


def test_nonsense_with_a_right_hash_accuses_nobody(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = json.loads((folder / RANGE).read_text(encoding="utf-8"))
    EDITS["no hexadecimal"](data)
    rewrite(folder, json.dumps(data))
    monkeypatch.setattr(asking, "data_dir", lambda name: folder)
    name, report = RANGE.rpartition("/")[2].removesuffix(".json"), tmp_path / "r.json"
    done = convcheck("run", "--backend", "reference", "openvino.Range-4", "--case", name,
                     "-o", report)  # fmt: skip
    assert done.returncode == 1
    [case] = report_at(report)["cases"]
    assert (case["verdict"], case["groups"]) == ("error", [])
    assert "vector file: not vectors of openvino.Range-4/int8" in case["message"]
