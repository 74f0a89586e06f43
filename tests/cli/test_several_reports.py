"""`convcheck report A B` prints the same as `run` of several backends."""

import pytest
from command import convcheck, refused
from report_json import several

CASES = ("onnx.Cast-21", "--case", "int64-to-bool", "--case", "uint64-to-bool", "--no-progress")
ONE, OTHER = (f"tests.planted.bad_backends:ThroughInt32{end}" for end in ("", "Raises"))


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    files = [tmp_path_factory.mktemp("reports") / f"{name}.json" for name in "ab"]
    for backend, file in zip((ONE, OTHER), files, strict=True):
        done = convcheck("run", "--backend", backend, *CASES, "-o", file)
        assert done.returncode == 1, done.stderr
    return files


def test_they_are_shown_as_a_run_of_both_shows_them(reports, tmp_path):
    both, again, third = (tmp_path / f"{name}.jsonl" for name in ("both", "again", "third"))
    ran = convcheck("run", "--backend", ONE, "--backend", OTHER, *CASES, "-o", both)
    done = convcheck("report", *reports, "-o", again, "-o", third)
    assert (done.returncode, done.stderr) == (ran.returncode, "")
    assert done.stdout == ran.stdout
    assert again.read_text() == both.read_text() == third.read_text()


def test_one_backend_twice_goes_by_its_files(reports, tmp_path):
    copy = tmp_path / "copy.json"
    copy.write_bytes(reports[0].read_bytes())
    out = tmp_path / "r.json"
    done = convcheck("report", reports[0], copy, "-o", out)
    assert done.returncode == 1, done.stderr
    addresses = [log["backend"]["address"] for log in several(out.read_text())]
    assert addresses == [f"{ONE} in {file}" for file in (reports[0], copy)]


def test_a_choice_holds_for_each(reports):
    done = convcheck("report", *reports, "onnx.Cast-21", "--from", "uint64")
    assert done.returncode in (0, 1), done.stderr
    assert "int64-to-bool" not in done.stdout.replace("uint64-to-bool", "")


@pytest.mark.parametrize(("words", "said"), [
    (("--cause", "A"), "--cause works with one report only"),
    (("--finding", "3f"), "--finding works with one report only"),
    (("-o", "x.html"), "-o x.html works with one report only"),
    (("nothing.json",), "nothing.json"),
])  # fmt: skip
def test_bad_input_is_told(words, said, reports):
    assert said in refused("report", *reports, *words)


def test_other_vectors_are_not_put_beside_one_another(reports, tmp_path):
    other = tmp_path / "other.json"
    ran = convcheck("run", "--backend", OTHER, *CASES, "--tier", "boundary", "-o", other)
    assert ran.returncode == 1, ran.stderr
    assert "tested different inputs: the edge tier in" in refused("report", reports[0], other)
