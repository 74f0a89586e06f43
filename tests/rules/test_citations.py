"""Every sentence cited from the operator's own text stands in it, word for word."""

from __future__ import annotations

import re
from functools import cache

import onnx.defs
import pytest
from catalogue import CATALOG

from convcheck.rules.model import Cite, Spec

SPECS = [spec for spec in CATALOG.specs.values() if spec.op == "onnx.Cast"]


def plain(text: str) -> str:
    """Drop what is only markup: backslashes, bullets, emphasis, line breaks, kinds of quotes."""
    text = re.sub(r"[\\*`]", "", text)
    for curly, straight in ("‘'", "’'", '“"', '”"'):
        text = text.replace(curly, straight)
    return " ".join(text.split())


@cache
def document(version: int) -> str:
    """The text of a version, attribute and output descriptions included."""
    schema = onnx.defs.get_schema("Cast", version, "")
    assert schema.since_version == version
    attributes = [a.description for a in schema.attributes.values()]
    return plain(" ".join([schema.doc, *attributes, *(o.description for o in schema.outputs)]))


def citations(spec: Spec) -> list[Cite]:
    """Every citation of a spec."""
    cites = [spec.output_cite]
    for rule in spec.rules:
        for cell in (cell for row in rule.rows for cell in row.cells):
            cites += [cell.cite, *(o.cite for o in cell.outcomes if o.cite)]
    return cites + [asking.cite for a in spec.attributes for asking in a.also]


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.id)
def test_sentences_stand_in_the_text(spec: Spec) -> None:
    for cite in citations(spec):
        if cite.source == "text":
            assert plain(cite.text) in document(spec.version), f"{cite.place}: {cite.text}"
        if cite.source == "cast-13":
            assert plain(cite.text) in document(13), f"{cite.place}: {cite.text}"


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.id)
def test_type_lists_are_those_of_the_schema(spec: Spec) -> None:
    schema = onnx.defs.get_schema("Cast", spec.version, "")
    for constraint in schema.type_constraints:
        names = {t.name_in("onnx").lower() for t in spec.types[constraint.type_param_str]}
        assert {f"tensor({n})" for n in names} == set(constraint.allowed_type_strs)


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.id)
def test_attributes_are_those_of_the_schema(spec: Spec) -> None:
    schema = onnx.defs.get_schema("Cast", spec.version, "")
    assert {a.name for a in spec.attributes} == set(schema.attributes)
    for attribute in spec.attributes:
        theirs = (
            onnx.helper.get_attribute_value(schema.attributes[attribute.name].default_value)
            if not attribute.carries
            else None
        )
        ours = attribute.default
        assert (theirs.decode() if isinstance(theirs, bytes) else theirs) == ours
