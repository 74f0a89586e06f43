"""Write the vector files of whole calls, one for each combination of input types.

Cases refer to sets of calls, and equal sets are written once. A case is one line: layout, values of
attributes, coverage, index of the set. A call is one line: input tensors, index of the deciding
rule, readings. If rules differ by element, the indices for each output follow. Calls refer to rules
and names of readings by index. A tensor is its shape and its elements, with `7f*3` for a
repetition. In readings after the first, `=` stands for the element of the first.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from convcheck.rules.model import Case
from convcheck.semantics.expected import EXACT, PATTERNS, Decision
from convcheck.semantics.expected_calls import CallReading
from convcheck.vectors.model import CallSet
from convcheck.vectors.store.manifest import canonical
from convcheck.vectors.store.words import with_runs, words_due, words_of_bits

Rule = tuple[str, str, str]
BETWEEN = "between"
SAME = "="


def file_key(case: Case) -> str:
    """Return the name of a case's vector file: for whole calls, its input types.

    An input that only contributes its type does not count, so such cases share a file.
    """
    if case.whole_calls:
        return case.name.partition("/")[0]
    return case.question


def case_row(case: Case, names: Iterable[str]) -> list[str | None]:
    """Return the layout of a case and its values of the attributes named in a file."""
    said = {name: str(value) for name, value in case.attributes}
    return [case.layout, *(said.pop(name, None) for name in names), *said.values()]


def rule_key(decision: Decision) -> Rule:
    """Return the name of a decision in a file."""
    return decision.rule, decision.row, decision.level


def rows_of(decisions: Sequence[Decision]) -> dict[Rule, int]:
    """Return the row of each decision. The first wins if both conversions of a call have it."""
    rows: dict[Rule, int] = {}
    for row, decision in enumerate(decisions):
        rows.setdefault(rule_key(decision), row)
    return rows


def body_of_calls(sets: Sequence[CallSet]) -> str:
    """Return the part of a file that versions may share: cases, rules, calls."""
    rows = ((one, row) for one in sets for due in one.expected for row in sorted(due.all_rows))
    rules = {rule_key(one.decisions[row]): 0 for one, row in rows}
    numbers = {rule: number for number, rule in enumerate(rules)}
    said = dict.fromkeys(r.name for s in sets for e in s.expected for r in e.readings)
    readings = {name: number for number, name in enumerate(said)}
    names = list(dict.fromkeys(name for s in sets for name, _ in s.case.attributes))
    bodies: dict[str, int] = {}
    cases = []
    for one in sets:
        text = ",\n".join(_lines(one, numbers, readings))
        number = bodies.setdefault(text, len(bodies))
        cases.append(_packed([*case_row(one.case, names), one.coverage, number]))
    inputs = [t.name for t in sets[0].case.inputs]
    return (
        f'"inputs": {canonical(inputs)},\n"rules": [\n'
        + ",\n".join(canonical(rule) for rule in rules)
        + f'\n],\n"readings": {canonical(list(readings))},\n"attributes": {canonical(names)}'
        + ',\n"cases": [\n'
        + ",\n".join(cases)
        + '\n],\n"sets": [\n'
        + ",\n".join(f"[\n{text}\n]" for text in bodies)
        + "\n]}\n"
    )


def _packed(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _lines(calls: CallSet, numbers: Mapping[Rule, int], named: Mapping[str, int]) -> Iterable[str]:
    formats = [t.format for t in calls.case.inputs]
    said = [numbers.get(rule_key(one), -1) for one in calls.decisions]
    for call, expected in zip(calls.calls, calls.expected, strict=True):
        inputs = [
            [list(a.shape), with_runs(words_of_bits(f, a))]
            for f, a in zip(formats, call, strict=True)
        ]
        row = said[expected.row]
        rows = [with_runs(str(said[i]) for i in rows.tolist()) for rows in expected.rows]
        by = [row, *rows] if rows else row
        line: list[object] = [inputs, by, _readings(expected.readings, named)]
        yield _packed([*line, BETWEEN] if expected.between else line)


def _readings(readings: Sequence[CallReading], named: Mapping[str, int]) -> list[list[object]]:
    spelled = [
        [words_due(due.dtype.format, due.codes, due.patterns) for due in reading.outputs]
        for reading in readings
    ]
    found: list[list[object]] = []
    for number, (reading, words) in enumerate(zip(readings, spelled, strict=True)):
        if reading.pattern != EXACT:
            found.append([named[reading.name], PATTERNS[reading.pattern]])
            continue
        firsts = spelled[0] if number else []
        outputs = [
            [due.dtype.name, list(due.shape), with_runs(_unlike(one, firsts[place : place + 1]))]
            for place, (due, one) in enumerate(zip(reading.outputs, words, strict=True))
        ]
        found.append([named[reading.name], outputs])
    return found


def _unlike(words: list[str], first: Sequence[list[str]]) -> list[str]:
    if not first or len(first[0]) != len(words):
        return words
    return [SAME if a == b else a for a, b in zip(words, first[0], strict=True)]
