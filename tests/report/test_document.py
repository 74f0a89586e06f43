from report_runs import ELSE, PARSE, answered, case, group, run

from convcheck.report.document import Document
from convcheck.report.html import data


def test_only_in_a_placement_is_said_where_another_was_asked_and_was_right() -> None:
    one = case("onnx.Cast-19", "float32", "float16")
    right, undefined = group(ELSE, "pass"), group(PARSE, "pass")
    tail = group(ELSE, "fail", "zero", placement="odd tail")
    alone = group(ELSE, "fail", "zero", placement="alone")
    bulk = group(ELSE, "fail", "zero", placement="bulk")
    for groups, where in (
        ((right, tail), 'only in placement "odd tail"'),
        ((right, tail, alone), 'in placement "odd tail"'),
        ((group(ELSE, "fail", "one"), tail), 'in placement "odd tail"'),
        ((bulk,), 'in placement "bulk"'),
        ((undefined, bulk), 'in placement "bulk"'),
        ((right, bulk), 'only in placement "bulk"'),
    ):
        found = Document(run(answered(one, *groups))).findings
        placed = next(each for each in found if where.split('"')[1] in each.where)
        assert (placed.where, placed.what) == (where, f"zero, {where}")
        rows = data(Document(run(answered(one, *groups))))["findings"]
        assert [row["where"] for row in rows].count(where) == 1
