"""A backend author's own test suite: `pytest --convcheck-backend package.module:Class`.

A test per case, with the report's diff as its failure text. Without the option nothing of convcheck
is imported but this file.
"""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from convcheck.wording import plural

if TYPE_CHECKING:
    from convcheck.judge.result import BackendInfo, CaseResult, RunResult
    from convcheck.pool.standing import Standing
    from convcheck.rules.model import Case
    from convcheck.vectors.corpus import Corpus

NODE = "convcheck"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, which cost nothing where they are not used."""
    group = parser.getgroup("convcheck", "conformance of numeric type conversion")
    group.addoption(
        "--convcheck-backend", metavar="ADDRESS",
        help="Test this backend, a test per case: package.module:Class, or what "
        "`convcheck list backends` names.",
    )  # fmt: skip
    group.addoption(
        "--convcheck-spec", action="append", default=[], metavar="GLOB",
        help="Only cases of these specs, such as 'onnx.Cast-2*'. May be repeated. "
        "Without it, every spec that the backend implements.",
    )  # fmt: skip
    group.addoption(
        "--convcheck-timeout", metavar="SECONDS", type=_seconds, default=30.0,
        help="Seconds that one call of the backend may take (default: 30), as --timeout of "
        "`convcheck run`.",
    )  # fmt: skip


LONGEST_TIMEOUT = 86_400.0  # seconds: a day


def _seconds(text: str) -> float:
    """Return a time-out. Raises ArgumentTypeError for one that no backend could keep to."""
    with suppress(ValueError):
        if 0.1 <= (seconds := float(text)) <= LONGEST_TIMEOUT:
            return seconds
    raise ArgumentTypeError(f"{text} is no time-out of 0.1 seconds or more, and a day at most")


def pytest_configure(config: pytest.Config) -> None:
    """Take part where a backend is named. Raises pytest.UsageError for specs without one."""
    address, patterns = config.getoption("convcheck_backend"), config.getoption("convcheck_spec")
    if address:
        conformance = _Conformance(config, address, tuple(patterns))
        config.pluginmanager.register(conformance, "convcheck-session")
    elif patterns:
        raise pytest.UsageError("--convcheck-spec is of use with --convcheck-backend only")


class CaseFailedError(Exception):
    """A case failed; the message is what a terminal is to show of it."""


class _Conformance:
    """A session with a backend: selects cases, starts the backend, collects, ends it."""

    def __init__(self, config: pytest.Config, address: str, patterns: tuple[str, ...]) -> None:
        self.config, self.address, self.patterns = config, address, patterns
        self.cases: list[Case] = []
        self.notes: tuple[str, ...] = ()
        self.asker: Asker | None = None
        self.outcomes: set[str] = set()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Select the cases and start the backend: what is wrong is said before any test runs."""
        from convcheck.errors import ConvcheckError

        try:
            self.cases, corpus, self.notes = _select(self.address, self.patterns)
            self.asker = Asker(self.config, self.address, corpus.only(self.cases))
            if not (self.config.option.collectonly or hasattr(self.config, "workerinput")):
                self.asker.start()
        except ConvcheckError as error:
            raise pytest.UsageError(f"convcheck: {error}") from None
        if self.config.pluginmanager.hasplugin("dsession"):  # xdist: its workers have one each
            self.asker.end()

    def pytest_report_header(self) -> list[str]:
        """Say what is tested, and what there is to say of the vectors."""
        about = f"convcheck: {self.address}, {plural(len(self.cases), 'case')}, edge tier"
        return [about, *(f"convcheck: {note}" for note in self.notes)]

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Collect the cases after the user's own tests, of which there may be none."""
        report = yield
        if isinstance(collector, pytest.Session) and report.passed:
            cases = Cases.from_parent(
                collector, name=NODE, nodeid=NODE, cases=self.cases, asker=self.asker
            )
            report.result.append(cases)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what became of the cases, in xdist's workers too."""
        if report.nodeid.startswith(f"{NODE}::") and (report.when == "call" or report.failed):
            self.outcomes.add(report.outcome)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a session whose cases were all skipped: that is no pass."""
        if self.nothing_judged and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say where nothing was judged."""
        if self.nothing_judged:
            said = "convcheck: nothing was judged: every case is unsupported or undefined"
            terminalreporter.write_line(said, yellow=True)

    @property
    def nothing_judged(self) -> bool:
        """Return whether cases were asked, and none of them was judged."""
        return self.outcomes == {"skipped"}


def _select(address: str, patterns: tuple[str, ...]) -> tuple[list[Case], Corpus, tuple[str, ...]]:
    """Return the cases, their vectors, and notes on those. Raises ConvcheckError."""
    from convcheck.cli.options import catalog
    from convcheck.cli.turns import selected
    from convcheck.plan.select import Selection
    from convcheck.rules.load import data_dir
    from convcheck.vectors.corpus import open_corpus

    loaded = catalog(())
    cases = selected(loaded, Selection(patterns), [address])
    corpus = open_corpus(loaded, "edge", 0, data_dir("vectors"))
    return cases, corpus, corpus.check(cases)


class Asker:
    """Puts cases to the backend, which starts with the first and ends with the session."""

    def __init__(self, config: pytest.Config, address: str, corpus: Corpus) -> None:
        self.config, self.address, self.corpus = config, address, corpus
        self.standing: Standing | None = None
        self.info: BackendInfo | None = None

    def start(self) -> Standing:
        """Start the backend. Raises UnavailableError or UsageError."""
        from convcheck.pool.standing import Standing

        if self.standing is None:
            timeout = self.config.getoption("convcheck_timeout")
            self.standing = Standing(self.address, self.corpus, timeout)
            self.config.add_cleanup(self.end)
            opened = self.standing.open(self.config.get_terminal_writer().line)
            self.info = replace(opened, address=self.address)
        return self.standing

    def ask(self, case: Case) -> RunResult:
        """Ask a case; gives a run of it alone."""
        from convcheck.judge.result import RunResult

        result = self.start().ask(case)
        assert self.info is not None  # noqa: S101
        corpora = self.corpus.digests([case])
        return RunResult(self.info, self.corpus.tier, "disputed", corpora, (result,))

    def end(self) -> None:
        """End the backend, if it was started."""
        if self.standing is not None:
            self.standing.close()
            self.standing = None


class Cases(pytest.Collector):
    """All selected cases."""

    def __init__(self, *, cases: Sequence[Case], asker: Asker, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cases, self.asker = cases, asker

    def collect(self) -> Iterator[pytest.Item]:
        """Return a test per case, in the plan's order."""
        for case in self.cases:
            yield CaseTest.from_parent(self, name=case.id, case=case, asker=self.asker)


class CaseTest(pytest.Item):
    """One case put to the backend."""

    def __init__(self, *, case: Case, asker: Asker, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.case, self.asker = case, asker

    def runtest(self) -> None:
        """Ask and judge. Skips what could not be asked, and what nothing is judged of."""
        from convcheck.judge.result import FAILURES

        run = self.asker.ask(self.case)
        result = run.cases[0]
        if result.verdict in FAILURES:
            raise CaseFailedError(_text(run, self.config))
        if result.verdict in ("unsupported", "undefined"):
            pytest.skip(_why(result))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the report of the failure; a traceback only of what is nobody's finding."""
        from convcheck.errors import ConvcheckError

        if isinstance(excinfo.value, CaseFailedError | ConvcheckError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Name the case in headings."""
        return self.path, None, self.name


def _why(result: CaseResult) -> str:
    from convcheck.judge.words import clean

    if result.verdict == "undefined":
        return "undefined: the standard leaves all of it open"
    return f"unsupported: {clean(result.message) or 'no reason given'}"


def _text(run: RunResult, config: pytest.Config) -> str:
    """Return what the terminal report shows of the failures of a run, with our name of the option
    that a time-out tells.
    """
    from convcheck.report.draw.finding import plain_lines
    from convcheck.report.draw.layout import MAX_WIDTH
    from convcheck.report.make import document

    width = min(config.get_terminal_writer().fullwidth, MAX_WIDTH)
    verbose = config.get_verbosity() > 0
    shown = (plain_lines(one, width, verbose) for one in document(run).findings)
    return "\n\n".join(map("\n".join, shown)).replace("--timeout", "--convcheck-timeout")
