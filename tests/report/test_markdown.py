import re
import tomllib

import pytest
from command import check_golden
from drawn import in_markdown
from markdown_it import MarkdownIt
from report_runs import (
    CHANGED,
    ISSUE,
    RUNS,
    TRUNCATED,
    WRAPPED,
    answered,
    case,
    diagnosed,
    dtype,
    excuse,
    excused_by,
    many,
    passed,
    run,
    unasked,
)

from convcheck.errors import Place
from convcheck.judge.result import BackendInfo, CauseInWords, Problem
from convcheck.records import replace
from convcheck.report.draw import markdown

LIMIT = 1 << 16
ONE = case("onnx.Cast-21", "float32", "bfloat16")
HOSTILE = (
    "<img src=x> </details> `tick` ``` | pipe *star* _u_ [l](u) @octocat #12 $x$ &lt; \\ ~~s~~ #"
)
ALLOWED = re.compile(
    r"<details><summary>[^<>]*(<!-- -->[^<>]*)*</summary>\n?|</details>\n?|<!-- -->"
)
PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def tokens(text):
    for token in PARSER.parse(text):
        yield token
        yield from token.children or ()


def words(text):
    said = []
    for token in PARSER.parse(text):
        parts = token.children or ()
        said.append("".join(t.content for t in parts if t.type in ("text", "code_inline")))
    return "\n".join(filter(None, said))


def check(text):
    assert len(text.encode()) < LIMIT
    raw = [t.content for t in tokens(text) if t.type in ("html_block", "html_inline")]
    assert not [html for html in raw if not ALLOWED.fullmatch(html)]
    assert sum("<details>" in html for html in raw) == sum("</details>" in html for html in raw)
    assert not {t.type for t in tokens(text)} & {"image", "hr", "s_open", "em_open"}


@pytest.mark.parametrize("name", ["markdown-calls", "markdown-explained"])
def test_golden(name):
    check_golden(f"{name}.md", in_markdown(RUNS[name.removeprefix("markdown-")]()), None)


@pytest.mark.parametrize("name", RUNS)
def test_every_report_is_sound(name):
    check(in_markdown(RUNS[name]()))


def test_the_verdict_is_the_first_line():
    for name, word in (
        ("listed", "FAIL"), ("known", "PASS"), ("interrupted", "INTERRUPTED"),
        ("nothing", "NOTHING JUDGED"),
    ):  # fmt: skip
        assert in_markdown(RUNS[name]()).startswith(f"## {word}: onnxruntime 1.31.1\n")


def blocks(text):
    return [token.content for token in tokens(text) if token.type == "fence"]


def test_many_causes_stay_small():
    made = [
        diagnosed(case(f"onnx.Cast-{i}", "float32", "bfloat16"), 980, (f"c{i}",))
        for i in range(100, 200)
    ]
    said = tuple(CauseInWords(f"c{i}", f"does {i} " * 99, i) for i in range(100, 200))
    text = in_markdown(run(*made, causes=said))
    check(text)
    assert "… and 70 more causes." in text


def test_the_matrix_has_the_rows_and_columns_that_fail():
    text = in_markdown(RUNS["failing"]())
    [grid] = [block for block in blocks(text) if "float32  " in block]
    assert "float64" not in grid
    assert text.count("Where it fails") == 1
    assert "Where it fails" not in in_markdown(RUNS["known"]())


def test_the_list_is_repaired_by_a_copy():
    text = in_markdown(RUNS["stale"]())
    [toml] = [t.content for t in tokens(text) if t.type == "fence" and t.info == "toml"]
    assert tomllib.loads(toml) == tomllib.loads(CHANGED)
    assert "passes now; remove the entry, " in words(text)


def test_known_failures_are_folded_with_reason_and_issue():
    text = in_markdown(RUNS["known"]())
    assert "<details><summary>Known and waived failures</summary>" in text
    assert f"ci/known.toml:12  {ISSUE}" in text
    assert "convcheck explain" not in text


def large(count):
    targets = [replace(dtype("int8"), name=f"{'t' * 40}{i}") for i in range(count)]
    cases = [replace(ONE, outputs=(target,)) for target in targets]
    found = [
        answered(one, replace(TRUNCATED, kind=f"kind {i} {'é' * 90}"))
        for i, one in enumerate(cases)
    ]
    return replace(run(*found), problems=many().problems * 20, known="k.toml")


@pytest.mark.parametrize("count", [1, 40, 60, 80, 400])
def test_it_stays_small_and_says_what_it_leaves_out(count):
    text = in_markdown(large(count))
    check(text)
    shown = len(re.findall(r"FAIL [0-9a-f]{8}: kind \d+", text))
    left = re.search(r"… and ([0-9,]+) more findings?, for which there is no room", text)
    assert shown + (int(left[1].replace(",", "")) if left else 0) == count
    assert shown >= min(count, 10)
    assert "more entries, for which there is no room" in text
    entries = text.count("**UNMATCHED**")
    assert f"… and {240 - entries} more entries" in text


def test_a_table_too_large_is_left_out_with_a_word():
    found = [passed(case(f"onnx.Cast-{i}", "float32", "bfloat16")) for i in range(500)]
    text = in_markdown(run(*found))
    check(text)
    assert "… and 1 table, for which there is no room." in text


def test_many_known_failures_stay_small():
    found = [
        excused_by(excuse(i, reason=f"{i} {'why ' * 99}"), answered(ONE, TRUNCATED))
        for i in range(300)
    ]
    text = in_markdown(run(*found))
    check(text)
    assert re.search(r"… and 2\d\d more, of", text)


def hostile():
    wrong = replace(TRUNCATED, kind=HOSTILE, placement=HOSTILE, reading=HOSTILE)
    by = replace(TRUNCATED.decision, rule=HOSTILE, cite=HOSTILE, source=HOSTILE)
    named = replace(ONE, spec="a|b`c-1", attributes=(("x", "a|`b"),))
    reason = excuse(1, reason=HOSTILE, issue=f"{HOSTILE}")
    yield run(answered(ONE, wrong), unasked(ONE, "crashed", HOSTILE))
    yield run(answered(ONE, replace(TRUNCATED, decision=by)), answered(named, TRUNCATED))
    yield run(*(answered(ONE, replace(WRAPPED, kind=f"{HOSTILE} {i}")) for i in range(9)))
    yield run(answered(ONE, replace(TRUNCATED, excuse=reason)))
    problem = Problem(
        "changed", Place(f"\udcc3{HOSTILE}", 1), HOSTILE, f"{HOSTILE}\n```\n````\n# x"
    )
    backend = BackendInfo(HOSTILE, HOSTILE)
    yield replace(run(passed(ONE)), backend=backend, problems=(problem,), notes=(HOSTILE,))


def test_text_from_outside_is_only_text():
    for result in hostile():
        text = in_markdown(result)
        check(text)
        assert "<img" not in "".join(t.content for t in tokens(text) if "html" in t.type)
        assert not any(t.type == "link_open" and t.attrs["href"] == "u" for t in tokens(text))
        prose = "".join(
            t.content for t in tokens(text) if t.type in ("text", "html_block", "html_inline")
        )
        assert not re.search(r"[@]octocat|#12", prose)


def test_words_are_shown_as_they_are():
    shown = words(markdown.escaped(HOSTILE)).replace("<!-- -->", "")
    assert shown == HOSTILE
    assert words(markdown.code("a ``b` | c`")) == "a ``b` | c`"
    assert blocks(markdown.fence(["```", "````x"])) == ["```\n````x\n"]
