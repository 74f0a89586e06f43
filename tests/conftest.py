from __future__ import annotations

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what the planted bugs came to: on how many cases they show, and are caught."""
    reports = [r for outcome in ("passed", "failed") for r in terminalreporter.getreports(outcome)]
    found = [counts for r in reports for name, counts in r.user_properties if name == "planted"]
    if found:
        observable, caught = (sum(column) for column in zip(*found, strict=True))
        terminalreporter.write_line(f"planted bugs: {observable} observable, {caught} caught")
