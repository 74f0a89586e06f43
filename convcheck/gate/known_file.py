"""The list of known failures and waivers: what a file says, and reading it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, cast

from convcheck.errors import Place
from convcheck.gate.inputs import WRITTEN
from convcheck.gate.judged import JUDGED, JudgedTable, read_judged
from convcheck.gate.toml import Table, check_keys, read_tables, text_of, texts_of
from convcheck.judge.result import FAILURES, Names, Tolerance, Verdict
from convcheck.wording import meant, plural

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

    from convcheck.rules.load import Catalog

KNOWN, WAIVER = "known", "waiver"
TIERS = ("edge", "boundary", "exhaustive")
REQUIRED = ("case", "rule", "verdict", "tier", "corpus", "count", "reason")
OPTIONAL = ("digest", "inputs", "issue", "until", "backend")
WAIVER_REQUIRED = ("case", "rule", "verdict", "reason")
WAIVER_OPTIONAL = ("tier", "corpus", "count", "digest", "inputs", "issue", "backend")
CAUSE_REQUIRED = ("case", "cause", "reason")
CAUSE_OPTIONAL = ("tier", "issue", "until", "backend")
_OF_A_RULE = ("rule", "verdict", "corpus", "count", "digest", "inputs")
_WRITES = "`convcheck baseline` writes it"
_OWN_CAUSE = "a cause of your own needs its folder: --specs DIR"
_CORPUS, _DIGEST = re.compile("[0-9a-f]{16}"), re.compile("[0-9a-f]{32}")


@dataclass(frozen=True)
class KnownEntry:
    """A listed failure, by its rule or by its cause. What the file leaves out is '' or None.

    `globs` are of case ids. `rule` is rule and row as reports print them, '' for a case that
    failed as a whole. `corpus` has 16 hexadecimal digits, `digest` 32.
    """

    table: Table
    globs: tuple[str, ...]
    rule: str
    verdict: Verdict | None
    #: The tier that it is of; '' for all.
    tier: str
    corpus: str
    #: How many values fail, or cases as a whole.
    count: int | None
    digest: str
    #: Why it is known or waived, in the words of who lists it.
    reason: str
    #: Where it is reported: an address.
    issue: str
    #: The last day on which it holds.
    until: date | None
    #: The versions of the backend that it holds for.
    backend: SpecifierSet | None
    #: Ranges that hold every input that failed when it was written.
    inputs: tuple[str, ...] = ()
    #: The causes that give every answer of its cases together; () of what a rule names.
    cause: Names = ()

    @property
    def narrow(self) -> bool:
        """Whether it may cover no case that does not fail so."""
        return self.count is not None or bool(self.cause and self.table.name == KNOWN)

    @property
    def tolerance(self) -> Tolerance:
        """Known and to be fixed, or accepted for good."""
        return "known" if self.table.name == KNOWN else "waived"

    @property
    def place(self) -> Place:
        """Where the entry stands."""
        return self.table.place

    def concerns(self, tier: str, version: Version | None) -> bool:
        """Return whether a run of this tier, of a backend of this version, is its business."""
        if self.tier not in ("", tier):
            return False
        if self.backend is None:
            return True
        return version is not None and self.backend.contains(version, prereleases=True)


@dataclass(frozen=True)
class KnownList:
    """The entries of a file, in its order, its text, and which cases it says were judged."""

    #: The file, as it was given.
    path: str
    text: str
    entries: tuple[KnownEntry, ...]
    judged: tuple[JudgedTable, ...] = ()


def read_known(path: str, catalog: Catalog) -> KnownList:
    """Read a list of known failures, which may name causes of a catalogue.

    Raises UsageError with file and line; SpecError where the causes themselves cannot be read.
    """
    kinds = (KNOWN, WAIVER, JUDGED)
    text, tables = read_tables(path, kinds, "a list of known failures, in TOML")
    entries = tuple(_entry(table) for table in tables if table.name != JUDGED)
    judged = (read_judged(table) for table in tables if table.name == JUDGED)
    _check_causes([entry for entry in entries if entry.cause], catalog)
    return KnownList(path, text, entries, tuple(judged))


def _check_causes(entries: Sequence[KnownEntry], catalog: Catalog) -> None:
    """Refuse causes that a catalogue does not have, or that are too many. It is read only where
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
            hint = meant(unknown, known, _OWN_CAUSE)
            raise entry.table.wrong("cause", f"no cause is named {unknown!r}", hint)


def _entry(table: Table) -> KnownEntry:
    if table.name == WAIVER and "until" in table.values:
        hint = "a waiver is for good; what is to be fixed is [[known]]"
        raise table.wrong("until", "a waiver has no 'until'", hint)
    check_keys(table, *_keys(table))
    return KnownEntry(
        table,
        texts_of(table, "case", "ids or globs of cases, as `convcheck list cases` prints them"),
        _rule(table),
        cast(Verdict | None, _one_of(table, "verdict", tuple(sorted(FAILURES))) or None),
        _one_of(table, "tier", TIERS),
        _digits(table, "corpus", _CORPUS, 16),
        _count(table),
        _digits(table, "digest", _DIGEST, 32),
        _reason(table),
        _issue(table),
        _until(table),
        _versions(table),
        _inputs(table),
        texts_of(table, "cause", "names of causes, as `convcheck baseline` writes them"),
    )


def _keys(table: Table) -> tuple[Sequence[str], Sequence[str]]:
    """Return the keys that a table needs, and those that it may have."""
    if "cause" in table.values:
        if other := next((key for key in _OF_A_RULE if key in table.values), None):
            hint = "a cause says what fails, and how: leave it out"
            raise table.wrong(other, f"no {other!r} beside a 'cause'", hint)
        return CAUSE_REQUIRED, CAUSE_OPTIONAL
    if table.name == KNOWN:
        return REQUIRED, OPTIONAL
    return WAIVER_REQUIRED, WAIVER_OPTIONAL


def _rule(table: Table) -> str:
    rule = text_of(table, "rule")
    if rule and " / " not in rule:
        hint = "rule and row, as reports print them: 'RULE / ROW'; '' for a case that failed whole"
        raise table.wrong("rule", f"not a rule and row: {rule!r}", hint)
    return rule


def _one_of(table: Table, key: str, allowed: tuple[str, ...]) -> str:
    word = text_of(table, key)
    if key in table.values and word not in allowed:
        hint = meant(word, allowed)
        raise table.wrong(key, f"{key!r} cannot be {word!r}", hint)
    return word


def _digits(table: Table, key: str, spelled: re.Pattern[str], number: int) -> str:
    digits = text_of(table, key).lower()
    if key in table.values and not spelled.fullmatch(digits):
        said = f"{key!r} has {plural(number, 'hexadecimal digit')}, in quotes"
        raise table.wrong(key, said, _WRITES + (", or leave it out" if key == "digest" else ""))
    return digits


def _count(table: Table) -> int | None:
    count = table.values.get("count")
    if count is not None and (type(count) is not int or count < 1):
        raise table.wrong("count", "'count' is not a whole number from 1", _WRITES)
    for key, other in (("digest", "count"), ("inputs", "count"), ("count", "tier")):
        if key in table.values and other not in table.values:
            raise table.wrong(key, f"a {key!r} goes with a {other!r}", _WRITES)
    if "digest" in table.values and not table.values["rule"]:
        hint = "leave it out: a case that failed as a whole has no answers"
        raise table.wrong("digest", "no 'digest' without a rule", hint)
    return count


def _inputs(table: Table) -> tuple[str, ...]:
    inputs = texts_of(table, "inputs", _WRITES)
    for text in inputs:
        if not WRITTEN.fullmatch(text):
            said = f"{text!r} is not a range of inputs"
            raise table.wrong("inputs", said, "such as 'float32 0x43e80001 … 0x43f00009'")
    return inputs


def _reason(table: Table) -> str:
    reason = text_of(table, "reason").strip()
    if not reason:
        raise table.wrong("reason", "'reason' is empty", "say why this may fail")
    return reason


def _issue(table: Table) -> str:
    issue = text_of(table, "issue")
    if "issue" in table.values and not re.fullmatch(r"https?://[^\s/]\S*", issue):
        raise table.wrong("issue", f"'issue' is not a URL: {issue!r}", "https://…")
    return issue


def _until(table: Table) -> date | None:
    until = table.values.get("until")
    if until is not None and (not isinstance(until, date) or isinstance(until, datetime)):
        raise table.wrong("until", "'until' is not a date", "without quotes or time: 2027-01-31")
    return until


def _versions(table: Table) -> SpecifierSet | None:
    versions = text_of(table, "backend")
    if "backend" not in table.values:
        return None
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        found = SpecifierSet(versions)
    except InvalidSpecifier:
        found = SpecifierSet()
    if not len(found):
        hint = 'a range of versions of the backend, for example ">=1.20,<1.32"'
        raise table.wrong("backend", f"not a version range: {versions!r}", hint)
    return found
