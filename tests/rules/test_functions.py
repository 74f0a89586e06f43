"""`calls` in spec files: a library's function for the operator, and its arguments."""

import pytest

from convcheck.errors import SpecError
from convcheck.rules.digest import digest_of_spec
from convcheck.rules.layouts import why_not
from convcheck.rules.load import load
from convcheck.rules.model import Case
from specs import GOOD, write_spec

CALLS = """
calls:
  torch:
    function: to
    where:
      - {to: float8e4m3fn}
      - {from: float32, to: int8, clamp: any}
      - {from: int8, to: int8, clamp: 0}
  ml_dtypes: {function: astype}
"""
BAD = {
    "calls: {torch: {where: []}}": ("missing `function`", 1),
    "calls: {torch: {function: to, when: []}}": ("unknown key `when`", 1),
    "calls:\n  torch: {function: to, where: [{clamp: 2}]}": ("unknown value of an attribute", 2),
    "calls:\n  torch:\n    function: to\n    where:\n      - {clasp: 1}": (
        "unknown key `clasp`",
        5,
    ),
    "calls: {torch: {function: to, where: [{from: float33}]}}": ("unknown type 'float33'", 1),
}


def spec(folder, calls=CALLS):
    return load([write_spec(folder, GOOD + calls)]).specs["acme.Convert-1"]


def case(of, source, target, attributes=()):
    known = {t.name: t for types in of.types.values() for t in types}
    return Case(of.id, of.op, of.version, (known[source],), (known[target],), attributes)


ASKED = [
    ("torch", "float32", "float8e4m3fn", (), ""),
    ("torch", "float32", "int8", (("clamp", 1),), ""),
    ("torch", "float32", "int8", (("clamp", 0),), ""),
    ("torch", "int8", "int8", (("clamp", 0),), ""),
    ("torch", "int8", "int8", (("clamp", 1),),
     "torch's to has no clamp=1: what it does is clamp=0"),
    ("torch", "int8", "float8e4m3fn", (("clamp", 0),), "torch's to has no clamp=0"),
    ("ml_dtypes", "int8", "float8e4m3fn", (), ""),
    ("ml_dtypes", "int8", "int8", (("clamp", 0),), "ml_dtypes's astype has no clamp=0"),
    ("onnx", "int8", "int8", (), "onnx has no function for acme.Convert-1"),
]  # fmt: skip


@pytest.mark.parametrize(("runtime", "source", "target", "attributes", "reason"), ASKED)
def test_what_may_be_asked(tmp_path, runtime, source, target, attributes, reason):
    of = spec(tmp_path)
    assert why_not(of, runtime, case(of, source, target, attributes)) == reason


def test_a_pair_that_no_row_has(tmp_path):
    of = spec(tmp_path, "calls: {torch: {function: to, where: [{from: float32}]}}")
    assert why_not(of, "torch", case(of, "int8", "int8")) == (
        "torch's to has no such pair of types"
    )


def test_calls_are_inherited_and_replaced_whole(tmp_path):
    write_spec(tmp_path, GOOD + CALLS)
    child = "op: acme.Convert\nversion: {}\nextends: {}\n"
    write_spec(tmp_path, child.format(2, "convert-1"), "convert-2")
    changed = child.format(3, "convert-2") + "calls: {torch: {function: type}}\n"
    write_spec(tmp_path, changed, "convert-3")
    specs = load([tmp_path]).specs
    assert specs["acme.Convert-2"].calls == specs["acme.Convert-1"].calls
    assert list(specs["acme.Convert-3"].calls) == ["torch"]


def test_calls_decide_no_vectors(tmp_path):
    assert digest_of_spec(spec(tmp_path / "a")) == digest_of_spec(spec(tmp_path / "b", ""))


@pytest.mark.parametrize("calls", BAD)
def test_slips_of_the_pen(tmp_path, calls):
    message, line = BAD[calls]
    with pytest.raises(SpecError, match=message) as caught:
        spec(tmp_path, calls)
    assert caught.value.place is not None
    assert caught.value.place.line == len(GOOD.splitlines()) + line
