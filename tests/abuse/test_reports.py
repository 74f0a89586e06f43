from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import convcheck, refused
from report_json import parsed, render

Report = dict[str, Any]


def passed(report: Report) -> None:
    report["cases"][0]["verdict"] = "pass"


def emptied(report: Report) -> None:
    report["cases"][0] |= {"groups": [], "verdict": "unsupported"}


def without_failures(report: Report) -> None:
    report["summary"]["gated"] = 0


def without_a_spec(report: Report) -> None:
    report["summary"]["specs"] = {}


def counted_too_high(report: Report) -> None:
    report["cases"][0]["groups"][0]["of"] = 1


def twice(report: Report) -> None:
    report["cases"].append(report["cases"][0])


def without_its_failures(report: Report) -> None:
    case = report["cases"][0]
    case["groups"] = [group for group in case["groups"] if group.get("verdict") != "fail"]
    case["verdict"] = "pass"
    assert case["groups"]


def without_examples(report: Report) -> None:
    assert report["cases"][0]["diagnosis"]["fits"]
    for group in report["cases"][0]["groups"]:
        group["examples"] = []


def of_other_vectors(report: Report) -> None:
    report["corpus_sha256"] = "0" * 64


TAMPERED: list[tuple[Callable[[Report], None], str]] = [
    (passed, "the verdict of onnx.Cast-21/float16-to-bfloat16 is pass, of its groups fail"),
    (emptied, "the groups of onnx.Cast-21/float16-to-bfloat16 have 0 of "),
    (twice, "onnx.Cast-21/float16-to-bfloat16 stands twice"),
    (without_its_failures, "the groups of onnx.Cast-21/float16-to-bfloat16 have "),
    (without_failures, "its summary is not that of its cases"),
    (without_a_spec, "its summary is not that of its cases"),
    (counted_too_high, " of 1 under float-to-float / "),
    (
        without_examples,
        "onnx.Cast-21/float16-to-bfloat16 has no example of what its causes explain",
    ),
    (of_other_vectors, "its corpus is not that of its specs"),
]
COMMANDS = (
    "report t.json", "diff t.json r.json", "diff r.json t.json",
    "known x t.json", "repro onnx.Cast-21/float16-to-bfloat16 --report t.json",
    "site x t.json",
)  # fmt: skip


def tampered(folder: Path, change: Callable[[Report], None]) -> None:
    report = parsed((folder / "failing.json").read_text())
    change(report)
    (folder / "t.json").write_text(render(report))


@pytest.mark.parametrize(("change", "said"), TAMPERED, ids=[row[0].__name__ for row in TAMPERED])
def test_what_does_not_agree_is_refused(
    change: Callable[[Report], None], said: str, folder: Path
) -> None:
    tampered(folder, change)
    done = convcheck("report", "t.json", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"t.json is a damaged report: {said}" in done.stderr or said in done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_refuses_it(command: str, folder: Path) -> None:
    tampered(folder, passed)
    assert "t.json is a damaged report: the verdict of" in refused(*command.split(), cwd=folder)
    assert not (folder / "x").exists()


def test_as_it_was_written_it_is_read(folder: Path) -> None:
    tampered(folder, lambda report: None)
    assert convcheck("report", "t.json", cwd=folder).returncode == 1
