"""The vectors: checked-in ones, their files, and their inputs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from catalogue import CATALOG
from comparing import VERSIONS, cast, neighbours, numeric, pattern, type_names
from oracle import boundaries

from convcheck.errors import SystemLimitError, VectorError
from convcheck.numerics.order import order_key
from convcheck.rules.load import data_dir
from convcheck.rules.model import Case, Spec
from convcheck.semantics.expected import EXACT, Expected
from convcheck.vectors.corpus import open_corpus
from convcheck.vectors.generate import vector_set, vector_sets
from convcheck.vectors.inputs import chosen_inputs, numeric_inputs
from convcheck.vectors.model import VectorSet
from convcheck.vectors.store.manifest import MANIFEST, read_manifest
from convcheck.vectors.store.read import read_vectors
from convcheck.vectors.store.write import Files, body, differing, write_folder
from convcheck.vectors.store.write_calls import file_key

FOLDER = data_dir("vectors")
MOST = 900  # vectors of a case
LARGEST = 24_000_000  # bytes of all files, with the manifest
NAMES = ("float32-to-float8e4m3fn/saturate=0", "int4-to-int8", "string-to-float16")


@pytest.fixture(scope="module")
def few() -> list[VectorSet]:
    found = [v for v in vector_sets(cast(21), "edge") if v.case.name in NAMES]
    assert len(found) == len(NAMES)
    return found


@pytest.fixture
def folder(tmp_path: Path, few: list[VectorSet]) -> Path:
    assert write_folder(files_of(few), tmp_path) == len(NAMES) + 1
    return tmp_path


def files_of(sets: list[VectorSet], seed: int = 0) -> Files:
    return Files([(cast(21), sets)], "edge", seed)


def read(folder: Path, case: Case) -> VectorSet:
    spec = CATALOG.specs[case.spec]
    found = read_vectors(read_manifest(folder), spec, case, CATALOG.types.types)
    assert isinstance(found, VectorSet)
    return found


# Checked-in vectors --------------------------------------------------------------------------


@pytest.mark.long
def test_the_checked_in_vectors_are_those_of_the_specs() -> None:
    """Vectors are made once: written ones equal the files, read ones equal the made."""
    specs = CATALOG.specs.values()
    elements = [spec for spec in specs if not spec.body.whole_calls]
    read_already: set[str] = set()
    sets = ((spec, read_back(spec, read_already) if spec in elements else vector_sets(spec, "edge"))
            for spec in specs)  # fmt: skip
    assert differing(Files(sets, "edge", 0), FOLDER) == []
    assert {cast(version) for version in VERSIONS} <= set(elements)


def read_back(spec: Spec, read_already: set[str]) -> Iterator[VectorSet]:
    manifest = read_manifest(FOLDER)
    for made in vector_sets(spec, "edge"):
        path = manifest.specs[spec.id]["cases"][file_key(made.case)]
        if path in read_already:
            yield made
            continue
        read_already.add(path)
        back = read_vectors(manifest, spec, made.case, CATALOG.types.types)
        assert isinstance(back, VectorSet)
        assert all(np.array_equal(a, b) for a, b in zip(back.inputs, made.inputs, strict=True))
        assert same_due(back.expected, made.expected), made.case.id
        assert (back.case, back.coverage, back.form) == (made.case, made.coverage, made.form)
        mine, theirs = ([v.expected.decisions[r] for r in v.expected.rows] for v in (made, back))
        assert mine == theirs
        yield made


def same_due(one: Expected, other: Expected) -> bool:
    """Return whether elements have equal expectations under each reading. The last reading is
    repeated if a decision has fewer.
    """
    for number in range(max(len(one.readings), len(other.readings))):
        mine, its = (e.readings[min(number, len(e.readings) - 1)] for e in (one, other))
        exact = mine.patterns == EXACT
        same = np.array_equal(mine.codes[exact], its.codes[exact])
        if not (same and np.array_equal(mine.patterns, its.patterns)):
            return False
    return True


def test_sizes() -> None:
    sizes = {path: path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()}
    counts = {name: entry.vectors for name, entry in read_manifest(FOLDER).files.items()}
    most = max(counts, key=lambda name: counts[name])
    print(
        f"\n{sum(sizes.values()):,} bytes in {len(sizes)} files; {most}: {counts[most]} vectors",
        end="",
    )
    assert sum(sizes.values()) <= LARGEST
    assert 0 < min(counts.values()) <= counts[most] <= MOST


def test_every_line_is_one_vector() -> None:
    for name, entry in read_manifest(FOLDER).files.items():
        head, found, rest = text_of(name).partition('\n"vectors": [\n')
        if not found:
            continue
        lines = rest.removesuffix("\n]}\n").split(",\n")
        assert head.startswith('{"convcheck-vectors": 2,')
        assert len(lines) == rest.count("\n") - 1 == entry.vectors
        for line in lines:
            word, said, rule = json.loads(line)
            assert isinstance(word, str)
            assert isinstance(said, str) or len(said) > 1
            assert isinstance(rule, int)


def text_of(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def test_every_line_is_one_call() -> None:
    found = 0
    for name, entry in read_manifest(FOLDER).files.items():
        head, sets, rest = text_of(name).partition('\n"sets": [\n')
        if sets:
            data = json.loads(head + sets + rest)
            assert rest.count("\n[[") == sum(map(len, data["sets"]))
            numbers = [number for *_, number in data["cases"]]
            assert sum(len(data["sets"][n]) for n in numbers) == entry.vectors
            assert set(numbers) == set(range(len(data["sets"])))
            found += 1
    assert found > 300


def test_versions_share_what_is_equal() -> None:
    manifest = read_manifest(FOLDER)
    assert not (FOLDER / "onnx" / "Cast-6").exists()
    six, one = (manifest.specs[f"onnx.Cast-{version}"]["cases"] for version in (6, 1))
    assert set(six.values()) == set(one.values())
    assert all("/to=" in name for name in six.keys() ^ one.keys())
    named = [name for spec in manifest.specs.values() for name in spec["cases"].values()]
    assert set(named) == set(manifest.files)
    assert len(named) > 2 * len(manifest.files)


def test_cases_of_a_spec_share_what_is_equal(tmp_path: Path) -> None:
    spec = cast(24)
    kept = ("saturate=0", "saturate=1", "saturate=default")
    sets = [v for v in vector_sets(spec, "edge") if v.case.name in
            {f"float32-to-float8e4m3fn/{said}" for said in kept}]  # fmt: skip
    write_folder(Files([(spec, sets)], "edge", 0), tmp_path)
    manifest = read_manifest(tmp_path)
    off, on, default = (manifest.specs[spec.id]["cases"][v.case.name] for v in sets)
    assert on == default != off
    for made in sets:
        back = read(tmp_path, made.case)
        assert (back.case, body(back)) == (made.case, body(made))
    shared = json.loads((tmp_path / MANIFEST).read_text(encoding="utf-8"))["specs"][spec.id][
        "shared"
    ]
    assert shared == {sets[2].case.name: on}


# Damage --------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["seed", "tier", "files", "specs", "convcheck-manifest"])
def test_a_manifest_that_lacks_something(folder: Path, key: str) -> None:
    content = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    del content[key]
    (folder / MANIFEST).write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(VectorError, match=key) as caught:
        read_manifest(folder)
    assert str(caught.value.place) == str(folder / MANIFEST)


@pytest.mark.parametrize("key", ["cases", "shared", "spec_sha256"])
def test_a_manifest_whose_spec_lacks_something(
    folder: Path, few: list[VectorSet], key: str
) -> None:
    content = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    del content["specs"]["onnx.Cast-21"][key]
    (folder / MANIFEST).write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(VectorError):
        open_corpus(CATALOG, "edge", 0, folder).check([v.case for v in few])


@pytest.mark.parametrize("content", ["", "[]", '{"convcheck-manifest": 1,', "[" * 100_000, "\0"])
def test_a_manifest_that_is_none(folder: Path, content: str) -> None:
    (folder / MANIFEST).write_text(content, encoding="utf-8")
    with pytest.raises(VectorError):
        read_manifest(folder)


# Writing -------------------------------------------------------------------------------------


def contents(folder: Path) -> dict[str, bytes]:
    files = [p for p in folder.rglob("*") if p.is_file()]
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in files}


def test_writing_again_changes_nothing_and_what_is_left_over_goes(
    folder: Path, few: list[VectorSet]
) -> None:
    assert write_folder(files_of(few), folder) == 0
    assert set(differing(files_of(few[1:]), folder)) == {
        MANIFEST,
        f"onnx/Cast-21/{few[0].case.name}.json (left over)",
    }
    assert write_folder(files_of(few[1:]), folder) == 2
    assert contents(folder) == {n: t.encode() for n, t in files_of(few[1:])}


def test_a_manifest_of_another_shape_is_written_anew(folder: Path, few: list[VectorSet]) -> None:
    """One of format 2, or damaged, lists no files that may be removed."""
    (folder / MANIFEST).write_text('{"convcheck-manifest": 2, "files": {"a": 1, "b": ["c"]}}')
    assert write_folder(files_of(few), folder) == 1
    assert read_manifest(folder).files.keys() == contents(folder).keys() - {MANIFEST}


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("working", [0, 2])
def test_a_write_that_fails_leaves_whole_files(
    folder: Path,
    few: list[VectorSet],
    monkeypatch: pytest.MonkeyPatch,
    failure: BaseException,
    working: int,
) -> None:
    before, wanted = contents(folder), dict(files_of(few, seed=1))
    replaced: list[str] = []
    really = os.replace

    def replace(source: str, target: Path) -> None:
        if len(replaced) == working:
            raise failure
        replaced.append(target.relative_to(folder).as_posix())
        really(source, target)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(SystemLimitError if isinstance(failure, OSError) else KeyboardInterrupt):
        write_folder(files_of(few, seed=1), folder)
    after = {n: t.encode() for n, t in wanted.items() if n in replaced}
    assert contents(folder) == before | after
    assert MANIFEST not in replaced
    monkeypatch.undo()
    write_folder(files_of(few, seed=1), folder)
    assert differing(files_of(few, seed=1), folder) == []


# Inputs --------------------------------------------------------------------------------------


def test_every_boundary_of_float8_is_asked_from_float32() -> None:
    asked, coverage = numeric_inputs(numeric("float32"), numeric("float8e4m3fn"), "boundary", 0)
    values = boundaries("float8e4m3fn")
    wanted = {c for x in values for c in neighbours("float32", pattern("float32", x))}
    assert len(values) > 500
    assert wanted <= set(asked.tolist())
    assert coverage == "boundary-complete"


@pytest.mark.parametrize(("target", "low", "high"), [("int8", -129, 128), ("uint8", -1, 256)])
def test_every_half_integer_is_asked_from_float64(target: str, low: int, high: int) -> None:
    asked, coverage = numeric_inputs(numeric("float64"), numeric(target), "boundary", 0)
    values = [Fraction(k, 2) for k in range(2 * low, 2 * high + 1)]
    wanted = {c for x in values for c in neighbours("float64", pattern("float64", x))}
    assert wanted <= set(asked.tolist())
    assert coverage == "boundary-complete"


@pytest.mark.parametrize("target", type_names(28, 1, 8))
@pytest.mark.parametrize("source", ["float32", "float64"])
def test_every_boundary_in_range_is_asked(source: str, target: str) -> None:
    fmt = numeric(target)
    asked = set(numeric_inputs(numeric(source), fmt, "boundary", 0)[0].tolist())
    for x in boundaries(target):
        if target != "bool" and fmt.min <= x <= fmt.max:
            assert set(neighbours(source, pattern(source, x))) <= asked, x


@pytest.mark.parametrize("tier", ["edge", "boundary"])
def test_inputs_are_sorted_once_each_and_the_seeds(tier: str) -> None:
    for source, target in (("float32", "bfloat16"), ("int64", "int8"), ("float64", "int32")):
        asked, again, other = (
            chosen_inputs(numeric(source), numeric(target), tier, seed)[0].tolist()
            for seed in (0, 0, 1)
        )
        assert asked == again != other
        array = np.array(asked, numeric(source).storage)
        keys = order_key(numeric(source), array).tolist()
        assert all(low < high for low, high in pairwise(keys))


def test_all_codes_of_narrow_sources_are_asked() -> None:
    for name in type_names(28, 1, 16):
        tier = "edge" if numeric(name).bits <= 8 else "boundary"
        asked, coverage = numeric_inputs(numeric(name), numeric("float32"), tier, 0)
        assert (sorted(asked.tolist()), coverage) == (
            list(range(1 << numeric(name).bits)),
            "exhaustive",
        )


def test_a_wide_source_is_not_called_exhaustive() -> None:
    case = next(v.case for v in vector_sets(cast(21), "edge") if v.case.name == "float64-to-bool")
    assert vector_set(cast(21), case, "exhaustive").coverage != "exhaustive"
