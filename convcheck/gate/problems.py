"""Report problems of a list, with corrected entries."""

import json
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from textwrap import shorten
from typing import Any

from convcheck.gate.compare import (
    CheckedEntry,
    Comparison,
    Every,
    FailureCounts,
    Key,
    cases_of,
    existing,
)
from convcheck.gate.known_file import JUDGED, KNOWN, CaseName, KnownEntry, KnownList
from convcheck.judge.result import (
    EVER,
    FAILURES,
    CaseResult,
    CauseInWords,
    Fault,
    Problem,
    RunResult,
)
from convcheck.judge.words import clean
from convcheck.rules.find import compact_names
from convcheck.streams import plural

UNSEEN = "not yet looked into"
LATE = "this date is past: fix it, or set another"
_LONGEST = 70  # characters of a comment


def fresh(key: Key, tier: str, now: FailureCounts) -> str:
    """Write the entry of a new failure."""
    (rule, verdict), said = key, _ways(now.kinds)
    lines = [
        f"rule = {_quoted(rule)}",
        f'verdict = "{verdict}"{said and f"  # {said}"}',
        f'tier = "{tier}"',
        f'corpus = "{now.corpus}"',
        f"count = {now.count}",
    ]
    # crash messages and thread effects vary, and with them the digest
    if now.digest and verdict not in EVER:
        lines.append(f'digest = "{now.digest}"')
    return _entry(now.ids, lines)


def fresh_of_cause(causes: Sequence[CauseInWords], ids: Iterable[str], tier: str) -> str:
    """Write the entry of causes that act together."""
    names, said = [cause.name for cause in causes], "; and ".join(cause.says for cause in causes)
    cause = json.dumps(names if len(names) > 1 else names[0], ensure_ascii=False)
    return _entry(ids, [f"cause = {cause}  # {_ways([said])}", f'tier = "{tier}"'])


def _entry(ids: Iterable[str], lines: Iterable[str]) -> str:
    names = compact_names(ids)
    said = _quoted(names[0]) if len(names) == 1 else f"[\n{name_lines(names)}]"
    return "\n".join([f"[[{KNOWN}]]", f"case = {said}", *lines, f'reason = "{UNSEEN}"', ""])


def judged_table(ids: Iterable[str]) -> str:
    """Write the table of judged cases, if any."""
    names = name_lines(compact_names(ids))
    return f"[[{JUDGED}]]\ncase = [\n{names}]\n" if names else ""


def name_lines(names: Iterable[str]) -> str:
    """Write case names as lines."""
    return "".join(f"    {_quoted(name)},\n" for name in names)


def _ways(kinds: Iterable[str]) -> str:
    return shorten(", ".join(filter(None, kinds)), _LONGEST, placeholder=" …")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def rewritten(
    entry: KnownEntry, names: Sequence[str], now: FailureCounts | None, corpus: str, late: bool
) -> str:
    """Write an entry with other names, and tally and corpus if given. `late` marks the date."""
    import tomlkit

    # parse its lines alone, as a document of one table
    document = tomlkit.parse("\n".join(entry.table.lines) + "\n")
    tables: Any = document[entry.table.name]
    table = tables[0]
    if tuple(names) != tuple(name.name for name in entry.names):
        array = tomlkit.array()
        array.extend(names)
        table["case"] = names[0] if len(names) == 1 else array.multiline(True)
    for key in ("corpus", "count", "digest") if now else ():
        value = corpus if key == "corpus" else getattr(now, key)
        if key in table and table[key] != value:
            table[key] = value
    if now and table["verdict"].trivia.comment and (said := _ways(now.kinds)):
        table["verdict"].trivia.comment = f"# {said}"  # convcheck wrote it
    if late and LATE not in table["until"].trivia.comment:
        table["until"].comment(LATE)
    return tomlkit.dumps(document)


ABOUT = "known failures: "  # prefix of notes
_SHOWN = 3
_OPEN = ("unsupported", "undefined")


def problem(finding: CheckedEntry, fault: Fault, comparison: Comparison) -> Problem:
    """Describe an entry's fault."""
    entry = finding.entry
    gone = fault == "stale" or not (finding.here or finding.away)
    span = entry.table.span
    said = {
        "stale": lambda: _instead(finding, comparison),
        "unmatched": lambda: f"no case is named {_unknown(finding, comparison)}",
        "expired": lambda: (f"should have been fixed by {entry.until}, but still fails; "
                            "fix it, or set another date"),
        "changed": lambda: _change(finding),
    }[fault]()  # fmt: skip
    if gone:
        return Problem(fault, entry.place, f"{said}; remove the entry, {span}")
    if fault == "unmatched":
        said += f"; remove it from {span}"
    elif fault == "changed":
        said += f"; if this is intended, replace {span} with:"
    return Problem(fault, entry.place, said, repaired(finding, late=fault == "expired"))


def repaired(finding: CheckedEntry, late: bool = False) -> str:
    """Write a corrected entry, only its names if the run lacks cases. `late` marks the date."""
    entry, now = finding.entry, finding.now
    if finding.away or entry.cause:
        return rewritten(entry, finding.names, None, "", late)
    corpus = finding.corpus if entry.waived else now.corpus
    return rewritten(entry, finding.names, now, corpus, late)


def _instead(finding: CheckedEntry, comparison: Comparison) -> str:
    if finding.by:
        return f"{finding.by.place} lists it already"
    cases = [comparison.failures.cases[name] for name in finding.here]
    failing = sum(case.verdict in FAILURES for case in cases)
    silent = sum(case.verdict in _OPEN for case in cases)
    if not failing and not silent:
        return "passes now" + (f", in all {plural(len(cases), 'case')}" if len(cases) > 1 else "")
    kinds = {"passing": len(cases) - failing - silent, "failing differently": failing,
             "not judged": silent}  # fmt: skip
    said = ", ".join(f"{count} {kind}" for kind, count in kinds.items() if count)
    return f"no case fails like this now ({said})"


def _unknown(finding: CheckedEntry, comparison: Comparison) -> str:
    first = finding.unknown[0]
    spec = first.partition("/")[0]
    near = get_close_matches(first, [i for i in comparison.known if i.startswith(spec)], 1, 0.7)
    return few(finding.unknown) + (f" (did you mean {near[0]}?)" if near else "")


def _change(finding: CheckedEntry) -> str:
    entry, now = finding.entry, finding.now
    if entry.cause:
        parts = []
        if ids := finding.otherwise:
            fail = "case fails" if len(ids) == 1 else "cases fail"
            cause = " with ".join(entry.cause)
            parts.append(f"{len(ids):,} {fail} differently than {cause} predicts: {few(ids)}")
        if ids := finding.passing:
            fail = "case no longer fails" if len(ids) == 1 else "cases no longer fail"
            parts.append(f"{len(ids):,} {fail}: {few(ids)}")
        return "; ".join(parts)
    if entry.count != now.count:
        said = f"{plural(entry.count or 0, 'failure')} listed, {now.count:,} now, in {few(now.ids)}"
    elif finding.same:
        said = f"{plural(now.count, 'failure')} as listed, but none in {few(finding.passing)}"
    else:
        said = f"{plural(now.count, 'failure')} as listed, but with other inputs or answers"
    if finding.by:
        said += f"; {finding.by.place} lists other cases with it"
    if finding.moved:
        said += "; the vectors have changed since"
    elif not finding.same and entry.count == now.count:
        said += "; leave out the digest if answers depend on the processor"
    return said


def few(names: Sequence[str]) -> str:
    """Join the first few names."""
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def is_judged(case: CaseResult) -> bool:
    """Return whether anything was judged."""
    return case.verdict not in _OPEN


def vanished(known: KnownList, result: RunResult, every: Every) -> Iterator[Problem]:
    """Yield problems for cases that are no longer judged, and for unknown names."""
    unfinished = {part.case.id for part in result.parts}
    gone = {case.case.id: case for case in result.cases
            if not is_judged(case) and case.case.id not in unfinished}  # fmt: skip
    ids = existing(known.judged, [case.case.id for case in result.cases], every)
    for name in known.judged:
        instead = f"correct {name.place}"
        if unknown := cases_of([name], ids)[1]:
            said = f"no case is named {few(unknown)}; {instead}"
            yield Problem("unmatched", name.place, said, _left(name, unknown))
        if here := [gone[one] for one in name.ids if one in gone]:
            names = [case.case.id for case in here]
            words = list(dict.fromkeys(clean(case.message) for case in here if case.message))
            why = ", ".join(words[:_SHOWN]) or "the result is undefined"
            are = "is" if len(names) == 1 else "are"
            said = (f"{plural(len(names), 'case')} {are} no longer judged: {few(names)}; the "
                    f"backend says: {why}; if this is intended, {instead}")  # fmt: skip
            yield Problem("vanished", name.place, said, _left(name, names))


def _left(name: CaseName, gone: Sequence[str]) -> str:
    return name_lines(compact_names(one for one in name.ids if one not in gone))


def notes(comparison: Comparison, known: KnownList, unversioned: int) -> Iterable[str]:
    """Yield notes. `unversioned` counts entries for versions of a backend without one."""
    findings, path = comparison.findings, known.path
    if unversioned:
        apply = "applies" if unversioned == 1 else "apply"
        entries = plural(unversioned, "entry", "entries")
        yield f"{entries} {apply} to some versions of the backend, but it reports none"
    if partly := sum(bool(f.away and f.here) for f in findings):
        were, whose = ("was", "its") if partly == 1 else ("were", "their")
        entries = plural(partly, "entry", "entries")
        yield f"{entries} of {path} {were} compared in part: the run has only some of {whose} cases"
    for finding in findings:
        if finding.over:
            listed = plural(finding.entry.count or 0, "failure")
            yield (f"{finding.entry.place} lists {listed}, but some of its cases already have "
                   f"{finding.now.count:,}: not excused")  # fmt: skip
    if moved := sum(f.moved and f.fault is None and f.excused and not f.away for f in findings):
        entries = plural(moved, "entry", "entries")
        yield (f"the vectors of {entries} of {path} have changed, but the failures have not; "
               "`--known FILE --update` updates the entries")  # fmt: skip
    declined = sum(not is_judged(case) for case in comparison.failures.cases.values())
    if declined and not known.judged:
        yield (f"{path} does not list judged cases, so {plural(declined, 'case')} not judged here "
               "cannot be reported; `--known FILE --update` adds the list")  # fmt: skip
