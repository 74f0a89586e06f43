"""Draw a run on a terminal."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from convcheck.judge.failure import of_types, types_of
from convcheck.judge.result import CaseResult, Excuse, Problem, Verdict
from convcheck.judge.words import clean
from convcheck.records import grouped
from convcheck.report.blocks import (
    BLANK,
    INDENT,
    Block,
    Fitting,
    Said,
    Table,
    Text,
    abbreviated,
    cut,
    item,
    styled,
    under,
)
from convcheck.report.counts import KNOWN, STYLES, WAIVED
from convcheck.report.document import Document, groups_of
from convcheck.report.draw.finding import (
    IN_FULL,
    cause_blocks,
    cause_per_line,
    causes_summary,
    finding_blocks,
    unexplained_summary,
)
from convcheck.report.draw.matrix import letters_only, matrix_blocks
from convcheck.report.findings import Finding
from convcheck.report.matrix import StatusMatrix, family, without_unsupported
from convcheck.rules.find import compact_names
from convcheck.rules.model import Case
from convcheck.streams import GLUE, number, plural

_REASONS = 3
_VERDICTS = {
    "FAIL": "bold red",
    "PASS": "bold green",
    "INTERRUPTED": "bold yellow",
    "NOTHING JUDGED": "bold yellow",
}
_RULES: tuple[Verdict, ...] = ("tolerated", "undefined")
_LISTED = {"known": KNOWN.style, "waived": WAIVED.style}
_READINGS = 2  # readings listed per rule
_FEW = 3  # findings need no digest
_LINES = 16
_ENTRIES = 6  # entries of each kind in a list
_NAMES = 30  # columns of case names in a finding's line


def report_page(
    document: Document, verbose: bool, quiet: bool = False, whole: bool = False
) -> Iterator[Block]:
    """Yield the report.

    `verbose` shows all matrices, cases and messages, and explained findings. `quiet` shows problems
    of the list, a line per cause and unexplained finding, and the verdict. If `whole`, the digest
    has all findings.
    """
    if not quiet:
        yield from _full(document, verbose, whole)
        return
    yield from _problems(document.problems)
    yield from cause_per_line([one for one in document.causes if one.gated])
    gated = [finding for finding in document.unexplained if finding.gated]
    yield from _a_line_each(gated, whole, named=True)
    yield verdict_line(document)


def _full(document: Document, verbose: bool, whole: bool) -> Iterator[Block]:
    yield Text(document.backend, "bold", hang=2)
    yield Text("; ".join(document.setting), hang=2)
    yield from (Text(f"note: {note}", "yellow", hang=6) for note in document.remarks)
    brief = bool(document.causes) and not verbose
    if document.cases and not brief:
        yield from (BLANK, counts_table(document), BLANK)
    if document.causes:
        yield from (BLANK, Text(causes_summary(document), "bold", hang=2), BLANK)
        yield from (*cause_blocks(document.causes, verbose), BLANK)
        yield from matrix_blocks(document.letters) if verbose else ()
        if document.unexplained:
            yield from (Text(unexplained_summary(document), "bold"), BLANK)
    if not brief:
        every, failing = document.matrices, document.failing
        yield from matrix_blocks(
            every if verbose else {spec: without_unsupported(every[spec]) for spec in failing}
        )
        yield from wrong_type_blocks(document, verbose)
    unexcused = [finding for finding in document.findings if not finding.excuse]
    left = list(document.unexplained) if document.causes else unexcused
    excused = [finding for finding in document.findings if finding.excuse and verbose]
    for finding in (*left, *excused):
        yield from (*finding_blocks(finding, verbose), BLANK)
    found = unexcused if verbose else left
    yield from _problems(document.problems)
    if brief:
        few = len(document.causes) <= IN_FULL
        drawn = matrix_blocks(document.letters, lettered=True)
        yield from drawn if few else (*letters_only(document.letters), BLANK)
    if len(found) > _FEW:
        yield Text(f"{plural(len(found), 'finding')}, those in most cases first:", "bold")
        yield from (*_a_line_each(found, verbose or whole), BLANK)
    rest = [*(_asked_otherwise(document.coverage) if verbose else ())]
    rest += () if verbose else excused_blocks(document.findings)
    rest += () if brief else _unjudged(document, verbose)
    yield from (*rest, BLANK) if rest else ()
    yield verdict_line(document)


def _a_line_each(found: Sequence[Finding], every: bool, named: bool = False) -> Iterator[Block]:
    shown = found if every else found[:_LINES]
    rows: list[list[Said]] = []
    for finding in shown:
        names = ", ".join(finding.cases)
        of = f"{names if every else cut(names, _NAMES)}: " if named else ""
        count = f"{plural(len(finding.members), 'case'):>10}"
        gate = "" if finding.gated else " (below the gate)"
        rows.append([count, [(finding.id, "dim")], of + finding.labelled_line + gate])
    if rows:
        yield Table([], rows, prose=True)
    if len(found) > len(shown):
        rest = plural(sum(len(finding.members) for finding in found[len(shown) :]), "case")
        yield Text(f"  … and {len(found) - len(shown)} more, in {rest}", "dim")


def verdict_line(document: Document) -> Text:
    """Return the last line: verdict and counts."""
    glued = (one.replace(" ", GLUE).replace(f",{GLUE}", ", ") for one in document.reasons)
    return item(document.verdict, _VERDICTS[document.verdict], "; ".join(glued))


def counts_table(document: Document) -> Block:
    """Return a line per spec, short if the width needs it."""
    return Fitting([[_counts(document, short)] for short in (False, True)])


def _counts(document: Document, short: bool) -> Table:
    present, spell = document.statuses, _short if short else number
    heads = ["spec", "cases", document.counted, "judged"]
    heads += [status.short if short else status.word for status in present]
    rows: list[list[Said]] = []
    for spec, cases in document.cases.items():
        statuses = Counter(case.status for case in cases)
        asked = spell(sum(case.found.checked for case in cases))
        judged = spell(sum(case.found.values_judged for case in cases))
        found = [(number(statuses[status]), status.style) for status in present]
        row = [(number(len(cases)), ""), (asked, ""), (judged, ""), *found]
        rows.append([spec, *([(n, "dim" if n == "0" else style)] for n, style in row)])
    right = range(1, len(heads))
    return Table([styled("dim", heads)], rows, gap=1 if short else 2, right=right)


def _short(count: int) -> str:
    for unit, power in (("G", 9), ("M", 6)):
        if count >= 10 ** (power + 1):
            return f"{count / 10**power:,.1f} {unit}"
    return number(count)


def _problems(problems: Sequence[Problem]) -> Iterator[Block]:
    for one in problems:
        yield item(one.kind.upper(), "bold red", str(one.place))
        yield under(one.message)
        yield from (Text(line, "cyan", INDENT, whole=True) for line in one.repair.splitlines())
        yield BLANK


def excused_blocks(found: Sequence[Finding]) -> Iterator[Block]:
    """Yield excused failures, then place and reason, the most cases first."""
    for kind in _LISTED:
        excused = ((one.excuse, one) for one in found if one.excuse)
        entries = grouped((excuse, one) for excuse, one in excused if excuse.kind == kind)
        cases = {
            excuse: {one.case.id: one.case for finding in some for one in finding.members}
            for excuse, some in entries.items()
        }
        order = sorted(entries, key=lambda excuse: -len(cases[excuse]))
        for excuse in order[:_ENTRIES]:
            yield from _entry(excuse, entries[excuse], cases[excuse])
        if left := order[_ENTRIES:]:
            of = plural(sum(len(cases[excuse]) for excuse in left), "case")
            said = f"… and {number(len(left))} more, of {of} (-v shows all, in full)"
            yield Text(said, "dim", len(kind) + 2)


def _entry(excuse: Excuse, found: Sequence[Finding], cases: Mapping[str, Case]) -> Iterator[Block]:
    rules = dict.fromkeys(finding.rule for finding in found if finding.rule)
    first, *more = dict.fromkeys(map(_way, found))
    what = f"{', '.join(rules)}: {first}".removeprefix(": ")
    what += f" and {plural(len(more), 'other way')}" if more else ""
    said = f"{_families(cases)} {what} {_of(cases)}"
    yield item(excuse.kind, _LISTED[excuse.kind], [(said, "dim")])
    why = f"{excuse.place}  {clean(excuse.issue or excuse.reason)}".rstrip()
    yield Text(why, "dim", len(excuse.kind) + 2, whole=bool(excuse.issue))  # issues can be copied


def _way(finding: Finding) -> str:
    said = finding.kind if finding.rule else finding.message
    if said in ("", finding.verdict):
        return finding.verdict
    return said if finding.verdict == "fail" else f"{finding.verdict}, {said}"


def _families(cases: Mapping[str, Case]) -> str:
    return ", ".join(dict.fromkeys(family(case.spec) for case in cases.values()))


def _of(cases: Mapping[str, Case]) -> str:
    return f"({plural(len(cases), 'case')})".replace(" ", GLUE)


def _asked_otherwise(coverage: Sequence[tuple[str, Sequence[str]]]) -> Iterator[Block]:
    most = max((len(cases) for _, cases in coverage), default=0)
    for words, cases in coverage:
        if len(cases) < most:
            yield item("asked", "dim", f"{words}: {plural(len(cases), 'case')}")
            yield from (Text(name, "dim", 7, 2) for name in compact_names(cases))


def _unjudged(document: Document, verbose: bool) -> Iterator[Block]:
    for verdict in _RULES if verbose else _RULES[:1]:
        rules: dict[str, dict[str, dict[str, Case]]] = {}
        for result, group in groups_of(document.result, verdict):
            way = f'reads it as "{group.reading}"' if group.reading else group.kind
            ways = rules.setdefault(group.decision.rule, {})
            ways.setdefault(way, {})[result.case.id] = result.case
        for rule, ways in rules.items():
            yield from _rule(verdict, rule, ways, verbose)
    yield from _unsupported(document.result.cases, verbose)


def _rule(
    verdict: Verdict, rule: str, ways: Mapping[str, Mapping[str, Case]], verbose: bool
) -> Iterator[Block]:
    few = verbose or len(ways) <= _READINGS
    others = "" if few else f"; {len(ways) - 1}{GLUE}other{GLUE}ways (-v)"
    for what in ways if few else [max(ways, key=lambda way: len(ways[way]))]:
        said = f"{_families(ways[what])} {rule}{': ' if what else ''}{what}"
        yield item(verdict, STYLES[verdict], f"{said} {_of(ways[what])}{others}")


def _unsupported(cases: Sequence[CaseResult], verbose: bool) -> Iterator[Block]:
    reasons: dict[str, list[tuple[str, str]]] = {}
    lacking = [case for case in cases if case.verdict == "unsupported"]
    for case in lacking:  # versions and line numbers vary in the same message
        message = clean(case.message)
        alike = message if verbose else re.sub(r"\b[0-9]+\b", "0", message)
        reasons.setdefault(alike, []).append((case.case.id, message))
    if len(reasons) > _REASONS and not verbose:
        yield item("unsupported", "dim", f"{plural(len(lacking), 'case')} (-v says why)")
        return
    for some in reasons.values():
        messages = dict.fromkeys(message for _, message in some)
        such = ", such as" if len(messages) > 1 else ""
        said = f"{plural(len(some), 'case')}{such}: {next(iter(messages)) or 'no reason given'}"
        yield item("unsupported", "dim", said, cut=not verbose)
        for name in compact_names(case for case, _ in some) if verbose else ():
            yield Text(name, "dim", 13, 2)


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
