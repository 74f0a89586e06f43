"""Surveys of several backends put together, and told with few laws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from convcheck.judge.result import (
    BackendInfo,
    CaseField,
    CaseResult,
    DecisionField,
    Shard,
    Shown,
    Surveyed,
)
from convcheck.records import Record
from convcheck.rules.model import Case
from convcheck.semantics.expected import Decision
from convcheck.survey.model import unlike

SOME = "some"  # the kind of input of a backend that answers not all of a row
REFUSES, CRASHES, UNSUPPORTED, MALFORMED = "refuses", "crashes", "unsupported", "malformed answers"
_MOST = 4  # laws of a kind of input that are tried in combination

Told = tuple[tuple[str, str], ...]  # kinds of input ('' for all) with a law each, '' for none
Telling = list[tuple[Told, list[Case]]]
_Key = tuple[int, Case]  # a backend's number, and a case


class Column(Record, frozen=True):
    """A backend: as it was addressed, as it names itself, and why it could not be started."""

    #: As addressed on the command line.
    address: str
    #: None where it could not be started.
    info: BackendInfo | None
    #: Why it could not be started; '' where it was.
    error: str = ""


class AnswerDifference(Record, frozen=True):
    """A case that backends do not answer alike, with an input of which the survey shows it.

    `answers` has the answer of each backend, None where it was not asked; it is empty where the
    answers differ outside the sample that was kept. `inputs` counts those in it.
    """

    case: CaseField
    answers: tuple[Shown | None, ...]
    inputs: int

    @property
    def clear(self) -> tuple[bool, bool]:
        """How well it shows that backends differ: by two answers, at least by a refusal."""
        answered = [a for a in self.answers if a is not None and a.got is not None]
        return len(answered) > 1, bool(answered)


class SurveyRow(Record, frozen=True, rename={"decision": "rule"}):
    """A row of a spec: per case, what each backend did; None for one that was not asked."""

    decision: DecisionField
    cases: tuple[CaseField, ...]
    #: A tuple a case, with an entry a backend.
    answers: tuple[tuple[Surveyed | None, ...], ...]
    #: The cases that backends do not answer alike.
    differences: tuple[AnswerDifference, ...] = ()

    def of(self, backend: int) -> dict[Case, Surveyed]:
        """Return what one backend did, by case."""
        both = zip(self.cases, self.answers, strict=True)
        return {case: found for case, here in both if (found := here[backend]) is not None}

    @property
    def compared(self) -> int:
        """Count the cases that at least two backends took."""
        return sum(len([s for s in here if s is not None and s.digest]) > 1
                   for here in self.answers)  # fmt: skip

    @property
    def taken(self) -> bool:
        """Return whether at least one backend took a case of the row."""
        return any(_took(found) for here in self.answers for found in here)


class Survey(Record, frozen=True, rename={"columns": "backends"}):
    """A survey, or a shard of one."""

    columns: tuple[Column, ...]
    #: How many inputs were asked: edge, boundary or exhaustive.
    tier: str
    #: sha256 of the vectors asked
    corpus: str
    #: of a shard, also those that no backend took
    rows: tuple[SurveyRow, ...]
    #: what could not be surveyed, and what was generated anew
    notes: tuple[str, ...] = ()
    #: Whether it was stopped, and has what was finished.
    interrupted: bool = False
    shard: Shard | None = None
    #: the ids of the cases of the shard, in the order of the plan
    asked: tuple[str, ...] = ()

    @property
    def taken(self) -> tuple[SurveyRow, ...]:
        """Return the rows that at least one backend took."""
        return tuple(row for row in self.rows if row.taken)


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


def collect(
    results: Sequence[Sequence[CaseResult]], untaken: bool = False
) -> tuple[SurveyRow, ...]:
    """Put the results of several backends together, a row of a spec after the other.

    A row that several versions of an operator share is one. Rows that none of the backends took
    are left out, unless the `untaken` are wanted.
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
    made = (
        SurveyRow(first[key], tuple(found), tuple(map(tuple, found.values())), _differences(found))
        for key, found in rows.items()
    )
    return tuple(row for row in made if untaken or row.taken)


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
