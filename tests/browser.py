"""A real browser for the tests of the HTML report."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

NAMES = ("chromium", "google-chrome", "chromium-browser")
ARGUMENTS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-quic",
)  # fmt: skip


@contextmanager
def started() -> Iterator[Browser]:
    """Start a browser; a test that needs one is skipped where there is none."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip(f"none of {', '.join(NAMES)} is on the path")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(
    browser: Browser, path: Path, view: str = "", beside: Path | None = None, **context: Any
) -> Iterator[Page]:
    """Open a page from disk, at `view` (what is after '#'), and wait until it is drawn.

    In the end, nothing may have been written to its console, and nothing asked of a network: only
    the page itself, and files in the folder `beside` where there is one.
    """
    said: list[str] = []
    asked: list[str] = []
    own = browser.new_context(**context)
    own.set_default_timeout(60_000)
    try:
        page = own.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri() + (f"#{view}" if view else ""))
        page.wait_for_selector("html[data-ready]", state="attached")
        yield page
        assert not said
        others = {url for url in asked if not url.startswith("data:")}
        if beside:
            others = {url for url in others if not url.startswith(f"{beside.as_uri()}/")}
        assert others <= {f"{path.as_uri()}#{view}", path.as_uri()}
    finally:
        own.close()


def reloaded(page: Page, script: str, value: str) -> None:
    """Load a page anew until a script gives `value` there.

    Another process of the browser keeps what a page stores, and a page that is loaded at once may
    be handed what was kept before.
    """
    for _ in range(20):
        page.reload()
        page.wait_for_selector("html[data-ready]", state="attached")
        if page.evaluate(script) == value:
            return
    pytest.fail(f"{script} is {page.evaluate(script)!r}, not {value!r}")
