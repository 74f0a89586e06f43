import pytest
from command import convcheck, refused
from report_json import damaged, parsed, render


def without_failures(groups):
    return [group for group in groups if group.get("verdict") != "fail"]


def without_examples(groups):
    return [{**group, "examples": []} for group in groups]


CASE = "onnx.Cast-21/float16-to-bfloat16"
PASSED = {("cases", 0, "verdict"): "pass"}
GROUPS = ("cases", 0, "groups")
TAMPERED = {
    "passed": (PASSED, f"the verdict of {CASE} is pass, of its groups fail"),
    "emptied": (
        {GROUPS: [], ("cases", 0, "verdict"): "unsupported"}, f"the groups of {CASE} have 0 of ",
    ),
    "twice": ({("cases",): lambda cases: [*cases, cases[0]]}, f"{CASE} stands twice"),
    "without its failures": (
        {GROUPS: without_failures, **PASSED}, f"the groups of {CASE} have ",
    ),
    "none gated": ({("summary", "gated"): 0}, "its summary is not that of its cases"),
    "without a spec": ({("summary", "specs"): {}}, "its summary is not that of its cases"),
    "counted too high": ({(*GROUPS, 0, "of"): 1}, " of 1 under float-to-float / "),
    "without examples": (
        {GROUPS: without_examples}, f"{CASE} has no example of what its causes explain",
    ),
    "of other vectors": ({("corpus_sha256",): "0" * 64}, "its corpus is not that of its specs"),
}  # fmt: skip
COMMANDS = (
    "report t.json", "diff t.json r.json", "diff r.json t.json",
    "known x t.json", "repro onnx.Cast-21/float16-to-bfloat16 --report t.json",
    "site x t.json",
)  # fmt: skip


def tampered(folder, changes):
    report = parsed((folder / "failing.json").read_text())
    for path, to in changes.items():
        damaged(report, path, to)
    (folder / "t.json").write_text(render(report))


@pytest.mark.parametrize("name", TAMPERED)
def test_what_does_not_agree_is_refused(name, folder):
    changes, said = TAMPERED[name]
    tampered(folder, changes)
    done = convcheck("report", "t.json", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"t.json is a damaged report: {said}" in done.stderr or said in done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_refuses_it(command, folder):
    tampered(folder, PASSED)
    assert "t.json is a damaged report: the verdict of" in refused(*command.split(), cwd=folder)
    assert not (folder / "x").exists()


def test_as_it_was_written_it_is_read(folder):
    tampered(folder, {})
    assert convcheck("report", "t.json", cwd=folder).returncode == 1
