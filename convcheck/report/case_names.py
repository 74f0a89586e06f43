"""Some of a row's cases named shortly, by what tells them from the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from convcheck.report.short_names import compact_specs
from convcheck.rules.model import Case
from convcheck.rules.types import Types

_ALL_BUT = "all but"
_Pair = tuple[str, str, str]  # source types, destination types, the rest of the case's name


def name_cases(chosen: Sequence[Case], row: Sequence[Case], types: Types | None) -> list[str]:
    """Name the chosen ones of a row's cases: 'float32 to int8, uint8'; [] where it is all of them.

    Versions and attributes are named where they make a difference, and families of types where
    there are `types`.
    """
    return naming(row, types)(chosen)


def naming(row: Sequence[Case], types: Types | None) -> Callable[[Sequence[Case]], list[str]]:
    """Return what names the chosen ones of a row's cases as `name_cases` does."""
    whole = _specs(row)
    order = list(dict.fromkeys(case.spec for case in row))

    def named(chosen: Sequence[Case]) -> list[str]:
        if len(chosen) == len(row):
            return []
        by_specs: dict[frozenset[str], list[_Pair]] = {}
        for pair, here in _specs(chosen).items():
            key: frozenset[str] = frozenset() if here == whole[pair] else frozenset(here)
            by_specs.setdefault(key, []).append(pair)
        names: list[str] = []
        for specs, pairs in by_specs.items():
            found = f" in {compact_specs(s for s in order if s in specs)}" if specs else ""
            names += [name + found for name in _by_rest(pairs, list(whole), types)]
        return names

    return named


def _specs(cases: Iterable[Case]) -> dict[_Pair, set[str]]:
    found: dict[_Pair, set[str]] = {}
    for case in cases:
        found.setdefault(_pair(case), set()).add(case.spec)
    return found


def _pair(case: Case) -> _Pair:
    source = "-".join(t.name for t in case.inputs)
    target = "-".join(t.name for t in case.outputs)
    return source, target, case.name.partition("/")[2]


def _by_rest(chosen: Sequence[_Pair], row: Sequence[_Pair], types: Types | None) -> list[str]:
    """Name pairs; attributes only of those that are not chosen under all their values."""
    mine, whole = _rests(chosen), _rests(row)
    found: dict[str, list[tuple[str, str]]] = {}
    for pair, rests in mine.items():
        for said in [""] if rests == whole[pair] else map(_with, sorted(rests)):
            found.setdefault(said, []).append(pair)
    return [
        name + said
        for said, pairs in found.items()
        for name in _rectangles(pairs, list(whole), types)
    ]


def _with(rest: str) -> str:
    return f" with {rest.replace('/', ', ')}" if rest else " with nothing set"


def _rests(pairs: Iterable[_Pair]) -> dict[tuple[str, str], set[str]]:
    found: dict[tuple[str, str], set[str]] = {}
    for source, target, rest in pairs:
        found.setdefault((source, target), set()).add(rest)
    return found


def _rectangles(
    chosen: Sequence[tuple[str, str]], row: Sequence[tuple[str, str]], types: Types | None
) -> list[str]:
    """Name pairs as products of sources and destinations, whichever way takes fewer of them."""
    turned = [[(t, s) for s, t in pairs] for pairs in (chosen, row)]
    by_target = [
        _product(sources, targets, types) for targets, sources in _products(chosen, row).items()
    ]
    by_source = [
        _product(sources, targets, types) for sources, targets in _products(*turned).items()
    ]
    return min(by_target, by_source, key=lambda names: (len(names), len(str(names))))


def _products(
    chosen: Sequence[tuple[str, str]], row: Sequence[tuple[str, str]]
) -> Mapping[tuple[str, ...], tuple[str, ...]]:
    """Return the second words with the first words that they go with, as `_key` has them."""
    mine, whole = _firsts(chosen), _firsts(row)
    grouped: dict[tuple[str, ...], list[str]] = {}
    for second, firsts in mine.items():
        grouped.setdefault(_key(firsts, whole[second]), []).append(second)
    return {tuple(seconds): firsts for firsts, seconds in grouped.items()}


def _key(mine: Sequence[str], whole: Sequence[str]) -> tuple[str, ...]:
    """Give () for all words, _ALL_BUT and what is missing where that is little, else the words."""
    missing = [word for word in whole if word not in mine]
    if not missing:
        return ()
    little = len(missing) <= 2 and 2 * len(missing) < len(mine)
    return (_ALL_BUT, *missing) if little else tuple(mine)


def _firsts(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for first, second in pairs:
        found.setdefault(second, []).append(first)
    return found


def _product(sources: tuple[str, ...], targets: tuple[str, ...], types: Types | None) -> str:
    """Name a product; no sources, or no destinations, stand for all."""
    one, other = _listed(sources, types), _listed(targets, types)
    if not sources:
        return f"to {other}" if other else ""
    return f"{one} to {other}" if other else f"from {one}"


def _listed(names: tuple[str, ...], types: Types | None) -> str:
    if names[:1] == (_ALL_BUT,):
        return f"{_ALL_BUT} {' and '.join(names[1:])}"
    return ", ".join(types.folded(names) if types else names)
