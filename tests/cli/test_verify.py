"""The plain pipe: a program's answers, a line each, are judged as a backend's are."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from catalogue import CATALOG
from command import convcheck, report_at

from convcheck.cli.verify import command
from convcheck.errors import UsageError
from convcheck.plan.one_input import Single
from convcheck.rules.find import find_case
from convcheck.rules.load import data_dir, load
from convcheck.vectors.corpus import open_corpus
from convcheck.vectors.export.text import read_answers
from convcheck.vectors.generate import vectors_of
from specs import GOOD, write_spec

CORPUS = open_corpus(CATALOG, "edge", 0, data_dir("vectors"))
FLOAT8 = "onnx.Cast-21/float32-to-float8e4m3fn/saturate=1"
NARROW = "onnx.Cast-21/int32-to-int8"
FROM_TEXT = "onnx.Cast-21/string-to-float8e5m2/saturate=1"
TO_TEXT = "onnx.Cast-21/int8-to-string"


@pytest.fixture(autouse=True)
def loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare the commands that run in this process reading the specs each time."""
    monkeypatch.setattr("convcheck.cli.verify.catalog", lambda specs: CATALOG)


def right(name: str) -> list[str]:
    """Give the answers of the reference, as a program would write them."""
    case = find_case(CATALOG, name, None, None, ())
    vectors = CORPUS.vectors(case)
    fmt, reading = case.outputs[0].format, vectors.expected.readings[0]
    if name == TO_TEXT:
        values = (int(code) - 256 * (int(code) > 127) for code in vectors.inputs[0])
        return [json.dumps(str(value)) for value in values]
    nan = getattr(fmt, "nan_code", 0)
    codes = (nan if p else int(c) for c, p in zip(reading.codes, reading.patterns, strict=True))
    return [f"{code:02x}" for code in codes]


def verify(name: str, lines: list[str], tmp_path: Path, *more: str) -> int:
    path = tmp_path / "answers.txt"
    path.write_text("".join(f"{line}\n" for line in lines))
    code: int = command.main([name, str(path), *more], standalone_mode=False)
    return code


@pytest.mark.parametrize("name", [FLOAT8, NARROW, FROM_TEXT, TO_TEXT])
def test_right_answers_pass(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify(name, right(name), tmp_path) == 0
    assert "PASS  1 case" in capsys.readouterr().out


def test_one_wrong_answer_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = right(FLOAT8)
    place = answers.index("08")
    answers[place] = "09"
    assert verify(FLOAT8, answers, tmp_path, "--json", str(tmp_path / "run.json")) == 1
    said = capsys.readouterr().out
    assert "one ulp too large in magnitude" in said
    assert "(0x09)" in said
    [case] = report_at(tmp_path / "run.json")["cases"]
    [group] = [g for g in case["groups"] if g["verdict"] == "fail"]
    assert (group["count"], group["examples"][0]["got"]) == (1, "0x09")


def test_refused_is_an_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = right(NARROW)
    answers[3] = "refused"
    assert verify(NARROW, answers, tmp_path) == 1
    assert "the program answered: refused" in capsys.readouterr().out


def test_a_refusal_that_is_due_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = GOOD.index("    when: {to: int8, clamp: 0}")
    end = GOOD.index("examples:")
    text = GOOD[:rule] + "    when: {to: int8, clamp: 0}\n    table: {else: refused}\n" + GOOD[end:]
    catalog = load([write_spec(tmp_path / "own", text)])
    monkeypatch.setattr("convcheck.cli.verify.catalog", lambda specs: catalog)
    name = "acme.Convert-1/float32-to-int8/clamp=0"
    case = find_case(catalog, name, None, None, ())
    count = len(vectors_of(catalog.specs["acme.Convert-1"], case, "edge", 0))
    assert verify(name, ["refused"] * count, tmp_path) == 0


def test_nothing_judged_is_no_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a case whose every element is undefined, any answers do."""
    import convcheck.cli.verify as verifying
    from convcheck.records import replace
    from convcheck.semantics.expected import UNDEFINED

    case = find_case(CATALOG, NARROW, None, None, ())
    whole = CORPUS.vectors(case)
    readings = tuple(
        replace(r, patterns=r.patterns * 0 + UNDEFINED) for r in whole.expected.readings
    )
    free = replace(whole, expected=replace(whole.expected, readings=readings))

    class Corpus(Single):
        tier, seed = "edge", 0

        def check(self, cases: object) -> tuple[str, ...]:
            return ()

        def digests(self, cases: object) -> tuple[tuple[str, str], ...]:
            return ()

    monkeypatch.setattr(verifying, "_corpus", lambda *_: Corpus(free))
    assert verify(NARROW, ["00"] * len(free), tmp_path) == 3


# What is no answer ---------------------------------------------------------------------------


@pytest.mark.parametrize(("line", "said"), [
    ("xyz", "not hex: 'xyz'"),
    ("100", "100 has more than 8 bits"),
    ("", "an empty line instead of an answer"),
    ("-1", "not hex"),
    ('"7e"', "not hex"),
])  # fmt: skip
def test_a_line_that_is_no_answer_is_named(line: str, said: str, tmp_path: Path) -> None:
    answers = right(NARROW)
    answers[4] = line
    with pytest.raises(UsageError, match=r"answers\.txt:5") as error:
        verify(NARROW, answers, tmp_path)
    assert said in error.value.message
    assert "refused" in error.value.hint or "hex digits" in error.value.hint


@pytest.mark.parametrize("line", ["1.5", "1", "null", '"open'])
def test_a_text_is_a_json_string(line: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"answers.txt:1: not a JSON string"):
        verify(TO_TEXT, [line, *right(TO_TEXT)[1:]], tmp_path)


def test_bytes_that_are_no_text_are_named() -> None:
    fmt = CATALOG.types.types["int8"].format
    with pytest.raises(UsageError, match=r"stdin:2: not UTF-8"):
        read_answers(b"00\n\xff\xfe\n", "stdin", fmt)


def test_line_ends_and_prefixes_of_all_kinds_are_read() -> None:
    fmt = CATALOG.types.types["int8"].format
    got, refused = read_answers(b"0x0A\r\nff\nrefused\n 7 ", "stdin", fmt)
    assert (got.tolist(), refused.tolist()) == ([10, 255, 0, 7], [False, False, True, False])
    assert [len(a) for a in read_answers(b"", "stdin", fmt)] == [0, 0]


@pytest.mark.parametrize("change", [-1, 1])
def test_the_wrong_number_of_lines_says_what_was_assumed(change: int, tmp_path: Path) -> None:
    answers = right(NARROW)
    answers = answers[:-1] if change < 0 else [*answers, "00"]
    with pytest.raises(UsageError, match="inputs in the edge tier with seed 0") as error:
        verify(NARROW, answers, tmp_path)
    assert "--tier and --seed of the export" in error.value.hint


def test_a_whole_call_has_no_text_form(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no text form"):
        verify("onnx.Range-11/int32-int32-int32", [], tmp_path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*no\.txt"):
        command.main([NARROW, str(tmp_path / "no.txt")], standalone_mode=False)


# The pipe ------------------------------------------------------------------------------------

PROGRAM = """
import sys
for line in sys.stdin:
    print(f"{int(line, 16) & 0xff:02x}")
"""


@pytest.mark.parametrize(("program", "code"), [
    (PROGRAM, 0),
    (PROGRAM.replace("& 0xff", "& 0x7f"), 1),
])  # fmt: skip
def test_export_program_verify(program: str, code: int) -> None:
    tool = [sys.executable, "-W", "error", "-m", "convcheck"]
    tier = ["--tier", "boundary", "--seed", "7"]
    made = subprocess.run(
        [*tool, "export", NARROW, "--format", "text", *tier], capture_output=True, check=True
    )
    answers = subprocess.run(
        [sys.executable, "-c", program], input=made.stdout, capture_output=True, check=True
    )
    done = subprocess.run(
        [*tool, "verify", NARROW, "-", *tier],
        input=answers.stdout, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert b"Traceback" not in done.stderr


def test_stdin_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    data = "".join(f"{line}\n" for line in right(NARROW)).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert command.main([NARROW], standalone_mode=False) == 0


def test_a_stdin_that_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UsageError, match="cannot read stdin: it is closed"):
        command.main([NARROW], standalone_mode=False)


def test_quiet_shows_the_verdict_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify(NARROW, right(NARROW), tmp_path, "-q") == 0
    assert capsys.readouterr().out.startswith("PASS  1 case")


def test_help_has_an_example() -> None:
    assert "| convcheck verify" in convcheck("verify", "--help").stdout
