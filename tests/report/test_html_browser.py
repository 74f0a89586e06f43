import re
import time
from collections import Counter

import pytest
from browser import opened, reloaded, started
from drawn import in_html
from playwright.sync_api import expect
from report_runs import (
    CAUSES,
    ELSE,
    FORMATS,
    HOSTILE,
    RUNS,
    TRUNCATED,
    WRAPPED,
    answered,
    case,
    decision,
    diagnosed,
    excuse,
    group,
    hostile,
    run,
)

from convcheck.judge.result import Example
from convcheck.numerics.format import Text
from convcheck.numerics.order import code_at_index
from convcheck.records import replace
from convcheck.report.document import Document
from convcheck.report.html import ends, index_below, value_at
from convcheck.semantics.expected import Quotation

LIMIT = 3_100_000
READY = 1000  # milliseconds, on a quiet machine
SLACK = 3  # on a loaded one


@pytest.fixture(scope="module")
def browser():
    with started() as found:
        yield found


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("html")
    made = {name: make() for name, make in RUNS.items()} | {"hostile": hostile()}
    for name, result in made.items():
        named = replace(result.backend, address="process:./mine --flag")
        page = in_html(replace(result, backend=named), command="convcheck run")
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in made}


def cell(page, spec, row, column):
    return f'[data-key="{spec}|{row}|{column}"]'


def counted(page):
    return page.inner_text(".counted")


def kinds(page):
    return page.locator("#findings .finding .kind").all_inner_texts()


def symbols(page):
    return "".join(page.locator(".matrix td .symbol").all_inner_texts())


def open_all(page):
    page.evaluate("for (const b of document.querySelectorAll('#findings h3 button')) b.click()")


@pytest.mark.parametrize("name", RUNS)
def test_it_opens(browser, pages, name):
    words = {"all_pass": "PASS", "known": "PASS", "interrupted": "INTERRUPTED",
             "nothing": "NOTHING JUDGED", "below": "PASS"}  # fmt: skip
    with opened(browser, pages[name]) as page:
        assert page.inner_text(".verdict") == words.get(name, "FAIL")
        assert page.locator(".matrix").count()
        told = name == "explained"
        assert [page.locator("#causes").count(), page.locator(".letter").count() > 0] == [told] * 2
        open_all(page)
        assert page.locator("#findings .body:not([hidden])").count() == len(kinds(page))


def test_the_head_says_what_has_to_change(browser, pages):
    with opened(browser, pages["listed"]) as page:
        text = page.inner_text("main")
        assert "passes now; remove the entry" in text
        assert 'digest = "00000000000000000000000000000021"' in page.inner_text(".problem pre")
        page.click("#findings .tag.st-waived")
        assert "has no shortest form, and will not have" in page.inner_text(".excuse")
        page.click("#findings .finding:has-text('one ulp too small') h3 button")
        link = page.locator(".excuse a")
        assert link.get_attribute("href") == link.inner_text()


def test_filters(browser, pages):
    with opened(browser, pages["listed"]) as page:
        assert counted(page) == "11 cases, 8 findings"
        page.click(".chip:has-text('known')")
        assert counted(page) == "7 of 11 cases, 5 of 8 findings"
        assert set(symbols(page)) == {"k"}
        page.click(".chip:has-text('normative')")
        assert kinds(page) == ["died of SIGFPE", "overflow gives NaN, not max"]
        page.click("#clear")
        assert counted(page) == "11 cases, 8 findings"
        page.select_option("label.choice:has-text('from') select", "uint8")
        assert [counted(page), symbols(page)] == ["1 of 11 cases, 1 of 8 findings", "k"]
        page.click("#clear")
        page.fill("#search", "saturating NaN")
        expect(page.locator(".counted")).to_have_text("2 of 11 cases, 2 of 8 findings")
        assert "q=saturating+NaN" in page.url


def test_chips_count_cases_as_other_formats_do(browser, pages):
    """A case counts under its status. Other cases with such values are stated separately."""
    for name in ("kinds", "listed", "failing"):
        counts = Counter()
        for some in Document(RUNS[name]()).cases.values():
            counts += Counter(case.status.word for case in some)
        with opened(browser, pages[name]) as page:
            chips = page.locator(".chips[aria-label='Verdict'] .chip")
            titles = [chips.nth(i).get_attribute("title") or "" for i in range(chips.count())]
            said = re.findall(r"^(\d+) cases?: ([a-z ]+)", "\n".join(titles), re.M)
            found = {word: int(n) for n, word in said}
            assert {word: n for word, n in found.items() if n} == counts
    with opened(browser, pages["listed"]) as page:
        chip = page.locator(".chip:has-text('known')")
        assert " +" in chip.inner_text()
        assert "that stand otherwise as a whole" in str(chip.get_attribute("title"))


def test_filters_by_attribute_and_their_link(browser, pages):
    with opened(browser, pages["failing"]) as page:
        page.select_option("label.choice:has-text('saturate') select", "0")
        assert [kinds(page), set(symbols(page))] == [[], {"·"}]
        assert counted(page).startswith("12 of ")
        view = page.url.partition("#")[2]
    with opened(browser, pages["failing"], view) as page:
        assert counted(page).startswith("12 of ")
        page.click(".card:has-text('CastLike')")
        assert counted(page).startswith("4 of ")
        assert page.locator(".matrix").get_attribute("data-name") == "onnx.CastLike-21"


def test_a_cell_gives_its_findings(browser, pages):
    with opened(browser, pages["failing"]) as page:
        page.click(cell(page, "onnx.Cast-*", "float32", "bfloat16"))
        panel = page.locator("#cell")
        found = panel.locator(".finding .kind").all_inner_texts()
        assert found == ["one ulp too small in magnitude"]
        first = panel.locator(".example").first
        expect(first).to_be_visible()
        assert first.locator("tr.got mark").all_inner_texts() == ["0"]
        assert first.locator("tr.expected .field.mantissa span").inner_text() == "0000001"
        assert "1.0078125" in first.locator("svg").inner_html()
        commands = panel.locator(".command code").all_inner_texts()
        finding = panel.locator(".finding-id").first.inner_text()
        assert commands == [
            "convcheck explain --backend 'process:./mine --flag' "
            "onnx.Cast-19/float32-to-bfloat16 0x3f808001",
            "convcheck repro onnx.Cast-19/float32-to-bfloat16 "
            f"--backend 'process:./mine --flag' {finding}",
        ]
        panel.locator("button[aria-label='Next case']").click()
        assert "onnx.Cast-21" in panel.locator(".command code").first.inner_text()
        view = page.url.partition("#")[2]
    with opened(browser, pages["failing"], view) as page:
        assert page.inner_text("#cell-title") == "float32 → bfloat16"


def letters(page, within):
    return page.locator(f"{within} .letter").all_inner_texts()


def test_a_card_a_cause_then_what_none_explains(browser, pages):
    causes = Document(RUNS["explained"]()).causes
    with opened(browser, pages["explained"]) as page:
        cards = page.locator(".cause")
        assert letters(page, ".cause") == [one.letter for one in causes] == ["A", "B", "A+B"]
        for i, cause in enumerate(causes):
            said = " ".join(cards.nth(i).inner_text().split())
            assert cause.whole in said
            counts = f"{len(cause.cases)} case", f"{cause.found.answers:,} answers"
            assert all(count in said for count in counts)
            if cause.says:
                assert f"{cause.scope} {cause.wrong_answer}" in said
        summary = page.inner_text("#causes")
        assert "7 of 9 cases fail; 2 causes explain 6 of them, every answer of each" in summary
        assert "not explained: 1 case, 1 finding" in summary
        assert symbols(page) == "AAF·ABk"
        assert letters(page, ".legend") == ["A", "B"]
        assert kinds(page) == ["overflow gives NaN, not max", "refused"]
        page.click("#unfold")
        assert kinds(page)[2:] == ["one ulp too small in magnitude"]
        assert letters(page, "#findings") == ["A", "B", "A+B"]


def test_a_cause_is_a_filter(browser, pages):
    causes = Document(RUNS["explained"]()).causes
    chosen = "label.choice:has-text('cause') select"
    with opened(browser, pages["explained"]) as page:
        for cause in causes:
            page.select_option(chosen, cause.letter)
            assert counted(page) == f"{len(cause.cases)} of 9 cases, 1 of 3 findings"
            assert set(symbols(page)) == {cause.letter[0]}
            assert kinds(page) == ["one ulp too small in magnitude"]
            assert page.locator(".cause.open").get_attribute("data-cause") == cause.letter
        page.click("#clear")
        page.fill("#search", "carries past")
        expect(page.locator(".counted")).to_have_text("2 of 9 cases, 1 of 3 findings")
        assert page.locator(".cause.none").get_attribute("data-cause") == "A"
        page.click("#clear")
        page.select_option("label.choice:has-text('from') select", "float32")
        assert "2 of 4 cases" in page.inner_text(".cause >> nth=0")
        page.click(".legend .cause-button >> nth=0")
        assert [counted(page), "cause=A" in page.url] == ["2 of 9 cases, 1 of 3 findings", True]
        pressed = "document.activeElement.getAttribute('aria-pressed')"
        assert page.evaluate(pressed) == "true"
        page.keyboard.press("Enter")
        assert "cause=" not in page.url


def test_what_a_cause_does_not_explain_has_no_letter(browser, tmp_path):
    specs, fits = ("onnx.Cast-19", "onnx.Cast-21"), ("truncates",)
    half = diagnosed(case(specs[0], "float64", "bfloat16"), 980, fits)
    listed = replace(WRAPPED, excuse=excuse(12))
    found = run(
        diagnosed(case(specs[0], "float32", "bfloat16"), 980, fits),
        answered(case(specs[1], "float32", "bfloat16"), WRAPPED),
        replace(half, groups=(*half.groups, listed)),
        causes=CAUSES,
    )
    path = tmp_path / "mixed.html"
    path.write_text(in_html(found))
    with opened(browser, path) as page:
        assert symbols(page) == "FA"
        titles = page.locator("#findings h2").all_inner_texts()
        assert titles == [
            "Not explained by a cause 1", "Known and waived 1", "Explained by causes 1",
        ]  # fmt: skip
        assert letters(page, "#findings") == []


def test_a_card_opens_by_key_and_by_link(browser, pages):
    with opened(browser, pages["explained"]) as page:
        page.focus(".cause[data-cause=A] button")
        page.keyboard.press("Enter")
        card = page.locator(".cause[data-cause=A]")
        expect(card.locator(".example")).to_have_count(3)
        assert card.locator(".others li").all_inner_texts() == ["rounds towards zero (toward-zero)"]
        assert card.locator("blockquote footer").inner_text().endswith(", Cast - 13 #278c39")
        assert card.locator("tr.got mark").first.inner_text() == "0"
        assert card.locator("tr.expected .value").first.inner_text() == "1.0078125"
        titles = card.locator(".example h4").all_inner_texts()
        assert titles[:2] == [f"onnx.Cast-19/{t}-to-bfloat16" for t in ("float32", "float64")]
        assert card.locator(".command code").first.inner_text() == (
            "convcheck explain --backend 'process:./mine --flag' "
            "onnx.Cast-19/float32-to-bfloat16 0x3f808001"
        )
    with opened(browser, pages["explained"], "cause=A%2BB") as page:
        said = page.inner_text(".cause.open .body")
        assert "A with B: truncates (truncates); and gives NaN where <rounding>" in said
        page.click(cell(page, "onnx.Cast-*", "float32", "float16"))
        assert letters(page, "#cell .cause-buttons") == ["A+B"]


def test_keys(browser, pages):
    focus = "document.activeElement.id || document.activeElement.dataset.key"
    with opened(browser, pages["failing"]) as page:
        page.keyboard.press("/")
        assert page.evaluate(focus) == "search"
        page.keyboard.type("wrap/")
        assert page.input_value("#search") == "wrap/"
        page.keyboard.press("Escape")
        assert page.input_value("#search") == ""
        tabs = 0
        while "onnx.Cast-*" not in (page.evaluate(focus) or "") and tabs < 40:
            page.keyboard.press("Tab")
            tabs += 1
        assert page.evaluate(focus) == "onnx.Cast-*|float32|bfloat16"
        page.keyboard.press("ArrowRight")
        assert page.evaluate(focus) == "onnx.Cast-*|float32|float8e4m3fn"
        page.keyboard.press("ArrowDown")
        assert page.evaluate(focus) == "onnx.Cast-*|float64|float8e4m3fn"
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Enter")
        assert page.evaluate(focus) == "cell"
        assert page.inner_text("#cell-title") == "float32 → float8e4m3fn"
        page.keyboard.press("Escape")
        assert page.locator("#cell").is_hidden()
        assert page.evaluate(focus) == "onnx.Cast-*|float32|float8e4m3fn"
        page.keyboard.press("Space")
        assert page.locator("#cell").is_visible()


def test_dark_and_light(browser, pages):
    paper = "getComputedStyle(document.body).backgroundColor"
    light, dark = "rgb(251, 251, 250)", "rgb(21, 24, 28)"
    with opened(browser, pages["failing"], color_scheme="dark") as page:
        assert page.evaluate(paper) == dark
        page.click("#theme")
        assert page.evaluate(paper) == light
        reloaded(page, paper, light)
        page.click("#theme")
        assert page.evaluate(paper) == dark
    with opened(browser, pages["failing"], color_scheme="light") as page:
        assert page.evaluate(paper) == light


def test_what_others_write_does_nothing(browser, pages):
    with opened(browser, pages["hostile"]) as page:
        assert page.locator("h1").inner_text() == HOSTILE.replace("\u2028", " ")
        open_all(page)
        expect(page.locator("#findings .command").first).to_be_visible()
        page.locator(".matrix td button").first.click()
        assert page.locator("#cell").is_visible()
        page.keyboard.press("Escape")
        page.click(".cause button")
        expect(page.locator(".cause .command")).to_have_count(3)
        last = page.locator(".cause .command").last.inner_text()
        assert "convcheck repro --report run.json --cause A" in last
        assert "if the run has -o run.json" in page.inner_text(".cause.open")
        assert "</script><img" in page.inner_text(".cause .others")
        page.click("#clear")
        assert page.locator("img").count() == 0
        assert page.locator("a[href^='javascript']").count() == 0
        assert "</script><img" in page.inner_text("#findings blockquote >> nth=0")


def test_the_page_fits_a_phone_and_paper(browser, pages):
    narrow = {"width": 400, "height": 800}
    for name in ("kinds", "calls", "listed", "explained"):
        with opened(browser, pages[name], viewport=narrow) as page:
            open_all(page)
            assert page.evaluate("document.documentElement.scrollWidth") <= 400
            page.emulate_media(media="print")
            assert page.locator("#filters").is_hidden()


def test_copying_a_command(browser, pages):
    with opened(browser, pages["failing"]) as page:
        page.click("#findings .finding h3 button >> nth=0")
        button = page.locator("#findings .command button").first
        button.click()
        expect(button).to_have_text("Copied")
        page.fill("#search", "")
        page.focus("#search")
        page.keyboard.press("Control+v")
        assert page.input_value("#search").startswith("convcheck explain --backend ")


def large(count):
    types = [name for name, fmt in FORMATS.items() if not isinstance(fmt, Text) and name != "bool"]
    cases = []
    pairs = [(v, s, t) for v in range(19, 26) for s in types for t in types]
    each = -(-count // len(pairs))
    for start, (version, source, target) in enumerate(pairs):
        ids = range(start * each, min((start + 1) * each, count))
        found = [different(i, source, target) for i in ids]
        cases.append(answered(case(f"onnx.Cast-{version}", source, target, saturate=1), *found))
    return run(*cases)


def different(i, source, target):
    came, due = FORMATS[source], FORMATS[target]
    examples = []
    for k in (2 * i, 2 * i + 1):
        low, high = ends(due)
        index = low + (k * 2654435761) % (high - low - 1)
        first, last = ends(came)
        x = index_below(came, (2 * value_at(due, index) + value_at(due, index + 1)) / 3)
        word = code_at_index(came, min(max(x, first), last))
        examples.append(Example((word,), code_at_index(due, index), code_at_index(due, index + 1)))
    spans = sorted((k * 40503 * (i + 1)) % (1 << (came.bits - 1)) for k in range(8))
    cite = f"Sentence {i % 97} of a standard."
    rule = decision(f"rule-{i % 97}", "else", i % 300, "implied", cite)
    ranges = tuple((word, word + 1) for word in spans)
    counts, kind = (i % 300 + 1, 980), f"kind {i} of wrongness"
    made = group(rule, "fail", kind, counts, ranges, tuple(examples), more=i % 5)
    return replace(made, digest=f"{i * 0x9E3779B97F4A7C15F39CC0605CEDC835 % (1 << 128):032x}")


def test_five_thousand_groups(browser, tmp_path, record_property):
    result = large(5000)
    failing = [g for c in result.cases for g in c.groups if g.verdict == "fail"]
    assert len(failing) == 5000
    began = time.perf_counter()
    page_text = in_html(result)
    took = time.perf_counter() - began
    size = len(page_text.encode())
    path = tmp_path / "large.html"
    path.write_text(page_text, encoding="utf-8")
    with opened(browser, path) as page:
        ready = page.evaluate("performance.getEntriesByName('convcheck-ready')[0].startTime")
        assert counted(page).endswith("5,000 findings")
        assert len(kinds(page)) == 50
        page.click(".more button")
        assert len(kinds(page)) == 100
        page.fill("#search", "kind 4999")
        expect(page.locator("#findings .finding")).to_have_count(1)
    said = f"{size / 1e6:.2f} MB, rendered in {took:.1f} s, ready after {ready:.0f} ms"
    print(said)
    record_property("html, 5,000 groups", said)
    assert size < LIMIT, said
    assert ready < READY * SLACK, said


def test_a_finding_shows_each_sentence_and_its_translation(browser, tmp_path):
    quoted = (
        Quotation("Down.", "Manual", "down"), Quotation("Nach oben.", "Handbuch", "up", "Upwards.")
    )  # fmt: skip
    by = replace(ELSE, quotations=quoted, row_in_words="where x is +0, the result is +0")
    path = tmp_path / "sentences.html"
    failing = replace(TRUNCATED, decision=by)
    path.write_text(in_html(run(answered(case("onnx.Cast-19", "float32", "bfloat16"), failing))))
    with opened(browser, path) as page:
        if not page.locator("blockquote").count():
            page.click("#findings .finding h3 button")
        said = [" ".join(text.split()) for text in page.locator("blockquote").all_inner_texts()]
        assert said == [
            "down: “Down.” — Manual #0f4503",
            "up: “Nach oben.” — Handbuch #410b06 our translation: Upwards.",
        ]
        assert "in its row: where x is +0, the result is +0" in page.inner_text("#findings")
