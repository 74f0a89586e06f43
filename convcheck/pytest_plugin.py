"""Test a backend with pytest: `pytest --convcheck-backend package.module:Class`.

Each case is a test. Without the option, the plugin imports nothing else of convcheck.
"""

from argparse import ArgumentTypeError
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from convcheck.gate.baseline import KnownList
    from convcheck.judge.result import CaseResult, Problem, RunResult
    from convcheck.pool.local import Session
    from convcheck.rules.model import Case
    from convcheck.vectors.corpus import Corpus

NODE = "convcheck"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("convcheck", "conformance of numeric type conversion")
    group.addoption(
        "--convcheck-backend", metavar="ADDRESS",
        help="Test each case on this backend: package.module:Class, or a name that "
        "`convcheck show backends` lists.",
    )  # fmt: skip
    group.addoption(
        "--convcheck-spec", action="append", default=[], metavar="GLOB",
        help="Only cases of these specs, such as 'onnx.Cast-2*'. May be repeated. "
        "The default is every spec that the backend implements.",
    )  # fmt: skip
    group.addoption(
        "--convcheck-timeout", metavar="SECONDS", type=_seconds, default=30.0,
        help="Time-out of a backend call in seconds (default: 30), like --timeout of "
        "`convcheck run`.",
    )  # fmt: skip
    group.addoption(
        "--convcheck-tier", choices=["edge", "boundary"], default="edge",
        help="Test edge inputs (default), or every rounding boundary.",
    )  # fmt: skip
    group.addoption(
        "--convcheck-known", metavar="FILE",
        help="Known failures and waivers, like --known of `convcheck run`: a test is expected to "
        "fail if all its failures are listed.",
    )  # fmt: skip


OF_A_BACKEND = ("spec", "known")
LONGEST_TIMEOUT = 86_400.0  # seconds


def _seconds(text: str) -> float:
    with suppress(ValueError):
        if 0.1 <= (seconds := float(text)) <= LONGEST_TIMEOUT:
            return seconds
    raise ArgumentTypeError(f"{text} is not between 0.1 seconds and a day")


def pytest_configure(config: pytest.Config) -> None:
    """Start if a backend is named. Raises pytest.UsageError for options that need one."""
    config.addinivalue_line("markers", "convcheck_prove(case, function): see docs/prove.md")
    if address := config.getoption("convcheck_backend"):
        config.pluginmanager.register(_Conformance(config, address), "convcheck-session")
        return
    for name in OF_A_BACKEND:
        if config.getoption(f"convcheck_{name}"):
            said = f"--convcheck-{name} needs --convcheck-backend"
            raise pytest.UsageError(said)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Fail a test marked `convcheck_prove(CASE, "FILE:NAME")` unless the function is proved."""
    for marker in pyfuncitem.iter_markers("convcheck_prove"):
        from convcheck.cli.prove import prove_one

        proved, page = prove_one(*marker.args)
        if not proved:
            pytest.fail(page, pytrace=False)


class CaseFailedError(Exception):
    """A case failed. The message is its report."""


class _Conformance:
    def __init__(self, config: pytest.Config, address: str) -> None:
        self.config, self.address = config, address
        self.cases: list[Case] = []
        self.notes: tuple[str, ...] = ()
        self.asker: Asker | None = None
        self.outcomes: set[str] = set()
        self.untold: list[Problem] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Select the cases and start the backend, so that errors come before any test."""
        from convcheck.errors import ConvcheckError

        try:
            self.cases, corpus, gate = _select(self.config, self.address)
            self.notes = corpus.check(self.cases)
            self.asker = Asker(self.config, self.address, corpus.only(self.cases), gate, self.cases)
            if not (self.config.option.collectonly or hasattr(self.config, "workerinput")):
                self.asker.start()
        except ConvcheckError as error:
            raise pytest.UsageError(f"convcheck: {error}") from None
        if self.config.pluginmanager.hasplugin("dsession"):  # each of xdist's workers has its own
            self.asker.end()

    def pytest_report_header(self) -> list[str]:
        """Report the backend, the cases and notes about vectors."""
        from convcheck.streams import plural

        tier = self.config.getoption("convcheck_tier")
        about = f"convcheck: {self.address}, {plural(len(self.cases), 'case')}, {tier} tier"
        return [about, *(f"convcheck: {note}" for note in self.notes)]

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Collect the cases after the user's own tests."""
        report = yield
        if isinstance(collector, pytest.Session) and report.passed:
            cases = Cases.from_parent(
                collector, name=NODE, nodeid=NODE, cases=self.cases, asker=self.asker
            )
            report.result.append(cases)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record the outcomes of cases, also from xdist's workers."""
        if report.nodeid.startswith(f"{NODE}::") and (report.when == "call" or report.failed):
            expected = hasattr(report, "wasxfail")  # a known failure was judged
            self.outcomes.add("failed" if expected else report.outcome)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a session without judged cases or with outdated known failures."""
        self.untold = self.asker.untold() if self.asker else []
        if session.exitstatus != pytest.ExitCode.OK:
            return
        if self.untold:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        elif self.nothing_judged:
            session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Report problems of the list, and a session without judged cases."""
        for problem in self.untold:
            terminalreporter.write_line(_problem(problem), red=True)
        if self.nothing_judged:
            said = "convcheck: nothing was judged: every case is unsupported or undefined"
            terminalreporter.write_line(said, yellow=True)

    @property
    def nothing_judged(self) -> bool:
        """Whether all cases were skipped."""
        return self.outcomes == {"skipped"}


@dataclass(frozen=True)
class Gate:
    """The known failures that results are compared with."""

    known: "KnownList | None"
    #: Returns the ids of all cases with one of these prefixes.
    every: Callable[[tuple[str, ...]], Iterable[str]]

    def held(self, run: "RunResult") -> "RunResult":
        """Return the run with excuses and problems of the list."""
        from datetime import date

        from convcheck.gate.baseline import hold

        return hold(run, self.known, self.every, date.today()) if self.known else run


def _select(config: pytest.Config, address: str) -> "tuple[list[Case], Corpus, Gate]":
    from convcheck.cli.asking import selected
    from convcheck.cli.options import catalog
    from convcheck.cli.reports import every_id
    from convcheck.gate.baseline import read_known
    from convcheck.plan.selection import Selection
    from convcheck.rules.load import data_dir
    from convcheck.vectors.corpus import open_corpus

    given = {name: config.getoption(f"convcheck_{name}") for name in (*OF_A_BACKEND, "tier")}
    loaded = catalog()
    known = read_known(given["known"], loaded) if given["known"] else None
    cases = selected(loaded, Selection(tuple(given["spec"])), [address])
    corpus = open_corpus(loaded, given["tier"], 0, data_dir("vectors"))
    every = every_id(loaded)
    return cases, corpus, Gate(known, cache(lambda starts: tuple(every(starts))))


class Asker:
    """Tests cases on the backend, which starts with the first case."""

    def __init__(
        self, config: pytest.Config, address: str, corpus: "Corpus", gate: Gate, cases: "list[Case]"
    ) -> None:
        from convcheck.plan.units import later_versions
        from convcheck.rules.causes import cause_files

        self.causes = cause_files(corpus.catalog)
        self.config, self.address, self.corpus, self.gate = config, address, corpus, gate
        self.later = later_versions(cases)
        self.found: list[CaseResult] = []
        self.told: set[Problem] = set()
        self.session: Session | None = None

    def start(self) -> "Session":
        """Start the backend. Raises UnavailableError or UsageError."""
        from convcheck.pool.local import Session

        if self.session is None:
            timeout = self.config.getoption("convcheck_timeout")
            say = self.config.get_terminal_writer().line
            self.session = Session(self.address, self.corpus, timeout, self.causes, say)
            self.config.add_cleanup(self.end)
        return self.session

    def ask(self, case: "Case") -> "RunResult":
        """Test a case. Returns a run of it alone, compared with known failures."""
        self.found.append(self.start().ask(case, self.later[case.id]))
        run = self._held(self.found[-1:])
        self.told.update(run.problems)
        return run

    def untold(self) -> "list[Problem]":
        """Return problems of the list that show only in all cases together."""
        if not (self.gate.known and self.found):
            return []
        return [one for one in self._held(self.found).problems if one not in self.told]

    def _held(self, found: "Sequence[CaseResult]") -> "RunResult":
        from convcheck.causes.gather import named_of
        from convcheck.judge.result import RunResult
        from convcheck.records import replace

        info = replace(self.start().info, address=self.address)
        corpora = self.corpus.digests([one.case for one in found])
        causes = named_of(found, self.causes, self.corpus.catalog.types)
        run = RunResult(info, self.corpus.tier, "disputed", corpora, tuple(found), causes=causes)
        return self.gate.held(run)

    def end(self) -> None:
        """End the backend, if it was started."""
        if self.session is not None:
            self.session.close()
            self.session = None


class Cases(pytest.Collector):
    """All selected cases."""

    def __init__(self, *, cases: "Sequence[Case]", asker: Asker, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cases, self.asker = cases, asker

    def collect(self) -> Iterator[pytest.Item]:
        """Yield a test for each case, in plan order."""
        for case in self.cases:
            yield CaseTest.from_parent(self, name=case.id, case=case, asker=self.asker)


class CaseTest(pytest.Item):
    """The test of one case."""

    def __init__(self, *, case: "Case", asker: Asker, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.case, self.asker = case, asker

    def runtest(self) -> None:
        """Test the case. Known failures are expected to fail."""
        from convcheck.judge.words import clean

        run = self.asker.ask(self.case)
        result = run.cases[0]
        if run.outcome == "fail":
            raise CaseFailedError(_text(run, self.config))
        said: dict[str, None] = {}
        for excuse in (result.excuse, *(group.excuse for group in result.groups)):
            if excuse:
                about = (f"{excuse.kind}: {clean(excuse.reason)}", clean(excuse.issue))
                said[", ".join(filter(None, about))] = None
        if said:
            pytest.xfail("; ".join(said))
        if result.verdict == "undefined":
            pytest.skip("undefined: the standard defines no result")
        if result.verdict == "unsupported":
            pytest.skip(f"unsupported: {clean(result.message) or 'no reason given'}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the report of a failure, or the traceback of an internal error."""
        from convcheck.errors import ConvcheckError

        if isinstance(excinfo.value, CaseFailedError | ConvcheckError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Return the heading of a failure."""
        return self.path, None, self.name


def _problem(problem: "Problem") -> str:
    said = f"{problem.kind.upper()} {problem.place}: {problem.message}"
    return "\n".join([said, *problem.repair.splitlines()])


def _text(run: "RunResult", config: pytest.Config) -> str:
    """Return the cause or failure in a line for pytest's summary, then the terminal report."""
    from convcheck.report.document import Document
    from convcheck.report.draw.console import MAX_WIDTH, plain_lines
    from convcheck.report.draw.finding import finding_blocks

    width = min(config.get_terminal_writer().fullwidth, MAX_WIDTH)
    verbose = config.get_verbosity() > 0
    report = Document(run)
    found = [one for one in report.findings if one.gated]
    said = [f"{one.labelled_line} ({one.count or '1 case'})" for one in found[:1]]
    if causes := report.causes:
        said = [f"{one.whole} ({one.count})" for one in causes]
    shown = ("\n".join(plain_lines(finding_blocks(one, verbose), width)) for one in found)
    parts = [*said, *shown, *map(_problem, run.problems)]
    return "\n\n".join(parts).replace("--timeout", "--convcheck-timeout")
