"""Write entries of a list of known failures."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from textwrap import shorten
from typing import Any

from convcheck.gate.failures import FailureCounts, Key
from convcheck.gate.known_file import JUDGED, KNOWN, KnownEntry
from convcheck.judge.result import EVER, CauseInWords
from convcheck.rules.case_names import compact_names

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
    """Write the entry of a cause, or of several that act together."""
    names, said = [cause.name for cause in causes], "; and ".join(cause.says for cause in causes)
    cause = json.dumps(names if len(names) > 1 else names[0], ensure_ascii=False)
    return _entry(ids, [f"cause = {cause}  # {_ways([said])}", f'tier = "{tier}"'])


def _entry(ids: Iterable[str], lines: Iterable[str]) -> str:
    head = f"[[{KNOWN}]]", f"case = {_names(compact_names(ids))}"
    return "\n".join([*head, *lines, f'reason = "{UNSEEN}"', ""])


def judged_table(ids: Iterable[str]) -> str:
    """Write the table of judged cases; '' if there are none."""
    names = name_lines(compact_names(ids))
    return f"[[{JUDGED}]]\ncase = [\n{names}]\n" if names else ""


def name_lines(names: Iterable[str]) -> str:
    """Write case names as the lines of a list."""
    return "".join(f"    {_quoted(name)},\n" for name in names)


def _names(names: Sequence[str]) -> str:
    return _quoted(names[0]) if len(names) == 1 else f"[\n{name_lines(names)}]"


def _ways(kinds: Iterable[str]) -> str:
    """Return the kinds of failure as a comment."""
    return shorten(", ".join(filter(None, kinds)), _LONGEST, placeholder=" …")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def rewritten(
    entry: KnownEntry, names: Sequence[str], now: FailureCounts | None, corpus: str, late: bool
) -> str:
    """Write an entry with other names, tally and corpus. All else is kept, including comments.

    Without a tally, only the names change. Missing keys are not added. `late` marks the date.
    """
    import tomlkit

    # parse its lines alone, as a document of one table
    document = tomlkit.parse("\n".join(entry.table.lines) + "\n")
    tables: Any = document[entry.table.name]
    table = tables[0]
    if tuple(names) != tuple(name.name for name in entry.names):
        table["case"] = names[0] if len(names) == 1 else _array(names)
    for key in ("corpus", "count", "digest") if now else ():
        value = corpus if key == "corpus" else getattr(now, key)
        if key in table and table[key] != value:
            table[key] = value
    if now and table["verdict"].trivia.comment and (said := _ways(now.kinds)):
        table["verdict"].trivia.comment = f"# {said}"  # convcheck wrote it, and it may be outdated
    if late and LATE not in table["until"].trivia.comment:
        table["until"].comment(LATE)
    return tomlkit.dumps(document)


def _array(names: Sequence[str]) -> Any:
    import tomlkit

    array = tomlkit.array()
    array.extend(names)
    return array.multiline(True)
