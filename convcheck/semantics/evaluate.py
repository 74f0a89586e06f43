"""(Spec, Case, input bits) -> Expected, with the row that decided each element.

The one definition of what a spec means: decode, round, classify, outcome, encode, over chunks
that stay in the cache.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.codec import decode
from convcheck.numerics.format import Bits, Format
from convcheck.rules.model import Case, Spec
from convcheck.semantics.expected import Expected, Reading
from convcheck.semantics.program import CompiledOutcome, CompiledRow, Program, compile_case
from convcheck.semantics.vocabulary import Points

CHUNK = 1 << 14  # elements; the temporaries of a chunk fit a 1 MiB L2 cache

Rows = NDArray[np.int16]


def evaluate(spec: Spec, case: Case, bits: Bits) -> Expected:
    """Return what a case expects of each input, `bits` of shape (n,): codes, or texts.

    Raises SpecError where the spec does not decide the case (see `compile_case`).
    """
    return run_program(compile_case(spec, case), case, bits)


def run_program(program: Program, case: Case, bits: Bits) -> Expected:
    """Run a compiled case over inputs of shape (n,)."""
    return run_conversion(program, case.inputs[0].format, case.outputs[0].format, bits)


def run_conversion(program: Program, source: Format, target: Format, bits: Bits) -> Expected:
    """Run a compiled conversion over inputs of shape (n,)."""
    n = len(bits)
    rows = np.empty(n, np.int16)
    readings = [
        Reading(np.empty(n, target.storage), np.empty(n, np.uint8)) for _ in range(program.readings)
    ]
    for start in range(0, n, CHUNK):
        part = slice(start, min(start + CHUNK, n))
        points = Points(source, target, bits[part], decode(source, bits[part]))
        rows[part], answers = _run(program, points, target.storage)
        for reading, (codes, patterns) in zip(readings, answers, strict=True):
            reading.codes[part], reading.patterns[part] = codes, patterns
    return Expected(rows, program.decisions, tuple(readings))


def points_of(case: Case, bits: Bits) -> Points:
    """Decode a chunk of inputs of a case."""
    source, target = case.inputs[0].format, case.outputs[0].format
    return Points(source, target, bits, decode(source, bits))


Answers = list[tuple[Bits, NDArray[np.uint8]]]


def _run(program: Program, points: Points, storage: np.dtype[np.generic]) -> tuple[Rows, Answers]:
    entries = program.entries
    which = np.full(len(points.bits), len(entries) - 1, np.uint8)
    for index in range(len(entries) - 2, -1, -1):  # the first row that matches is written last
        entry = entries[index]
        assert entry.test is not None  # noqa: S101  only the last entry is `else`
        np.copyto(which, np.uint8(index), where=entry.test(points, entry.mode))
    rows = np.array([entry.first for entry in entries], np.int16)[which]
    answers = [
        _reading(entries, points, which, rows, reading, storage)
        for reading in range(program.readings)
    ]
    return rows, answers


def _reading(
    entries: tuple[CompiledRow, ...],
    points: Points,
    which: NDArray[np.uint8],
    rows: Rows,
    reading: int,
    storage: np.dtype[np.generic],
) -> tuple[Bits, NDArray[np.uint8]]:
    """Return codes and patterns under one reading; handed-on elements also get their own row."""
    steps = [entry.steps[min(reading, len(entry.steps) - 1)] for entry in entries]
    patterns = np.array([step.pattern for step in steps], np.uint8)[which]
    codes: Bits = _constants(steps, storage)[which]
    for index, (entry, step) in enumerate(zip(entries, steps, strict=True)):
        if step.compute is None and step.program is None:
            continue
        here = which == index
        if not here.any():
            continue
        if step.compute is not None:
            np.copyto(codes, step.compute(points, step.mode), where=here)
        elif step.program is not None:
            inner_rows, inner = _run(step.program, points, storage)
            inner_codes, inner_patterns = inner[min(reading, len(inner) - 1)]
            np.copyto(codes, inner_codes, where=here)
            np.copyto(patterns, inner_patterns, where=here)
            if len(entry.steps) == 1:
                np.copyto(rows, inner_rows + np.int16(entry.first), where=here)
    return codes, patterns


def _constants(steps: list[CompiledOutcome], storage: np.dtype[np.generic]) -> Bits:
    if storage.hasobject:
        return np.array([""] * len(steps), object)
    return np.array([step.code for step in steps], storage)
