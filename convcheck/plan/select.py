"""Select cases by patterns. Each pattern has to match something."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from convcheck.errors import UsageError
from convcheck.plan.selection import Selection
from convcheck.rules.cases import cases
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case, Spec, Value
from convcheck.rules.source import read_all
from convcheck.wording import meant

if TYPE_CHECKING:
    from convcheck.vectors.model import Tier


def select(catalog: Catalog, selection: Selection, tier: Tier = "edge") -> list[Case]:
    """Return the selected cases in order. Raises UsageError if a pattern matches nothing.

    The exhaustive tier also has whole calls as conversions of their first input.
    """
    every = cases_of_tier if tier == "exhaustive" else cases
    found = [case for spec in select_specs(catalog, selection.specs) for case in every(spec)]
    return select_of(catalog, found, selection)


def cases_of_tier(spec: Spec) -> Iterator[Case]:
    """Yield the cases of a spec in the exhaustive tier."""
    from convcheck.vectors.body.scaled import fixed_cases

    for case in cases(spec):
        yield case
        yield from fixed_cases(spec, case)


def select_of(catalog: Catalog, found: list[Case], selection: Selection) -> list[Case]:
    """Return the selected cases in order. Raises UsageError if a pattern matches nothing."""
    sources, targets = (_types(catalog, words) for words in (selection.sources, selection.targets))
    tests: list[tuple[str, str, Callable[[Case], bool]]] = []
    tests += [("--from", w, _has_source(names)) for w, names in sources.items()]
    tests += [("--to", w, _has_target(names)) for w, names in targets.items()]
    tests += [("--where", w, _has_value(catalog, found, w)) for w in selection.where]
    tests += [("--case", w, _is_like(found, w)) for w in selection.globs]
    for option, word, test in tests:
        if not any(map(test, found)):
            raise _nothing(option, word, selection, found)
    for option in ("--from", "--to", "--case"):
        wanted = [test for o, _, test in tests if o == option]
        found = [case for case in found if not wanted or any(test(case) for test in wanted)]
    found = [case for case in found if _where(case, selection.where)]
    if not found:
        raise UsageError("no case matches all of these together", hint="`convcheck show cases`")
    return found


def select_specs(catalog: Catalog, patterns: Sequence[str]) -> list[Spec]:
    """Return the specs that match any glob; all without globs. Raises UsageError."""
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in catalog.specs):
            hint = meant(pattern, catalog.specs, "`convcheck show specs`")
            raise UsageError(f"no spec matches {pattern!r}", hint=hint)
    chosen = (n for n in catalog.specs if not patterns or any(fnmatchcase(n, p) for p in patterns))
    return list(read_all(catalog.specs.__getitem__, chosen))


def type_names(catalog: Catalog, words: Iterable[str]) -> frozenset[str]:
    """Return the types in these types and families. Raises UsageError for an unknown name."""
    return frozenset[str]().union(*_types(catalog, words).values())


def _types(catalog: Catalog, words: Iterable[str]) -> dict[str, frozenset[str]]:
    types = {}
    for word in words:
        known = [*catalog.types.types, *catalog.types.sets]
        if word not in known:
            hint = meant(word, known, "`convcheck show types`")
            raise UsageError(f"unknown type {word!r}", hint=hint)
        types[word] = frozenset(catalog.types.sets.get(word, (word,)))
    return types


def _has_source(names: frozenset[str]) -> Callable[[Case], bool]:
    return lambda case: any(t.name in names for t in case.sources)


def _has_target(names: frozenset[str]) -> Callable[[Case], bool]:
    return lambda case: any(t.name in names for t in case.outputs)


def _is_like(found: Sequence[Case], pattern: str) -> Callable[[Case], bool]:
    def is_like(case: Case, glob: str = pattern) -> bool:
        return fnmatchcase(case.id, glob) or fnmatchcase(case.name, glob)

    # otherwise, it may be a prefix
    return is_like if any(map(is_like, found)) else lambda case: is_like(case, f"{pattern}/*")


def _has_value(catalog: Catalog, found: Sequence[Case], word: str) -> Callable[[Case], bool]:
    name, equals, value = word.partition("=")
    own = {a.name for s in catalog.specs.values() for a in s.attributes if not a.carries}
    known = sorted(own.union(name for case in found for name, _ in case.fixed))
    if name not in known:
        raise UsageError(f"--where {word}: unknown attribute {name!r}", hint=meant(name, known))
    if not equals:
        raise UsageError(f"--where {word}: missing value", hint=f"write --where {name}=VALUE")
    return lambda case: str(_values(case).get(name)) == value


def _values(case: Case) -> dict[str, Value]:
    return {**dict(case.attributes), **dict(case.fixed)}


def _where(case: Case, where: Sequence[str]) -> bool:
    wanted: dict[str, set[str]] = {}
    for word in where:
        name, _, value = word.partition("=")
        wanted.setdefault(name, set()).add(value)
    return all(str(_values(case).get(name)) in values for name, values in wanted.items())


def _nothing(option: str, word: str, selection: Selection, found: Sequence[Case]) -> UsageError:
    specs = ", ".join(selection.specs) or "any spec"
    example = f", such as {found[0].id}" if found else ""
    hint = f"see `convcheck show cases`{example}"
    if option == "--where":
        name, _, value = word.partition("=")
        known = (_values(case) for case in found)
        hint = meant(value, (str(values[name]) for values in known if name in values))
    return UsageError(f"{option} {word} matches no case of {specs}", hint=hint)
