"""Entries of a list of known failures as text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from convcheck.gate.failures import FailureCounts, Key
from convcheck.gate.inputs import failing_inputs
from convcheck.gate.known_file import KNOWN, KnownEntry
from convcheck.judge.result import EVER, CauseInWords

UNSEEN = "not yet looked into"
LATE = "this date is past: fix it, or set another"
_LONGEST = 70  # of what a comment says


def fresh(key: Key, globs: Sequence[str], tier: str, corpus: str, now: FailureCounts) -> str:
    """Write the entry of a new failure."""
    (rule, verdict), said = key, _ways(now.kinds)
    lines = [
        f"[[{KNOWN}]]",
        f"case = {_globs(globs)}",
        f"rule = {_quoted(rule)}",
        f'verdict = "{verdict}"{f"  # {said}" if said else ""}',
        f'tier = "{tier}"',
        f'corpus = "{corpus}"',
        f"count = {now.count}",
    ]
    # a crash's message, and so its digest, need not be the same twice, nor what threads do
    if now.digest and verdict not in EVER:
        lines.append(f'digest = "{now.digest}"')
        if inputs := failing_inputs(now.failing):
            lines.append(f"inputs = {_globs(inputs)}")
    return "\n".join([*lines, f'reason = "{UNSEEN}"', ""])


def fresh_of_cause(causes: Sequence[CauseInWords], globs: Sequence[str], tier: str) -> str:
    """Write the entry of a cause, or of some together."""
    names, said = [cause.name for cause in causes], "; and ".join(cause.says for cause in causes)
    cause = _quoted(names[0]) if len(names) == 1 else json.dumps(names, ensure_ascii=False)
    lines = (
        f"[[{KNOWN}]]",
        f"case = {_globs(globs)}",
        f"cause = {cause}  # {_ways([said])}",
        f'tier = "{tier}"',
        f'reason = "{UNSEEN}"',
    )
    return "\n".join([*lines, ""])


def _ways(kinds: Sequence[str]) -> str:
    """Return what is wrong, for who reads the list: as many kinds as there is room for."""
    said = [kind for kind in kinds if kind]
    shown = said[:1]
    while len(shown) < len(said) and len(", ".join(said[: len(shown) + 1])) <= _LONGEST:
        shown = said[: len(shown) + 1]
    text = ", ".join(shown)
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    more = f", and {len(said) - len(shown)} more" if len(said) > len(shown) else ""
    return f"{text}{more}"


def _globs(globs: Sequence[str]) -> str:
    if len(globs) == 1:
        return _quoted(globs[0])
    return "[\n" + "".join(f"    {_quoted(glob)},\n" for glob in globs) + "]"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def rewritten(
    entry: KnownEntry, globs: Sequence[str], now: FailureCounts | None, corpus: str, late: bool
) -> str:
    """Write an entry with other globs, tally and corpus; what need not change stays as it is,
    comments too.

    Without a tally, only the globs are new. What the entry leaves out is left out. `late` marks
    its date.
    """
    import tomlkit

    # by its own lines: a document of one table
    document = tomlkit.parse("\n".join(entry.table.lines) + "\n")
    tables: Any = document[entry.table.name]
    table = tables[0]
    if tuple(globs) != entry.globs:
        table["case"] = _item(globs)
    for key, value in _values(now, corpus).items() if now else ():
        if key in table and table[key] != value:
            table[key] = value
    if now and "inputs" in table and failing_inputs(now.failing) != entry.inputs:
        table["inputs"] = _item(failing_inputs(now.failing))
    if now and table["verdict"].trivia.comment and (said := _ways(now.kinds)):
        table["verdict"].trivia.comment = f"# {said}"  # it is ours, and may not be true any more
    if late and not re.search(re.escape(LATE), table["until"].trivia.comment):
        table["until"].comment(LATE)
    return tomlkit.dumps(document)


def _values(now: FailureCounts, corpus: str) -> Mapping[str, str | int]:
    return {"corpus": corpus, "count": now.count, "digest": now.digest}


def _item(globs: Sequence[str]) -> Any:
    import tomlkit

    if len(globs) == 1:
        return globs[0]
    array = tomlkit.array()
    array.extend(globs)
    return array.multiline(True)
