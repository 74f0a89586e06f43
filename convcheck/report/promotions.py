"""Where the type of the output is the answer: the wrong cells of the matrix, as got≠due."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from convcheck.judge.failure import of_types, types_of
from convcheck.judge.result import CaseResult, RunResult
from convcheck.judge.words import plural
from convcheck.report.layout import paragraph
from convcheck.report.matrix import matrix
from convcheck.report.tally import by_spec
from convcheck.rules.model import Case

_INDENT = 2
_GAP = "  "
_PATTERNS, _ROWS, _PARTS, _SETTINGS = 4, 12, 2, 3  # shown of each, unless everything is asked for
_NAMES = (("float", "f"), ("uint", "u"), ("int", "i"))

Setting = tuple[str, ...]  # a case's id after its types: layout and attributes
_Entry = tuple[tuple[str, ...], ...]  # the words that stand in each place of settings, or ids
_Cells = frozenset[tuple[str, str, str]]  # row, column, got≠due


@dataclass(frozen=True)
class Pattern:
    """Wrong cells, and the settings that have just these."""

    cells: _Cells
    settings: tuple[Setting, ...]


def patterns(cases: Iterable[CaseResult]) -> list[Pattern]:
    """Put settings with the same wrong cells together, those of most wrong cells first."""
    found: dict[Setting, set[tuple[str, str, str]]] = {}
    for result in cases:
        for group in result.groups if of_types(result.case) else ():
            outcome = types_of(group)
            if outcome:
                row, column = (_short(t.name) for t in result.case.inputs)
                said = "≠".join(map(_short, outcome))
                found.setdefault(_setting(result.case), set()).add((row, column, said))
    settings: dict[_Cells, list[Setting]] = {}
    for setting, cells in found.items():
        settings.setdefault(frozenset(cells), []).append(setting)
    made = [Pattern(cells, tuple(names)) for cells, names in settings.items()]
    return sorted(made, key=lambda p: -len(p.cells) * len(p.settings))


def _setting(case: Case) -> Setting:
    return tuple(case.name.split("/")[1:])


def _short(name: str) -> str:
    for long, short in _NAMES:
        name = name.replace(long, short)
    return name


def compact(ids: Iterable[str]) -> list[str]:
    """Name cases shortly: ids that differ in one place only are put together, the last places
    first: …/{int8-uint8,uint8-int8}/scalar-tensor/promote_unsafe={false,true}.
    """
    entries: list[_Entry] = [tuple((part,) for part in name.split("/")) for name in ids]
    for axis in range(min(map(len, entries), default=0) - 1, 0, -1):
        entries = _merged(entries, axis)
    return ["/".join(map(_braces, entry)) for entry in entries]


def _braces(words: tuple[str, ...]) -> str:
    name, equals, _ = words[0].partition("=")
    if len(words) == 1:
        return words[0]
    return (
        f"{name}{equals}" * bool(equals)
        + "{"
        + ",".join(word.removeprefix(name + equals) if equals else word for word in words)
        + "}"
    )


def show(result: RunResult, width: int, verbose: bool) -> Iterator[Text]:
    """Show for each pattern of wrong cells the rows and columns that have any."""
    for spec, cases in by_spec(result).items():
        found = patterns(cases)
        if not found:
            continue
        asked = [_setting(c.case) for c in cases if of_types(c.case)]
        whole = matrix(cases, result.level)
        order = tuple(tuple(map(_short, names)) for names in (whole.sources, whole.targets))
        count = sum(len(p.cells) * len(p.settings) for p in found)
        yield Text.assemble((spec, "bold"), f"  wrong types, as got≠due: {plural(count, 'case')}")
        shown = found if verbose else found[:_PATTERNS]
        for pattern in shown:
            yield from _settings(pattern, asked, width, verbose)
            yield from _grid(pattern, order, width, verbose)
            yield Text()
        if len(found) > len(shown):
            rest = sum(len(p.cells) * len(p.settings) for p in found[len(shown) :])
            more = plural(len(found) - len(shown), "more pattern")
            yield Text(f"  … and {more}, of {plural(rest, 'case')} (-v shows all)", "dim")
            yield Text()


def _settings(
    pattern: Pattern, asked: Sequence[Setting], width: int, verbose: bool
) -> Iterator[Text]:
    names = names_of(pattern.settings, asked)
    kept = names if verbose or len(names) <= _SETTINGS else names[: _SETTINGS - 1]
    for name in kept:
        yield from paragraph(name, width, indent=_INDENT, hang=2)
    if len(names) > len(kept):
        yield Text(" " * _INDENT + f"… and {len(names) - len(kept)} more such (-v)", "dim")


def names_of(settings: Iterable[Setting], asked: Sequence[Setting]) -> list[str]:
    """Name settings shortly: what they have in common, without what is so in all that is asked."""
    everything = [tuple(dict.fromkeys(column)) for column in zip(*asked, strict=True)]
    entries: list[_Entry] = [tuple((part,) for part in setting) for setting in settings]
    for axis in range(len(everything)):
        entries = _merged(entries, axis)
    return [_spelled(entry, everything) for entry in entries]


def _merged(entries: Sequence[_Entry], axis: int) -> list[_Entry]:
    """Put entries together that differ in nothing but the words at `axis`."""
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
        if set(words) < set(known):
            said.append((f"{name}=" if equals else "") + "|".join(values))
        elif len(known) == 1:
            continue
    return ", ".join(said) or "in every setting asked"


def _grid(
    pattern: Pattern, order: Sequence[Sequence[str]], width: int, verbose: bool
) -> Iterator[Text]:
    """Give the lines of the part of the matrix that has wrong cells, in parts by columns."""
    cells = {(row, column): said for row, column, said in sorted(pattern.cells)}
    rows, columns = (
        [name for name in names if name in {pair[i] for pair in cells}]
        for i, names in enumerate(order)
    )
    label = max(map(len, rows)) + _INDENT
    parts = list(_parts(columns, cells, width - label))
    shown = 0
    for part in parts if verbose else parts[:_PARTS]:
        here = [row for row in rows if any((row, column) in cells for column in part)]
        kept = here if verbose or len(here) <= _ROWS else here[: _ROWS - 1]
        widths = [_width(column, cells) for column in part]
        heads = (f"{c:<{w}}" for c, w in zip(part, widths, strict=True))
        yield Text((" " * label + _GAP + _GAP.join(heads)).rstrip(), "dim")
        yield from _lines(kept, part, widths, cells, label)
        shown += sum((row, column) in cells for row in kept for column in part)
    if shown < len(cells):
        more = plural(len(cells) - shown, "more wrong cell")
        yield Text(" " * _INDENT + f"… and {more} (-v shows all)", "dim")


def _lines(
    rows: Sequence[str],
    columns: Sequence[str],
    widths: Sequence[int],
    cells: dict[tuple[str, str], str],
    label: int,
) -> Iterator[Text]:
    for row in rows:
        line = Text((" " * _INDENT + row).ljust(label))
        for column, width in zip(columns, widths, strict=True):
            said = cells.get((row, column))
            line.append(_GAP)
            line.append((said or ".").ljust(width), "bold red" if said else "dim")
        line.rstrip()
        yield line


def _parts(
    columns: Sequence[str], cells: dict[tuple[str, str], str], room: int
) -> Iterator[list[str]]:
    part: list[str] = []
    used = 0
    for column in columns:
        need = len(_GAP) + _width(column, cells)
        if part and used + need > room:
            yield part
            part, used = [], 0
        part.append(column)
        used += need
    yield part


def _width(column: str, cells: dict[tuple[str, str], str]) -> int:
    return max(len(column), *(len(said) for (_, c), said in cells.items() if c == column))
