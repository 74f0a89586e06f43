"""A real browser for the tests of the HTML report."""

import shutil
from contextlib import contextmanager

import pytest
from playwright.sync_api import sync_playwright

NAMES = ("chromium", "google-chrome", "chromium-browser")
ARGUMENTS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-quic",
)  # fmt: skip


@contextmanager
def started():
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip(f"none of {', '.join(NAMES)} is on the path")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        try:
            yield browser
        finally:
            for key in [key for key in _free if key[0] is browser]:
                del _free[key]
            browser.close()


@contextmanager
def opened(browser, path, view="", beside=None, **context):
    """Open a page from disk at `view` (the fragment after '#'), and wait until it is drawn.

    At the end, its console must be empty, and it must have requested nothing but itself and files
    in `beside`.
    """
    said = []
    asked = []
    heard = {
        "console": lambda message: said.append(message.text),
        "pageerror": lambda error: said.append(str(error)),
        "dialog": lambda dialog: (said.append(dialog.message), dialog.dismiss()),
        "request": lambda request: asked.append(request.url),
    }
    with tab(browser, context) as page:
        for event, listener in heard.items():
            page.on(event, listener)
        page.goto(path.as_uri() + (f"#{view}" if view else ""))
        page.wait_for_selector("html[data-ready]", state="attached")
        yield page
        assert not said
        others = {url for url in asked if not url.startswith("data:")}
        if beside:
            others = {url for url in others if not url.startswith(f"{beside.as_uri()}/")}
        assert others <= {f"{path.as_uri()}#{view}", path.as_uri()}
        for event, listener in heard.items():
            page.remove_listener(event, listener)


_free = {}


@contextmanager
def tab(browser, context):
    """Return an empty tab. Reuse one without failures and stored data, which saves a process."""
    key = browser, repr(sorted(context.items()))
    page = _free.pop(key, None) or browser.new_context(**context).new_page()
    page.set_default_timeout(60_000)
    is_free = False
    try:
        yield page
        if not page.evaluate("localStorage.length + sessionStorage.length"):
            page.emulate_media(media="null")
            page.goto("about:blank")
            is_free = True
    finally:
        if is_free:
            _free[key] = page
        else:
            page.context.close()


def reloaded(page, script, value):
    """Reload a page until a script returns `value`.

    Another process of the browser keeps the storage, and an immediate reload may get old data.
    """
    for _ in range(20):
        page.reload()
        page.wait_for_selector("html[data-ready]", state="attached")
        if page.evaluate(script) == value:
            return
    pytest.fail(f"{script} is {page.evaluate(script)!r}, not {value!r}")
