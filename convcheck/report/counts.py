"""Count cases and values."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from msgspec.structs import asdict

from convcheck.judge.result import (
    FAILURES,
    VERDICTS,
    CaseResult,
    RunResult,
    Tolerance,
    Verdict,
    gates,
)
from convcheck.records import Count, Record, grouped
from convcheck.rules.model import Level


@dataclass(frozen=True)
class Status:
    """A status of a case. `short` abbreviates the word, `symbol` replaces colour."""

    word: str
    short: str
    symbol: str
    #: A style of rich.
    style: str


KNOWN = Status("known", "known", "k", "yellow")
BELOW = Status("below gate", "below", "f", "yellow")
WAIVED = Status("waived", "waive", "w", "cyan")
STATUSES = (  # the worst first
    Status("error", "error", "E", "bold magenta"),
    Status("crashed", "crash", "C", "bold red"),
    Status("fail", "fail", "F", "bold red"),
    Status("refused", "refus", "R", "bold red"),
    Status("inconsistent", "incon", "I", "bold red"),
    KNOWN,
    BELOW,
    WAIVED,
    Status("tolerated", "toler", "~", "yellow"),
    Status("pass", "pass", ".", "green"),
    Status("undefined", "undef", "u", "cyan"),
    Status("unsupported", "unsup", "-", "dim"),
)
#: In a matrix with letters of causes, where the symbols above could be letters.
UNEXPLAINED = Status("not explained", "none", "!", "bold red")
NO_FAILURE = Status("no failure", "none", ".", "green")
STYLES = {status.word: status.style for status in STATUSES}
#: The words of those that fail, also of those that fail no run.
FAILING = {*FAILURES, BELOW.word, KNOWN.word, WAIVED.word}
_BY_WORD = {status.word: status for status in STATUSES}
_RANKS = {status.word: rank for rank, status in enumerate(STATUSES)}


def worse(one: Status, other: Status) -> Status:
    """Return the worse of two statuses."""
    return other if _RANKS[other.word] < _RANKS[one.word] else one


def status_of(case: CaseResult, level: Level) -> Status:
    """Return a case's status in a run gated at `level`."""
    if case.verdict in FAILURES and not case.gates(level):
        kinds = _excuses_of(case)
        return KNOWN if "known" in kinds else WAIVED if "waived" in kinds else BELOW
    return _BY_WORD[case.verdict]


def _excuses_of(case: CaseResult) -> frozenset[Tolerance]:
    if case.verdict not in FAILURES:
        return frozenset()
    given = (case.excuse, *(group.excuse for group in case.groups))
    return frozenset(excuse.kind for excuse in given if excuse)


def required_score(cases: Iterable[CaseResult], size: int) -> tuple[int, int]:
    """Return how many of `size` required cases pass, and the tier.

    Tier 1: all. Tier 2: all under normative rules. Tier 3: the rest.
    """
    cases = tuple(cases)
    left = [case for case in cases if case.verdict not in ("pass", "tolerated")]
    levels = [{g.decision.level for g in c.groups if g.verdict in FAILURES} for c in left]
    only_below = all(some and "normative" not in some for some in levels)
    tier = 3 if len(cases) < size or not only_below else 2 if left else 1
    return len(cases) - len(left), tier


class CaseCounts(Record, frozen=True, kw_only=True):
    """Counts of cases and values.

    `gated` counts cases that fail the run, `wrong` their wrong values. `values_judged` counts
    checked values except undefined ones, `judged` the cases with such values. `known` and `waived`
    count cases with such failures; a case can be in both, and in `gated`.
    """

    cases: Count
    judged: Count
    #: Values or calls tested.
    checked: Count
    values_judged: Count
    gated: Count
    wrong: Count
    known: Count
    waived: Count
    verdicts: dict[Verdict, int]

    def __add__(self, more: "CaseCounts") -> "CaseCounts":
        mine, theirs = asdict(self), asdict(more)
        verdicts = {v: self.verdicts[v] + more.verdicts[v] for v in VERDICTS}
        sums = {name: mine[name] + theirs[name] for name in mine if name != "verdicts"}
        return CaseCounts(**sums, verdicts=verdicts)


class Summary(CaseCounts, frozen=True, kw_only=True):
    """The counts of a whole run."""

    #: The counts of each spec, in plan order.
    specs: dict[str, CaseCounts]


def summary_of(result: RunResult) -> Summary:
    """Return the counts of a run, in total and by spec."""
    counts = {spec: counts_of(cases, result.level) for spec, cases in by_spec(result).items()}
    whole = sum(counts.values(), start=counts_of((), result.level))
    return Summary(**asdict(whole), specs=counts)


def counts_of(cases: Iterable[CaseResult], level: Level) -> CaseCounts:
    """Count cases in a run gated at `level`."""
    cases = tuple(cases)
    excuses = [_excuses_of(c) for c in cases]
    counted = Counter(c.verdict for c in cases)
    verdicts = {v: counted[v] for v in VERDICTS}
    return CaseCounts(
        cases=len(cases),
        judged=len(cases) - verdicts["undefined"] - verdicts["unsupported"],
        checked=sum(c.checked for c in cases),
        values_judged=sum(c.values_judged for c in cases),
        gated=sum(c.gates(level) for c in cases),
        wrong=sum(_wrong(c, level) for c in cases),
        known=sum("known" in kinds for kinds in excuses),
        waived=sum("waived" in kinds for kinds in excuses),
        verdicts=verdicts,
    )


def by_spec(result: RunResult) -> dict[str, tuple[CaseResult, ...]]:
    """Group the cases of a run by spec, in plan order."""
    specs = grouped((case.case.spec, case) for case in result.cases)
    return {spec: tuple(cases) for spec, cases in specs.items()}


def _wrong(case: CaseResult, level: Level) -> int:
    """Count failing values. A value tested in several placements counts once."""
    if case.verdict not in FAILURES:
        return 0
    counts: Counter[str] = Counter()
    for group in case.groups:
        counts[group.placement] += group.count * gates(group, level)
    return max(counts.values(), default=0)
