"""`convcheck show`: golden pages, and the changes between versions."""

import io
import re

import pytest
from catalogue import CATALOG
from command import check_golden
from rich.cells import cell_len
from rich.console import Console

from convcheck.report.draw import spec as spec_page
from convcheck.report.draw.console import put
from convcheck.rules.expression import parse_expression
from convcheck.rules.source import parse_yaml
from convcheck.rules.types import diff, read_types


def rendered(page):
    out = io.StringIO()
    put(page, Console(width=80, no_color=True, file=out))
    return out.getvalue()


@pytest.mark.parametrize("name", [
    "show-onnx.Cast-24", "show-onnx.Range-11", "show-openvino.ConvertPromoteTypes-14",
    "show-openvino.FakeConvert-13",
])  # fmt: skip
def test_pages(name):
    spec = CATALOG.specs[name.removeprefix("show-")]
    check_golden(f"{name}.txt", rendered(spec_page.spec_page(spec, CATALOG.types)))


def test_every_spec_has_a_page_with_its_types_and_its_rules():
    for spec in CATALOG.specs.values():
        text = rendered(spec_page.spec_page(spec, CATALOG.types))
        assert text.startswith(f"{spec.id}  ")
        assert all(cell_len(line) <= 80 for line in text.splitlines())
        assert all(str(one) in text for types in spec.types.values() for one in types)
        for rule in spec.rules:
            assert f"\n{rule.name} {rule.place} " in re.sub(" +", " ", text).replace("\n ", " ")


ASKED = {
    "onnx.Cast-1": "outside from strings: undefined string to float32, float64, int32, bool",
    "onnx.Cast-21": "saturate int: 0, 1; default 1; to signed float8 outside",
    "onnx.CastLike-15": "inputs input: T1; target_type: T2, of which only the type counts",
    "openvino.Range-4": "asked output, output, output (the output's own type) float32, float32",
    "pypto.cast-0.1": "shapes of rank 1, 2, 3, 4; no empty tensors; others are undefined",
    "pypto.cast-0.1 ": "pairs bfloat16 to float32, int32",
}


@pytest.mark.parametrize("name", ASKED)
def test_what_is_asked_besides_types(name):
    text = rendered(spec_page.spec_page(CATALOG.specs[name.strip()], CATALOG.types))
    assert ASKED[name] in " ".join(text.split())


EXPRESSIONS = [
    "max(ceil((stop - start) / step), 0)", "start + i * step", "start - (i - step)",
    "-start * (i + 2) / (step / 3)", "-(start + i)", "(start - i) - step",
    "max(float32(start - i), -(-1))",
]  # fmt: skip


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_an_expression_is_written_as_it_is_read(text):
    names = ("start", "stop", "step", "i")
    read = parse_expression(text, names, ("float32",))
    assert parse_expression(str(read), names, ("float32",)) == read
    assert len(str(read)) <= len(text)


def changed(old, new):
    return rendered(spec_page.changes(old, new, diff(old, new, CATALOG.types)))


def test_changes():
    old, new = (CATALOG.specs[f"onnx.Cast-{version}"] for version in (23, 24))
    check_golden("show-diff-23-24.txt", changed(old, new))


def test_what_version_13_states_first_is_a_change_of_levels():
    old, new = (CATALOG.specs[f"onnx.Cast-{version}"] for version in (9, 13))
    ends, rounded, signs = ("x > max", "x < min"), ("[x] > max", "[x] < -max"), ("+0", "-0")
    rows = {
        "float-to-float": rounded, "fixed-to-float": rounded, "bool-to-float": ("else",),
        "fixed-to-fixed": (*ends, "else"), "bool-to-fixed": ("else",), "bool-to-bool": ("else",),
        "float-to-bool": (*signs, "else"), "fixed-to-bool": ("+0", "else"),
    }  # fmt: skip
    due = {(f"rule {rule}, row {row}, level", "implied", "normative")
           for rule in rows for row in rows[rule]}  # fmt: skip
    found = {(one.about, one.before, one.after) for one in diff(old, new, CATALOG.types)}
    assert found == due | {(f"type T{i}", "", "bfloat16") for i in (1, 2)}
    back = {(one.about, one.after, one.before) for one in diff(new, old, CATALOG.types)}
    assert back == found
    assert changed(old, new).startswith("onnx.Cast-9 → onnx.Cast-13  17 changes\n")
    assert changed(new, new) == "onnx.Cast-13 → onnx.Cast-13  0 changes\n"


def test_types_are_named_by_whole_families():
    types = CATALOG.types
    assert types.folded(types.sets["float"]) == ["floats"]
    some = [*types.sets["float8"], "int8", "real"]
    assert types.folded(some) == ["signed float8", "int8", "real"]
    assert types.folded(["float8e5m2"]) == ["float8e5m2"]
    assert read_types(parse_yaml("sets: {}", "f")).folded([]) == []
