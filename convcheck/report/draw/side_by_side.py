"""Draw several backends side by side."""

from collections import Counter
from collections.abc import Iterator, Sequence

from convcheck.causes.gather import shared_causes
from convcheck.judge.result import FAILURES
from convcheck.judge.words import clean
from convcheck.plan.runner import Turn
from convcheck.records import grouped, replace
from convcheck.report.blocks import BLANK, Block, Said, Table, Text, item, styled, under
from convcheck.report.counts import STATUSES
from convcheck.report.document import Document, groups_of
from convcheck.report.draw.finding import finding_blocks
from convcheck.report.draw.matrix import side_by_side_matrices
from convcheck.report.draw.terminal import verdict_line
from convcheck.report.findings import Finding, said_of
from convcheck.report.matrix import family, short_names
from convcheck.rules.find import compact_names
from convcheck.streams import number, plural

_FEW = 3  # findings need no digest
_LINES = 16
_HEADS = 40  # columns of backend names above counts


_Side = tuple[str, Document | None, str]  # a backend, its run, or why it did not start


def side_by_side_page(turns: Sequence[Turn], verbose: bool, whole: bool = False) -> Iterator[Block]:
    """Yield the report. If `whole`, as in a file, the digest has all findings."""
    short = short_names([turn.address for turn in turns])
    each = zip(short, turns, strict=True)
    sides = [(name, Document(one.run) if one.run else None, one.error) for name, one in each]
    ran = [(name, document) for name, document, _ in sides if document]
    yield from _title(sides)
    if ran:
        names = [name for name, _ in ran]
        yield from (BLANK, _table(ran), BLANK)
        yield from side_by_side_matrices(ran, verbose)
        if shared := shared_causes({name: document.diagnosis for name, document in ran}):
            causes = plural(len(shared), "cause")
            yield Text(f"{causes}, and the cases that each explains in each backend:", "bold")
            rows = [([one.cases(name) for name in names], said_of(one.causes)) for one in shared]
            yield from (*_counted(names, rows), BLANK)
        found = shared_findings(ran)
        for finding in found:
            yield from (*_finding(finding, len(ran), verbose), BLANK)
        yield from _digest(found, names, verbose or whole)
        tolerated = list(_tolerated(ran))
        yield from (*tolerated, BLANK) if tolerated else ()
    room = max(map(len, short), default=0)
    for name, document, _ in sides:
        if document is None:
            yield item(name.ljust(room), "bold", [("NOT STARTED", "bold red")])
        else:
            line = verdict_line(document)
            yield replace(line, label=[(f"{name.ljust(room)}  ", "bold"), *line.label])


def _title(sides: Sequence[_Side]) -> Iterator[Block]:
    room = max((len(name) for name, _, _ in sides), default=0)
    for name, document, error in sides:
        said = f"could not be started: {clean(error)}"
        if document:
            said = clean(document.result.backend.version)
        yield item(name.ljust(room), "bold" if document else "bold red", said)
    if runs := [document.result for _, document, _ in sides if document]:
        yield Text(f"{runs[0].tier} tier, gate: {runs[0].level}")
    notes = {(note, name) for name, document, _ in sides if document for note in document.remarks}
    for note in dict.fromkeys(note for note, _ in sorted(notes)):
        names = ", ".join(name for name, _, _ in sides if (note, name) in notes)
        yield Text(f"note: {names}: {note}", "yellow", hang=6)


def _table(ran: Sequence[tuple[str, Document]]) -> Table:
    each = [[case for some in one.cases.values() for case in some] for _, one in ran]
    rows: list[list[Said]] = []
    for spec in dict.fromkeys(spec for _, document in ran for spec in document.cases):
        rows.append([spec, *(_cell(_gist(document, spec)) for _, document in ran)])
    sums = {"all cases": [len(cases) for cases in each]}
    for status in STATUSES:
        sums[status.word] = [sum(case.status == status for case in cases) for cases in each]
    sums["values asked"] = [sum(case.found.checked for case in cases) for cases in each]
    sums["values judged"] = [sum(case.found.values_judged for case in cases) for cases in each]
    for name, counts in sums.items():
        if any(counts):
            rows.append([name, *map(_cell, map(number, counts))])
    heads = styled("bold", ["", *(name for name, _ in ran)])
    return Table([heads], rows, right=range(1, len(ran) + 1))


def _gist(document: Document, spec: str) -> str:
    if spec not in document.cases:
        return "not asked"
    found = Counter(case.status.word for case in document.cases[spec])
    if failing := sum(found[word] for word in FAILURES):
        return f"{number(failing)} FAIL"
    if not found.keys() - {"undefined", "unsupported"}:
        return "not judged"
    below = found["below gate"]
    return f"{number(below)} below" if below else "pass"


def _cell(word: str) -> Said:
    style = "bold red" if word.endswith("FAIL") else "dim" if word == "0" else ""
    return [(word, "green" if word == "pass" else style)]


Shared = Sequence[tuple[str, Finding]]  # the same failure of several backends


def shared_findings(ran: Sequence[tuple[str, Document]]) -> list[Shared]:
    """Return the findings of several runs: failed runs first, then most backends and cases."""
    every = ((name, one) for name, document in ran for one in document.findings)
    found = grouped(((one.members[0].cause, one.gated), (name, one)) for name, one in every)
    return sorted(found.values(), key=_gravity)


def _gravity(sides: Shared) -> tuple[bool, int, int, int]:
    shown = _shown(sides)
    rank = {"error": 0, "crashed": 1}.get(shown.verdict, 2)
    return (not shown.gated, rank, -len(sides), -sum(len(one.members) for _, one in sides))


def _shown(sides: Shared) -> Finding:
    return max((one for _, one in sides), key=lambda one: len(one.members))


def _finding(sides: Shared, backends: int, verbose: bool) -> Iterator[Block]:
    shown = _shown(sides)
    if backends > 1:
        yield Text(", ".join(name for name, _ in sides), "bold cyan")
    yield from finding_blocks(shown, verbose)
    first = {one.case.id: one.count for one in shown.members}
    for name, one in sides:
        here = {member.case.id: member.count for member in one.members}
        if here != first:
            cases = plural(len(one.members), "case")
            said = f"{name}: {' in '.join(filter(None, (one.values, cases)))}"
            where = f": {', '.join(compact_names(here))}" if here.keys() != first.keys() else ""
            yield under(said + where, "dim", hang=2)


def _digest(found: Sequence[Shared], names: Sequence[str], every: bool) -> Iterator[Block]:
    if len(found) <= _FEW:
        return
    said = f"{plural(len(found), 'finding')}, and the cases in which each backend has them:"
    yield Text(said, "bold")
    shown = found if every else found[:_LINES]
    rows = []
    for each in shown:
        here = {name: len(one.members) for name, one in each}
        said = f"{_shown(each).id}  {_shown(each).labelled_line}"
        rows.append(([here.get(name, 0) for name in names], said))
    yield from _counted(names, rows)
    if len(found) > len(shown):
        yield Text(f"  … and {len(found) - len(shown)} more (-v shows all)", "dim")
    yield BLANK


def _counted(names: Sequence[str], rows: Sequence[tuple[Sequence[int], str]]) -> Iterator[Block]:
    heads = list(names)
    if sum(2 + max(len(name), 4) for name in names) > _HEADS:
        heads = [f"({i})" for i in range(1, len(names) + 1)]
        order = " ".join(f"{head} {name}" for head, name in zip(heads, names, strict=True))
        yield Text(order, "dim")
    titles = styled("dim", ["", *(head.rjust(4) for head in heads), ""])
    counts = [["", *(_cell(number(count)) for count in here), said] for here, said in rows]
    yield Table([titles], counts, right=range(1, len(names) + 1), prose=True)


def _tolerated(ran: Sequence[tuple[str, Document]]) -> Iterator[Block]:
    rules: dict[str, dict[str, list[str]]] = {}
    for name, document in ran:
        for case, group in groups_of(document.result, "tolerated"):
            rule = f"{family(case.case.spec)} {group.decision.rule}"
            readers = rules.setdefault(rule, {}).setdefault(group.reading, [])
            readers += [name] if name not in readers else []
    for rule, readings in rules.items():
        said = ", ".join(f'{" and ".join(who)} as "{how}"' for how, who in readings.items())
        yield item("tolerated", "yellow", f"{rule}: read by {said}")
