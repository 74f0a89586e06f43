"""The cases that a list says were judged, and what of them a run did not judge."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from convcheck.errors import Place
from convcheck.gate.case_names import compact_names, ids_of
from convcheck.gate.failures import Every
from convcheck.gate.toml import Table, check_keys, texts_of
from convcheck.judge.result import CaseResult, Problem, RunResult
from convcheck.judge.words import clean
from convcheck.wording import plural

JUDGED = "judged"
HEAD = "# What was judged. A run in which one of these cases is declined fails.\n"
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_SHOWN = 3
_OPEN = ("unsupported", "undefined")


@dataclass(frozen=True)
class JudgedName:
    """Cases that were judged, named on one line of a list."""

    #: The name as it stands there.
    name: str
    #: The ids of the cases.
    ids: tuple[str, ...]
    place: Place


@dataclass(frozen=True)
class JudgedTable:
    """A [[judged]] table of a list."""

    table: Table
    #: The lines of it, in order.
    names: tuple[JudgedName, ...]

    @property
    def ids(self) -> Iterator[str]:
        """The cases that it names."""
        return (name for one in self.names for name in one.ids)


def read_judged(table: Table) -> JudgedTable:
    """Read a [[judged]] table. Raises UsageError with file and line."""
    check_keys(table, ("case",), ())
    names = texts_of(table, "case", "ids of cases, as `convcheck baseline` writes them")
    lines: dict[str, int] = {}
    for number, line in enumerate(table.lines, table.place.line):
        for quoted in _QUOTED.findall(line):
            lines.setdefault(quoted[1:-1], number)
    return JudgedTable(table, tuple(_name(table, name, lines) for name in names))


def _name(table: Table, name: str, lines: Mapping[str, int]) -> JudgedName:
    place = Place(table.place.file, lines.get(name, table.place.line))
    return JudgedName(name, tuple(ids_of(name, place)), place)


def is_judged(case: CaseResult) -> bool:
    """Return whether anything of a case was judged."""
    return case.verdict not in _OPEN


def judged_now(
    tables: Iterable[JudgedTable], result: RunResult, add: bool = True
) -> dict[str, None]:
    """Return the cases that a list is to name after a run: those that it has and that the run
    judged or did not ask, and with `add` whatever else was judged.
    """
    judged = {case.case.id: is_judged(case) for case in result.cases}
    listed = {name: None for table in tables for name in table.ids if judged.get(name, True)}
    return listed | ({name: None for name, was in judged.items() if was} if add else {})


def judged_table(ids: Iterable[str]) -> str:
    """Write the table that names some cases, '' for none."""
    names = compact_names(ids)
    return f"[[{JUDGED}]]\ncase = [\n{_items(names)}]\n" if names else ""


def _items(names: Iterable[str]) -> str:
    return "".join(f"    {json.dumps(name)},\n" for name in names)


def vanished(tables: Sequence[JudgedTable], result: RunResult, every: Every) -> Iterator[Problem]:
    """Yield what a run did not judge of what a list says was judged, and names of no case."""
    unfinished = {part.case.id for part in result.parts}
    gone = {case.case.id: case for case in result.cases
            if not is_judged(case) and case.case.id not in unfinished}  # fmt: skip
    specs = tuple({name.partition("/")[0] for table in tables for name in table.ids})
    known = {case.case.id for case in result.cases}.union(every(specs) if specs else ())
    for one in (one for table in tables for one in table.names):
        if away := [name for name in one.ids if name not in known]:
            yield _unmatched(one, away)
        if here := [gone[name] for name in one.ids if name in gone]:
            yield _vanished(one, here)


def _unmatched(one: JudgedName, away: Sequence[str]) -> Problem:
    said = f"no case is named {_few(away)}; {_instead(one)}"
    return Problem("unmatched", one.place, said, _left(one, away))


def _vanished(one: JudgedName, here: Sequence[CaseResult]) -> Problem:
    ids = [case.case.id for case in here]
    words = list(dict.fromkeys(clean(case.message) for case in here if case.message))
    said = ", ".join(words[:_SHOWN]) or "nothing that can be judged"
    are = "was judged and is" if len(ids) == 1 else "were judged and are"
    message = (f"{plural(len(ids), 'case')} {are} not any more: {_few(ids)}; the backend says: "
               f"{said}; if this is intended, {_instead(one)}")  # fmt: skip
    return Problem("vanished", one.place, message, _left(one, ids))


def _instead(one: JudgedName) -> str:
    return f"remove what is gone, in {one.place}"


def _left(one: JudgedName, away: Iterable[str]) -> str:
    gone = set(away)
    return _items(compact_names(name for name in one.ids if name not in gone))


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
