"""Vector files of whole calls: what is written is read again, and damage is one clear error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from catalogue import CATALOG
from command import report_at

from convcheck.errors import VectorError
from convcheck.files import write_whole
from convcheck.rules.cases import cases
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case, Spec
from convcheck.semantics.expected_calls import CallReading, ExpectedCall, ExpectedOutput
from convcheck.vectors.corpus import Corpus, open_corpus
from convcheck.vectors.generate import vectors_of
from convcheck.vectors.model import CallSet, Tier, Vectors
from convcheck.vectors.store.manifest import MANIFEST, read_manifest, sha256
from convcheck.vectors.store.words import with_runs, without_runs
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
    """A vectors folder of the sample, to be damaged."""
    for name, text in files.items():
        write_whole(tmp_path / "vectors" / name, text.encode(), folders=True)
    return tmp_path / "vectors"


def corpus(folder: Path, catalog: Catalog = CATALOG) -> Corpus:
    return open_corpus(catalog, "edge", 0, folder)


def test_the_sample_has_every_case_of_its_files() -> None:
    for name, keys in SAMPLE.items():
        assert {file_key(case) for case in asked(CATALOG.specs[name])} == set(keys)


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
    free = np.where(due.patterns == 0, due.codes, 0)  # a code counts where one is expected
    assert due.codes.dtype == due.dtype.format.storage
    return due.dtype, due.shape, free.tolist(), due.patterns.tolist()


WORDS = (["7f"], ["80", "80", "80"], ["=", "=", "01", "=", "undefined", "undefined"], [])


@pytest.mark.parametrize("words", WORDS, ids=len)
def test_what_repeats_is_written_once(words: list[str]) -> None:
    assert without_runs(with_runs(words)) == words
    assert len(with_runs(words)) <= len(" ".join(words))


def test_a_reading_is_written_as_what_differs_from_the_first(files: dict[str, str]) -> None:
    """Most of what is due is the same by every reading."""
    found = [
        reading
        for name, text in files.items()
        if "FakeConvert" in name
        for one in json.loads(text)["sets"]
        for line in one
        for reading in line[2][1:]
    ]
    assert found
    words = " ".join(words for _, outputs in found for *_, words in outputs).split()
    assert sum(word.startswith("=*") for word in words) > len(words) / 10


def test_two_generations_are_the_same_bytes(files: dict[str, str]) -> None:
    assert dict(Files(sets(), "edge", 0)) == files


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
    """The first output due of the first call of which outputs are due."""
    lines = (line for one in data["sets"] for line in one)
    found = next(r[1] for line in lines for r in line[2] if isinstance(r[1], list) and r[1][0][2])
    return found[0]  # type: ignore[no-any-return]


def no_case(data: Any) -> None:
    data["cases"] = []


def no_sets(data: Any) -> None:
    del data["sets"]


def another_set(data: Any) -> None:
    data["cases"] = [[*row, 99] for *row, _ in data["cases"]]


def garbage(data: Any) -> None:
    first_line(data)[0][0][1] = "xyz"


def too_wide(data: Any) -> None:
    first_line(data)[0][0][1] = "1ff"


def negative(data: Any) -> None:
    first_line(data)[0][0][1] = "-1"


def few_inputs(data: Any) -> None:
    first_line(data)[0].pop()


def many_inputs(data: Any) -> None:
    first_line(data)[0].append([[], "00"])


def another_shape(data: Any) -> None:
    first_line(data)[0][0][0] = [2]


def another_rank(data: Any) -> None:
    first_line(data)[0][0][0] = [1]


def no_readings(data: Any) -> None:
    first_line(data)[2] = []


def unknown_type(data: Any) -> None:
    of_output(data)[0] = "int33"


def unknown_pattern(data: Any) -> None:
    of_output(data)[2] = " ".join("whatever" for _ in of_output(data)[2].split())


def unknown_whole_pattern(data: Any) -> None:
    first_line(data)[2] = [[0, "whatever"]]


def no_pattern_of_a_call(data: Any) -> None:
    first_line(data)[2] = [[0, "nan"]]


def unknown_reading(data: Any) -> None:
    first_line(data)[2][0][0] = 99


def negative_reading(data: Any) -> None:
    first_line(data)[2][0][0] = -1


def a_reading_by_its_name(data: Any) -> None:
    first_line(data)[2][0][0] = data["readings"][0]


def no_names_of_readings(data: Any) -> None:
    data["readings"] = []


def numbers_for_names(data: Any) -> None:
    data["readings"] = [7 for _ in data["readings"]]


def another_length(data: Any) -> None:
    of_output(data)[1] = [99]


def wide_output(data: Any) -> None:
    of_output(data)[2] = " ".join("fff" for _ in of_output(data)[2].split())


def negative_rule(data: Any) -> None:
    first_line(data)[1] = -1


def unknown_rule(data: Any) -> None:
    data["rules"] = [["no", "such", "rule"] for _ in data["rules"]]


def unknown_flag(data: Any) -> None:
    first_line(data).append("beside")


def unknown_coverage(data: Any) -> None:
    data["cases"] = [[*row, "whole", number] for *row, _, number in data["cases"]]


def other_attributes(data: Any) -> None:
    data["attributes"] = ["stash_type"]


def a_case_twice(data: Any) -> None:
    data["cases"] *= 2


def a_number(data: Any) -> None:
    data["sets"] = 7


EDITS = (
    no_case, no_sets, another_set, garbage, too_wide, negative, few_inputs, many_inputs,
    another_shape, another_rank, no_readings, unknown_type, unknown_pattern, unknown_whole_pattern,
    no_pattern_of_a_call, unknown_reading, negative_reading, a_reading_by_its_name,
    no_names_of_readings, numbers_for_names, another_length, wide_output, negative_rule,
    unknown_rule, unknown_flag, unknown_coverage, other_attributes, a_case_twice, a_number,
)  # fmt: skip


def rewrite(folder: Path, text: str) -> None:
    """Put a text in the file's place, and its hash into the manifest."""
    path, manifest = folder / RANGE, folder / MANIFEST
    old = sha256(path.read_text(encoding="utf-8"))
    path.write_text(text, encoding="utf-8")
    listed = manifest.read_text(encoding="utf-8")
    assert old in listed
    manifest.write_text(listed.replace(old, sha256(text)), encoding="utf-8")


def case_of_file() -> Case:
    return next(c for c in asked(CATALOG.specs["openvino.Range-4"]) if path_of(c) == RANGE)


@pytest.mark.parametrize("edit", EDITS, ids=lambda e: e.__name__)
def test_a_file_of_nonsense_with_a_right_hash(edit: Callable[[Any], None], folder: Path) -> None:
    data = json.loads((folder / RANGE).read_text(encoding="utf-8"))
    edit(data)
    rewrite(folder, json.dumps(data))
    refuses(folder, "not vectors of openvino.Range-4/int8")


def refuses(folder: Path, words: str) -> None:
    with pytest.raises(VectorError) as caught:
        corpus(folder).vectors(case_of_file())
    assert words in caught.value.message
    assert str(folder / RANGE) in str(caught.value)
    assert caught.value.hint
    assert caught.value.exit_code == 2


DAMAGE: dict[str, tuple[Callable[[str], str], str]] = {
    "truncated": (lambda text: text[: len(text) // 2], "truncated or edited, not JSON"),
    "edited": (lambda text: text.replace("00", "01", 1), "its hash is not the one"),
    "newer": (lambda text: text.replace('"convcheck-vectors": 2', '"convcheck-vectors": 3'),
              "vector file of format 3"),
    "empty": (lambda text: "", "truncated or edited, not JSON"),
    "a list": (lambda text: "[]", "not a JSON object"),
}  # fmt: skip


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_file(how: str, folder: Path) -> None:
    change, words = DAMAGE[how]
    text = (folder / RANGE).read_text(encoding="utf-8")
    assert change(text) != text
    (folder / RANGE).write_text(change(text), encoding="utf-8")
    refuses(folder, words)
    with pytest.raises(VectorError):
        corpus(folder).check([case_of_file()])


def test_a_missing_file(folder: Path) -> None:
    (folder / RANGE).unlink()
    refuses(folder, "cannot be read")


def test_a_case_that_the_manifest_does_not_have(folder: Path) -> None:
    manifest = folder / MANIFEST
    data = json.loads(manifest.read_text(encoding="utf-8"))
    data["specs"]["openvino.Range-4"]["cases"]["openvino/Range-4"].remove("int8-int8-int8-to-int8")
    manifest.write_text(json.dumps(data), encoding="utf-8")
    assert read_manifest(folder)
    with pytest.raises(VectorError, match=r"it has no vectors of openvino\.Range-4/int8"):
        corpus(folder).vectors(case_of_file())


def test_a_run_ends_with_2_and_writes_nothing_half(folder: Path, tmp_path: Path) -> None:
    text = (folder / RANGE).read_text(encoding="utf-8")
    (folder / RANGE).write_text(text[:-50], encoding="utf-8")
    done = run_with(folder, tmp_path)
    assert done.returncode == 2
    assert RANGE in done.stderr
    assert "hint: run `convcheck generate`" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.glob("*.json"))


def test_nonsense_with_a_right_hash_accuses_nobody(folder: Path, tmp_path: Path) -> None:
    data = json.loads((folder / RANGE).read_text(encoding="utf-8"))
    garbage(data)
    rewrite(folder, json.dumps(data))
    assert run_with(folder, tmp_path).returncode == 1
    [case] = report_at(tmp_path / "r.json")["cases"]
    assert (case["verdict"], case["groups"]) == ("error", [])
    assert "vector file: not vectors of openvino.Range-4/int8" in case["message"]


def run_with(folder: Path, here: Path) -> subprocess.CompletedProcess[str]:
    """Run the command line with another folder of vectors."""
    code = (
        "import sys; from pathlib import Path; import convcheck.rules.load as load\n"
        f"own = load.data_dir; load.data_dir = lambda n: Path({str(folder)!r}) if n == 'vectors'"
        " else own(n)\n"
        "sys.argv = ['convcheck', 'run', '--backend', 'reference', 'openvino.Range-4', '--case',\n"
        "            'int8-int8-int8-to-int8', '--json', 'r.json', '-j', '1']\n"
        "from convcheck.__main__ import main\n"
        "if __name__ == '__main__': main()\n"
    )
    script = here / "script.py"
    script.write_text(code)
    return subprocess.run(
        [sys.executable, str(script)], cwd=here, capture_output=True, text=True, timeout=120,
        env={**os.environ, "COLUMNS": "200"}, check=False,
    )  # fmt: skip
