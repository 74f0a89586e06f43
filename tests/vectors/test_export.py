import json
from pathlib import Path

import numpy as np
import pytest
from catalogue import CATALOG

from convcheck.cli import COMMANDS
from convcheck.errors import UsageError
from convcheck.numerics.number import is_nan
from convcheck.rules.digest import digest_of_spec
from convcheck.rules.find import find_case
from convcheck.rules.load import data_dir
from convcheck.semantics.expected import ANY_NAN, EXACT, PATTERNS
from convcheck.vectors.corpus import open_corpus
from convcheck.vectors.folder import MARK

CORPUS = open_corpus(CATALOG, "edge", 0, data_dir("vectors"))
FLOAT8 = "onnx.Cast-21/float32-to-float8e4m3fn/saturate=1"
TEXT = "onnx.Cast-21/string-to-float8e5m2/saturate=0"
RANGE = "onnx.Range-11/int32-int32-int32"
PROMOTION = (
    "openvino.ConvertPromoteTypes-14/int8-uint8/tensor-scalar/promote_unsafe=false/"
    "pytorch_scalar_promotion=false/u64_integer_promotion_target=f32"
)


@pytest.fixture(autouse=True)
def loaded_once(monkeypatch):
    monkeypatch.setattr("convcheck.cli.write.catalog", lambda: CATALOG)


def export(*arguments):
    return COMMANDS["export"].main([*map(str, arguments)], standalone_mode=False)


def vectors(name):
    return CORPUS.vectors(find_case(CATALOG, name, None, None, ()))


def test_text_is_an_input_a_line(capsys):
    export(FLOAT8, "--as", "text")
    lines = capsys.readouterr().out.splitlines()
    assert {len(line) for line in lines} == {8}
    assert [int(line, 16) for line in lines] == vectors(FLOAT8).inputs[0].tolist()


@pytest.mark.parametrize("name", [FLOAT8, TEXT, "onnx.CastLike-21/float32-float16"])
def test_json_is_a_vector_file_of_one_case(name, capsys):
    export(name, "--as", "json")
    made = json.loads(capsys.readouterr().out)
    spec = name.partition("/")[0]
    assert made["spec_sha256"] == digest_of_spec(CATALOG.specs[spec])
    [one] = made["sets"]
    assert list(one["cases"]) == [spec]
    inputs = [line[0][0] for line in one["vectors"]]
    count = sum(len(text.split() if isinstance(text, str) else text) for text in inputs)
    assert count == len(vectors(name))


def test_a_folder_of_json_is_a_vectors_folder(tmp_path):
    export("onnx.BitCast-26", "onnx.Range-*", "--as", "json", "--out", tmp_path / "out")
    for name in ("onnx/BitCast/float32.json", "onnx/Range/int32.json"):
        assert (tmp_path / "out" / name).read_text() == (data_dir("vectors") / name).read_text()
    assert json.loads((tmp_path / "out/MANIFEST.json").read_text())["tier"] == "edge"


def read_safetensors(path):
    from safetensors import safe_open

    with safe_open(path, "numpy") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata()  # noqa: SIM118


def test_safetensors_have_the_bits(tmp_path):
    path = tmp_path / "one.safetensors"
    export(FLOAT8, "--as", "safetensors", "--out", path)
    tensors, said = read_safetensors(path)
    one = vectors(FLOAT8)
    assert tensors["input"].dtype == np.uint32
    assert tensors["expected"].dtype == np.uint8
    assert (tensors["input"] == one.inputs[0]).all()
    assert (tensors["expected"] == one.expected.readings[0].codes).all()
    assert (tensors["pattern"] == one.expected.readings[0].patterns).all()
    rules = json.loads(said["rules"])
    named = [rules[row][:2] for row in tensors["row"]]
    assert named == [[one.expected.decisions[r].rule, one.expected.decisions[r].row]
                     for r in one.expected.rows]  # fmt: skip
    assert (said["case"], said["tier"], said["seed"]) == (FLOAT8, "edge", "0")
    assert said["spec_sha256"] == digest_of_spec(CATALOG.specs["onnx.Cast-21"])
    assert json.loads(said["patterns"]) == list(PATTERNS)


@pytest.mark.parametrize("name", [RANGE, PROMOTION])
def test_safetensors_have_whole_calls(name, tmp_path):
    export(name, "--as", "safetensors", "--out", tmp_path / "one.safetensors")
    tensors, said = read_safetensors(tmp_path / "one.safetensors")
    calls = vectors(name)
    types = json.loads(said["outputs"])
    for n, (call, expected) in enumerate(zip(calls.calls, calls.expected, strict=True)):
        first = expected.readings[0]
        assert tensors["outcome"][n] == first.pattern
        for i, tensor in enumerate(call):
            assert tensors[f"{n}/input/{i}"].shape == tensor.shape
            assert (tensors[f"{n}/input/{i}"] == tensor).all()
        for i, due in enumerate(first.outputs):
            assert tensors[f"{n}/expected/{i}"].shape == due.shape
            assert (tensors[f"{n}/expected/{i}"].reshape(-1) == due.codes).all()
            assert (types if calls.case.outputs else types[n])[i] == due.dtype.name


# Conversions that the ReferenceEvaluator does right.
RIGHT = ("float32-to-int32", "float32-to-float16", "int32-to-int8", "float64-to-float32",
         "bool-to-float32", "float32-to-bool", "float32-to-float64")  # fmt: skip


def loaded(folder):
    from onnx.backend.test.loader import load_model_tests

    tests = load_model_tests(str(folder.parent), folder.name)
    assert {(test.rtol, test.atol) for test in tests} == {(0, 0)}
    return {test.name: Path(test.model_dir) for test in tests}


def wrong_outputs(folder):
    import onnx
    from onnx import numpy_helper
    from onnx.reference import ReferenceEvaluator

    model = onnx.load(folder / "model.onnx")
    onnx.checker.check_model(model)
    evaluator = ReferenceEvaluator(model)
    wrong = []
    for data in sorted(folder.glob("test_data_set_*")):
        feeds = [numpy_helper.to_array(onnx.load_tensor(path))
                 for path in sorted(data.glob("input_*.pb"))]  # fmt: skip
        names = [value.name for value in model.graph.input]
        with np.errstate(all="ignore"):
            got = evaluator.run(None, dict(zip(names, feeds, strict=True)))
        for path, array in zip(sorted(data.glob("output_*.pb")), got, strict=True):
            due = numpy_helper.to_array(onnx.load_tensor(path))
            if not same_bits(due, np.asarray(array)):
                wrong.append(f"{data.name}/{path.name}")
    return wrong


def same_bits(due, got):
    """Compare bits. Any NaN equals any other."""
    if (due.dtype, due.shape) != (got.dtype, got.shape):
        return False
    word = f"u{due.itemsize}"
    equal = due.view(word) == got.view(word)
    return bool((equal | (np.isnan(due) & np.isnan(got))).all())


def test_onnx_tests_load_and_pass_on_the_reference_evaluator(tmp_path, capsys):
    import onnx

    folder = tmp_path / "kind"
    names = [f"onnx.Cast-21/{name}" for name in RIGHT]
    names += [RANGE, "onnx.CastLike-21/float32-float16"]
    export(*names, "--as", "onnx", "--out", folder)
    tests = loaded(folder)
    assert len(tests) == len(RIGHT) + 2
    for name, path in tests.items():
        assert name.startswith("test_onnx_")
        assert wrong_outputs(path) == [], name
    assert "left out, without one expected value:" in capsys.readouterr().err
    output = tests["test_onnx_cast_21_float32_to_float16"] / "test_data_set_0/output_0.pb"
    tensor = onnx.load_tensor(output)
    memory = bytearray(tensor.raw_data)
    memory[40] ^= 1
    tensor.raw_data = bytes(memory)
    output.write_bytes(tensor.SerializeToString())
    assert wrong_outputs(output.parent.parent) == ["test_data_set_0/output_0.pb"]


def test_only_what_has_one_expected_value_is_in_a_test(tmp_path):
    import onnx

    export(FLOAT8, "--as", "onnx", "--out", tmp_path / "kind")
    [path] = loaded(tmp_path / "kind").values()
    given = np.frombuffer(onnx.load_tensor(path / "test_data_set_0/input_0.pb").raw_data, "u4")
    due = np.frombuffer(onnx.load_tensor(path / "test_data_set_0/output_0.pb").raw_data, "u1")
    one = vectors(FLOAT8)
    patterns = {int(x): int(p) for x, p in zip(one.inputs[0], one.expected.readings[0].patterns,
                                              strict=True)}  # fmt: skip
    assert {patterns[int(x)] for x in given} == {EXACT, ANY_NAN}
    nan = np.array([patterns[int(x)] == ANY_NAN for x in given])
    assert (is_nan(one.case.outputs[0].format, due) >= nan).all()


@pytest.mark.parametrize(("arguments", "said"), [
    ((RANGE, PROMOTION, "--as", "onnx"), "left out: 1 case, "),
    (("onnx.Cast-9", "--to", "int8", "--as", "safetensors"), "left out: 1 case, it has texts"),
])  # fmt: skip
def test_cases_that_a_form_cannot_hold_are_left_out_and_counted(arguments, said, tmp_path, capsys):
    export(*arguments, "--out", tmp_path / "out")
    assert said in capsys.readouterr().err
    assert not list((tmp_path / "out").rglob("string-*"))


def test_a_folder_is_brought_up_to_date_and_nothing_else_is_removed(tmp_path):
    out = tmp_path / "out"
    both = [f"onnx.Cast-21/{name}" for name in RIGHT[:2]]
    export(*both, "--as", "text", "--out", out)
    (out / "mine.txt").write_text("mine")
    first, second = sorted(out.rglob("*-to-*.txt"))
    export(f"onnx.Cast-21/{second.stem}", "--as", "text", "--out", out)
    assert list(out.rglob("*-to-*.txt")) == [second]
    assert (out / "mine.txt").read_text() == "mine"
    assert json.loads((out / MARK).read_text())["files"] == [f"onnx.Cast-21/{second.name}"]
    first.write_text("mine")
    with pytest.raises(UsageError, match=f"{first.name} is there already"):
        export(*both, "--as", "text", "--out", out)
    assert first.read_text() == "mine"


def test_a_folder_with_anything_else_in_it_is_refused(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="is not empty, and holds no earlier export"):
        export(FLOAT8, "--as", "json", "--out", out)
    assert [path.name for path in out.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(("mark", "said"), [
    ("{", "is damaged"),
    ('{"form": "text", "files": []}', "in the form text, not json"),
])  # fmt: skip
def test_a_damaged_or_another_export_is_refused(mark, said, tmp_path):
    (tmp_path / MARK).write_text(mark)
    with pytest.raises(UsageError, match=said):
        export(FLOAT8, "--as", "json", "--out", tmp_path)


def test_a_mark_names_no_file_outside_its_folder(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "precious").write_text("mine")
    said = {"form": "text", "files": ["../precious", str(tmp_path / "precious")]}
    (out / MARK).write_text(json.dumps(said))
    export(FLOAT8, "--as", "text", "--out", out)
    assert (tmp_path / "precious").read_text() == "mine"


@pytest.mark.parametrize(("arguments", "said"), [
    ((RANGE, "--as", "text"), "has no text form"),
    ((TEXT, "--as", "safetensors", "--out", "x.safetensors"), "it has texts"),
    ((PROMOTION, "--as", "onnx", "--out", "new"), "is not an ONNX operator"),
    ((FLOAT8, "--as", "safetensors"), "which folder"),
    (("onnx.Cast-21", "--as", "json"), "which folder"),
    ((FLOAT8, "--to", "int8", "--as", "json"), "no case matches"),
])  # fmt: skip
def test_what_cannot_be_written_is_said(arguments, said):
    with pytest.raises(UsageError, match=said):
        export(*arguments)
