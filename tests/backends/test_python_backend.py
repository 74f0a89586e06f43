import pytest
from command import convcheck, convcheck_process, report_at
from places import EXAMPLES

CAST = ("onnx.Cast-21", "--from", "float32", "--to", "int8")


def example():
    return (EXAMPLES / "mybackend.py").read_text(encoding="utf-8")


def test_the_example_runs_by_its_address(tmp_path):
    (tmp_path / "mybackend.py").write_text(example())
    done = convcheck("run", "--backend", "mybackend:Numpy", *CAST, "-o", "r.json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("numpy ")
    assert done.stdout.splitlines()[-1].startswith("PASS  ")
    found = report_at(tmp_path / "r.json")["cases"]
    names = ["onnx.Cast-21/float32-to-int8", "onnx.Cast-21/float32-to-int8/saturate=0"]
    assert [(case["id"], case["verdict"]) for case in found] == [(n, "pass") for n in names]
    groups = found[0]["groups"]
    assert {g["verdict"] for g in groups} == {"pass", "undefined"}
    assert sum(g["count"] for g in groups) == found[0]["checked"]


def test_a_bug_in_it_is_found(tmp_path):
    code = example()
    rounding = code.replace(".astype(target)", ".round().astype(target)")
    assert rounding != code
    (tmp_path / "mybackend.py").write_text(rounding)
    done = convcheck("run", "--backend", "mybackend:Numpy", *CAST, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "off by one, too large" in done.stdout


@pytest.fixture
def distribution(tmp_path):
    """Another package with an entry point, laid out as installed."""
    folder = tmp_path / "site"
    about = folder / "mybackend-1.0.dist-info"
    about.mkdir(parents=True)
    (folder / "mybackend.py").write_text(example())
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: mybackend\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[convcheck.backends]\nplain = mybackend:Numpy\n")
    return folder


def test_another_packages_backend_has_a_name(distribution, tmp_path):
    options = ("--from", "int16", "--to", "fixed", "-o", "r.json")
    done = convcheck_process("run", "--backend", "plain", "onnx.Cast-21", *options, cwd=tmp_path,
                             PYTHONPATH=str(distribution))  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    cases = report_at(tmp_path / "r.json")["cases"]
    found = {case["id"]: case["verdict"] for case in cases}
    assert found["onnx.Cast-21/int16-to-int8"] == "pass"
    assert found["onnx.Cast-21/int16-to-int4"] == "unsupported"
