"""What a backend claims to support, and holding it to that."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from convcheck.errors import Place, UsageError
from convcheck.gate.case_names import compact_names, ids_of
from convcheck.gate.toml import Table, check_keys, read_tables, texts_of
from convcheck.judge.refusals import is_accepted
from convcheck.judge.result import CaseResult, RunResult
from convcheck.rules.cases import cases
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case, DType, Spec
from convcheck.wording import meant

_CLAIM = "claim"
Names = frozenset[str]


@dataclass(frozen=True)
class Claim:
    """Cases that are claimed: of these specs, from and to these types (None for all), or for these
    pairs of types, with these values of attributes where they apply; or these cases, by their ids.
    """

    place: Place
    specs: Names = frozenset()
    #: Names of types that the inputs may have.
    sources: Names | None = None
    #: Names of types that the outputs may have.
    targets: Names | None = None
    pairs: tuple[tuple[Names, Names], ...] | None = None
    where: tuple[tuple[str, Names], ...] = ()
    #: The cases that are claimed by their ids.
    ids: Names = frozenset()

    def covers(self, case: Case) -> bool:
        """Return whether a case is claimed."""
        if case.spec not in self.specs:
            return case.id in self.ids
        of_types = all(_within(*pair) for pair in ((case.sources, self.sources),
                                                   (case.outputs, self.targets)))  # fmt: skip
        paired = self.pairs is None or any(_is_pair(case, pair) for pair in self.pairs)
        return of_types and paired and all(_has(case, *value) for value in self.where)


def _within(types: Sequence[DType], names: Names | None) -> bool:
    return names is None or (bool(types) and all(t.name in names for t in types))


def _is_pair(case: Case, pair: tuple[Names, Names]) -> bool:
    """Hold the types of input and output to a pair; where the output is the answer, both inputs."""
    if case.outputs:
        return _within(case.sources, pair[0]) and _within(case.outputs, pair[1])
    return _within(case.sources[:1], pair[0]) and _within(case.sources[1:], pair[1])


def _has(case: Case, name: str, values: Names) -> bool:
    value = case.attribute(name)
    return value is None or str(value) in values


@dataclass(frozen=True)
class Claims:
    """All that a file claims, in its order."""

    #: The file, as it was given.
    path: str
    claims: tuple[Claim, ...]

    def of(self, case: Case) -> Claim | None:
        """Return the first claim of a case."""
        return next((claim for claim in self.claims if claim.covers(case)), None)


def claimed(claims: Claims, asked: Iterable[Case]) -> list[Case]:
    """Return the cases that are claimed, in their order."""
    return [case for case in asked if claims.of(case)]


def held_to(claims: Claims, result: RunResult, selected: int) -> RunResult:
    """Make a failure of every case that is claimed and was declined.

    `selected` counts the cases of which those of the result are what is claimed.
    """
    held = tuple(_held(case, claims) for case in result.cases)
    both = zip(held, result.cases, strict=True)
    failing = {now.case.id: now for now, was in both if now is not was}
    parts = (replace(p, lost=p.lost or failing.get(p.case.id)) for p in result.parts)
    return replace(result, cases=held, parts=tuple(parts), selected=selected)


def _held(result: CaseResult, claims: Claims) -> CaseResult:
    claim = claims.of(result.case) if result.verdict == "unsupported" else None
    if claim is None or is_accepted(result.case):  # the text leaves it free to refuse
        return result
    message = f"claimed in {claim.place}, and declined: {result.message}"
    return replace(result, verdict="refused", message=message, groups=())


def read_claims(path: str, catalog: Catalog) -> Claims:
    """Read what a backend claims to support.

    Raises UsageError with file and line for a file that is none, a type, spec or attribute that
    does not exist, and a claim that no case fits.
    """
    _, tables = read_tables(path, (_CLAIM,), "what the backend claims to support, in TOML")
    if not tables:
        hint = 'for example: [[claim]], and under it spec = "*", to = ["float8"]'
        raise UsageError("claims nothing", place=Place(path, 1), hint=hint)
    return Claims(path, tuple(_claim(table, catalog) for table in tables))


def claims_text(ids: Iterable[str], backend: str) -> str:
    """Write what a backend claims to support: these cases."""
    names = compact_names(ids)
    items = "".join(f"    {json.dumps(name)},\n" for name in names)
    return (f"# What {backend} claims to support. A run with --capabilities and this file fails\n"
            f"# on what is declined of it.\n\n[[{_CLAIM}]]\ncase = [\n{items}]\n")  # fmt: skip


def _claim(table: Table, catalog: Catalog) -> Claim:
    if "case" in table.values:
        return _claim_of_cases(table, catalog)
    check_keys(table, ("spec",), ("from", "to", "pairs", "where"))
    both = [key for key in ("from", "to") if key in table.values]
    if both and "pairs" in table.values:
        hint = f"'pairs' replaces {both[0]!r}; write two claims"
        raise table.wrong("pairs", f"'pairs' beside {both[0]!r}", hint)
    specs = _specs(table, catalog)
    claim = Claim(
        table.place,
        frozenset(spec.id for spec in specs),
        _types(table, "from", texts_of(table, "from"), catalog),
        _types(table, "to", texts_of(table, "to"), catalog),
        _pairs(table, catalog),
        _where(table, specs),
    )
    _must_match(table, claim, [case for spec in specs for case in cases(spec)])
    return claim


def _claim_of_cases(table: Table, catalog: Catalog) -> Claim:
    """Read a claim that names its cases. Raises UsageError where there is no such case."""
    check_keys(table, ("case",), ())
    ids: set[str] = set()
    for name in texts_of(table, "case"):
        found = set(ids_of(name, table.place))
        specs = {each.partition("/")[0] for each in found} & catalog.specs.keys()
        known = {case.id for spec in specs for case in cases(catalog.specs[spec])}
        if missing := sorted(found - known):
            hint = "see `convcheck list cases`"
            raise table.wrong("case", f"no case is named {missing[0]}", hint)
        ids |= found
    return Claim(table.place, ids=frozenset(ids))


def _must_match(table: Table, claim: Claim, known: Sequence[Case]) -> None:
    """Refuse a claim, or a pair of it, that no case fits."""
    hint = "see `convcheck list cases`"
    for index, pair in enumerate(claim.pairs or ()):
        if not any(_is_pair(case, pair) for case in known):
            written = " and ".join(map(repr, table.values["pairs"][index]))
            raise table.wrong("pairs", f"no case has the pair {written}", hint)
    if not any(claim.covers(case) for case in known):
        raise UsageError("no case is of this claim", place=table.place, hint=hint)


def _specs(table: Table, catalog: Catalog) -> list[Spec]:
    found: dict[str, Spec] = {}
    for glob in texts_of(table, "spec"):
        matching = {n: spec for n, spec in catalog.specs.items() if fnmatchcase(n, glob)}
        if not matching:
            hint = meant(glob, catalog.specs, "`convcheck list specs`")
            raise table.wrong("spec", f"no spec matches {glob!r}", hint)
        found |= matching
    return list(found.values())


def _types(table: Table, key: str, words: Iterable[str], catalog: Catalog) -> Names | None:
    """Return the names of types and of the members of families; None where the key is left out."""
    if key not in table.values:
        return None
    known = [*catalog.types.types, *catalog.types.sets]
    names: set[str] = set()
    for word in words:
        if word not in known:
            hint = meant(word, known, "`convcheck list types`")
            raise table.wrong(key, f"unknown type {word!r}", hint)
        names.update(catalog.types.sets.get(word, (word,)))
    return frozenset(names)


def _pairs(table: Table, catalog: Catalog) -> tuple[tuple[Names, Names], ...] | None:
    pairs = table.values.get("pairs")
    if pairs is None:
        return None
    if not isinstance(pairs, list) or not pairs or not all(map(_two_texts, pairs)):
        hint = 'pairs = [["float32", "int8"], …]'
        raise table.wrong("pairs", "'pairs' is not a list of pairs of types", hint)
    ends = [[_types(table, "pairs", [word], catalog) or frozenset() for word in p] for p in pairs]
    return tuple((first, second) for first, second in ends)


def _two_texts(pair: Any) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and all(isinstance(w, str) for w in pair)


def _where(table: Table, specs: Sequence[Spec]) -> tuple[tuple[str, Names], ...]:
    where = table.values.get("where", {})
    if not isinstance(where, dict):
        hint = "where = {NAME = [VALUE, …]}"
        raise table.wrong("where", "'where' is not a table of attributes", hint)
    known = _attributes(specs)
    return tuple((name, _values(table, name, given, known)) for name, given in where.items())


def _attributes(specs: Sequence[Spec]) -> dict[str, list[str]]:
    """Name the values with which each attribute of the specs is asked."""
    found: dict[str, list[str]] = {}
    for attribute in (a for spec in specs for a in spec.attributes if not a.carries):
        values = (*attribute.values, *(v for also in attribute.also for v in also.values))
        found.setdefault(attribute.name, []).extend(map(str, values))
    return found


def _values(table: Table, name: str, given: Any, known: Mapping[str, Sequence[str]]) -> Names:
    if name not in known:
        raise table.wrong("where", f"no attribute {name!r} in these specs", meant(name, known))
    values = [str(v).lower() if isinstance(v, bool) else str(v)
              for v in (given if isinstance(given, list) else [given])]  # fmt: skip
    for value in values:
        if value not in known[name]:
            said = f"{name!r} cannot be {value!r}"
            raise table.wrong("where", said, meant(value, known[name]))
    if not values:
        raise table.wrong("where", f"no value of {name!r}")
    return frozenset(values)
