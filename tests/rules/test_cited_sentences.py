"""Every sentence that a spec of OpenVINO or of PyPTO cites is one that was read on the page.

Their texts are not here to be searched, as those of ONNX are: the sentences are kept with the page
and the day on which they were read there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import yaml
from catalogue import CATALOG

from convcheck.rules.citations import citations
from convcheck.rules.model import Spec

KEPT = yaml.safe_load(Path(__file__).with_name("cited_sentences.yaml").read_text("utf-8"))
PAGES = {entry["page"]: set(entry["sentences"]) for entry in KEPT}
HOSTS = ("https://docs.openvino.ai/", "https://gitcode.com/cann/pypto/")


def unread(spec: Spec) -> Iterator[str]:
    """What a spec cites of a page of OpenVINO or of PyPTO and nobody read there."""
    for cite in citations(spec):
        page = spec.sources[cite.source].url
        if page.startswith(HOSTS) and cite.text not in PAGES.get(page, ()):
            yield f"{cite.place}: {cite.text}"


def test_every_cited_sentence_was_read_on_its_page() -> None:
    for spec in CATALOG.specs.values():
        assert list(unread(spec)) == []
        own = spec.sources["text"].url
        assert own.startswith(HOSTS) == spec.op.startswith(("openvino.", "pypto."))


def test_a_word_that_is_not_on_the_page_is_found() -> None:
    spec = CATALOG.specs["openvino.Convert-1"]
    said = replace(spec.output_cite, text=spec.output_cite.text.replace("same shape", "shape"))
    assert len(list(unread(replace(spec, output_cite=said)))) == 1


def test_no_sentence_is_kept_that_nothing_cites_and_pages_stand_still() -> None:
    """Documentation of PyPTO changes its mind: it is cited at a tag, or at a commit."""
    cited: dict[str, set[str]] = {}
    for spec in CATALOG.specs.values():
        for cite in citations(spec):
            cited.setdefault(spec.sources[cite.source].url, set()).add(cite.text)
    assert {page: cited.get(page) for page in PAGES} == PAGES
    assert all(isinstance(entry["read"], date) for entry in KEPT)
    assert not [page for page in PAGES if "/blob/master/" in page or "/latest/" in page]
