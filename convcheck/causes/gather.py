"""Diagnoses of cases -> the few causes of a run.

Several causes may give all answers of a case. Told are as few as explain every case: first the
cause of most cases, then the cause of most other cases, and so on. Between causes of equally many
cases, the likelier one is told: an edit of the whole operator before one of single values, one that
was found somewhere before others, then the plainer one. But where cases differ in one attribute
alone, and right answers under one of its values show that it is ignored, that is the cause.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from string import ascii_uppercase
from typing import TYPE_CHECKING, TypeVar

from convcheck.judge.result import FAILURES, CaseResult, CauseInWords, Group, Names, Part
from convcheck.rules.cause_files import CauseFile
from convcheck.rules.model import Case
from convcheck.rules.types import Types

if TYPE_CHECKING:
    from convcheck.rules.causes import Cause

K = TypeVar("K", bound=Hashable)
FEW = 30  # wrong answers, fewer of which are little evidence


@dataclass(frozen=True)
class Explanation:
    """A cause, or two together, with the cases that it explains."""

    #: The causes that are at work together, mostly one.
    causes: tuple[CauseInWords, ...]
    #: In the order of the plan.
    cases: tuple[CaseResult, ...]
    #: What gives all answers of all of these cases as well: no input that was asked tells them
    #: apart.
    others: tuple[tuple[CauseInWords, ...], ...]

    @property
    def answers(self) -> int:
        """How many answers it gives: all that a rule decides, in all of its cases."""
        return sum(case.diagnosis.answers for case in self.cases if case.diagnosis)

    @property
    def wrong(self) -> int:
        """How many of these answers are wrong."""
        return sum(case.diagnosis.wrong for case in self.cases if case.diagnosis)

    @property
    def is_on_few_answers(self) -> bool:
        """Whether few wrong answers support it: those of several versions count once."""
        most: dict[str, int] = {}
        for case in self.cases:
            if found := case.diagnosis:
                wrong = found.wrong + found.beside
                most[case.case.name] = max(wrong, most.get(case.case.name, 0))
        return sum(most.values()) < FEW

    @property
    def in_whole_vectors(self) -> bool:
        """Whether its inputs are right alone, in short tensors or in a tail, in all cases."""
        return all(case.diagnosis and case.diagnosis.whole_vectors for case in self.cases)


@dataclass(frozen=True)
class Diagnosis:
    """What the causes of a run are."""

    #: That of most cases first.
    explanations: tuple[Explanation, ...]
    #: The cases that fail and that nothing explains.
    unexplained: tuple[CaseResult, ...]
    #: All cases that were judged.
    judged: tuple[Case, ...]

    @property
    def failing(self) -> int:
        """How many cases fail."""
        return self.explained + len(self.unexplained)

    @property
    def explained(self) -> int:
        """How many of the cases that fail are explained."""
        return sum(len(one.cases) for one in self.explanations)


def gathered(results: Sequence[CaseResult], causes: Sequence[CauseInWords]) -> Diagnosis:
    """Return the causes of a run, given the results of its cases and the causes that these name.

    Cases that a list of known failures excuses are left out.
    """
    by_name = {cause.name: cause for cause in causes}
    failing = [r for r in results if r.verdict in FAILURES and not r.excused]
    explained = {result.case.id: result for result in failing if _fits(result)}
    found: list[Explanation] = []
    for names, ids in chosen_causes(_by_neighbours(results, explained, by_name), by_name):
        mine = [explained[key] for key in ids]
        others = [fit for fit in _fits(mine[0]) if fit != names]
        alike = [fit for fit in others if all(fit in _fits(one) for one in mine)]
        told = [tuple(by_name[name] for name in fit) for fit in (names, *alike)]
        found.append(Explanation(told[0], tuple(mine), tuple(told[1:])))
    open_ones = ("unsupported", "undefined")
    judged = tuple(result.case for result in results if result.verdict not in open_ones)
    unexplained = tuple(result for result in failing if not _fits(result))
    return Diagnosis(tuple(found), unexplained, judged)


Neighbours = Mapping[tuple[str, str], Sequence[CaseResult]]


def _neighbours(results: Sequence[CaseResult], attributes: Collection[str]) -> Neighbours:
    """Return the cases that differ in an attribute alone, by it and what they have in common."""
    found: dict[tuple[str, str], list[CaseResult]] = {}
    for result in results:
        for attribute in attributes:
            found.setdefault((attribute, _without(attribute, result.case)), []).append(result)
    return found


def _without(attribute: str, case: Case) -> str:
    parts = case.id.split("/")
    return "/".join(part for part in parts if not part.startswith(f"{attribute}="))


def _by_neighbours(
    results: Sequence[CaseResult],
    explained: Mapping[str, CaseResult],
    causes: Mapping[str, CauseInWords],
) -> Mapping[str, Sequence[Names]]:
    """Return what fits each case. If its neighbours show that an attribute is ignored, that is all;
    what has an attribute ignored, which none show in any case, is left out if anything else fits.
    More cases of the operator in which the attribute is obeyed outweigh those that show it.
    """
    neighbours = _neighbours(results, {name for one in causes.values() for name, _ in one.under})
    shown = {
        (key, names)
        for key, result in explained.items()
        for names in _fits(result)
        for name in names
        for attribute, value in causes[name].under
        if _shows(name, names, value, attribute, result.case, neighbours)
    }
    shown -= _outweighed(shown, explained, neighbours, causes)
    ever = {names for _, names in shown}
    found = {}
    for key, result in explained.items():
        fits = _fits(result)
        likely = [n for n in fits if n in ever or not any(causes[name].under for name in n)]
        found[key] = [names for names in fits if (key, names) in shown] or likely or fits
    return found


Shown = tuple[str, Names]  # a case, and what has an attribute ignored there


def _outweighed(
    shown: Set[Shown],
    explained: Mapping[str, CaseResult],
    neighbours: Neighbours,
    causes: Mapping[str, CauseInWords],
) -> set[Shown]:
    """Return what is shown in fewer cases of a spec than there are neighbours of which each value
    of the attribute is obeyed: all are right, and other rows decide them.
    """
    obeyed: Counter[tuple[str, str]] = Counter()
    for (attribute, _), alike in neighbours.items():
        rows = {frozenset(map(_row, one.groups)) for one in alike}
        right = all(one.verdict == "pass" for one in alike)
        obeyed[attribute, alike[0].case.spec] += right and len(rows) > 1
    found: dict[tuple[str, str, Names], set[Shown]] = {}
    for key, names in shown:
        for attribute in {attribute for name in names for attribute, _ in causes[name].under}:
            spec = explained[key].case.spec
            found.setdefault((attribute, spec, names), set()).add((key, names))
    few = [some for (at, spec, _), some in found.items() if len(some) < obeyed[at, spec]]
    return set().union(*few)


def _row(group: Group) -> tuple[str, str]:
    return group.decision.rule, group.decision.row


def _shows(
    name: str, names: Names, value: str, attribute: str, case: Case, neighbours: Neighbours
) -> bool:
    """Return whether, of cases that differ in one attribute, that with the value in force is
    right but for the other causes, and more of the others are explained than are not: under some
    values the rules say the same.
    """
    others = tuple(other for other in names if other != name)
    right, explained, against = False, 0, 0
    for one in neighbours[attribute, _without(attribute, case)]:
        given = dict(one.case.attributes).get(attribute, value)
        is_right = others in _fits(one) if others else one.verdict in ("pass", "tolerated")
        right |= given == value and is_right
        explained += given != value and names in _fits(one)
        against += given != value and names not in _fits(one)
    return right and explained > against


def with_letters(
    explanations: Sequence[Explanation], known: Mapping[str, str]
) -> Iterator[tuple[str, Explanation]]:
    """Yield causes with their letters: A to Z, then A2 and so on. Two that are at work together
    have those of both: A+C. Those that are `known` by a name keep theirs.
    """
    letters = dict(known)
    for one in explanations:
        for cause in one.causes:
            letters.setdefault(cause.name, letter_of(len(letters)))
        yield "+".join(letters[cause.name] for cause in one.causes), one


def letters_by_name(found: Diagnosis) -> Mapping[str, str]:
    """Return the letter of each cause of a whole run, by its name."""
    return {
        cause.name: letter
        for letters, one in with_letters(found.explanations, {})
        for letter, cause in zip(letters.split("+"), one.causes, strict=True)
    }


def letter_of(place: int) -> str:
    """Return the letter of a cause by its place: A to Z, then A2 and so on."""
    again, at = divmod(place, len(ascii_uppercase))
    return ascii_uppercase[at] + (str(again + 1) if again else "")


def _fits(result: CaseResult) -> tuple[Names, ...]:
    return result.diagnosis.fits if result.diagnosis else ()


def chosen_causes(
    fits: Mapping[K, Sequence[Names]], causes: Mapping[str, CauseInWords]
) -> Iterator[tuple[Names, list[K]]]:
    """Yield few causes that explain all of some cases, each with those that it explains, given all
    that fits each case: first what explains most, then what explains most of the others. What the
    others explain as well is no reason to tell a cause, nor to tell one that is less likely.
    """
    order = {n: _rank(n, causes) for found in fits.values() for n in found}
    told = [names for names, _ in _shared_out(fits, order)]
    for names in tuple(told):
        others = set(told) - {names}
        own = [set(found) for found in fits.values() if others.isdisjoint(found)]
        likeliest = [min(set.intersection(*own), key=order.__getitem__)] if own else []
        told = [*others, *likeliest]
    kept = set(told)
    yield from _shared_out({k: kept.intersection(found) for k, found in fits.items()}, order)


Order = tuple[int, list[int]]


def _rank(names: Names, causes: Mapping[str, CauseInWords]) -> Order:
    """Return what the likeliest has the least of: the fewest, then the first."""
    return len(names), [causes[name].order for name in names]


def _shared_out(
    fits: Mapping[K, Collection[Names]], order: Mapping[Names, Order]
) -> Iterator[tuple[Names, list[K]]]:
    """Yield what explains most cases, of several the likeliest, and so on with the other cases."""
    left = dict(fits)
    while left:
        counts = Counter(names for found in left.values() for names in found)
        names = min(counts, key=lambda n: (-counts[n], order[n]))
        yield names, [key for key, found in left.items() if names in found]
        left = {key: found for key, found in left.items() if names not in found}


def names_told(results: Iterable[CaseResult], parts: Iterable[Part] = ()) -> set[str]:
    """Return the names of the causes that are told of cases, and of what there is of cases."""
    found = [result.diagnosis for result in results if result.diagnosis]
    named = {name for one in found for fit in one.fits for name in fit}
    named |= {near.name for one in found for near in one.near}
    fits = (fit for part in parts if part.tally for fit in part.tally.fits or ())
    return named.union(*(fit.names for fit in fits))


def causes_named(
    results: Sequence[CaseResult], catalogue: Sequence[Cause], parts: Iterable[Part] = ()
) -> tuple[CauseInWords, ...]:
    """Return the causes of a catalogue that diagnoses name, or parts of cases, in words."""
    named = names_told(results, parts)
    ranked = sorted(catalogue, key=lambda cause: (not cause.of_operator, not cause.common))
    words = (CauseInWords(c.name, c.says, i, c.under) for i, c in enumerate(ranked))
    return tuple(one for one in words if one.name in named)


def named_of(
    results: Sequence[CaseResult],
    files: Sequence[CauseFile],
    types: Types,
    parts: Sequence[Part] = (),
) -> tuple[CauseInWords, ...]:
    """Return the causes in files that diagnoses name, or parts of cases: none are read where they
    name none. Raises SpecError for what cannot be read.
    """
    if not names_told(results, parts):
        return ()
    from convcheck.causes.catalogue import causes_in

    return causes_named(results, causes_in(files, types), parts)
