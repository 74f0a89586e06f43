"""Vector files of operators whose question is a whole call: one a combination of input types.

The cases of a file name sets of calls, and equal sets are written once. One case a line: its
layout, the values of its attributes, how far it is covered, the index of its set. One call a line:
its input tensors, the index of the rule that decides it, and its readings.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from convcheck.numerics.format import Bits, Codes, Format
from convcheck.rules.model import Case
from convcheck.semantics.expected import EXACT, PATTERNS, Decision
from convcheck.semantics.expected_calls import CallReading
from convcheck.vectors.model import CallSet
from convcheck.vectors.store.hex_words import hex_width

Rule = tuple[str, str, str]
BETWEEN = "between"


def file_key(case: Case) -> str:
    """Return the name of a case's vector file: for whole calls, that of the input types.

    What only gives a type has no part in a vector, so that such a case shares another's file.
    """
    if case.whole_calls:
        return case.name.partition("/")[0]
    return case.question


def case_row(case: Case, names: Iterable[str]) -> list[str | None]:
    """Return the layout of a case and its values of the attributes that a file names."""
    said = {name: str(value) for name, value in case.attributes}
    return [case.layout, *(said.pop(name, None) for name in names), *said.values()]


def rule_key(decision: Decision) -> Rule:
    """Return the name of a decision in a file."""
    return decision.rule, decision.row, decision.level


def rows_of(decisions: Sequence[Decision]) -> dict[Rule, int]:
    """Return the row of each decision: the first, where both conversions of a call have it."""
    rows: dict[Rule, int] = {}
    for row, decision in enumerate(decisions):
        rows.setdefault(rule_key(decision), row)
    return rows


def body_of_calls(sets: Sequence[CallSet]) -> str:
    """Return the part of a file that may be shared between versions: the cases, rules and calls."""
    rules = {rule_key(s.decisions[e.row]): 0 for s in sets for e in s.expected}
    numbers = {rule: number for number, rule in enumerate(rules)}
    names = list(dict.fromkeys(name for s in sets for name, _ in s.case.attributes))
    bodies: dict[str, int] = {}
    cases = []
    for one in sets:
        text = ",\n".join(_lines(one, numbers))
        number = bodies.setdefault(text, len(bodies))
        cases.append(_packed([*case_row(one.case, names), one.coverage, number]))
    inputs = [t.name for t in sets[0].case.inputs]
    return (
        f'"inputs": {_json(inputs)},\n"rules": [\n'
        + ",\n".join(_json(rule) for rule in rules)
        + f'\n],\n"attributes": {_json(names)},\n"cases": [\n'
        + ",\n".join(cases)
        + '\n],\n"sets": [\n'
        + ",\n".join(f"[\n{text}\n]" for text in bodies)
        + "\n]}\n"
    )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _packed(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _lines(calls: CallSet, numbers: Mapping[Rule, int]) -> Iterable[str]:
    formats = [t.format for t in calls.case.inputs]
    for call, expected in zip(calls.calls, calls.expected, strict=True):
        inputs = [[list(a.shape), _words(f, a)] for f, a in zip(formats, call, strict=True)]
        row = numbers[rule_key(calls.decisions[expected.row])]
        line: list[object] = [inputs, row, [_reading(r) for r in expected.readings]]
        yield _packed([*line, BETWEEN] if expected.between else line)


def _words(fmt: Format, bits: Bits) -> str:
    width = hex_width(fmt)
    return " ".join(f"{code:0{width}x}" for code in cast(Codes, bits).reshape(-1).tolist())


def _reading(reading: CallReading) -> list[object]:
    if reading.pattern != EXACT:
        return [reading.name, PATTERNS[reading.pattern]]
    outputs = []
    for due in reading.outputs:
        words = _words(due.dtype.format, due.codes).split()
        said = [w if p == EXACT else PATTERNS[p] for w, p in zip(words, due.patterns, strict=True)]
        outputs.append([due.dtype.name, list(due.shape), " ".join(said)])
    return [reading.name, outputs]
