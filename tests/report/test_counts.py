import re
from collections import Counter
from html import unescape
from xml.etree.ElementTree import fromstring

import pytest
from drawn import annotated, drawn, html_text, in_junit, in_markdown, printed
from report_json import parsed
from report_runs import ELSE, PARSE, RUNS, answered, case, group, run

from convcheck.documents.encode import text
from convcheck.judge.result import RunResult, Verdict
from convcheck.plan.runner import Turn
from convcheck.report.document import Document
from convcheck.report.draw.side_by_side import side_by_side_page
from convcheck.report.examples import CallInWords
from convcheck.report.findings import Finding
from convcheck.report.html import data

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
Table = dict[str, dict[str, str]]


def in_terminal(result: RunResult) -> str:
    return printed(result, 250, verbose=True)


@pytest.mark.parametrize("name", RUNS)
def test_what_is_counted_in_a_run(name: str) -> None:
    found = parsed(text(RUNS[name]()))["summary"]
    verdicts = " ".join(f"{v} {n}" for v, n in sorted(found["verdicts"].items()) if n)
    fields = ("cases", "judged", "gated", "checked", "wrong", "known", "waived")
    counts = " ".join(str(found[field]) for field in fields)
    assert f"{Document(RUNS[name]()).verdict} {counts}; {verdicts}" == COUNTS[name]


def facts(finding: Finding) -> list[str]:
    rows = [row for e in finding.examples if isinstance(e, tuple) for row in e]
    lines = [line for e in finding.examples if isinstance(e, CallInWords) for line in e.lines]
    bits = [piece.text for row in rows for line in row.bits for piece in line]
    words = [word for row in rows for word in (row.value, row.code.strip("()"), row.words)]
    return [finding.id, " ".join(finding.explain), finding.rule, finding.places, *finding.cited,
            *bits, *words, *(line.words for line in lines)]  # fmt: skip


def bare(page: str) -> str:
    return re.sub(r"[\s\\]|%0A", "", page)


@pytest.mark.parametrize("name", RUNS)
def test_every_format_holds_the_facts_of_a_finding(name: str) -> None:
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


def table(lines: list[list[str]]) -> Table:
    heads, *rows = lines
    return {
        row[0]: {h: c for h, c in zip(heads[1:], row[1:], strict=True) if c != "0"} for row in rows
    }


def terminal_table(page: str) -> Table:
    lines = page[page.index("\nspec ") + 1 :].partition("\n\n")[0].splitlines()
    return table([re.split(r" {2,}", line.strip()) for line in lines])


def html_table(result: RunResult) -> Table:
    page = data(Document(result))
    found: Table = {}
    for spec in (one["id"] for one in page["specs"]):
        cases = [case for case in page["cases"] if case["spec"] == spec]
        statuses = Counter(case["status"] for case in cases)
        counts = {"cases": len(cases), "judged": sum(one["judged"] for one in cases), **statuses}
        found[spec] = {word: f"{count:,}" for word, count in counts.items() if count}
    return found


@pytest.mark.parametrize("name", RUNS)
def test_the_tables_of_specs_are_one(name: str) -> None:
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
def test_what_is_undefined_was_asked_and_not_judged(verdict: Verdict, said: str) -> None:
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
def test_the_verdict_has_one_wording(name: str) -> None:
    result = RUNS[name]()
    made = Document(result)
    for page in (in_terminal(result), in_markdown(result), html_text(result)):
        plain = re.sub(r"\*\*|\\", "", " ".join(page.split()))
        assert all(reason in plain for reason in made.reasons), page[:200]


@pytest.mark.parametrize("name", SEVERAL)
def test_cases_that_fail_the_run_are_as_many_in_each(name: str) -> None:
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
def test_findings_have_one_count(name: str) -> None:
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
