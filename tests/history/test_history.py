"""`convcheck history` from a range of releases to its output; no release is installed."""

import pytest
from command import convcheck, refused, report_at
from planted.releases import NOT_HERE, WHEEL, index, page_of, plant

from convcheck.history import environments
from convcheck.history.environments import (
    NotInstalledError,
    Release,
    environments_folder,
    made_environment,
    parse_wanted,
)

RANGE = "onnxruntime==1.0..1.4"
ONE = ("onnx.Cast-13", "--from", "int8", "--to", "int16")
FILES = {
    WHEEL.format("1.0"): "2024-01-01", WHEEL.format("1.1"): "2024-02-02",
    WHEEL.format("1.2"): "2024-03-03", NOT_HERE.format("1.3"): "2024-04-04",
    WHEEL.format("1.4"): "2024-05-05",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    home = tmp_path / "envs"
    for version, how in (("1.0", "fine"), ("1.1", "lies"), ("1.2", "ends"), ("1.4", "fine")):
        plant(home, version, how)
    with index(*page_of(FILES)) as address:
        monkeypatch.setenv("PIP_INDEX_URL", address)
        yield home


def test_a_history(folder):
    done = convcheck("history", RANGE, *ONE, "--env-dir", folder)
    assert done.returncode == 0, done.stderr
    text = done.stdout
    assert "onnxruntime 1.0 to 1.4: 5 releases, 1 case, edge inputs" in text
    assert "! 1.2 (2024-03-03): " in text
    assert "exited with status 3 while it was starting" in " ".join(text.split())
    assert "! 1.3 (2024-04-04): no wheel for Python 3" in text
    assert ".X!!." in text
    assert "first bad: breaks in 1.1 (2024-02-02), 1 case" in text
    said = "fixed in 1.4 (2024-05-05), 1 case, or in 1.2, 1.3, which could not be asked"
    assert said in " ".join(text.split())
    (reports,) = (folder / "reports").iterdir()
    names = {path.stem for path in reports.iterdir()}
    assert names == {f"onnxruntime-{v}" for v in ("1.0", "1.1", "1.4")}
    assert report_at(reports / "onnxruntime-1.1.json")["cases"][0]["verdict"] == "fail"


def test_it_goes_on_from_what_it_has(folder):
    first = convcheck("history", RANGE, *ONE, "--env-dir", folder)
    for version in ("1.0", "1.1"):
        plant(folder, version, "ends")
    again = convcheck("history", RANGE, *ONE, "--env-dir", folder)
    assert again.stdout == first.stdout
    assert "onnxruntime 1.1" in first.stderr
    assert "onnxruntime 1.1" not in again.stderr
    other = convcheck("history", RANGE, "onnx.Cast-9", *ONE[1:], "--env-dir", folder)
    assert "! 1.1 (2024-02-02): " in other.stdout


def test_without_a_judged_case_there_is_no_history(folder):
    done = convcheck("history", "onnxruntime==1.2..1.3", *ONE, "--env-dir", folder)
    assert done.returncode == 3
    assert "nothing was judged" in done.stderr


@pytest.mark.parametrize(("words", "says"), [
    (("onnxruntime==1.5..1.6",), "it has 1.0 to 1.4"),
    ((RANGE, "onnx.Cats-13"), "did you mean"),
    ((RANGE, "--bisect", "inf-saturate"), "did you mean inf-saturates"),
])  # fmt: skip
def test_what_is_wrong_is_said(words, says, folder):
    assert says in refused("history", *words, "--env-dir", folder)


def test_the_folder_is_no_file(tmp_path, folder):
    (tmp_path / "file").touch()
    done = convcheck("history", RANGE, "--env-dir", tmp_path / "file")
    assert done.returncode == 2
    assert "it is a file" in done.stderr
    assert "hint: --env-dir names a folder" in done.stderr


def test_bisect_without_a_change(folder):
    done = convcheck("history", RANGE, *ONE, "--env-dir", folder, "--bisect", "inf-saturates")
    assert done.returncode == 3
    assert "nothing to bisect for inf-saturates: neither end shows it" in done.stdout


def test_an_interrupted_making_is_done_again(tmp_path, monkeypatch):
    """An environment without a mark is incomplete. A failed installation leaves nothing behind."""
    home = environments_folder(str(tmp_path / "envs"))
    half = home / "onnxruntime-0.0.1"
    (half / "bin").mkdir(parents=True)
    tried = []

    def fails(*given):
        tried.append(given[2])
        return "ERROR: no such release"

    monkeypatch.setattr(environments, "_installed", fails)
    wanted = parse_wanted("onnxruntime==0.0.1..1.0")
    with pytest.raises(NotInstalledError, match="no such release"):
        made_environment(wanted, Release("0.0.1", "2023-01-01"), home)
    assert not half.exists()
    assert tried[0] == ["onnxruntime==0.0.1", "numpy<2"]
    with pytest.raises(NotInstalledError, match="no wheel"):
        made_environment(wanted, Release("0.0.2", "", "no wheel"), home)
