import re
from pathlib import Path

from catalogue import CATALOG

from convcheck.causes.catalogue import causes_of

PAGE = Path(__file__).parents[2] / "docs" / "causes.md"


def test_the_table_names_causes_of_the_catalogue():
    table = PAGE.read_text("utf-8").partition("| runtime | cause | source |")[2]
    cells = re.findall(r"^\|[^|]*\| (`.*?`) \| ", table, re.MULTILINE)
    names = {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}
    assert len(names) > 50
    assert names <= {cause.name for cause in causes_of(CATALOG)}
