"""Read known failures and waivers. [[known]] and [[judged]] name cases without globs."""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from convcheck.errors import Place, UsageError
from convcheck.files import MOST_OF_LIST, read_file
from convcheck.judge.result import FAILURES, Names, Verdict
from convcheck.rules.find import ids_of
from convcheck.streams import meant

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

    from convcheck.rules.load import Catalog


@dataclass(frozen=True)
class Table:
    """A [[table]] of a file."""

    name: str
    values: Mapping[str, Any]
    place: Place  # of the header
    around: Sequence[str]
    #: The number of lines above the next table.
    end: int

    @property
    def lines(self) -> tuple[str, ...]:
        """Its lines from the header on, without the next table's comment."""
        lines = self.around[self.place.line - 1 : self.end]
        end = len(lines)
        while end > 1 and (not lines[end - 1].strip() or _is_comment(lines[end - 1])):
            end -= 1
        return tuple(lines[:end])

    @property
    def lead(self) -> int:
        """Comment lines above the header."""
        first = start = self.place.line - 1
        while first and _is_comment(self.around[first - 1]):
            first -= 1
        return start - first

    @property
    def last(self) -> int:
        """The last line's number."""
        return self.place.line + len(self.lines) - 1

    @property
    def span(self) -> str:
        """Its lines, such as known.toml:12-24."""
        return f"{self.place.file}:{self.place.line}-{self.last}"

    def wrong(self, key: str, message: str, hint: str = "") -> UsageError:
        """Return an error at the line of a key."""
        line = _line_of(key, self.lines, self.place.line)
        return UsageError(message, place=Place(self.place.file, line), hint=hint)


def read_tables(path: str, names: Sequence[str], what: str) -> tuple[str, list[Table]]:
    """Read a file's text and tables. `what` describes it in errors. Raises UsageError."""
    try:
        content = read_file(Path(path), MOST_OF_LIST)
        text = content.decode("utf-8-sig")  # some editors write a byte order mark
    except (OSError, UnicodeDecodeError) as error:
        said = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot read {path}: {said}", hint=f"{path} should be {what}") from None
    lines = lines_of(text)
    headers = " and ".join(f"[[{name}]]" for name in names)
    document = _parsed(text, path, f"{path} should be {what}: it has {headers} tables")
    for key, value in document.items():
        place = Place(path, _line_of(key, lines))
        if key not in names:
            hint = meant(key, names, f"the file has {headers} tables")
            raise UsageError(f"unknown key {key!r}", place=place, hint=hint)
        if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
            hint = f"write each entry under a line [[{key}]]"
            raise UsageError(f"{key!r} is not a table", place=place, hint=hint)
    return text, _tables(document, names, path, lines)


def lines_of(text: str) -> list[str]:
    """Split lines as TOML does."""
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else []


def _parsed(text: str, path: str, hint: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError:
        said = "not readable as TOML: nested too deeply"
        raise UsageError(said, place=Place(path, 1), hint=hint) from None
    except ValueError as error:  # including a number that is too long
        said, at, where = str(error).partition(" (at ")
        found = re.match(r"line (\d+)", where)
        line = int(found[1]) if found else max(len(lines_of(text)), 1) if at else 1
        raise UsageError(f"not TOML: {said}", place=Place(path, line), hint=hint) from None


def _line_of(key: str, lines: Sequence[str], first: int = 1) -> int:
    spelled = re.compile(rf"\s*(\[+\s*)?[\"']?{re.escape(key)}[\"']?\s*[\].=]").match
    return next((number for number, line in enumerate(lines, first) if spelled(line)), first)


def _tables(
    document: Mapping[str, Any], names: Sequence[str], path: str, lines: list[str]
) -> list[Table]:
    header = re.compile(rf"\s*\[\[\s*({'|'.join(names)})\s*\]\]").match
    starts = [(at, found[1]) for at, line in enumerate(lines) if (found := header(line))]
    for name in names:
        if sum(n == name for _, n in starts) != len(document.get(name, [])):
            hint = f"write each entry under its own line [[{name}]]"
            raise UsageError(f"cannot locate the {name!r} entries",
                             place=Place(path, 1), hint=hint)  # fmt: skip
    entries = {name: iter(document.get(name, [])) for name in names}
    ends = [*(at for at, _ in starts), len(lines)][1:]
    return [
        Table(name, next(entries[name]), Place(path, start + 1), lines, end)
        for (start, name), end in zip(starts, ends, strict=True)
    ]


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


KNOWN, WAIVER, JUDGED = KINDS = "known", "waiver", "judged"
OF_A_RULE = ("rule", "verdict", "corpus", "count", "digest")
# required and optional keys of entries
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
    """A name on a line of a list: an id, ids in braces, or a glob."""

    name: str
    place: Place
    #: Its ids and globs, even without such cases.
    ids: tuple[str, ...]


@dataclass(frozen=True)
class KnownEntry:
    """A listed failure, by rule or cause. Missing values are '' or None."""

    table: Table
    names: tuple[CaseName, ...]
    #: The causes that together give every answer; () for an entry of a rule.
    cause: Names
    backend: "SpecifierSet | None"
    #: Rule and row as in reports; '' for a case that failed as a whole.
    rule: str = ""
    verdict: Verdict | None = None
    #: '' for all tiers.
    tier: str = ""
    #: 16 hexadecimal digits.
    corpus: str = ""
    #: The number of failing values, or of cases that fail as a whole.
    count: int | None = None
    #: 32 hexadecimal digits.
    digest: str = ""
    reason: str = ""
    issue: str = ""
    #: The last day of its validity.
    until: date | None = None

    @property
    def waived(self) -> bool:
        """Whether it is accepted permanently."""
        return self.table.name == WAIVER

    @property
    def place(self) -> Place:
        """Its file and line."""
        return self.table.place

    def concerns(self, tier: str, version: "Version | None") -> bool:
        """Return whether it applies to a tier and version."""
        if self.tier not in ("", tier):
            return False
        if self.backend is None:
            return True
        return version is not None and self.backend.contains(version, prereleases=True)


@dataclass(frozen=True)
class KnownList:
    """A file's entries, text and judged cases."""

    path: str
    text: str
    entries: tuple[KnownEntry, ...]
    #: The [[judged]] tables.
    tables: tuple[Table, ...] = ()
    #: The names in them.
    judged: tuple[CaseName, ...] = ()


def read_known(path: str, catalog: "Catalog") -> KnownList:
    """Read known failures. Raises UsageError with file and line, SpecError for the causes."""
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
    lines: dict[str, int] = {}
    for number, line in enumerate(table.lines, table.place.line):
        for quoted in _QUOTED.findall(line):
            lines.setdefault(quoted[1:-1], number)
    for name in _texts(table.values["case"]):
        place = Place(table.place.file, lines.get(name, table.place.line))
        yield CaseName(name, place, tuple(ids_of(name, place)))


def _check_causes(entries: Sequence[KnownEntry], catalog: "Catalog") -> None:
    if not entries:
        return
    from convcheck.causes.catalogue import causes_of
    from convcheck.rules.causes import TOGETHER

    known = [cause.name for cause in causes_of(catalog)]
    for entry in entries:
        if len(entry.cause) > TOGETHER:
            said = f"{len(entry.cause)} causes, but at most {TOGETHER} can act together"
            raise entry.table.wrong("cause", said, "write an entry for each cause, or for two")
        if unknown := next((name for name in entry.cause if name not in known), None):
            hint = meant(unknown, known, "your own causes need --specs DIR")
            raise entry.table.wrong("cause", f"no cause is named {unknown!r}", hint)


def _text(pattern: str) -> Callable[[Any], object]:
    spelled = re.compile(pattern, re.DOTALL)
    return lambda value: isinstance(value, str) and spelled.fullmatch(value)


def _texts(value: Any) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value
    fits = isinstance(texts, list) and all(isinstance(text, str) and text for text in texts)
    return tuple(texts) if fits else ()


def _versions(text: Any) -> "SpecifierSet | None":
    if not isinstance(text, str):
        return None
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        return SpecifierSet(text) or None
    except InvalidSpecifier:
        return None


_WORDS = {"verdict": tuple(sorted(FAILURES)), "tier": ("edge", "boundary", "exhaustive")}
# test of a value, its description, and a hint
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
    "until": (lambda value: type(value) is date, "a date", "without quotes or time: 2027-01-31"),
    "backend": (_versions, "a range of versions", 'of the backend, for example ">=1.20,<1.32"'),
}  # fmt: skip


def _check(table: Table) -> None:
    values = table.values
    if table.name == WAIVER and "until" in values:
        hint = "a waiver is permanent; use [[known]] for failures to be fixed"
        raise table.wrong("until", "a waiver has no 'until'", hint)
    of_cause = "cause" in values and table.name != JUDGED
    if of_cause and (other := next((key for key in OF_A_RULE if key in values), None)):
        hint = "leave it out: the cause determines it"
        raise table.wrong(other, f"{other!r} cannot be combined with 'cause'", hint)
    required, optional = _KEYS["cause" if of_cause else table.name]
    for key, value in values.items():
        _check_value(table, key, value, (*required, *optional))
    if missing := [key for key in required if key not in values]:
        said = f"[[{table.name}]] lacks {' and '.join(map(repr, missing))}"
        raise UsageError(said, place=table.place)
    if table.name == KNOWN and any(map(_GLOB.search, _texts(values["case"]))):
        hint = "name them in braces, or remove the entry: `--update` writes it"
        said = "a [[known]] entry has to name its cases without globs"
        raise table.wrong("case", said, hint)
    for key, other in (("digest", "count"), ("count", "tier")):
        if key in values and other not in values:
            raise table.wrong(key, f"{key!r} needs {other!r}", _WRITES)
    if "digest" in values and not values["rule"]:
        hint = "leave it out: a case that failed as a whole has no answers"
        raise table.wrong("digest", "'digest' needs a rule", hint)


def _check_value(table: Table, key: str, value: Any, known: Sequence[str]) -> None:
    if key not in known:
        hint = meant(key, known, f"[[{table.name}]] has {', '.join(known)}")
        raise table.wrong(key, f"unknown key {key!r} in [[{table.name}]]", hint)
    if key in _WORDS and value not in _WORDS[key]:
        raise table.wrong(key, f"{key!r} cannot be {value!r}", meant(str(value), _WORDS[key]))
    fits, what, hint = _VALUES.get(key, (bool, "", ""))
    if not fits(value):
        raise table.wrong(key, f"{key!r} has to be {what}", hint)
