"""Surveys of several backends put together, and told with few laws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from convcheck.judge.result import CaseResult, RunResult, Shown, Surveyed
from convcheck.plan.runner import Turn
from convcheck.rules.model import Case
from convcheck.semantics.expected import Decision
from convcheck.survey.model import unlike

SOME = "some"  # the kind of input of a backend that answers not all of a row
REFUSES, CRASHES, UNSUPPORTED, MALFORMED = "refuses", "crashes", "unsupported", "malformed answers"
_MOST = 4  # laws of a kind of input that are tried in combination

Told = tuple[tuple[str, str], ...]  # kinds of input ('' for all) with a law each, '' for none
Telling = list[tuple[Told, list[Case]]]
_Key = tuple[int, Case]  # a backend's number, and a case


@dataclass(frozen=True)
class AnswerDifference:
    """A case that backends do not answer alike, with an input of which the survey shows it.

    `answers` has the answer of each backend, None where it was not asked; it is empty where the
    answers differ outside the sample that was kept. `inputs` counts those in it.
    """

    case: Case
    answers: tuple[Shown | None, ...]
    inputs: int

    @property
    def clear(self) -> tuple[bool, bool]:
        """How well it shows that backends differ: by two answers, at least by a refusal."""
        answered = [a for a in self.answers if a is not None and a.got is not None]
        return len(answered) > 1, bool(answered)


@dataclass(frozen=True)
class SurveyRow:
    """A row of a spec: per case, what each backend did; None for one that was not asked."""

    decision: Decision
    cases: tuple[Case, ...]
    #: A tuple a case, with an entry a backend.
    answers: tuple[tuple[Surveyed | None, ...], ...]
    #: The cases that backends do not answer alike.
    differences: tuple[AnswerDifference, ...]

    def of(self, backend: int) -> dict[Case, Surveyed]:
        """Return what one backend did, by case."""
        both = zip(self.cases, self.answers, strict=True)
        return {case: found for case, here in both if (found := here[backend]) is not None}

    @property
    def compared(self) -> int:
        """Count the cases that at least two backends took."""
        return sum(len([s for s in here if s is not None and s.digest]) > 1
                   for here in self.answers)  # fmt: skip


@dataclass(frozen=True)
class Survey:
    """What several backends did, side by side."""

    columns: tuple[Turn, ...]

    @cached_property
    def rows(self) -> tuple[SurveyRow, ...]:
        """The rows that at least one backend took."""
        return collect([column.run.cases if column.run else () for column in self.columns])

    @property
    def runs(self) -> list[RunResult]:
        """What was found of the backends that were started."""
        return [column.run for column in self.columns if column.run]

    @property
    def notes(self) -> list[str]:
        """What could not be surveyed, and what was generated anew."""
        said = {note for run in self.runs for note in run.notes}
        lost = (unsurveyed(c.address, c.run.cases) for c in self.columns if c.run)
        return sorted(said.union(*lost))

    @property
    def interrupted(self) -> bool:
        """Whether it was stopped, and has what was finished."""
        return any(run.interrupted for run in self.runs)


def _differences(found: Mapping[Case, Sequence[Surveyed | None]]) -> tuple[AnswerDifference, ...]:
    return tuple(
        _difference(case, here)
        for case, here in found.items()
        if len({s.digest for s in here if s is not None and s.digest}) > 1
    )


def _difference(case: Case, here: Sequence[Surveyed | None]) -> AnswerDifference:
    """Find the inputs of which answers differ; backends that took a case have the same sample."""
    samples = [s.sample if s is not None and s.digest else None for s in here]
    found = unlike([sample for sample in samples if sample is not None])
    shown = tuple(s[found[0]] if s is not None else None for s in samples) if found else ()
    return AnswerDifference(case, shown, len(found))


def collect(results: Sequence[Sequence[CaseResult]]) -> tuple[SurveyRow, ...]:
    """Put the results of several backends together, a row of a spec after the other.

    A row that several versions of an operator share is one. Rows that none of the backends took
    are left out.
    """
    rows: dict[tuple[str, ...], dict[Case, list[Surveyed | None]]] = {}
    first: dict[tuple[str, ...], Decision] = {}
    for backend, cases in enumerate(results):
        for result in cases:
            for found in result.rows:
                by = found.decision
                key = (result.case.op, by.rule, by.row, by.level, by.cite)
                first.setdefault(key, by)
                here = rows.setdefault(key, {}).setdefault(result.case, [None] * len(results))
                here[backend] = found
    return tuple(
        SurveyRow(first[key], tuple(found), tuple(map(tuple, found.values())), _differences(found))
        for key, found in rows.items()
        if any(_took(one) for here in found.values() for one in here)
    )


def unsurveyed(address: str, results: Sequence[CaseResult]) -> list[str]:
    """Return a line for each case that came to nothing: a worker died, or an adapter raised."""
    lost = [r for r in results if r.verdict != "undefined"]
    return [f"{address}: {r.case.id} could not be surveyed, {r.verdict}: {r.message}" for r in lost]


def _took(found: Surveyed | None) -> bool:
    return found is not None and not found.unsupported and found.asked > 0


def tell(found: Sequence[Mapping[Case, Surveyed]]) -> list[Telling]:
    """Tell for each of several backends what it did in each case, with few laws.

    The law that fits most cases comes first, of equals the plainest; what no law fits comes last.
    Backends that do the same are told in the same words, but where fewer laws tell one by itself.
    """
    shared = _told({(b, case): one for b, cases in enumerate(found) for case, one in cases.items()})
    told = []
    for backend, cases in enumerate(found):
        alone = _told({(backend, case): one for case, one in cases.items()})
        among = [(telling, [key for key in keys if key[0] == backend]) for telling, keys in shared]
        among = [(telling, keys) for telling, keys in among if keys]
        best = alone if len(alone) < len(among) else among
        told.append([(telling, [case for _, case in keys]) for telling, keys in best])
    return told


def _told(found: Mapping[_Key, Surveyed]) -> list[tuple[Told, list[_Key]]]:
    """Take the law that fits most, then the one that fits most of the rest, to the end."""
    left = {key: tellings(one) for key, one in found.items()}
    told: list[tuple[Told, list[_Key]]] = []
    while left:
        counts: dict[Told, int] = {}
        for each in left.values():
            for telling in each:
                counts[telling] = counts.get(telling, 0) + 1
        best = max(counts, key=lambda t: (_rank(t), counts[t]))
        told.append((best, [key for key, each in left.items() if best in each]))
        left = {key: each for key, each in left.items() if best not in each}
    return told


def _rank(told: Told) -> int:
    """Put laws first, then what has none, then what was not answered."""
    laws = [law for _, law in told]
    if laws in ([UNSUPPORTED], [REFUSES]):
        return int(laws == [REFUSES])
    return 3 if all(laws) else 2


def tellings(one: Surveyed) -> tuple[Told, ...]:
    """Return every way to tell what a backend did in a case; the plainest first."""
    if one.unsupported:
        return ((("", UNSUPPORTED),),)
    if not one.asked:
        return ((("", MALFORMED),),)
    silent = tuple(word for word, n in ((REFUSES, one.refused), (CRASHES, one.crashed)) if n)
    if not one.fits:
        return (tuple(("" if len(silent) == 1 else SOME, word) for word in silent),)
    most = _MOST if len(one.fits) > 1 else None
    ways = product(*([(kind, law) for law in laws[:most] or ("",)] for kind, laws in one.fits))
    if not silent:
        return tuple(ways)
    before = tuple((SOME, word) for word in silent)
    return tuple((*before, *way) for way in ways)
