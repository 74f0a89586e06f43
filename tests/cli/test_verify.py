import json
import subprocess
import sys

import pytest
from catalogue import CATALOG
from command import convcheck, refused, report_at

from convcheck.rules.find import find_case
from convcheck.rules.load import data_dir, load
from convcheck.vectors.corpus import open_corpus
from convcheck.vectors.generate import vectors_of
from convcheck.vectors.lines import read_answers
from specs import GOOD, write_spec

CORPUS = open_corpus(CATALOG, "edge", 0, data_dir("vectors"))
FLOAT8 = "onnx.Cast-21/float32-to-float8e4m3fn/saturate=1"
NARROW = "onnx.Cast-21/int32-to-int8"
FROM_TEXT = "onnx.Cast-21/string-to-float8e5m2/saturate=1"
TO_TEXT = "onnx.Cast-21/int8-to-string"


def right(name):
    case = find_case(CATALOG, name, None, None, ())
    vectors = CORPUS.vectors(case)
    fmt, reading = case.outputs[0].format, vectors.expected.readings[0]
    if name == TO_TEXT:
        values = (int(code) - 256 * (int(code) > 127) for code in vectors.inputs[0])
        return [json.dumps(str(value)) for value in values]
    nan = getattr(fmt, "nan_code", 0)
    codes = (nan if p else int(c) for c, p in zip(reading.codes, reading.patterns, strict=True))
    return [f"{code:02x}" for code in codes]


def verify(name, lines, tmp_path, *more, run=convcheck):
    path = tmp_path / "answers.txt"
    path.write_text("".join(f"{line}\n" for line in lines))
    return run("run", "--backend", f"answers:{path}", name, *more)


@pytest.mark.parametrize("name", [FLOAT8, NARROW, FROM_TEXT, TO_TEXT])
def test_right_answers_pass(name, tmp_path):
    done = verify(name, right(name), tmp_path)
    assert done.returncode == 0
    assert "PASS  1 case" in done.stdout


def test_one_wrong_answer_is_found(tmp_path):
    answers = right(FLOAT8)
    place = answers.index("08")
    answers[place] = "09"
    done = verify(FLOAT8, answers, tmp_path, "-o", tmp_path / "run.json")
    assert done.returncode == 1
    assert "one ulp too large in magnitude" in done.stdout
    assert "(0x09)" in done.stdout
    [case] = report_at(tmp_path / "run.json")["cases"]
    [group] = [g for g in case["groups"] if g["verdict"] == "fail"]
    assert (group["count"], group["examples"][0]["got"]) == (1, "0x09")


def test_refused_is_an_answer(tmp_path):
    answers = right(NARROW)
    answers[3] = "refused"
    done = verify(NARROW, answers, tmp_path)
    assert done.returncode == 1
    assert "the program answered: refused" in done.stdout


def test_a_refusal_that_is_due_passes(tmp_path):
    rule = GOOD.index("    when: {to: int8, clamp: 0}")
    end = GOOD.index("examples:")
    text = GOOD[:rule] + "    when: {to: int8, clamp: 0}\n    table: {else: refused}\n" + GOOD[end:]
    catalog = load([write_spec(tmp_path / "own", text)])
    name = "acme.Convert-1/float32-to-int8/clamp=0"
    case = find_case(catalog, name, None, None, ())
    count = len(vectors_of(catalog.specs["acme.Convert-1"], case, "edge", 0))
    done = verify(name, ["refused"] * count, tmp_path, "--specs", tmp_path / "own")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("line", "said"), [
    ("xyz", "not hex: 'xyz'"),
    ("100", "100 has more than 8 bits"),
    ("", "an empty line instead of an answer"),
    ("-1", "not hex"),
    ('"7e"', "not hex"),
])  # fmt: skip
def test_a_line_that_is_no_answer_is_named(line, said, tmp_path):
    answers = right(NARROW)
    answers[4] = line
    told = verify(NARROW, answers, tmp_path, run=refused)
    assert f"answers.txt:5: {said}" in told
    assert "hint: " in told


@pytest.mark.parametrize("line", ["1.5", "1", "null", '"open'])
def test_a_text_is_a_json_string(line, tmp_path):
    told = verify(TO_TEXT, [line, *right(TO_TEXT)[1:]], tmp_path, run=refused)
    assert "answers.txt:1: not a JSON string" in told


def test_line_ends_and_prefixes_of_all_kinds_are_read():
    fmt = CATALOG.types.types["int8"].format
    got, refused = read_answers(b"0x0A\r\nff\nrefused\n 7 ", "stdin", fmt)
    assert (got.tolist(), refused.tolist()) == ([10, 255, 0, 7], [False, False, True, False])
    assert [len(a) for a in read_answers(b"", "stdin", fmt)] == [0, 0]


@pytest.mark.parametrize("change", [-1, 1])
def test_the_wrong_number_of_lines_says_what_was_assumed(change, tmp_path):
    answers = right(NARROW)
    answers = answers[:-1] if change < 0 else [*answers, "00"]
    said = verify(NARROW, answers, tmp_path, run=refused)
    assert "inputs in the edge tier with seed 0" in said
    assert "--tier and --seed of the export" in said


def test_what_answers_are_not_to(tmp_path):
    whole = verify("onnx.Range-11/int32-int32-int32", [], tmp_path, run=refused)
    assert "has no text form" in whole
    assert "has answers to one case" in verify("onnx.Cast-9", [], tmp_path, run=refused)
    assert "cannot read" in refused("run", "--backend", "answers:no.txt", NARROW, cwd=tmp_path)


PROGRAM = """
import sys
for line in sys.stdin:
    print(f"{int(line, 16) & 0xff:02x}")
"""


@pytest.mark.parametrize(("program", "code"), [
    (PROGRAM, 0),
    (PROGRAM.replace("& 0xff", "& 0x7f"), 1),
])  # fmt: skip
def test_export_program_verify(program, code):
    tool = [sys.executable, "-W", "error", "-m", "convcheck"]
    tier = ["--tier", "boundary", "--seed", "7"]
    made = subprocess.run(
        [*tool, "export", NARROW, "--as", "text", *tier], capture_output=True, check=True
    )
    answers = subprocess.run(
        [sys.executable, "-c", program], input=made.stdout, capture_output=True, check=True
    )
    done = subprocess.run(
        [*tool, "run", "--backend", "answers:-", NARROW, *tier],
        input=answers.stdout, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert b"Traceback" not in done.stderr
