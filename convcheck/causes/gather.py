"""Choose a run's few causes from the diagnoses of its cases.

A greedy set cover chooses the cause of most cases, then of most remaining cases. Ties go to the
likelier: edits of the whole operator, then observed causes, then simpler ones. But if cases differ
in one attribute only, and right answers under one value show that it is ignored, that is the cause.
"""

from collections import Counter
from collections.abc import (
    Callable,
    Collection,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)
from dataclasses import dataclass
from functools import cached_property
from string import ascii_uppercase
from typing import Any, TypeVar

from convcheck.judge.result import FAILURES, CaseResult, CauseInWords, Names, Part
from convcheck.rules.causes import Cause, CauseFile
from convcheck.rules.model import DEFAULT, LEVELS, Case, Level
from convcheck.rules.types import Types

K = TypeVar("K", bound=Hashable)
N = TypeVar("N", bound=Hashable)
#: kinds of error of one ulp, or in the sign of a zero or NaN
_SLIGHT = ("one ulp", "off by one", "zero with the wrong sign", "NaN with the wrong sign")
FEW = 30  # wrong answers, below which evidence is weak


@dataclass(frozen=True)
class Explanation:
    """A cause, or two together, and the cases it explains."""

    causes: tuple[CauseInWords, ...]
    cases: tuple[CaseResult, ...]
    others: tuple[tuple[CauseInWords, ...], ...]  # causes that explain all these cases as well

    @property
    def answers(self) -> int:
        """The number of answers explained."""
        return sum(case.diagnosis.answers for case in self.cases if case.diagnosis)

    @property
    def wrong(self) -> int:
        """The number of wrong ones."""
        return sum(case.diagnosis.wrong for case in self.cases if case.diagnosis)

    @property
    def is_on_few_answers(self) -> bool:
        """Whether few wrong answers support it. An operator's versions count once."""
        most: dict[str, int] = {}
        for case in self.cases:
            if found := case.diagnosis:
                wrong = found.wrong + found.beside
                most[case.case.name] = max(wrong, most.get(case.case.name, 0))
        return sum(most.values()) < FEW

    @cached_property
    def level(self) -> Level:
        """The strongest level of a rule that fails."""
        groups = (group for case in self.cases for group in case.groups)
        levels = {group.decision.level for group in groups if group.verdict in FAILURES}
        return next((level for level in LEVELS if level in levels), "normative")

    @property
    def hits_defaults(self) -> bool:
        """Whether a case fails without attributes, or with all omitted."""
        return any(all(value == DEFAULT for _, value in c.case.attributes) for c in self.cases)

    @property
    def harm(self) -> tuple[object, ...]:
        """A sort key: causes before combinations, level, defaults, size of error, cases."""
        groups = (group for case in self.cases for group in case.groups)
        slight = all(g.kind.startswith(_SLIGHT) for g in groups if g.verdict in FAILURES)
        level = LEVELS.index(self.level)
        return len(self.causes) > 1, level, not self.hits_defaults, slight, -len(self.cases)

    @property
    def in_whole_vectors(self) -> bool:
        """Whether its inputs are right alone, in short tensors or in a tail."""
        return all(case.diagnosis and case.diagnosis.whole_vectors for case in self.cases)


@dataclass(frozen=True)
class Diagnosis:
    """The causes of a run."""

    explanations: tuple[Explanation, ...]  # the most harmful first
    unexplained: tuple[CaseResult, ...]
    judged: tuple[Case, ...]


def gathered(results: Sequence[CaseResult], causes: Sequence[CauseInWords]) -> Diagnosis:
    """Return a run's causes, without cases that a list of known failures excuses."""
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
    return Diagnosis(tuple(sorted(found, key=lambda one: one.harm)), unexplained, judged)


Neighbours = Mapping[tuple[str, str], Sequence[CaseResult]]


def _neighbours(results: Sequence[CaseResult], attributes: Collection[str]) -> Neighbours:
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
    """Return each case's causes: ignored attributes that neighbours show, else others."""
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


Shown = tuple[str, Names]  # a case, and causes ignoring an attribute there


def _outweighed(
    shown: Set[Shown],
    explained: Mapping[str, CaseResult],
    neighbours: Neighbours,
    causes: Mapping[str, CauseInWords],
) -> set[Shown]:
    """Return evidence with fewer cases than neighbours right by different rows."""
    obeyed: Counter[tuple[str, str]] = Counter()
    for (attribute, _), alike in neighbours.items():
        rows = {frozenset((g.decision.rule, g.decision.row) for g in one.groups) for one in alike}
        right = all(one.verdict == "pass" for one in alike)
        obeyed[attribute, alike[0].case.spec] += right and len(rows) > 1
    found: dict[tuple[str, str, Names], set[Shown]] = {}
    for key, names in shown:
        for attribute in {attribute for name in names for attribute, _ in causes[name].under}:
            spec = explained[key].case.spec
            found.setdefault((attribute, spec, names), set()).add((key, names))
    few = [some for (at, spec, _), some in found.items() if len(some) < obeyed[at, spec]]
    return set().union(*few)


def _shows(
    name: str, names: Names, value: str, attribute: str, case: Case, neighbours: Neighbours
) -> bool:
    """Return whether neighbours with the assumed value are right, and most others explained."""
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
    """Yield causes with letters: A to Z, then A2; A+C is two together. `known` letters stay."""
    letters = dict(known)
    for one in explanations:
        for cause in one.causes:
            letters.setdefault(cause.name, letter_of(len(letters)))
        yield "+".join(letters[cause.name] for cause in one.causes), one


def letters_by_name(found: Diagnosis) -> Mapping[str, str]:
    """Return the letter of each cause."""
    return {
        cause.name: letter
        for letters, one in with_letters(found.explanations, {})
        for letter, cause in zip(letters.split("+"), one.causes, strict=True)
    }


def letter_of(place: int) -> str:
    """Return a cause's letter by its index."""
    again, at = divmod(place, len(ascii_uppercase))
    return ascii_uppercase[at] + (str(again + 1) if again else "")


def _fits(result: CaseResult) -> tuple[Names, ...]:
    return result.diagnosis.fits if result.diagnosis else ()


def chosen_causes(
    fits: Mapping[K, Sequence[Names]], causes: Mapping[str, CauseInWords]
) -> Iterator[tuple[Names, list[K]]]:
    """Yield a small set of causes that covers all cases, the likeliest of equal use."""
    every = {names for found in fits.values() for names in found}
    order = {names: (len(names), [causes[name].order for name in names]) for names in every}

    def rank(names: Names, count: int) -> object:
        return -count, order[names]

    told = [names for names, _ in cover(fits, rank)]
    for names in tuple(told):
        others = set(told) - {names}
        own = [set(found) for found in fits.values() if others.isdisjoint(found)]
        likeliest = [min(set.intersection(*own), key=order.__getitem__)] if own else []
        told = [*others, *likeliest]
    kept = set(told)
    yield from cover({k: kept.intersection(found) for k, found in fits.items()}, rank)


def cover(
    fits: Mapping[K, Collection[N]], rank: Callable[[N, int], Any]
) -> Iterator[tuple[N, list[K]]]:
    """Cover all keys greedily. Yields the name of least `rank`(name, keys left) with its keys."""
    left = dict(fits)
    while left:
        counts = Counter(name for found in left.values() for name in found)
        best = min(counts, key=lambda name: rank(name, counts[name]))
        yield best, [key for key, found in left.items() if best in found]
        left = {key: found for key, found in left.items() if best not in found}


@dataclass(frozen=True)
class SharedCause:
    """A cause, or two together, of one or more backends."""

    causes: tuple[CauseInWords, ...]
    sides: Mapping[str, tuple[Explanation, ...]]  # backend -> what the cause explains there

    def cases(self, name: str) -> int:
        """Return the number of a backend's cases that it explains."""
        return sum(len(one.cases) for one in self.sides.get(name, ()))


def shared_causes(found: Mapping[str, Diagnosis]) -> list[SharedCause]:
    """Return several backends' causes, most common first."""
    each = {(name, i): e for name, one in found.items() for i, e in enumerate(one.explanations)}
    told = {key: (one.causes, *one.others) for key, one in each.items()}
    by_name = {cause.name: cause for all_ in told.values() for fit in all_ for cause in fit}
    fits = {key: [tuple(c.name for c in fit) for fit in all_] for key, all_ in told.items()}
    shared: list[SharedCause] = []
    for names, keys in chosen_causes(fits, by_name):
        mine = {
            name: tuple(each[key] for key in keys if key[0] == name)
            for name in dict.fromkeys(name for name, _ in keys)
        }
        shared.append(SharedCause(tuple(by_name[name] for name in names), mine))
    return sorted(shared, key=lambda one: -len(one.sides))


def names_told(results: Iterable[CaseResult], parts: Iterable[Part] = ()) -> set[str]:
    """Return the names of causes in diagnoses and in parts."""
    found = [result.diagnosis for result in results if result.diagnosis]
    named = {name for one in found for fit in one.fits for name in fit}
    named |= {near.name for one in found for near in one.near}
    fits = (fit for part in parts if part.tally for fit in part.tally.fits or ())
    return named.union(*(fit.names for fit in fits))


def causes_named(
    results: Sequence[CaseResult], catalogue: Sequence[Cause], parts: Iterable[Part] = ()
) -> tuple[CauseInWords, ...]:
    """Return a catalogue's named causes in words, likeliest first."""
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
    """Return named causes of files in words. Raises SpecError."""
    if not names_told(results, parts):
        return ()
    from convcheck.causes.catalogue import causes_in

    return causes_named(results, causes_in(files, types), parts)
