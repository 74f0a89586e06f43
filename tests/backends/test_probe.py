"""`convcheck backend probe` checks a program step by step."""

import sys

import pytest
from catalogue import CATALOG
from command import convcheck
from places import KERNELS

from convcheck.backends.process.probe import STEPS, Probe, questions
from convcheck.rules.cases import cases

PYTHON = f"{sys.executable} -S"
CAST = questions(cases(CATALOG.specs["onnx.Cast-21"]))


def steps(command):
    return list(Probe(command, CATALOG, CAST).steps())


def test_a_good_program():
    probe = Probe(f"{PYTHON} {KERNELS / 'cast.py'}", CATALOG, CAST)
    found = list(probe.steps())
    assert [step.name for step in found] == list(STEPS)
    assert not any(step.wrong for step in found)
    assert found[1].note == "cast.py 1.0"
    assert found[2].note == "declined: no such kernel"
    assert found[3].note == "outputs for 2 of 400"
    assert [c.name for c in probe.supported] == [
        "float32-to-float8e4m3fn/saturate=0", "int32-to-int8"
    ]  # fmt: skip


@pytest.mark.parametrize("saturate", [0, 1])
def test_attribute_values_are_tried_until_one_is_answered(saturate, tmp_path):
    source = (KERNELS / "cast.py").read_text()
    good = 'saturate = request["attributes"].get("saturate", 1)\n'
    assert good in source
    declines = f"        if saturate != {saturate}:\n            return None\n"
    (tmp_path / "mine.py").write_text(source.replace(good, good + declines))
    done = convcheck("backend", "probe", "--backend", f"process:{PYTHON} {tmp_path / 'mine.py'}",
                     "onnx.Cast-21", "--from", "float32", "--to", "float8e4m3fn")  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "outputs for 1 of 1" in done.stdout


def test_the_selectors_are_those_of_run():
    program = f"process:{PYTHON} {KERNELS / 'cast.py'}"
    for words, said in (
        (("--to", "int8", "--from", "int32"), "outputs for 1 of 1"),
        (("--case", "float32-to-float8e4m3fn/*"), "outputs for 1 of 1"),
        (("--where", "saturate=1", "--from", "float16"), "outputs to none of 4"),
    ):
        done = convcheck("backend", "probe", "--backend", program, "onnx.Cast-21", *words)
        assert said in done.stdout


# A change to the Python example, the step that it breaks, and the message.
BROKEN = [
    ('"cast.py", "version": "1.0"', '"cast.py"', "answers hello",
     "answer to hello has no `version`: `{"),
    ("    if found is None:", "    if found is None:\n        print('no')",
     "declines what nobody knows", "stdout had `"),
    ('"declined": "no such kernel"', '"declined": None', "declines what nobody knows",
     "the answer has no outputs, nor why there are none: `{"),
    ('["int8"])', '["int16"])', "answers or declines every pair of types",
     "asked for int16, it answered int8: onnx.Cast-21/int32-to-int16"),
    ('"Cast"', '"cast"', "answers or declines every pair of types", "outputs to none of 400"),
    ('["inputs"][0]["shape"]', '["inputs"][0]["shape"] or [1]', "answers a scalar",
     "an input of shape [] came back as [1]"),
    ("    codes = b", "    count = count or 1 / 0\n    codes = b",
     "answers a tensor without elements", "exited with status 1"),
    ("buffer.readline():", "buffer.readline():\n        sys.stdin.buffer.peek()",
     "answers hello", "no answer within"),
    ("sys.stdin.buffer.read(size)", "__import__('os').read(0, size)",
     "declines what nobody knows", "no answer within 1 s: no header came (is stdout flushed?)"),
    ("main()\n", "main()\n    sys.exit(3)\n", "ends with its input", "it ended with status 3"),
    ("main()\n", "main()\n    print('bye')\n", "ends with its input",
     "after its input had ended it wrote 4 bytes to stdout: b'bye\\n'"),
    ("main()\n", "main()\n    import time; time.sleep(60)\n", "ends with its input",
     "it was still running 0.2 s after the end of its input"),
]  # fmt: skip


@pytest.mark.parametrize(("good", "broken", "name", "words"), BROKEN)
def test_a_broken_program(good, broken, name, words, tmp_path, monkeypatch):
    monkeypatch.setattr("convcheck.backends.process.probe.ENDING", 0.2)
    if "no answer" in words:
        monkeypatch.setattr("convcheck.backends.process.probe.PATIENCE", 1.0)
    monkeypatch.setattr("convcheck.backends.process.backend.STARTING", 0.5)
    source = (KERNELS / "cast.py").read_text()
    assert good in source
    head, _, tail = source.rpartition(good)
    (tmp_path / "mine.py").write_text(f"{head}{broken}{tail}")
    *before, last = steps(f"{PYTHON} {tmp_path / 'mine.py'}")
    assert not any(step.wrong for step in before)
    assert last.name == name
    assert words in last.wrong
    assert last.wrong


def test_what_it_wrote_to_stderr_is_kept():
    probe = Probe(f"{PYTHON} -c \"import sys; sys.exit('no device')\"", CATALOG, CAST)
    *_, last = probe.steps()
    assert (last.name, last.wrong) == ("answers hello", f"{sys.executable} exited with status 1")
    assert probe.printed == ["no device"]


def test_what_is_no_program():
    done = convcheck("backend", "probe", "--backend", "ort")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("convcheck: 'ort' is not a program\n")
