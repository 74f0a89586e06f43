import re
from collections import Counter
from html import unescape
from xml.etree.ElementTree import fromstring

import pytest
from drawn import annotated, drawn, html_text, in_junit, in_markdown, printed
from report_json import parsed
from report_runs import ELSE, PARSE, RUNS, answered, case, group, passed, run, unasked

from convcheck.documents.encode import text
from convcheck.plan.runner import Turn
from convcheck.records import replace
from convcheck.report.document import Document
from convcheck.report.draw.side_by_side import side_by_side_page
from convcheck.report.examples import CallInWords
from convcheck.report.html import data
from convcheck.vectors.model import COVERAGES

SEVERAL = [name for name in RUNS if name not in ("interrupted", "nothing")]
# verdict, cases, judged, failing the run, asked, wrong, known, waived; cases by verdict
COUNTS = {
    "all_pass": "PASS 13 11 0 5249740 0 0 0; pass 10 tolerated 1 undefined 1 unsupported 1",
    "failing": "FAIL 23 22 9 21560 1176 0 0; fail 9 pass 13 unsupported 1",
    "kinds": "FAIL 13 9 9 7840 8 0 0; crashed 1 error 1 fail 6 refused 1 unsupported 4",
    "below": "PASS 2 2 0 1960 0 0 0; fail 1 pass 1",
    "interrupted": "INTERRUPTED 1 1 0 980 0 0 0; pass 1",
    "nothing": "NOTHING JUDGED 2 0 0 980 0 0 0; undefined 1 unsupported 1",
    "calls": "FAIL 9 9 9 3186 320 0 0; crashed 1 fail 7 refused 1",
    "known": "PASS 9 9 0 7840 0 6 1; crashed 1 fail 5 pass 2 refused 1",
    "stale": "FAIL 9 9 0 7840 0 6 1; crashed 1 fail 5 pass 2 refused 1",
    "listed": "FAIL 11 11 2 9800 80 7 1; crashed 1 fail 7 pass 2 refused 1",
    "explained": "FAIL 9 9 7 8820 1912 1 0; fail 7 pass 1 refused 1",
}


def in_terminal(result):
    return printed(result, 250, verbose=True)


@pytest.mark.parametrize("name", RUNS)
def test_what_is_counted_in_a_run(name):
    found = parsed(text(RUNS[name]()))["summary"]
    verdicts = " ".join(f"{v} {n}" for v, n in sorted(found["verdicts"].items()) if n)
    fields = ("cases", "judged", "gated", "checked", "wrong", "known", "waived")
    counts = " ".join(str(found[field]) for field in fields)
    assert f"{Document(RUNS[name]()).verdict} {counts}; {verdicts}" == COUNTS[name]


def facts(finding):
    rows = [row for e in finding.examples if isinstance(e, tuple) for row in e]
    lines = [line for e in finding.examples if isinstance(e, CallInWords) for line in e.lines]
    bits = [piece.text for row in rows for line in row.bits for piece in line]
    words = [word for row in rows for word in (row.value, row.code.strip("()"), row.words)]
    return [finding.id, " ".join(finding.explain), finding.rule, finding.places, *finding.cited,
            *bits, *words, *(line.words for line in lines)]  # fmt: skip


def bare(page):
    return re.sub(r"[\s\\]|%0A", "", page)


@pytest.mark.parametrize("name", RUNS)
def test_every_format_holds_the_facts_of_a_finding(name):
    result = RUNS[name]()
    made = Document(result)
    gated = [one for one in made.unexplained if one.gated]
    due = {fact for one in gated for fact in facts(one)}
    assert bool(due) == (result.outcome == "fail" and name != "stale")
    assert all(one.id in text(result) for one in gated)
    narrow, wide = (printed(result, width) for width in (80, 120))
    others = (in_markdown(result), unescape(in_junit(result)), "\n".join(annotated(result)))
    for page in map(bare, (narrow, wide, *others)):
        assert not [fact for fact in due if bare(fact) not in page]


def table(lines):
    heads, *rows = lines
    return {
        row[0]: {h: c for h, c in zip(heads[1:], row[1:], strict=True) if c != "0"} for row in rows
    }


def terminal_table(page):
    lines = page[page.index("\nspec ") + 1 :].partition("\n\n")[0].splitlines()
    return table([re.split(r" {2,}", line.strip()) for line in lines])


def html_table(result):
    page = data(Document(result))
    found = {}
    for spec in (one["id"] for one in page["specs"]):
        cases = [case for case in page["cases"] if case["spec"] == spec]
        statuses = Counter(case["status"] for case in cases)
        counts = {"cases": len(cases), "judged": sum(one["judged"] for one in cases), **statuses}
        found[spec] = {word: f"{count:,}" for word, count in counts.items() if count}
    return found


@pytest.mark.parametrize("name", RUNS)
def test_the_tables_of_specs_are_one(name):
    result = RUNS[name]()
    shown = terminal_table(in_terminal(result))
    assert len(shown) > 0
    assert shown == terminal_table(in_markdown(result).replace("\n```", "\n\n"))
    by_spec = parsed(text(result))["summary"]["specs"]
    columns = {"cases": "cases", Document(result).counted: "checked", "judged": "values_judged"}
    for column, name_of_json in columns.items():
        assert {s: row.get(column, "0") for s, row in shown.items()} == {
            s: f"{counts.get(name_of_json, 0):,}" for s, counts in by_spec.items()
        }
    for row in shown.values():
        row.pop(Document(result).counted, None)
    assert shown == html_table(result)


@pytest.mark.parametrize(("verdict", "said"), [
    ("pass", "1 case, 60 values judged of 100 asked"),
    ("fail", "1 of 1 case, 60 of 60 values judged of 100 asked"),
])  # fmt: skip
def test_what_is_undefined_was_asked_and_not_judged(verdict, said):
    """A third of an exhaustive run may be undefined, which the number of values excludes."""
    groups = (group(ELSE, verdict, counts=(60, 60)), group(PARSE, "undefined", counts=(40, 40)))
    elsewhere = group(PARSE, "undefined", counts=(7, 7), placement="alone")
    found = answered(case("onnx.Cast-19", "float32", "int8"), *groups, elsewhere, checked=100)
    result = run(found)
    assert found.values_judged == 60
    assert Document(result).reasons[0] == said
    for page in (in_terminal(result), in_markdown(result), html_text(result)):
        assert said in re.sub(r"\*\*", "", " ".join(page.split()))
    summary = parsed(text(result))["summary"]
    assert (summary["checked"], summary["values_judged"]) == (100, 60)
    side = drawn(side_by_side_page([Turn("mine", result)], False))
    assert [line.split() for line in side.splitlines() if line.startswith("values")] == [
        ["values", "asked", "100"], ["values", "judged", "60"],
    ]  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_the_verdict_has_one_wording(name):
    result = RUNS[name]()
    made = Document(result)
    for page in (in_terminal(result), in_markdown(result), html_text(result)):
        plain = re.sub(r"\*\*|\\", "", " ".join(page.split()))
        assert all(reason in plain for reason in made.reasons), page[:200]


@pytest.mark.parametrize("name", SEVERAL)
def test_cases_that_fail_the_run_are_as_many_in_each(name):
    result = RUNS[name]()
    suites = fromstring(in_junit(result)).findall("testsuite")
    tests = [test for suite in suites if suite.get("name") != "known failures" for test in suite]
    failing = sum(
        test.find("failure") is not None or test.find("error") is not None for test in tests
    )
    summary = parsed(text(result))["summary"]
    made = Document(result)
    gated = {one.case.id for finding in made.findings if finding.gated for one in finding.members}
    words = {"error", "crashed", "fail", "refused", "inconsistent"}
    statuses = Counter(case.status.word for some in made.cases.values() for case in some)
    assert failing == summary["gated"] == sum(statuses[word] for word in words)
    assert len(gated) <= failing
    assert (failing > 0) == (f"{failing} of " in made.reasons[0])


@pytest.mark.parametrize("name", [name for name in SEVERAL if name != "explained"])
def test_findings_have_one_count(name):
    result = RUNS[name]()
    made = Document(result)
    shown = [one for one in made.findings if not one.excuse]
    page, shown_there = in_markdown(result), in_terminal(result)
    titles = re.findall(r"(?:^### |<summary>)[^\n]*\(([^()]*)\)(?:$|</summary>)", page, re.M)
    assert titles == [one.count or "1 case" for one in shown]
    share = r"[0-9,]+ of [0-9,]+ (?:input|call)s? under this rule fails?"
    assert re.findall(share, " ".join(shown_there.split())) == [
        o.share for o in made.findings if o.share
    ]
    annotations = re.findall(r"title=[^:]*\(([0-9]+) cases?\)::", "\n".join(annotated(result)))
    assert annotations == [str(len(one.members)) for one in made.findings if one.gated]
    rows = data(made)["findings"]
    assert len(rows) == len(made.findings)
    for row, finding in zip(rows, made.findings, strict=True):
        assert len(row["members"]) == len(finding.members)
        wrong, of = (sum(member[name] for member in row["members"]) for name in ("count", "of"))
        assert finding.values == (f"{wrong:,} of {of:,}" if of else "")


LINE = "asked: 3 cases exhaustively, 2 on every boundary, 1 by samples, 1 by edge inputs, 1 in part"
TARGETS = ("float16", "bfloat16", "uint8")


def asked(coverage, count, source="float32"):
    some = (passed(case("onnx.Cast-21", source, target)) for target in TARGETS[:count])
    return run(*(replace(one, coverage=coverage) for one in some))


def every():
    counts = {"exhaustive": 3, "boundary-complete": 2}
    declined = unasked(case("onnx.Cast-21", "bool", "int4"), "unsupported", "no kernel")
    sources = ("float32", "float64", "int64", "int8", "string")
    some = (
        one
        for source, coverage in zip(sources, reversed(COVERAGES), strict=True)
        for one in asked(coverage, counts.get(coverage, 1), source).cases
    )
    return run(*some, replace(declined, coverage="exhaustive"))


def lines_of(result, verbose=False):
    return printed(result, 100, verbose).splitlines()


def test_a_line_counts_the_cases():
    assert LINE in " ".join(" ".join(lines_of(every())).split())
    assert LINE in in_markdown(every())
    assert LINE in html_text(every())
    assert [words for words, _ in Document(every()).coverage][:2] == [
        "exhaustively", "on every boundary",
    ]  # fmt: skip


@pytest.mark.parametrize(("result", "said"), [
    (asked("exhaustive", 1), "asked: 1 case exhaustively"),
    (RUNS["failing"](), "asked: 22 cases by edge inputs"),
    (replace(asked("sampled", 2), own_inputs=True), "asked: 2 cases by inputs of your own"),
])  # fmt: skip
def test_in_words(result, said):
    assert Document(result).setting[-1] == said


def test_what_was_not_asked_is_not_counted():
    declined = unasked(case("onnx.Cast-21", "bool", "int4"), "unsupported", "no kernel")
    assert Document(run(declined)).coverage == []
    assert not any("asked:" in line for line in lines_of(run(declined)))


def test_which_were_asked_otherwise_than_most_is_said_with_v():
    assert not any("asked  " in line for line in lines_of(every()))
    shown = lines_of(every(), verbose=True)
    at = shown.index("asked  on every boundary: 2 cases")
    assert shown[at + 1].strip() == "onnx.Cast-21/int8-to-{float16,bfloat16}"
    assert not any("exhaustively:" in line for line in shown)
    assert not any("asked  " in line for line in lines_of(asked("exhaustive", 3), verbose=True))


def test_only_in_a_placement_is_said_where_another_was_asked_and_was_right():
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
