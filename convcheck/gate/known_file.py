"""The list of known failures and waivers: what a file says, and reading it.

An entry under [[known]] names its cases one by one, in braces. A waiver is written by hand and may
have globs. [[judged]] names the cases that were judged, in braces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from convcheck.errors import Place, UsageError
from convcheck.gate.toml import Table, read_tables
from convcheck.judge.result import FAILURES, Names, Verdict
from convcheck.rules.case_names import ids_of
from convcheck.wording import meant

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

    from convcheck.rules.load import Catalog

KNOWN, WAIVER, JUDGED = KINDS = "known", "waiver", "judged"
OF_A_RULE = ("rule", "verdict", "corpus", "count", "digest")
# the keys that each kind of entry needs, and those that it may have
_KEYS = {
    KNOWN: (("case", "rule", "verdict", "tier", "corpus", "count", "reason"),
            ("digest", "issue", "until", "backend")),
    WAIVER: (("case", "rule", "verdict", "reason"),
             ("tier", "corpus", "count", "digest", "issue", "backend")),
    "cause": (("case", "cause", "reason"), ("tier", "issue", "until", "backend")),
    JUDGED: (("case",), ()),
}  # fmt: skip
_AS_WRITTEN = (*OF_A_RULE, "tier", "reason", "issue", "until")
_WRITES = "`convcheck known` writes it"
_GLOB, _QUOTED = re.compile(r"[*?\[]"), re.compile(r"'[^']*'|\"[^\"]*\"")


@dataclass(frozen=True)
class CaseName:
    """A name of cases, as it stands on a line of a list: an id, ids in braces, or a glob."""

    name: str
    #: The line.
    place: Place
    #: The ids and globs in it, whether or not there are such cases.
    ids: tuple[str, ...]


@dataclass(frozen=True)
class KnownEntry:
    """A listed failure, by its rule or by its cause. What the file leaves out is '' or None."""

    table: Table
    names: tuple[CaseName, ...]
    #: The causes that give every answer of its cases together; () for an entry of a rule.
    cause: Names
    #: The versions of the backend that it holds for.
    backend: SpecifierSet | None
    #: Rule and row as reports print them, '' for a case that failed as a whole.
    rule: str = ""
    verdict: Verdict | None = None
    #: Its tier; '' for all.
    tier: str = ""
    #: 16 hexadecimal digits.
    corpus: str = ""
    #: How many values fail, or cases as a whole.
    count: int | None = None
    #: 32 hexadecimal digits.
    digest: str = ""
    reason: str = ""
    issue: str = ""
    #: The last day on which it holds.
    until: date | None = None

    @property
    def waived(self) -> bool:
        """Whether it is accepted for good."""
        return self.table.name == WAIVER

    @property
    def place(self) -> Place:
        """Where the entry stands."""
        return self.table.place

    def concerns(self, tier: str, version: Version | None) -> bool:
        """Return whether it is about a run of this tier, of a backend of this version."""
        if self.tier not in ("", tier):
            return False
        if self.backend is None:
            return True
        return version is not None and self.backend.contains(version, prereleases=True)


@dataclass(frozen=True)
class KnownList:
    """The entries of a file, in its order, its text, and the cases that were judged."""

    #: The file, as it was given.
    path: str
    text: str
    entries: tuple[KnownEntry, ...]
    #: The [[judged]] tables.
    tables: tuple[Table, ...] = ()
    #: The names in them.
    judged: tuple[CaseName, ...] = ()


def read_known(path: str, catalog: Catalog) -> KnownList:
    """Read a list of known failures, which may name causes of a catalogue.

    Raises UsageError with file and line; SpecError if the causes themselves cannot be read.
    """
    text, tables = read_tables(path, KINDS, "a list of known failures, in TOML")
    for table in tables:
        _check(table)
    entries = tuple(_entry(table) for table in tables if table.name != JUDGED)
    _check_causes([entry for entry in entries if entry.cause], catalog)
    judged = tuple(table for table in tables if table.name == JUDGED)
    return KnownList(path, text, entries, judged, tuple(n for t in judged for n in _names(t)))


def _entry(table: Table) -> KnownEntry:
    values = {key: table.values[key] for key in _AS_WRITTEN if key in table.values}
    cause = _texts(table.values.get("cause", []))
    names = tuple(_names(table))
    return KnownEntry(table, names, cause, _versions(table.values.get("backend")), **values)


def _names(table: Table) -> Iterator[CaseName]:
    """Yield the names of a table's cases, each with its line."""
    lines: dict[str, int] = {}
    for number, line in enumerate(table.lines, table.place.line):
        for quoted in _QUOTED.findall(line):
            lines.setdefault(quoted[1:-1], number)
    for name in _texts(table.values["case"]):
        place = Place(table.place.file, lines.get(name, table.place.line))
        yield CaseName(name, place, tuple(ids_of(name, place)))


def _check_causes(entries: Sequence[KnownEntry], catalog: Catalog) -> None:
    """Refuse causes that a catalogue does not have, or that are too many. It is read only if
    entries name causes.
    """
    if not entries:
        return
    from convcheck.causes.catalogue import causes_of
    from convcheck.rules.causes import TOGETHER

    known = [cause.name for cause in causes_of(catalog)]
    for entry in entries:
        if len(entry.cause) > TOGETHER:
            said = f"{len(entry.cause)} causes at once, and {TOGETHER} at most explain a case"
            raise entry.table.wrong("cause", said, "write an entry for each cause, or for two")
        if unknown := next((name for name in entry.cause if name not in known), None):
            hint = meant(unknown, known, "a cause of your own needs its folder: --specs DIR")
            raise entry.table.wrong("cause", f"no cause is named {unknown!r}", hint)


# What is in a table --------------------------------------------------------------------------


def _text(pattern: str) -> Callable[[Any], object]:
    spelled = re.compile(pattern, re.DOTALL)
    return lambda value: isinstance(value, str) and spelled.fullmatch(value)


def _texts(value: Any) -> tuple[str, ...]:
    """Return a text or a list of texts as a tuple, () for anything else."""
    texts = [value] if isinstance(value, str) else value
    fits = isinstance(texts, list) and all(isinstance(text, str) and text for text in texts)
    return tuple(texts) if fits else ()


def _is_day(value: Any) -> bool:
    return isinstance(value, date) and not isinstance(value, datetime)


def _versions(text: Any) -> SpecifierSet | None:
    """Return a range of versions, None for anything else."""
    if not isinstance(text, str):
        return None
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        return SpecifierSet(text) or None
    except InvalidSpecifier:
        return None


_WORDS = {"verdict": tuple(sorted(FAILURES)), "tier": ("edge", "boundary", "exhaustive")}
# how to tell a value that fits, what it has to be, and a hint
_VALUES: dict[str, tuple[Callable[[Any], object], str, str]] = {
    "case": (_texts, "a name of cases or a list of names", "as `convcheck show cases` prints them"),
    "cause": (_texts, "the name of a cause or a list of names", _WRITES),
    "rule": (_text("|.+ / .+"), "a rule and its row",
             "as reports print them, 'RULE / ROW'; '' for a case that failed as a whole"),
    "corpus": (_text("[0-9a-f]{16}"), "16 hexadecimal digits, in quotes", _WRITES),
    "count": (lambda value: type(value) is int and value > 0, "a whole number from 1", _WRITES),
    "digest": (_text("[0-9a-f]{32}"), "32 hexadecimal digits, in quotes",
               f"{_WRITES}, or leave it out"),
    "reason": (_text(r".*\S.*"), "a text", "say why this may fail"),
    "issue": (_text(r"https?://[^\s/]\S*"), "a URL", "https://…"),
    "until": (_is_day, "a date", "without quotes or time: 2027-01-31"),
    "backend": (_versions, "a range of versions", 'of the backend, for example ">=1.20,<1.32"'),
}  # fmt: skip


def _check(table: Table) -> None:
    """Raise UsageError for an unknown key, a missing one, or a value that does not fit."""
    values = table.values
    if table.name == WAIVER and "until" in values:
        hint = "a waiver is for good; what is to be fixed is [[known]]"
        raise table.wrong("until", "a waiver has no 'until'", hint)
    of_cause = "cause" in values and table.name != JUDGED
    if of_cause and (other := next((key for key in OF_A_RULE if key in values), None)):
        hint = "a cause says what fails, and how: leave it out"
        raise table.wrong(other, f"no {other!r} beside a 'cause'", hint)
    required, optional = _KEYS["cause" if of_cause else table.name]
    for key, value in values.items():
        _check_value(table, key, value, (*required, *optional))
    if missing := [key for key in required if key not in values]:
        said = f"[[{table.name}]] has no {' and no '.join(map(repr, missing))}"
        raise UsageError(said, place=table.place)
    if table.name == KNOWN and any(map(_GLOB.search, _texts(values["case"]))):
        hint = "name them in braces, or remove the entry: `--update` writes it"
        said = "an entry under [[known]] names its cases one by one, without globs"
        raise table.wrong("case", said, hint)
    for key, other in (("digest", "count"), ("count", "tier")):
        if key in values and other not in values:
            raise table.wrong(key, f"a {key!r} goes with a {other!r}", _WRITES)
    if "digest" in values and not values["rule"]:
        hint = "leave it out: a case that failed as a whole has no answers"
        raise table.wrong("digest", "no 'digest' without a rule", hint)


def _check_value(table: Table, key: str, value: Any, known: Sequence[str]) -> None:
    if key not in known:
        hint = meant(key, known, f"[[{table.name}]] has {', '.join(known)}")
        raise table.wrong(key, f"unknown key {key!r} in [[{table.name}]]", hint)
    if key in _WORDS and value not in _WORDS[key]:
        raise table.wrong(key, f"{key!r} cannot be {value!r}", meant(str(value), _WORDS[key]))
    fits, what, hint = _VALUES.get(key, (bool, "", ""))
    if not fits(value):
        raise table.wrong(key, f"{key!r} has to be {what}", hint)
