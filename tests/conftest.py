from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from itertools import islice
from unittest.mock import patch

import pytest
from hypothesis import settings
from places import ROOT, TESTS

SEVERAL_PROCESSES = {"browser", "local"}  # fixtures: a browser, a cluster

# Whatever process a test starts finds the planted backends, under both their names, and the helpers
# that they share.
_before = os.environ.get("PYTHONPATH")
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), str(TESTS), _before)))

# A shell that starts the tests in the background has Ctrl-C ignored, and what they start inherits
# that. A handler is not inherited: a command that is interrupted here takes it as at a terminal.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Collecting takes half of the CPU time where nobody looks for cycles: what is imported stays.
gc.disable()

# how long an example takes says how busy the machine is
settings.register_profile("convcheck", deadline=None)
settings.load_profile("convcheck")


@pytest.fixture(autouse=True)
def _own_environment() -> Iterator[None]:
    """Put the environment back: the entry point, called in this process, sets some of it."""
    with patch.dict(os.environ):
        yield


def pytest_xdist_auto_num_workers() -> int:
    """Return one process more than there are cores: tests wait for a third of their time, for what
    they started, for a time-out or for a browser.
    """
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(trylast=True)  # of the tests that are left
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run what needs a browser or a cluster once more where it fails, and begin with long tests.

    A browser and a cluster are several processes each, which a busy machine can keep from being in
    time for each other. A fault of this project fails both times.

    At the end, one process would wait for another that has a long test.

    xdist gives each process a stretch of the list, and takes from the end of the longest one for
    a process that has nothing left. So each stretch begins with its share of the long tests.
    """
    for item in items:
        if SEVERAL_PROCESSES & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.flaky(reruns=1))
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    long = [item for item in items if item.get_closest_marker("long")]
    others = (item for item in list(items) if not item.get_closest_marker("long"))
    ordered: list[pytest.Item] = []
    for number in range(processes):
        size = (len(items) - len(ordered)) // (processes - number)
        mine = long[number::processes]
        ordered += [*mine, *islice(others, max(0, size - len(mine)))]
    items[:] = ordered


def pytest_collection_finish() -> None:
    """Look for cycles again, but not among what was imported."""
    gc.freeze()
    gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what the planted bugs came to, by operator: on how many cases they show, are caught."""
    reports = [r for outcome in ("passed", "failed") for r in terminalreporter.getreports(outcome)]
    found: dict[str, list[tuple[int, int]]] = {}
    for name, counts in (pair for report in reports for pair in report.user_properties):
        if name.startswith("planted"):
            operator = name.removeprefix("planted").strip(" ()") or "onnx.Cast"
            found.setdefault(operator, []).append(counts)
    for operator, pairs in sorted(found.items()):
        observable, caught = (sum(column) for column in zip(*pairs, strict=True))
        terminalreporter.write_line(
            f"planted bugs ({operator}): {observable} observable, {caught} caught"
        )


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Where every runtime is installed, a skipped test fails the run."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CONVCHECK_NO_SKIPS") and reporter:
        skipped = reporter.getreports("skipped")
        for report in skipped:
            reporter.write_line(f"\nskipped, and nothing may be: {report.nodeid} {report.longrepr}")
        if skipped and not session.exitstatus:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
