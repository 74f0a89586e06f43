"""Draw wrong cells of a matrix of output types, as got≠due."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from convcheck.judge.failure import of_types, types_of
from convcheck.judge.result import CaseResult
from convcheck.records import grouped
from convcheck.report.blocks import BLANK, Block, Said, Table, Text, abbreviated, styled
from convcheck.report.document import Document
from convcheck.report.matrix import StatusMatrix
from convcheck.rules.model import Case
from convcheck.streams import plural

Setting = tuple[str, ...]  # layout and attributes, from the case id
_Entry = tuple[tuple[str, ...], ...]  # the alternatives at each place of a setting
_Cells = frozenset[tuple[str, str, str]]  # row, column, got≠due
_INDENT = 2
# limits, unless verbose
_PATTERNS, _ROWS, _COLUMNS, _SETTINGS = 4, 12, 16, 3


@dataclass(frozen=True)
class Pattern:
    """Wrong cells and the settings that share them."""

    cells: _Cells
    settings: tuple[Setting, ...]

    @property
    def cases(self) -> int:
        """The number of wrong cases."""
        return len(self.cells) * len(self.settings)


def wrong_type_blocks(document: Document, verbose: bool) -> Iterator[Block]:
    """Yield each pattern of wrong cells. `verbose` includes excused failures."""
    for spec, reports in document.cases.items():
        cases = [one.found for one in reports]
        found = patterns(cases, excused=verbose)
        if not found:
            continue
        said = f"  wrong types, as got≠due: {plural(sum(p.cases for p in found), 'case')}"
        yield Text([(spec, "bold"), (said, "")])
        asked = [_setting(case.case) for case in cases if of_types(case.case)]
        shown = found if verbose else found[:_PATTERNS]
        for pattern in shown:
            yield from _settings(pattern, asked, verbose)
            yield from _grid(pattern, document.matrices[spec], verbose)
            yield BLANK
        if left := found[len(shown) :]:
            rest = plural(sum(p.cases for p in left), "case")
            more = plural(len(left), "more pattern")
            yield Text(f"  … and {more}, of {rest} (-v shows all)", "dim")
            yield BLANK


def patterns(cases: Iterable[CaseResult], excused: bool = True) -> list[Pattern]:
    """Group settings with the same wrong cells, the most wrong cases first."""
    found: dict[Setting, set[tuple[str, str, str]]] = {}
    for result in cases:
        for group in result.groups if of_types(result.case) else ():
            outcome = types_of(group) if excused or not group.excuse else None
            if outcome:
                row, column = (abbreviated(t.name) for t in result.case.inputs)
                said = "≠".join(map(abbreviated, outcome))
                found.setdefault(_setting(result.case), set()).add((row, column, said))
    settings = grouped((frozenset(cells), setting) for setting, cells in found.items())
    made = [Pattern(cells, tuple(names)) for cells, names in settings.items()]
    return sorted(made, key=lambda pattern: -pattern.cases)


def _settings(pattern: Pattern, asked: Sequence[Setting], verbose: bool) -> Iterator[Block]:
    names = names_of(pattern.settings, asked)
    kept = names if verbose or len(names) <= _SETTINGS else names[: _SETTINGS - 1]
    yield from (Text(name, indent=_INDENT, hang=2) for name in kept)
    if len(names) > len(kept):
        yield Text(f"… and {len(names) - len(kept)} more such (-v)", "dim", _INDENT)


def _grid(pattern: Pattern, whole: StatusMatrix, verbose: bool) -> Iterator[Block]:
    wrong = {(row, column): said for row, column, said in sorted(pattern.cells)}
    targets, sources = map(abbreviated, whole.targets), map(abbreviated, whole.sources)
    columns = [name for name in targets if name in {column for _, column in wrong}]
    columns = columns if verbose else columns[:_COLUMNS]
    rows = [name for name in sources if any((name, column) in wrong for column in columns)]
    kept = rows if verbose or len(rows) <= _ROWS else rows[: _ROWS - 1]
    lines: list[list[Said]] = []
    for row in kept:
        cells = (wrong.get((row, column)) for column in columns)
        lines.append([row, *([(said, "bold red") if said else (".", "dim")] for said in cells)])
    yield Table([styled("dim", ["", *columns])], lines, _INDENT, empty=".")
    shown = sum((row, column) in wrong for row in kept for column in columns)
    if shown < len(wrong):
        more = plural(len(wrong) - shown, "more wrong cell")
        yield Text(f"… and {more} (-v shows all)", "dim", _INDENT)


def _setting(case: Case) -> Setting:
    return tuple(case.name.split("/")[1:])


def names_of(settings: Iterable[Setting], asked: Sequence[Setting]) -> list[str]:
    """Return short names of settings, without parts that most settings share."""
    times = Counter(asked)
    most = max(times.values())
    usual = [setting for setting in times if times[setting] == most]
    everything = [tuple(dict.fromkeys(column)) for column in zip(*usual, strict=True)]
    entries: list[_Entry] = [tuple((part,) for part in setting) for setting in settings]
    for axis in range(len(everything)):
        entries = _merged(entries, axis)
    return [_spelled(entry, everything) for entry in entries]


def _merged(entries: Sequence[_Entry], axis: int) -> list[_Entry]:
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
