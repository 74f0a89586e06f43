import pytest
from command import convcheck, refused, report_at, told
from report_json import parsed

RANGE, PROMOTE, FAKE, LIKE = (
    "openvino.Range-4", "openvino.ConvertPromoteTypes-14", "openvino.FakeConvert-13",
    "onnx.CastLike-19",
)  # fmt: skip
ONE = (RANGE, "--from", "int8", "--to", "int8")


@pytest.fixture
def words(tmp_path):
    path = tmp_path / "inputs"
    path.write_text("0x01\n0x02\n")
    return path


COUNTS = [
    ((RANGE, "--to", "int8"), 8),
    ((RANGE, "--from", "uint8", "--to", "float32"), 1),
    ((PROMOTE, "--case", "int8-uint8/scalar-tensor/*"), 15),
    ((PROMOTE, "--from", "int4", "--where", "promote_unsafe=true"), 860),
    ((FAKE, "--where", "destination_type=f8e4m3", "--from", "float16"), 18),
    ((FAKE, "--case", "*/per-channel/*"), 10),
    ((LIKE, "--to", "float8", "--from", "int8"), 8),
    ((LIKE, "--from", "float16", "--to", "bool"), 1),
]


@pytest.mark.parametrize(("options", "count"), COUNTS)
def test_cases_are_selected(options, count):
    done = convcheck("show", "cases", *options)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == count


NOTHING = [
    ("run", "--dry-run", PROMOTE, "--to", "int8"),
    ("run", "--dry-run", FAKE, "--where", "destination_type=f8"),
    ("run", "--dry-run", PROMOTE, "--where", "promote_unsafe=yes"),
    ("run", "--dry-run", RANGE, "--where", "destination_type=f8e4m3"),
    ("run", "--dry-run", RANGE, "--from", "string"),
    ("run", "--dry-run", RANGE, "--case", "int8-int8-to-int8"),
    ("run", "--dry-run", LIKE, "--case", "float32-to-int8"),
    ("run", "--dry-run", "openvino.Range-5"),
    ("explain", "onnx.CastLike-19", "1"),
    ("explain", "onnx.CastLike-19/float32-to-int8", "1"),
]


@pytest.mark.parametrize("arguments", NOTHING, ids=lambda a: " ".join(a[1:]))
def test_what_does_not_exist_is_named(arguments):
    said = refused(*arguments)
    assert said.startswith("convcheck: ")
    assert "hint: " in said


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
@pytest.mark.parametrize("options", [ONE, (FAKE, "--from", "float16"), (PROMOTE, "--from", "bool")])
def test_inputs_of_ones_own(options, more, words):
    said = refused("run", "--backend", "reference", *options, "--inputs", words, *more)
    assert "--inputs is for operators that convert elements" in said
    assert "hint: " in said


def test_inputs_of_ones_own_are_put_to_what_only_gives_a_type(words):
    options = (LIKE, "--case", "int8-int16", "--inputs", words)
    done = convcheck("run", "--backend", "reference", *options, "-o", "-")
    assert done.returncode == 0
    [case] = told(parsed(done.stdout))["cases"]
    assert (case["verdict"], case["checked"]) == ("pass", 2)


def test_what_was_not_asked_is_said(tmp_path):
    path = tmp_path / "report.json"
    options = ("--backend", "reference", *ONE, "-o", path)
    done = convcheck("run", *options, CONVCHECK_MAX_ELEMENTS="2")
    report = report_at(path)
    [case] = report["cases"]
    assert case["left_out"] > 1
    assert "not asked" in done.stdout


@pytest.mark.parametrize("said", ["many", "-1", "0"])
def test_a_limit_that_is_none(said):
    words = ("run", "--backend", "reference", *ONE)
    assert said in refused(*words, CONVCHECK_MAX_ELEMENTS=said)


@pytest.mark.parametrize(("words", "said"), [
    (("rnu",), "did you mean run?"),
    (("knwon", "k.toml"), "did you mean known?"),
    (("run", "--backend", "onnx", "onnx.Cast-21"), "did you mean onnx-reference?"),
    (("run", "--backend", "opnvino", "onnx.Cast-21"), "did you mean openvino?"),
    (("show", "cases", "onnx.cast-21"), "did you mean onnx.Cast-21?"),
    (("show", "cases", "onnx.Cats-21"), "did you mean onnx.Cast-21 or "),
    (("show", "CastLike"), "did you mean onnx.CastLike-"),
    (("show", "cases", "--from", "flaot32"), "did you mean float32?"),
    (("show", "cases", "--to", "Float8E4M3FN"), "did you mean float8e4m3fn?"),
    (("show", "cases", "--where", "satruate=1"), "did you mean saturate?"),
    (("show", "cases", "--where", "round_mode=dwn"), "did you mean down?"),
    (("show", "cases", "--where", "saturate"), "write --where saturate=VALUE"),
    (("explain", "onnx.Cast-21", "--from", "flot32", "--to", "int8", "1"), "mean float32?"),
    (("explain", "onnx.Cast-21/float32-to-float8e5m2/satruate=1", "1"), "mean saturate?"),
])  # fmt: skip
def test_a_slip_is_answered_with_what_was_meant(words, said):
    assert said in refused(*words)


def test_a_module_that_cannot_be_imported_is_named(tmp_path):
    (tmp_path / "broken.py").write_text("class Mine\n")
    (tmp_path / "half.py").write_text("import no_such_runtime\n")
    (tmp_path / "mine.py").write_text("class Thing:\n    pass\n")
    said = {
        "no.such:Thing": (4, "module 'no.such' cannot be imported: No module named 'no'"),
        "half:Thing": (4, "'half' cannot be imported: No module named 'no_such_runtime'"),
        "broken:Mine": (4, "'broken' cannot be imported: expected ':' (broken.py, line 1)"),
        "nosuch:Thing": (2, "unknown backend 'nosuch:Thing': there is no module 'nosuch' either"),
        "mine:Thign": (2, "mine has no Thign\n  hint: did you mean Thing?"),
    }
    for address, (code, words) in said.items():
        done = convcheck("run", "--backend", address, *ONE, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (code, ""), address
        assert words in done.stderr, address
        assert "\n  hint: " in done.stderr, address
