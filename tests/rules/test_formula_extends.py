import pytest
from body_specs import FORMULA

from convcheck.rules.body.formula import Formula
from convcheck.rules.load import load
from specs import slip, write_spec

CHILD = """\
op: acme.Count
version: 2
extends: count-1
formula:
  undefined:
    - {name: odd ends, when: last = 0, before: overflow, cite: "Nothing ends at 0."}
  rules:
    - {name: counting, level: implied}
    - name: narrow
      before: counting
      when: {to: int8}
      level: normative
      cite: "Two more."
      differing: "Two more."
      readings:
        - {length: {in: exact}, element: {in: exact}, cite: "Two more."}
  calls:
    lists:
      - listed: [[1, 2]]
"""


def test_what_a_child_states_goes_where_it_says(tmp_path):
    folder = write_spec(tmp_path / "own", FORMULA, "count-1")
    write_spec(folder, CHILD, "count-2")
    specs = load([folder]).specs
    old, new = (specs[f"acme.Count-{v}"].body_as(Formula) for v in (1, 2))
    assert [u.name for u in new.undefined] == ["odd ends", "overflow"]
    assert [(r.name, r.level) for r in new.rules] == [
        ("narrow", "normative"), ("counting", "implied"),
    ]  # fmt: skip
    assert [r.cite.text for r in new.rules] == ["Two more.", old.rules[0].cite.text]
    assert len(new.asked.lists) == len(old.asked.lists) + 1
    assert (new.length, new.asked.limit) == (old.length, old.asked.limit)


@pytest.mark.parametrize(("text", "name", "words"), [
    (CHILD.replace("before: counting", "before: nothing"), "count-2", "no rule 'nothing'"),
    (
        FORMULA.replace("name: overflow,", "name: overflow, after: x,"),
        "count-1",
        "extends noth",
    ),
])  # fmt: skip
def test_what_goes_nowhere_is_refused(tmp_path, text, name, words):
    folder = write_spec(tmp_path / "own", FORMULA, "count-1")
    assert words in str(slip(write_spec(folder, text, name)))
