import json

import pytest
from catalogue import CATALOG
from command import convcheck
from drawn import annotated, html_text, in_junit, in_markdown
from known_runs import TODAY
from report_json import parsed
from report_runs import TRUNCATED, answered, case, run

from convcheck.gate.baseline import baseline, hold, read_known
from convcheck.gate.compare import Failures
from convcheck.judge.failure import failure_key_of_cause, finding_id, is_of_most
from convcheck.plan.diff import diff_runs
from convcheck.records import replace
from convcheck.report.document import Document
from convcheck.report.draw.console import plain_lines
from convcheck.report.draw.diff import diff_page
from convcheck.report.draw.side_by_side import shared_findings

BACKEND = "tests.planted.deviating:TwoFaults"
CAST = case("onnx.Cast-24", "int64", "float8e8m0", round_mode="down")
OTHER = case("onnx.Cast-24", "int8", "float8e8m0", round_mode="down")
LIKE = case("onnx.CastLike-24", "int8", "float8e8m0", round_mode="down")


def part(count, of):
    return replace(TRUNCATED, count=count, of=of, examples=(), ranges=())


FEW, MANY = part(5, 156), part(120, 127)


def findings(result):
    return Document(result).findings


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("apart") / "run.json"
    done = convcheck(
        "run", "--backend", BACKEND, "onnx.Cast-24", "onnx.CastLike-24", "--from", "int32",
        "--from", "int8", "--to", "float8e8m0", "--where", "round_mode=down", "-o", path,
    )  # fmt: skip
    assert done.returncode == 1
    return parsed(path.read_text())


def test_two_faults_by_one_row_are_two_findings_with_examples(report):
    failing = [
        (one["case"]["id"].partition("/")[0], one["case"]["inputs"][0], group)
        for one in report["cases"] for group in one.get("groups", ())
        if group.get("verdict") == "fail"
    ]  # fmt: skip
    rules = report["rules"]
    ids = {}
    for spec, source, group in failing:
        ids.setdefault(group["finding"], set()).add((spec, source))
        assert group["examples"]
    same_way = {
        (rules[g["rule"]]["rule"].rpartition(" > ")[2], rules[g["rule"]]["row"], g["kind"])
        for *_, g in failing
    }
    assert len(same_way) < len(ids)
    assert sorted(map(sorted, ids.values())) == [
        [("onnx.Cast-24", "int32")], [("onnx.Cast-24", "int8")],
        [("onnx.CastLike-24", "int32")],  # for int8 it agrees with the function body
    ]  # fmt: skip
    shares = {source: (group["count"], group["of"]) for _, source, group in failing}
    assert shares["int32"][0] * 10 < shares["int32"][1]
    assert shares["int8"][0] * 10 > shares["int8"][1] * 9


@pytest.mark.parametrize("others", [[answered(LIKE, FEW)], [answered(OTHER, MANY)]])
def test_another_operator_or_share_is_another_finding_in_every_format(others):
    result = run(answered(CAST, FEW), *others)
    one, two = ids = [finding.id for finding in findings(result)]
    assert one != two
    annotations = "\n".join(annotated(result))
    for page in (in_markdown(result), in_junit(result), html_text(result), annotations):
        assert [name for name in ids if name not in page] == []
    assert not diff_runs(run(), result).findings
    before = run(*(replace(c, verdict="pass", groups=()) for c in result.cases))
    changed = diff_runs(before, result)
    assert sorted(found.finding for found in changed.findings) == sorted(ids)
    page = "\n".join(plain_lines(diff_page(changed, verbose=False), 80))
    assert [name for name in ids if name not in page] == []
    shared = shared_findings([("a", Document(result)), ("b", Document(result))])
    assert [[name for name, _ in sides] for sides in shared] == [["a", "b"]] * 2


def test_the_same_operator_and_order_of_share_is_one_finding():
    newer = replace(CAST, spec="onnx.Cast-25", version=25)
    [found] = findings(run(answered(CAST, FEW), answered(newer, part(1, 4000))))
    assert len(found.members) == 2
    [found] = findings(run(answered(OTHER, MANY), answered(newer, part(80, 160))))
    assert found.id == finding_id(failure_key_of_cause(MANY, OTHER))


def test_what_is_most():
    assert [is_of_most(part(*share)) for share in ((1, 1), (1, 2), (2, 5), (3, 5))] == [
        True, True, False, True,
    ]  # fmt: skip


def test_a_new_list_has_an_entry_per_operator_and_an_old_one_is_read(tmp_path):
    result = run(answered(CAST, FEW), answered(LIKE, MANY))
    ids = [one.case.id for one in result.cases]
    text = baseline(result).text
    assert text.count("[[known]]") == 2
    old = tmp_path / "old.toml"
    old.write_text(
        "[[known]]\n"
        f"case = {json.dumps(ids)}\n"
        f'rule = "{FEW.decision.name}"\n'
        'verdict = "fail"\ntier = "edge"\n'
        f'corpus = "{Failures(result).corpus(ids)}"\n'
        'count = 125\nreason = "both"\n'
    )
    for path, entries in ((old, 1), (tmp_path / "new.toml", 2)):
        if entries == 2:
            path.write_text(text)
        held = hold(result, read_known(str(path), CATALOG), lambda starts: ids, TODAY)
        assert held.problems == ()
        assert held.outcome == "pass"
        listed = {group.excuse.place for one in held.cases for group in one.groups if group.excuse}
        assert len(listed) == entries
        assert len(findings(held)) == 2
