import time

import pytest
from browser import opened, reloaded, started

from convcheck.history.matrix import RuleKey
from convcheck.site.data import RunName, finding_of_site

READY = 1.0  # seconds, on a quiet machine
SLACK = 3  # on a loaded one
TRIES = 4  # the quickest counts, since a loaded machine delays others
FOUND = finding_of_site(
    RunName("onnxruntime", "1.10.0"), RuleKey("float-to-float", "", "onnx/cast")
)
KINDS = (
    "index.html", "runtimes/onnxruntime.html", "runtimes/mine.html",
    "rules/onnx_cast_float-to-float.html", f"findings/{FOUND}.html",
)  # fmt: skip


@pytest.fixture(scope="module")
def browser():
    with started() as found:
        yield found


@pytest.mark.parametrize("name", KINDS)
def test_every_page_opens_and_fits_a_phone(browser, built_site, name):
    phone = {"viewport": {"width": 400, "height": 800}, "color_scheme": "dark"}
    for _ in range(TRIES):
        begun = time.monotonic()
        with opened(browser, built_site / name, beside=built_site, **phone) as page:
            seconds = time.monotonic() - begun
            assert page.evaluate("document.documentElement.scrollWidth") <= 400
        if seconds < READY * SLACK:
            return
    pytest.fail(f"{name} took {seconds:.1f} s to open, {TRIES} times")


def test_colours_are_chosen_and_kept(browser, built_site):
    with opened(browser, built_site / "index.html", beside=built_site, color_scheme="dark") as page:
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.click("#theme")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") != dark
        reloaded(page, "document.querySelector('#theme').innerText", "Light")


def test_a_heat_map_is_one_stop_and_arrows_go_on(browser, built_site):
    with opened(browser, built_site / "runtimes/onnxruntime.html", beside=built_site) as page:
        assert page.locator(".heat a.cell[tabindex='0']").count() == 1
        page.focus(".heat a.cell")
        page.keyboard.press("ArrowRight")
        now = page.evaluate("document.activeElement.title")
        assert now == "1.10.0: of 1 case, 1 fail"
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/findings/{FOUND}.html")


def test_a_table_is_filtered(browser, built_site):
    with opened(browser, built_site / "index.html", beside=built_site) as page:
        page.fill("[data-filter]", "string float")
        names = page.locator("#all-rules tbody tr:not(.group):not([hidden]) th").all_inner_texts()
        assert names == ["string-to-float"]


def test_it_reads_without_scripts(browser, built_site):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((built_site / "runtimes/onnxruntime.html").as_uri())
    assert page.locator(".heat a.cell").count() == 4
    assert not page.locator("#theme").is_visible()
    context.close()
