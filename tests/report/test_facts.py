import json
import subprocess
import sys

import pytest
from facts import difference, facts
from places import TESTS

GROUP = {"rule": "saturate", "row": "nan", "verdict": "fail", "placement": "", "count": 2}
CAUSE = {"together": [{"name": "ties-away"}], "cases": [{"case": "a", "wrong": 2, "answers": 9}]}
RUN = {
    "format": "convcheck-report/2",
    "cases": [{"id": "a", "verdict": "fail", "groups": [GROUP]}],
    "causes": [CAUSE],
}


def written(path, run):
    path.write_text(json.dumps(run))
    return path


@pytest.mark.parametrize(("old", "new", "changed"), [
    ('"count": 2', '"count": 3', 2),
    ('"verdict": "fail", "groups"', '"verdict": "pass", "groups"', 2),
    ('"placement": ""', '"placement": "alone"', 2),
    ('"name": "ties-away"', '"name": "truncates"', 2),
    ('"causes": [{', '"causes": [], "rest": [{', 1),
    ('"count": 2', '"count": 2, "digest": "ab"', 0),
])  # fmt: skip
def test_what_differs(old, new, changed, tmp_path):
    text = json.dumps(RUN)
    assert old in text
    before = written(tmp_path / "before.json", RUN)
    after = written(tmp_path / "after.json", json.loads(text.replace(old, new)))
    assert len(difference(before, after)) == changed
    command = [sys.executable, str(TESTS / "facts.py"), str(before), str(after)]
    assert subprocess.run(command, capture_output=True, check=False).returncode == bool(changed)


def test_a_run_has_the_same_facts_as_one_of_the_format_before(tmp_path):
    group = {key: GROUP[key] for key in ("verdict", "count")} | {"rule": 0}
    now = RUN | {
        "format": "convcheck-run/3",
        "rules": [{key: GROUP[key] for key in ("rule", "row")}],
        "cases": [{"case": {"id": "a"}, "verdict": "fail", "groups": [group]}],
    }
    before, after = written(tmp_path / "before.json", RUN), written(tmp_path / "after.json", now)
    assert difference(before, after) == []


def test_another_format_is_refused():
    with pytest.raises(ValueError, match="convcheck-report/2"):
        list(facts({**RUN, "format": "convcheck-report/1"}))
