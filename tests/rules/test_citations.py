"""Every sentence that an ONNX spec cites is in its document, word for word.

Sentences outside the onnx package are stored with the page and the day of reading. Paraphrases are
not quotations.
"""

import re
from functools import cache

import onnx
import pytest
import yaml
from catalogue import CATALOG
from definitions import bodies, source_file
from onnx import TensorProto
from places import TESTS

from convcheck.rules.model import PARAPHRASE
from convcheck.rules.rule import citations

SPECS = [spec for spec in CATALOG.specs.values() if spec.op.startswith("onnx.")]
CASTS = [spec for spec in SPECS if spec.op in ("onnx.Cast", "onnx.Range")]
PAGES = yaml.load((TESTS / "texts/onnx-technical.yaml").read_text(), yaml.BaseLoader)
STORED = {page["page"]: page["sentences"] for page in PAGES}
OPERATORS, FUNCTIONS = "ONNX operators", "ONNX operator definitions"


def plain(text):
    text = re.sub(r"[\\*`]", "", text)
    for curly, straight in (("‘", "'"), ("’", "'"), ("“", '"'), ("”", '"')):
        text = text.replace(curly, straight)
    return " ".join(text.split())


@cache
def document(source):
    if source.title == OPERATORS:
        op, version = source.section.split(" - ")
        return text_of(op, int(version))
    if source.title == FUNCTIONS:
        found = re.fullmatch(r"(\w+)-(\d+), function body", source.section)
        return plain(text_of_bodies(found[1], int(found[2])) if found else source_file(source.url))
    return " / ".join(map(plain, STORED[source.url]))


def text_of(op, version):
    schema = onnx.defs.get_schema(op, version, "")
    assert schema.since_version == version
    parts = [
        *(*schema.attributes.values(), *schema.inputs, *schema.outputs),
        *schema.type_constraints,
    ]
    return plain(" ".join([schema.doc, *(part.description for part in parts)]))


def text_of_bodies(op, version):
    inputs = len(onnx.defs.get_schema(op, version, "").inputs)
    made = (bodies(op, version, [kind] * inputs, {}) for kind in TensorProto.DataType.values())
    return " ".join(onnx.printer.to_text(body) for each in made for body in each)


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.id)
def test_sentences_stand_in_the_text(spec):
    for cite in citations(spec):
        source = spec.sources[cite.source]
        if not cite.text.startswith(PARAPHRASE):
            assert plain(cite.text) in document(source), f"{cite.place}: {cite.text}"
            assert "IEEE" not in source.title


def test_every_stored_sentence_and_every_source_is_cited():
    cited = {(spec.sources[cite.source], cite.text) for spec in SPECS for cite in citations(spec)}
    stored = {(page, text) for page, texts in STORED.items() for text in texts}
    assert stored <= {(source.url, text) for source, text in cited}
    assert all(re.fullmatch(r"20\d\d-\d\d-\d\d", page["read"]) for page in PAGES)
    sources = {source for spec in SPECS for source in spec.sources.values()}
    assert sources == {source for source, _ in cited}


def test_a_sentence_that_does_not_stand_there_is_seen():
    spec = CATALOG.specs["onnx.Cast-23"]
    assert plain("| x>6 | 7 |") not in document(spec.sources["float4-note"])
    assert plain("fixed point: clamps if OOR.") not in document(spec.sources["text"])
    like = CATALOG.specs["onnx.CastLike-24"].sources["function"]
    assert plain("output = Cast <to: int = 24, round_mode: @round_mode> (input)") not in document(
        like
    )


@pytest.mark.parametrize("spec", CASTS, ids=lambda s: s.id)
def test_type_lists_are_those_of_the_schema(spec):
    schema = onnx.defs.get_schema(spec.op.partition(".")[2], spec.version, "")
    for constraint in schema.type_constraints:
        names = {t.name_in("onnx").lower() for t in spec.types[constraint.type_param_str]}
        assert {f"tensor({n})" for n in names} == set(constraint.allowed_type_strs)


@pytest.mark.parametrize("spec", CASTS, ids=lambda s: s.id)
def test_attributes_are_those_of_the_schema(spec):
    schema = onnx.defs.get_schema(spec.op.partition(".")[2], spec.version, "")
    assert {a.name for a in spec.attributes} == set(schema.attributes)
    for attribute in spec.attributes:
        theirs = (
            onnx.helper.get_attribute_value(schema.attributes[attribute.name].default_value)
            if not attribute.carries
            else None
        )
        ours = attribute.default
        assert (theirs.decode() if isinstance(theirs, bytes) else theirs) == ours
