"""Specs that are told to say the same on the way to a type do: they compile to the same."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from catalogue import CATALOG

from convcheck.errors import SpecError
from convcheck.rules.model import Cell, Cite, Outcome, Row, Rule, Spec
from convcheck.semantics.alike import Meaning
from convcheck.semantics.program import compile_untold
from convcheck.semantics.towards import what_is_said

TYPES = CATALOG.types.types
SPECS = [spec for spec in CATALOG.specs.values() if spec.op in ("onnx.Cast", "onnx.CastLike")]
BETWEEN = tuple(TYPES[name] for name in ("float32", "float16", "int32", "float8e4m3fn"))
VALUES = ((), (("saturate", "0"),), (("saturate", "1"),), (("saturate", "default"),))


def meaning(spec: Spec, source: str, target: str, given: tuple[tuple[str, str], ...]) -> object:
    found: list[Meaning | None] = []
    for each in (TYPES[source], *BETWEEN):
        found.append(None)
        with suppress(SpecError):
            found[-1] = compile_untold(spec, each, TYPES[target], given).meaning
    return found


@pytest.mark.parametrize("target", ["float8e5m2", "float16", "uint4", "bool"])
def test_what_is_told_to_be_the_same_is_compiled_to_the_same(target: str) -> None:
    known: dict[tuple[str, int], object] = {}
    shared = 0
    for source in ("float64", "float16", "string"):
        for spec in SPECS:
            for given in VALUES:
                said = what_is_said(spec, (TYPES[source], *BETWEEN), TYPES[target], given)
                shared += (source, said) in known
                found = meaning(spec, source, target, given)
                assert known.setdefault((source, said), found) == found, (spec.id, source, given)
    assert shared  # versions do say the same


def edited(spec: Spec, name: str, word: str, cite: str = "") -> Spec:
    """A spec with another outcome in the last cells of a rule."""

    def cell(old: Cell) -> Cell:
        found = replace(old, outcomes=(Outcome(word),)) if word else old
        return replace(found, cite=Cite(cite, "text", old.place)) if cite else found

    def rule(old: Rule) -> Rule:
        *rows, last = old.rows
        row: Row = replace(last, cells=tuple(map(cell, last.cells)))
        return replace(old, rows=(*rows, row)) if old.name == name else old

    return replace(spec, rules=tuple(map(rule, spec.rules)))


def said(spec: Spec, target: str = "float8e5m2") -> int:
    return what_is_said(spec, (TYPES["float32"],), TYPES[target], (("saturate", "0"),))


def test_an_edit_of_a_rule_that_decides_shows() -> None:
    spec = CATALOG.specs["onnx.Cast-19"]
    other = edited(spec, "float-to-float8", "nan")
    assert said(other) != said(spec)
    assert said(other, "float16") == said(spec, "float16")  # of other types it says nothing
    assert said(edited(spec, "float-to-float8-saturating", "nan")) == said(spec)  # nor of others
    assert said(edited(spec, "float-to-float8", "", "another sentence")) == said(spec)


def test_a_rule_that_another_one_names_shows() -> None:
    spec = CATALOG.specs["onnx.Cast-19"]
    e5m2, given = TYPES["float8e5m2"], (("saturate", "1"),)
    for name in ("float-to-float8-saturating", "same-type"):  # by which one is decided there
        numbers = {
            what_is_said(each, (e5m2,), e5m2, given) for each in (spec, edited(spec, name, "nan"))
        }
        assert len(numbers) == 2, name


def test_values_of_attributes_tell_rules_apart_where_they_count() -> None:
    spec = CATALOG.specs["onnx.Cast-21"]
    ends = (TYPES["float32"],), TYPES["float8e5m2"]
    off, on, default = (
        what_is_said(spec, *ends, (("saturate", v),)) for v in ("0", "1", "default")
    )
    assert off != on == default
    wide = (TYPES["float32"],), TYPES["float16"]
    assert what_is_said(spec, *wide, (("saturate", "0"),)) == what_is_said(spec, *wide, ())
