import re

import pytest
from command import convcheck

from convcheck.streams import no_commands, visible

BACKEND = "planted.deviating:Shouting"
FORMATS = ("jsonl", "xml", "md", "html")
# commands of CI systems, and control characters of terminals
OBEYED = re.compile(r"^\s*::(?!error |warning )|##\[|##vso\[|[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]",
                    re.MULTILINE)  # fmt: skip
ONE = ("onnx.Cast-21", "--from", "bool", "--to", "float32")
EVIL = "\x1b]0;evil\x07\r::error::evil\u202e"

RUNS = [
    ("run", "--backend", BACKEND, *ONE),
    ("run", "--backend", BACKEND, *ONE, "-v"),
    ("run", "--backend", BACKEND, *ONE, "-q"),
    ("run", "--backend", BACKEND, *ONE, "-o", "github:"),
    ("run", "--backend", BACKEND, "--backend", "reference", *ONE),
    *(("run", "--backend", BACKEND, *ONE, "-o", f"{name}:-") for name in FORMATS),
    ("run", "--open", "--backend", BACKEND, "onnx.Cast-21", "--from", "float32", "--to", "int8"),
    ("explain", "onnx.Cast-21/bool-to-float32", "1", "--backend", BACKEND),
    ("report", EVIL),
    ("run", "--backend", "reference", *ONE, "--known", EVIL),
    ("run", "--backend", "reference", *ONE, "-o", f"no/{EVIL}"),
    ("run", "--backend", "reference", *ONE, "--case", EVIL),
    ("run", "--backend", EVIL, *ONE),
    ("run", "--backend", "reference", *ONE, "--tier", EVIL),
    ("run", "--backend", "reference", EVIL),
    ("show", "cases", "--from", EVIL),
    ("show", EVIL),
    ("lint", "--specs", EVIL),
    ("run", "onnx.Cast-21/bool-to-float32", "--backend", f"answers:{EVIL}"),
    (EVIL,),
]


@pytest.mark.parametrize("words", RUNS, ids=lambda words: repr(words[:6]))
def test_nothing_from_outside_is_obeyed(words, tmp_path):
    done = convcheck(*words, cwd=tmp_path)
    assert done.stdout + done.stderr
    assert OBEYED.findall(done.stdout) == []
    assert OBEYED.findall(done.stderr) == []
    assert "Traceback" not in done.stderr


def test_files_have_nothing_that_is_obeyed_when_they_are_shown(tmp_path):
    options = (word for name in FORMATS for word in ("-o", f"{name}:{name}"))
    convcheck("run", "--backend", BACKEND, *ONE, *options, cwd=tmp_path)
    for name in FORMATS:
        assert OBEYED.findall((tmp_path / name).read_text()) == [], name


def test_a_spec_of_ones_own(tmp_path):
    (tmp_path / "a\x1b[31m-1.yaml").write_text('op: "::error::x"\nversion: 1\n"##[x]\\e[0m": 1\n')
    done = convcheck("show", "specs", "--specs", tmp_path)
    assert done.returncode == 2
    assert OBEYED.findall(done.stderr) == []
    assert "\\x1b[31m" in done.stderr


def test_what_is_obeyed():
    assert visible("a\x1b[1m\r\nb\u202e") == "a\\x1b[1m\\x0d\nb\\u202e"
    assert no_commands("::error::\n \t::x\na ::b ##[x] ##vso[y] ## [") == (
        ": :error::\n \t: :x\na ::b # #[x] # #vso[y] ## ["
    )
