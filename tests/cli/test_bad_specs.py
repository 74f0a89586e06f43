import pytest
from body_specs import FORMULA, SCALE, STEPS
from command import refused

from specs import GOOD, write_spec

OTHER = ["onnx.Cast-21", "--from", "float32", "--to", "float16"]
BACKEND = ["--backend", "reference"]
COMMANDS = {
    "run": ["run", *BACKEND, "acme.*"],
    "run of another spec": ["run", *BACKEND, *OTHER],
    "survey": ["run", "--open", *BACKEND, "acme.*"],
    "explain": ["explain", "acme.Convert-1", "--from", "int8", "--to", "int8", "1"],
    "generate": ["generate", "acme.*", "--out", "out"],
    "export": ["export", "acme.*", "--as", "text", "--out", "out"],
    "list specs": ["show", "specs"],
    "list cases": ["show", "cases", "acme.*", "--count"],
    "show": ["show", "acme.Convert-1"],
    "lint": ["lint", "acme.*"],
}
# commands that evaluate calls, besides `run`
ASKING_COMMANDS = {
    "survey": ["run", "--open", *BACKEND, "acme.*"],
    "explain": ["explain", "acme.Count-1/int8-int8-to-int8", "7", "0", *BACKEND],
}
HOLES = {
    "undecided": (GOOD, '      else:      "[x]"\nexamples', "examples",
                  ":34: acme.Convert-1: no rule decides every input of float32 to int8"),
    "negative length": (FORMULA, "max(last - first, 0)", "last - first", ":16: a length of -"),
    "an exact line": (STEPS, "name: plain,", "name: plain, in: exact,",
                      ":18: acme.Halve-1: moved is exact"),
    "an integer without back": (SCALE, "  back: y / scale\n", "",
                                ":16: acme.Scale-1: y becomes an integer, and nothing says"),
}  # fmt: skip


def check_refused(arguments, hole, folder):
    """Check for a message with file, line, and hint."""
    good, old, new, said = HOLES[hole]
    assert old in good
    specs = write_spec(folder / "mine", good.replace(old, new, 1))
    told = refused(*arguments, "--specs", specs, cwd=folder)
    assert f"mine/convert-1.yaml{said}" in told
    assert "  hint: " in told
    assert not (folder / "out").exists()


@pytest.mark.parametrize("command", ASKING_COMMANDS)
def test_a_hole_that_a_call_shows_ends_the_command(command, tmp_path):
    """Loading does not find it: the length of one of the calls is negative."""
    check_refused(ASKING_COMMANDS[command], "negative length", tmp_path)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_refuses_it(command, tmp_path):
    check_refused(COMMANDS[command], "undecided", tmp_path)


@pytest.mark.parametrize("hole", HOLES)
def test_a_run_refuses_every_hole(hole, tmp_path):
    check_refused(COMMANDS["run"], hole, tmp_path)
