import hashlib
import json
import os
from itertools import chain

import numpy as np
import pytest
from catalogue import CATALOG
from command import convcheck, report_at

from convcheck.cli import asking
from convcheck.errors import SystemLimitError, VectorError
from convcheck.rules.cases import cases
from convcheck.vectors.corpus import open_corpus
from convcheck.vectors.generate import vectors_of
from convcheck.vectors.model import CallSet
from convcheck.vectors.store.stored import MANIFEST, read_manifest, with_choices, without_choices
from convcheck.vectors.store.write import Files, by_file, differing, write_folder

SAMPLE = {
    "onnx.Cast-21": (
        "float32-to-float8e4m3fn/saturate=0",
        "float32-to-float8e4m3fn/saturate=1",
        "float32-to-float8e4m3fn/saturate=default",
        "int4-to-int8",
        "string-to-float16",
        "float16-to-string",
    ),
    "onnx.CastLike-21": ("float32-float16", "string-float16"),
    "openvino.ConvertPromoteTypes-14": ("int8-uint8", "float16-float8e5m2", "bool-int4"),
    "openvino.FakeConvert-13": ("bfloat16-bfloat16", "bfloat16-bfloat16-bfloat16"),
    "openvino.Range-4": (
        "int8-int8-int8-to-int8",
        "float16-int64-float32-to-bfloat16",
        "int32-float32-bfloat16-to-float16",
    ),
    "onnx.Range-11": ("int16-int16-int16", "float32-float32-float32"),
}
RANGE, CAST = "openvino/Range/int8.json", "onnx/Cast/float32.json"


def asked(spec, *names):
    found = cases(CATALOG.specs[spec])
    return [c for c in found if {c.name, c.name.partition("/")[0]} & set(names)]


def every():
    return [case for spec, names in SAMPLE.items() for case in asked(spec, *names)]


def made(case, seed=0):
    return vectors_of(CATALOG.specs[case.spec], case, "edge", seed)


def files_of(some, seed=0, kept=None):
    listed = by_file(some, CATALOG.specs)
    specs = {case.spec: CATALOG.specs[case.spec] for case in listed}.values()
    return Files(specs, listed, lambda case: made(case, seed), "edge", seed, kept)


@pytest.fixture(scope="module")
def files():
    return dict(files_of(every()))


@pytest.fixture
def folder(files, tmp_path):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def corpus(folder):
    return open_corpus(CATALOG, "edge", 0, folder)


def content(vectors):
    """Return vectors in plain values. A code counts only if one is expected."""

    def due(codes, patterns):
        text = codes.dtype == object
        free = np.where(patterns == 0, codes, "" if text else 0).tolist()
        return str(codes.dtype), free, patterns.tolist()

    said = [vectors.case, vectors.coverage, vectors.form]
    if isinstance(vectors, CallSet):
        for call, one in zip(vectors.calls, vectors.expected, strict=True):
            said += [(str(a.dtype), a.shape, a.tolist()) for a in call]
            said += [one.row, one.between, [rows.tolist() for rows in one.rows]]
            for reading in one.readings:
                said += [reading.name, reading.pattern]
                said += [(o.dtype, o.shape, due(o.codes, o.patterns)) for o in reading.outputs]
        return [*said, vectors.decisions]
    said += [(str(a.dtype), a.tolist()) for a in vectors.inputs]
    said += [due(r.codes, r.patterns) for r in vectors.expected.readings]
    return [*said, [vectors.decisions[row] for row in vectors.rows]]


@pytest.mark.parametrize("name", SAMPLE)
def test_files_give_what_the_generator_gives(name, folder):
    stored, some = corpus(folder), asked(name, *SAMPLE[name])
    assert stored.check(some) == ()
    assert len(some) >= len(SAMPLE[name])
    for case in some:
        assert stored.stored(case)
        vectors = stored.vectors(case)
        assert content(vectors) == content(made(case)), case.id
        assert stored.count(case) == len(vectors) > 0


def test_cases_share_what_is_equal(files):
    types, like = "float32-to-float8e4m3fn", "float32-to-float16"
    assert [one["cases"] for one in json.loads(files[CAST])["sets"]] == [
        {"onnx.Cast-21": [f"{types}/saturate=0"]},
        {"onnx.Cast-21": [f"{types}/saturate={{1|default}}"]},
        {"onnx.CastLike-21": [like, f"{like}/saturate=0"]},
    ]
    # an input that only gives its type does not count
    both = asked("onnx.Cast-21", like)[:1] + asked("onnx.CastLike-21", "float32-float16")[:1]
    [one] = json.loads(dict(files_of(both))[CAST])["sets"]
    assert one["cases"] == {"onnx.Cast-21": [like], "onnx.CastLike-21": [like]}


@pytest.mark.parametrize(("names", "joined"), [
    (["a"], ["a"]),
    (["a/x=1", "a/x=2", "b/x=1", "a"], ["a", "a/x={1|2}", "b/x=1"]),
    (["a/s/x=1", "a/t/x=1", "a/s/x=2", "a/t/x=2"], ["a/{s|t}/x={1|2}"]),
    (["a/s/x=1", "a/t/x=1", "a/s/y=1", "a/t/y=1"], ["a/{s|t}/x=1", "a/{s|t}/y=1"]),
    (["a/x=1/y=1", "a/x=1/y=2", "a/x=2/y=1"], ["a/x=1/y={1|2}", "a/x=2/y=1"]),
    (["a/x=-1", "a/x=", "a/x"], ["a/x", "a/x={|-1}"]),
])  # fmt: skip
def test_names_with_choices(names, joined):
    assert with_choices(names) == joined
    assert sorted(chain.from_iterable(map(without_choices, joined))) == sorted(names)


def first_line(data):
    return data["sets"][0]["vectors"][0]


def of_output(data):
    lines = (line for one in data["sets"] for line in one["vectors"])
    return next(r[1] for line in lines for r in line[2] if isinstance(r[1], list) and r[1][0])


def put(place, key, value):
    place[key] = value


def in_sets(data, key, value):
    for one in data["sets"]:
        one[key] = value


# What stands in a file of calls with a right hash -> what is wrong with it.
EDITS = {
    "no sets": (lambda d: d.pop("sets"), "truncated or edited"),
    "sets are a number": (lambda d: put(d, "sets", 7), "truncated or edited"),
    "unknown coverage": (lambda d: in_sets(d, "coverage", "whole"), "truncated or edited"),
    "numbers for names": (lambda d: in_sets(d, "readings", [7]), "truncated or edited"),
    "unknown flag": (lambda d: first_line(d).extend([[], "beside"]), "truncated or edited"),
    "no case": (lambda d: in_sets(d, "cases", {}), "it has no vectors"),
    "no hexadecimal": (lambda d: put(first_line(d)[0], 0, "[] xyz"), "not vectors"),
    "too wide": (lambda d: put(first_line(d)[0], 0, "[] 1ff"), "not vectors"),
    "negative": (lambda d: put(first_line(d)[0], 0, "[] -1"), "not vectors"),
    "few inputs": (lambda d: first_line(d)[0].pop(), "not vectors"),
    "many inputs": (lambda d: first_line(d)[0].append("[] 00"), "not vectors"),
    "another shape": (lambda d: put(first_line(d)[0], 0, "[2] 00"), "not vectors"),
    "another rank": (lambda d: put(first_line(d)[0], 0, "00"), "not vectors"),
    "no readings": (lambda d: put(first_line(d), 2, []), "not vectors"),
    "unknown type": (lambda d: in_sets(d, "outputs", ["int33"]), "not vectors"),
    "few outputs": (lambda d: in_sets(d, "outputs", []), "not vectors"),
    "unknown pattern": (lambda d: put(of_output(d), 0, "whatever"), "not vectors"),
    "output too wide": (lambda d: put(of_output(d), 0, "fff"), "not vectors"),
    "another length": (lambda d: put(of_output(d), 0, "[99] 00"), "not vectors"),
    "same as nothing": (lambda d: put(of_output(d), 0, "same"), "not vectors"),
    "unknown whole pattern": (lambda d: put(first_line(d), 2, [[0, "whatever"]]), "not vectors"),
    "no pattern of a call": (lambda d: put(first_line(d), 2, [[0, "nan"]]), "not vectors"),
    "unknown reading": (lambda d: put(first_line(d)[2][0], 0, 99), "not vectors"),
    "negative reading": (lambda d: put(first_line(d)[2][0], 0, -1), "not vectors"),
    "no names of readings": (lambda d: in_sets(d, "readings", []), "not vectors"),
    "negative rule": (lambda d: put(first_line(d), 1, -1), "not vectors"),
    "unknown rule": (lambda d: in_sets(d, "rules", [["no", "such", "rule"]]), "not vectors"),
    "rules of elements": (lambda d: first_line(d).append(["0*99"]), "not vectors"),
}
OF_ELEMENTS = {
    "few inputs": lambda d: put(first_line(d)[0], 0, ""),
    "many inputs": lambda d: first_line(d)[0].append("00"),
    "no readings": lambda d: put(first_line(d), 2, []),
    "a pattern of a call": lambda d: put(first_line(d), 2, [[0, "undefined"]]),
    "too many values": lambda d: put(of_output(d), 0, "00*99"),
    "negative rule": lambda d: put(first_line(d), 1, -1),
    "rule beyond the last": lambda d: put(first_line(d), 1, 99),
    "unknown rule": lambda d: in_sets(d, "rules", [["no", "such", "rule"]]),
}


def edit(folder, name, change):
    """Edit a file and put its new hash into the manifest."""
    path = folder / name
    data = json.loads(path.read_text(encoding="utf-8"))
    old = read_manifest(folder).files[name]
    change(data)
    path.write_text(json.dumps(data), encoding="utf-8")
    new = hashlib.sha256(path.read_bytes()).hexdigest()
    listed = (folder / MANIFEST).read_text(encoding="utf-8")
    (folder / MANIFEST).write_text(listed.replace(old, new), encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        *((RANGE, *one) for one in EDITS.values()),
        *((CAST, one, "not vectors") for one in OF_ELEMENTS.values()),
    ],
    ids=[*EDITS, *(f"elements: {name}" for name in OF_ELEMENTS)],
)
def test_a_file_of_nonsense_with_a_right_hash(name, change, said, folder):
    edit(folder, name, change)
    case = next(c for c in every() if read_manifest(folder).file_of(c) == name)
    with pytest.raises(VectorError) as caught:
        corpus(folder).vectors(case)
    assert said in caught.value.message
    assert str(caught.value.place) == str(folder / name)
    assert caught.value.hint
    assert caught.value.exit_code == 2


def test_nonsense_with_a_right_hash_accuses_nobody(folder, tmp_path, monkeypatch):
    edit(folder, RANGE, EDITS["no hexadecimal"][0])
    monkeypatch.setattr(asking, "data_dir", lambda name: folder)
    done = convcheck("run", "--backend", "reference", "openvino.Range-4", "--case",
                     "int8-int8-int8-to-int8", "-o", tmp_path / "r.json")  # fmt: skip
    assert done.returncode == 1
    [case] = report_at(tmp_path / "r.json")["cases"]
    assert (case["verdict"], case["groups"]) == ("error", [])
    assert "vector file: not vectors of openvino.Range-4/int8" in case["message"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        *((lambda d, k=key: d.pop(k), key) for key in ("seed", "tier", "files", "specs")),
        (lambda d: d.pop("convcheck-manifest"), "does not begin with its version"),
        (lambda d: put(d, "convcheck-manifest", 3), "of format 3; this convcheck reads format 4"),
        (lambda d: put(d, "convcheck-manifest", 9), "of format 9; this convcheck reads format 4"),
        (lambda d: d["specs"]["onnx.Cast-21"].pop("spec_sha256"), "spec_sha256"),
        (lambda d: d["specs"]["onnx.Cast-21"].pop("folder"), "folder"),
        (lambda d: put(d, "files", {}), "it has no vectors of onnx.Cast-21/"),
    ],
)
def test_a_manifest_that_lacks_something(change, said, folder):
    content = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    change(content)
    (folder / MANIFEST).write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(VectorError, match=said) as caught:
        corpus(folder).check(every())
    assert str(folder / MANIFEST) in str(caught.value.place)
    assert caught.value.hint


@pytest.mark.parametrize(
    "text", ["", "[]", '{"convcheck-manifest": 1,', "[" * 100_000, '{"a": ' * 100_000, "\0"]
)
def test_a_manifest_that_is_none(text, folder):
    (folder / MANIFEST).write_text(text, encoding="utf-8")
    with pytest.raises(VectorError):
        read_manifest(folder)


FEW = [*asked("onnx.Cast-21", *SAMPLE["onnx.Cast-21"][:1], "int4-to-int8", "string-to-float16")]


@pytest.fixture
def few(tmp_path):
    assert write_folder(files_of(FEW), tmp_path) == len(FEW) + 1
    return tmp_path


def contents(folder):
    files = [p for p in folder.rglob("*") if p.is_file()]
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in files}


def test_writing_again_changes_nothing_and_what_is_left_over_goes(few):
    assert write_folder(files_of(FEW), few) == 0
    fewer = FEW[1:]
    gone = read_manifest(few).file_of(FEW[0])
    assert set(differing(files_of(fewer), few)) == {MANIFEST, f"{gone} (left over)"}
    assert write_folder(files_of(fewer), few) == 2
    assert contents(few) == {n: t.encode() for n, t in files_of(fewer)}


def test_a_folder_of_format_3_is_written_anew(few):
    old = few / "onnx/Cast-21/float16-to-int8/mode=1.json"
    old.parent.mkdir(parents=True)
    old.write_text("{}")
    own = few / "a"
    own.write_text("not listed")
    listed = {"onnx/Cast-21": {"float16-to-int8/mode=1": ["0" * 64, 1]}, "b": ["c"], "..": {"d": 1}}
    (few / MANIFEST).write_text(json.dumps({"convcheck-manifest": 3, "files": listed}))
    assert write_folder(files_of(FEW), few) == 2
    assert contents(few).keys() == {*read_manifest(few).files, MANIFEST, "a"}
    assert not (few / "onnx/Cast-21").exists()


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("working", [0, 2])
def test_a_write_that_fails_leaves_whole_files(failure, working, few, monkeypatch):
    before, wanted = contents(few), dict(files_of(FEW, seed=1))
    replaced = []
    really = os.replace

    def replace(source, target):
        if len(replaced) == working:
            raise failure
        replaced.append(target.relative_to(few).as_posix())
        really(source, target)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(SystemLimitError if isinstance(failure, OSError) else KeyboardInterrupt):
        write_folder(files_of(FEW, seed=1), few)
    after = {n: t.encode() for n, t in wanted.items() if n in replaced}
    assert contents(few) == before | after
    assert MANIFEST not in replaced
    monkeypatch.undo()
    write_folder(files_of(FEW, seed=1), few)
    assert differing(files_of(FEW, seed=1), few) == []
