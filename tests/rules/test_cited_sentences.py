"""Every sentence that a spec of OpenVINO or PyPTO cites was read on its page.

Sentences are stored with the page and the day of reading.
"""

import re
from dataclasses import replace
from datetime import date
from pathlib import Path

import yaml
from catalogue import CATALOG

from convcheck.rules.rule import citations

KEPT = yaml.safe_load(Path(__file__).with_name("cited_sentences.yaml").read_text("utf-8"))
PAGES = {entry["page"]: set(entry["sentences"]) for entry in KEPT}
OPENVINO = ("https://docs.openvino.ai/", "https://github.com/openvinotoolkit/openvino/blob/")
HOSTS = (*OPENVINO, "https://gitcode.com/cann/pypto/")


def unread(spec):
    for cite in citations(spec):
        page = spec.sources[cite.source].url
        if page.startswith(HOSTS) and cite.text not in PAGES.get(page, ()):
            yield f"{cite.place}: {cite.text}"


def test_every_cited_sentence_was_read_on_its_page():
    for spec in CATALOG.specs.values():
        assert list(unread(spec)) == []
        own = spec.sources["text"].url
        assert own.startswith(HOSTS) == spec.op.startswith(("openvino.", "pypto."))


def test_a_word_that_is_not_on_the_page_is_found():
    spec = CATALOG.specs["openvino.Convert-1"]
    said = replace(spec.output_cite, text=spec.output_cite.text.replace("same shape", "shape"))
    assert len(list(unread(replace(spec, output_cite=said)))) == 1


def test_no_sentence_is_kept_that_nothing_cites_and_pages_stand_still():
    """PyPTO's documentation changes, so it is cited at a tag or a commit."""
    cited = {}
    for spec in CATALOG.specs.values():
        for cite in citations(spec):
            cited.setdefault(spec.sources[cite.source].url, set()).add(cite.text)
    assert {page: cited.get(page) for page in PAGES} == PAGES
    assert all(isinstance(entry["read"], date) for entry in KEPT)
    assert not [page for page in PAGES if "/blob/master/" in page or "/latest/" in page]


# Rows of tables (OpenVINO's pages have none) ------------------------------------------------------

OF_PYPTO = [spec for spec in CATALOG.specs.values() if spec.op.startswith("pypto.")]


def test_a_row_of_a_table_cites_its_own_row():
    for spec in (one for one in CATALOG.specs.values() if not one.op.startswith("openvino.")):
        for rule in (rule for rule in spec.rules if rule.columns):
            for row in rule.rows:
                assert all(cell.cite.text != rule.cite.text for cell in row.cells), row.place


def unlike_its_row(spec):
    for one in spec.pairs.lists if spec.pairs else ():
        [(source, targets)] = one.listed.items()
        name, *others = (CATALOG.types.types[t].name_in("pypto") for t in (source, *targets))
        _, _, said, *_ = [*one.cite.text.split(" | "), "", ""]
        modes = {"CAST_NONE", *(f"CAST_{mode}" for mode in re.findall("[A-Z]+", said))}
        first, *rest = re.findall("DT_[A-Z0-9_]+", one.cite.text)
        asked = dict(one.when).get("mode", modes)
        if (first, sorted(rest), modes) != (name, sorted(others), asked):
            yield f"{one.cite.place}: {one.cite.text}"


def test_each_pair_is_that_of_its_own_row():
    for spec in OF_PYPTO:
        assert list(unlike_its_row(spec)) == []
    assert [len(spec.pairs.lists) for spec in OF_PYPTO if spec.pairs] == [8, 8, 64]


def test_a_pair_that_is_not_in_its_row_is_found():
    spec = CATALOG.specs["pypto.cast-9.2"]
    assert spec.pairs
    first, second, *others = spec.pairs.lists
    swapped = (replace(first, cite=second.cite), replace(second, cite=first.cite), *others)
    wrong = replace(spec, pairs=replace(spec.pairs, lists=swapped))
    assert len(list(unlike_its_row(wrong))) == 2
