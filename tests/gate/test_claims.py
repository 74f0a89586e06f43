"""What a backend claims to support is all that it is asked, and it is held to it."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from catalogue import CATALOG
from command import convcheck
from report_runs import ELSE, answered, group, run, unasked

from convcheck.errors import Place, UsageError
from convcheck.gate.claims import Claims, claimed, held_to, read_claims
from convcheck.rules.cases import cases
from convcheck.rules.model import Case


@cache
def every() -> list[Case]:
    """Return the cases of all specs: when a test asks for them, not whoever collects the tests."""
    return [case for spec in CATALOG.specs.values() for case in cases(spec)]


def claims(tmp_path: Path, text: str) -> Claims:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return read_claims(str(path), CATALOG)


def ids(tmp_path: Path, text: str) -> list[str]:
    """Name the cases that a file claims."""
    return [case.id for case in claimed(claims(tmp_path, text), every())]


@pytest.mark.parametrize(("text", "names"), [
    ('spec = "onnx.Cast-19"\nfrom = "float32"\nto = ["int16", "float64"]', [
        "onnx.Cast-19/float32-to-float64", "onnx.Cast-19/float32-to-int16",
    ]),
    ('spec = ["onnx.Cast-1*"]\nfrom = "float16"\nto = "uint8"', [
        "onnx.Cast-1/float16-to-uint8", "onnx.Cast-13/float16-to-uint8",
        "onnx.Cast-19/float16-to-uint8",
    ]),
    ('spec = "onnx.Cast-19"\nfrom = "int32"\nto = "float8"\nwhere = {saturate = 0}', [
        f"onnx.Cast-19/int32-to-{t}/saturate=0"
        for t in ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz")
    ]),
    ('spec = "onnx.Cast-19"\npairs = [["int8", "bool"], ["bool", "int8"]]', [
        "onnx.Cast-19/bool-to-int8", "onnx.Cast-19/int8-to-bool",
    ]),
    ('spec = "onnx.CastLike-19"\nfrom = "int8"\nto = "bool"', ["onnx.CastLike-19/int8-bool"]),
    ('spec = "onnx.Cast-24"\nfrom = "float32"\nto = "float8e8m0"\n'
     'where = {round_mode = ["up", "down"], saturate = [1]}', [
        "onnx.Cast-24/float32-to-float8e8m0/saturate=1/round_mode=down",
        "onnx.Cast-24/float32-to-float8e8m0/saturate=1/round_mode=up",
    ]),
    ('spec = "onnx.Range-11"\nfrom = ["int64", "float32"]', [
        "onnx.Range-11/float32-float32-float32", "onnx.Range-11/int64-int64-int64",
    ]),
    ('spec = "openvino.ConvertPromoteTypes-14"\npairs = [["int8", "uint8"]]\n'
     'where = {promote_unsafe = true, pytorch_scalar_promotion = false, '
     'u64_integer_promotion_target = "i64"}', [
        "openvino.ConvertPromoteTypes-14/int8-uint8/"
        f"{shape}/promote_unsafe=true/pytorch_scalar_promotion=false/"
        "u64_integer_promotion_target=i64"
        for shape in ("scalar-scalar", "scalar-tensor", "tensor-scalar", "tensor-tensor")
    ]),
])  # fmt: skip
def test_what_is_claimed(tmp_path: Path, text: str, names: list[str]) -> None:
    assert sorted(ids(tmp_path, f"[[claim]]\n{text}\n")) == sorted(names)


def test_an_attribute_that_does_not_apply_excludes_nothing(tmp_path: Path) -> None:
    text = '[[claim]]\nspec = "onnx.Cast-19"\nfrom = "float32"\nwhere = {saturate = 1}\n'
    found = ids(tmp_path, text)
    assert "onnx.Cast-19/float32-to-int8" in found
    assert "onnx.Cast-19/float32-to-float8e5m2/saturate=1" in found
    assert not [name for name in found if "saturate=0" in name]


def test_several_claims_add_up_in_the_order_of_the_plan(tmp_path: Path) -> None:
    one = '[[claim]]\nspec = "onnx.Cast-19"\nfrom = "int8"\nto = "bool"\n'
    other = '[[claim]]\nspec = "onnx.Cast-1"\nfrom = "int8"\nto = "bool"\n'
    assert ids(tmp_path, f"{one}\n{other}{one}") == [
        "onnx.Cast-1/int8-to-bool", "onnx.Cast-19/int8-to-bool",
    ]  # fmt: skip


def one(name: str) -> Case:
    return next(case for case in every() if case.id == name)


def test_claimed_and_declined_is_a_failure(tmp_path: Path) -> None:
    text = '# mine\n\n[[claim]]\nspec = "onnx.Cast-19"\nfrom = "int8"\n'
    known = claims(tmp_path, text)
    result = run(
        answered(one("onnx.Cast-19/int8-to-bool"), group(ELSE, "pass")),
        unasked(one("onnx.Cast-19/int8-to-int16"), "unsupported", "NOT_IMPLEMENTED: no kernel"),
        unasked(one("onnx.Cast-19/int16-to-int8"), "unsupported", "no kernel"),
    )
    assert result.outcome == "pass"
    held = held_to(known, result, 97)
    assert (held.outcome, held.selected) == ("fail", 97)
    assert [c.verdict for c in held.cases] == ["pass", "refused", "unsupported"]
    assert held.cases[1].message == (
        f"claimed in {tmp_path}/mine.toml:3, and declined: NOT_IMPLEMENTED: no kernel"
    )


@pytest.mark.parametrize(("text", "line", "message", "hint"), [
    ("# nothing\n", 1, "claims nothing", "[[claim]]"),
    ("[[claim]\n", 1, "not TOML: ", "it has [[claim]] tables"),
    ("[[clam]]\n", 1, "unknown key 'clam'", "did you mean claim?"),
    ("[claim]\n", 1, "'claim' is not a table", "[[claim]]"),
    ("[[claim]]\nto = 'int8'\n", 1, "[[claim]] has no 'spec'", ""),
    ("[[claim]]\nspec = 'onnx.Cast-1'\nform = 'int8'\n", 3, "unknown key 'form'", "mean from?"),
    ("[[claim]]\nspec = 'onnx.Cats-1'\n", 2, "no spec matches 'onnx.Cats-1'", "onnx.Cast-1 or "),
    ("[[claim]]\nspec = 1\n", 2, "'spec' is not a text or a list of texts", ""),
    ("[[claim]]\nspec = '*'\nfrom = 'flaot32'\n", 3, "unknown type 'flaot32'", "float32?"),
    ("[[claim]]\nspec = '*'\nto = []\n", 3, "'to' is empty", ""),
    ("[[claim]]\nspec = '*'\nfrom = 'int8'\npairs = [['int8', 'int8']]\n", 4,
     "'pairs' beside 'from'", "write two claims"),
    ("[[claim]]\nspec = '*'\npairs = [['int8']]\n", 3, "'pairs' is not a list of pairs", "[["),
    ("[[claim]]\nspec = '*'\npairs = [['int8', 'i8']]\n", 3, "unknown type 'i8'", "int8?"),
    ("[[claim]]\nspec = 'onnx.Cast-1'\npairs = [['int8', 'int16'], ['int8', 'int4']]\n", 3,
     "no case has the pair 'int8' and 'int4'", "list cases"),
    ("[[claim]]\nspec = 'onnx.Cast-19'\nwhere = {satruate = 1}\n", 3,
     "no attribute 'satruate' in these specs", "did you mean saturate?"),
    ("[[claim]]\nspec = 'onnx.Cast-19'\nwhere = {saturate = 7}\n", 3,
     "'saturate' cannot be '7'", "known: 0, 1"),
    ("[[claim]]\nspec = 'onnx.Cast-19'\nwhere = {saturate = []}\n", 3, "no value of", ""),
    ("[[claim]]\nspec = 'onnx.Cast-19'\nwhere = 1\n", 3, "'where' is not a table", "NAME"),
    ("\n[[claim]]\nspec = 'onnx.Range-11'\nto = 'int4'\n", 2, "no case is of this claim", "cases"),
])  # fmt: skip
def test_a_bad_file(tmp_path: Path, text: str, line: int, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        claims(tmp_path, text)
    assert caught.value.place == Place(f"{tmp_path}/mine.toml", line)
    assert caught.value.message.startswith(message)
    assert hint in caught.value.hint


def test_a_run_held_to_what_is_claimed(tmp_path: Path) -> None:
    """ONNX Runtime has no kernel for float4e2m1: what it declines of a claim is a failure."""
    path, report = tmp_path / "ort.toml", tmp_path / "r.json"
    path.write_text('[[claim]]\nspec = "onnx.Cast-*"\nfrom = "float32"\n'
                    'to = ["int16", "float4e2m1"]\n', encoding="utf-8")  # fmt: skip
    done = convcheck("run", "--backend", "ort", "-j", 1, "onnx.Cast-23", "--from", "float32",
                     "--capabilities", path, "--json", report)  # fmt: skip
    document = json.loads(report.read_text())
    assert [c["id"] for c in document["cases"]] == [
        "onnx.Cast-23/float32-to-int16", "onnx.Cast-23/float32-to-float4e2m1",
    ]  # fmt: skip
    assert document["selected"] > 20
    assert {c["verdict"] for c in document["cases"]} <= {"pass", "fail", "refused"}
    words = [c["message"] for c in document["cases"] if c["verdict"] == "refused"]
    assert words
    assert done.returncode == 1, done.stdout + done.stderr
    assert all(said.startswith(f"claimed in {path}:1, and declined: ") for said in words)
