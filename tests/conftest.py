import gc
import os
import signal
from contextlib import chdir
from itertools import islice
from unittest.mock import patch

import pytest
from hypothesis import settings
from places import ROOT, TESTS

SEVERAL_PROCESSES = {"browser", "local"}

# Child processes find the planted backends, under both names, and shared helpers.
_before = os.environ.get("PYTHONPATH")
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), str(TESTS), _before)))

# Children inherit an ignored Ctrl-C, as in background jobs, but not a handler.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Garbage collection takes half of the CPU time of imports.
gc.disable()

# timing depends on the machine's load
settings.register_profile("convcheck", deadline=None)
settings.load_profile("convcheck")


@pytest.fixture(autouse=True)
def _own_environment():
    """Start at the root, and restore the environment, which the entry point changes."""
    with patch.dict(os.environ), chdir(ROOT):
        yield


def pytest_xdist_auto_num_workers():
    """Return one process more than cores: tests wait a third of their time."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Retry browser and cluster tests once, and deal long tests to the starts of processes.

    A busy machine delays browsers and clusters. xdist gives each process a stretch of the list.
    """
    for item in items:
        if SEVERAL_PROCESSES & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.flaky(reruns=1))
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    long = [item for item in items if item.get_closest_marker("long")]
    others = (item for item in list(items) if not item.get_closest_marker("long"))
    ordered = []
    for number in range(processes):
        size = (len(items) - len(ordered)) // (processes - number)
        mine = long[number::processes]
        ordered += [*mine, *islice(others, max(0, size - len(mine)))]
    items[:] = ordered


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


def pytest_terminal_summary(terminalreporter):
    """Print by operator on how many cases planted bugs show, and are caught."""
    reports = [r for outcome in ("passed", "failed") for r in terminalreporter.getreports(outcome)]
    found = {}
    for name, counts in (pair for report in reports for pair in report.user_properties):
        if name.startswith("planted"):
            operator = name.removeprefix("planted").strip(" ()") or "onnx.Cast"
            found.setdefault(operator, []).append(counts)
    for operator, pairs in sorted(found.items()):
        observable, caught = (sum(column) for column in zip(*pairs, strict=True))
        terminalreporter.write_line(
            f"planted bugs ({operator}): {observable} observable, {caught} caught"
        )


def pytest_sessionfinish(session):
    """Fail if a test was skipped although every runtime is installed."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CONVCHECK_NO_SKIPS") and reporter:
        skipped = reporter.getreports("skipped")
        for report in skipped:
            reporter.write_line(f"\nskipped, and nothing may be: {report.nodeid} {report.longrepr}")
        if skipped and not session.exitstatus:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
