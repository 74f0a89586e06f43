"""Where the type of the output is the answer: the wrong cells of the matrix, as got≠due."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from convcheck.judge.failure import of_types, types_of
from convcheck.judge.result import CaseResult, RunResult
from convcheck.report.blocks import abbreviated
from convcheck.report.counts import by_spec
from convcheck.report.matrix import matrix
from convcheck.report.status import status_of
from convcheck.rules.model import Case

Setting = tuple[str, ...]  # a case's id after its types: layout and attributes
_Entry = tuple[tuple[str, ...], ...]  # the words that stand in each place of settings, or ids
_Cells = frozenset[tuple[str, str, str]]  # row, column, got≠due


@dataclass(frozen=True)
class Pattern:
    """Wrong cells, and the settings that have just these."""

    cells: _Cells
    settings: tuple[Setting, ...]


@dataclass(frozen=True)
class WrongTypes:
    """The wrong types of a spec."""

    spec: str
    #: Those of most wrong cells first.
    patterns: tuple[Pattern, ...]
    asked: tuple[Setting, ...]
    #: The names of all rows, and of all columns, in order.
    order: tuple[tuple[str, ...], tuple[str, ...]]


def wrong_types(result: RunResult) -> Iterator[WrongTypes]:
    """Yield the wrong types of each spec that has some."""
    for spec, cases in by_spec(result).items():
        found = patterns(cases)
        if found:
            asked = tuple(_setting(c.case) for c in cases if of_types(c.case))
            whole = matrix((case.case, status_of(case, result.level)) for case in cases)
            rows, columns = (
                tuple(map(abbreviated, names)) for names in (whole.sources, whole.targets)
            )
            yield WrongTypes(spec, tuple(found), asked, (rows, columns))


def patterns(cases: Iterable[CaseResult]) -> list[Pattern]:
    """Return settings with the same wrong cells together, those of most wrong cells first."""
    found: dict[Setting, set[tuple[str, str, str]]] = {}
    for result in cases:
        for group in result.groups if of_types(result.case) else ():
            outcome = types_of(group)
            if outcome:
                row, column = (abbreviated(t.name) for t in result.case.inputs)
                said = "≠".join(map(abbreviated, outcome))
                found.setdefault(_setting(result.case), set()).add((row, column, said))
    settings: dict[_Cells, list[Setting]] = {}
    for setting, cells in found.items():
        settings.setdefault(frozenset(cells), []).append(setting)
    made = [Pattern(cells, tuple(names)) for cells, names in settings.items()]
    return sorted(made, key=lambda p: -len(p.cells) * len(p.settings))


def _setting(case: Case) -> Setting:
    return tuple(case.name.split("/")[1:])


def names_of(settings: Iterable[Setting], asked: Sequence[Setting]) -> list[str]:
    """Return short names of settings, without what is so in all that is asked of every pair: a
    value that is asked of a few pairs alone tells nothing of the others.
    """
    times = Counter(asked)
    most = max(times.values())
    usual = [setting for setting in times if times[setting] == most]
    everything = [tuple(dict.fromkeys(column)) for column in zip(*usual, strict=True)]
    entries: list[_Entry] = [tuple((part,) for part in setting) for setting in settings]
    for axis in range(len(everything)):
        entries = _merged(entries, axis)
    return [_spelled(entry, everything) for entry in entries]


def _merged(entries: Sequence[_Entry], axis: int) -> list[_Entry]:
    """Return entries put together that differ in nothing but the words at `axis`."""
    words: dict[_Entry, tuple[str, ...]] = {}
    for entry in entries:
        key = entry[:axis] + entry[axis + 1 :]
        words[key] = tuple(dict.fromkeys((*words.get(key, ()), *entry[axis])))
    return [(*key[:axis], both, *key[axis:]) for key, both in words.items()]


def _spelled(entry: _Entry, everything: Sequence[Sequence[str]]) -> str:
    said = []
    for words, known in zip(entry, everything, strict=True):
        name, equals, _ = words[0].partition("=")
        values = [word.removeprefix(f"{name}=") for word in words] if equals else list(words)
        if not set(words) >= set(known):
            said.append((f"{name}=" if equals else "") + "|".join(values))
    return ", ".join(said) or "in every setting asked"
