"""Read the vector files of whole calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from convcheck.rules.model import Case, DType, Spec
from convcheck.semantics.body import compile_calls
from convcheck.semantics.expected import PATTERNS, REFUSED, UNDEFINED
from convcheck.semantics.expected_calls import Call, CallReading, ExpectedCall, ExpectedOutput
from convcheck.vectors.form import form_decision
from convcheck.vectors.model import CallSet, Coverage
from convcheck.vectors.store.words import bits_of_words, due_of_words, without_runs
from convcheck.vectors.store.write_calls import BETWEEN, SAME, case_row, rows_of
from convcheck.wording import plural

Types = Mapping[str, DType]


def count_calls(data: Mapping[str, Any], case: Case) -> int:
    """Return the number of a case's calls in a file."""
    _, number = _entry(data, case)
    return len(data["sets"][number])


def call_set(data: Mapping[str, Any], spec: Spec, case: Case, types: Types) -> CallSet:
    """Return the calls of a case in a file; `types` are the possible output types."""
    compiled = compile_calls(spec, case)
    decisions, form = compiled.decisions, form_decision(spec)
    rows = rows_of(decisions)
    coverage, number = _entry(data, case)
    rules = [rows.get(tuple(rule)) for rule in data["rules"]]  # for all cases of the file
    known = {number: row for number, row in enumerate(rules) if row is not None}
    calls, expected = [], []
    names = dict(enumerate(data["readings"]))
    _check(all(isinstance(name, str) for name in names.values()), "a reading without a name")
    for inputs, by, readings, *flags in data["sets"][number]:
        call = tuple(_inputs(case, inputs))
        said = tuple(_readings(readings, names, types))
        _check(said and flags in ([], [BETWEEN]), "a line without readings, or with more")
        _check(_is_in_place(case, call, said), "a call of other ranks, and not undefined")
        calls.append(call)
        rule, *others = by if isinstance(by, list) else [by]
        outputs = said[0].outputs if others else ()
        pairs = zip(others, outputs, strict=True)
        of_each = tuple(_rows(text, known, due) for text, due in pairs)
        expected.append(ExpectedCall(known[rule], said, bool(flags), of_each))
    _check(coverage in get_args(Coverage), f"coverage {coverage!r}")
    due, among, along = tuple(expected), compiled.among, compiled.along
    return CallSet(case, tuple(calls), due, decisions, coverage, form, among, along)


def _entry(data: Mapping[str, Any], case: Case) -> tuple[Any, Any]:
    row = case_row(case, data["attributes"])
    [(coverage, number)] = [one[-2:] for one in data["cases"] if one[:-2] == row]
    return coverage, number


def _rows(text: str, known: Mapping[int, int], due: ExpectedOutput) -> NDArray[np.int16]:
    rows = np.array([known[int(word)] for word in without_runs(text)], np.int16)
    _check(len(rows) == len(due.codes), f"{plural(len(rows), 'rule')} of {len(due.codes)}")
    return rows


def _check(holds: object, what: str) -> None:
    if not holds:
        raise ValueError(what)


def _inputs(case: Case, inputs: list[Any]) -> Iterator[Any]:
    for dtype, (shape, words) in zip(case.inputs, inputs, strict=True):
        yield bits_of_words(dtype.format, without_runs(words)).reshape(shape)


def _is_in_place(case: Case, call: Call, said: Sequence[CallReading]) -> bool:
    return tuple(bits.ndim for bits in call) == case.ranks or said[0].pattern == UNDEFINED


def _readings(readings: list[Any], names: Mapping[int, str], types: Types) -> Iterator[CallReading]:
    first: list[list[str]] = []
    for number, said in readings:
        name = names[number]
        if isinstance(said, str):
            _check(said in (PATTERNS[REFUSED], PATTERNS[UNDEFINED]), f"a call that is {said!r}")
            yield CallReading(name, pattern=PATTERNS.index(said))
            continue
        words = [
            _completed(without_runs(text), first[i : i + 1]) for i, (*_, text) in enumerate(said)
        ]
        first = first or words
        pairs = zip(said, words, strict=True)
        yield CallReading(name, tuple(_due(types[t], tuple(s), w) for (t, s, _), w in pairs))


def _completed(words: list[str], first: list[list[str]]) -> list[str]:
    if SAME not in words:
        return words
    [shared] = first
    return [b if a == SAME else a for a, b in zip(words, shared, strict=True)]


def _due(dtype: DType, shape: tuple[int, ...], words: list[str]) -> ExpectedOutput:
    _check(len(words) == prod(shape), f"{plural(len(words), 'element')} in shape {shape}")
    return ExpectedOutput(dtype, shape, *due_of_words(dtype.format, words))
