"""The page of causes and the source of runtimes, compared with the catalogue."""

import re
from pathlib import Path

from catalogue import CATALOG

from convcheck.causes.catalogue import causes_of

PAGE = Path(__file__).parents[2] / "docs" / "sources.md"


def test_the_page_has_the_sentences_of_the_catalogue() -> None:
    rows = dict(re.findall(r"^\| `([^`]+)` \| (.*?) \| ", PAGE.read_text(), re.MULTILINE))
    says = {cause.name: cause.says for cause in causes_of(CATALOG)}
    assert len(rows) > 50
    assert {name: says.get(name) for name in rows} == rows
