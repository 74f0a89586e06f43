"""Run a program over inputs, in chunks that stay in the CPU cache."""

from collections.abc import Callable, Hashable
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.codec import decode, encode
from convcheck.numerics.format import Float, Format
from convcheck.numerics.modes import MODES, NEAREST
from convcheck.numerics.number import Bits, Codes
from convcheck.numerics.rounding import round_to
from convcheck.rules.hop import Hop
from convcheck.rules.model import Case
from convcheck.semantics.expected import Expected, Reading
from convcheck.semantics.program import CompiledOutcome, CompiledRow, Program
from convcheck.semantics.vocabulary import Mask, Points, Test

T = TypeVar("T")
CHUNK = 1 << 14  # elements; the temporaries of a chunk fit a 1 MiB L2 cache
Rows = NDArray[np.int16]
HandedOn = Callable[["Program", Hop | None, bool], tuple[Rows, list[Reading]]]


def run_program(program: Program, case: Case, bits: Bits) -> Expected:
    """Run a compiled case over inputs, shape (n,)."""
    return run_conversion(program, case.inputs[0].format, case.outputs[0].format, bits)


def run_conversion(program: Program, source: Format, target: Format, bits: Bits) -> Expected:
    """Run a compiled conversion over inputs, shape (n,)."""
    if program.computed:
        return program.computed.expect(cast(Codes, bits))
    n = len(bits)
    rows = np.empty(n, np.int16)
    readings = [
        Reading(np.empty(n, target.storage), np.empty(n, np.uint8)) for _ in range(program.readings)
    ]
    for start in range(0, n, CHUNK):
        part = slice(start, min(start + CHUNK, n))
        points = Points(source, target, bits[part], decode(source, bits[part]))
        rows[part], answers = answers_at(program, points)
        for reading, answer in zip(readings, answers, strict=True):
            reading.codes[part], reading.patterns[part] = answer.codes, answer.patterns
    return Expected(rows, program.decisions, tuple(readings))


def points_of(case: Case, bits: Bits) -> Points:
    """Decode a chunk of inputs that many programs run over."""
    source, target = case.inputs[0].format, case.outputs[0].format
    return Points(source, target, bits, decode(source, bits), _kept={})


def answers_at(program: Program, points: Points) -> tuple[Rows, list[Reading]]:
    """Return the deciding row of each point, and its answers by reading."""
    entries, found = program.entries, dict[Hashable, tuple[Rows, list[Reading]]]()

    def handed_on(program: Program, hop: Hop | None, retyped: bool) -> tuple[Rows, list[Reading]]:
        key = program, hop, retyped
        if key not in found:
            there = points
            if hop is not None:
                from convcheck.semantics.hops import gone_through  # wrong conversions only

                there = gone_through(points, hop, retyped)
            found[key] = there.kept(program.kept_by, lambda: answers_at(program, there))
        return found[key]

    [only, *more] = entries
    [step, *others] = only.steps
    if step.program and not (more or others or program.decisions or only.first):  # it delegates
        return handed_on(step.program, step.hop, step.retyped)
    which = deciding(program, points)
    rows = np.array([entry.first for entry in entries], np.int16)[which]
    answers = [
        _reading(entries, points, which, rows, reading, handed_on)
        for reading in range(program.readings)
    ]
    return rows, answers


def deciding(program: Program, points: Points) -> NDArray[np.uint8]:
    """Return the index of the entry that decides each point."""
    entries = program.entries
    which = np.full(len(points.bits), len(entries) - 1, np.uint8)
    for index in range(len(entries) - 2, -1, -1):  # the first matching row is written last
        entry = entries[index]
        assert entry.test is not None  # noqa: S101  only the last entry is `else`
        np.copyto(which, np.uint8(index), where=of_word(points, entry.test, entry.mode))
    return which


def of_word(points: Points, word: Callable[[Points, str], T], mode: str) -> T:
    """Return a word's result for points, memoised."""
    return points.kept((word, mode), lambda: word(points, mode))


def differs_through(program: Program, between: Float) -> Test:
    """Test whether first rounding to a type, to nearest even, changes the answer."""

    def holds(points: Points, mode: str) -> Mask:
        _, once = answers_at(program, points)
        _, twice = answers_at(program, _through(points, between))
        differs = np.zeros(len(points.bits), bool)
        for one, other in zip(once, twice, strict=True):
            differs |= (one.codes != other.codes) | (one.patterns != other.patterns)
        return differs & points.number

    return holds


def _through(points: Points, between: Float) -> Points:
    magnitude = round_to(points.x, between, MODES[NEAREST]).magnitude
    magnitude = np.minimum(magnitude, np.uint64(between.infinity_code))
    codes = encode(between, magnitude, points.x.sign)
    return Points(between, points.target, codes, decode(between, codes))


def _reading(
    entries: tuple[CompiledRow, ...],
    points: Points,
    which: NDArray[np.uint8],
    rows: Rows,
    reading: int,
    handed_on: HandedOn,
) -> Reading:
    steps = [entry.steps[min(reading, len(entry.steps) - 1)] for entry in entries]
    patterns = np.array([step.pattern for step in steps], np.uint8)[which]
    codes: Bits = _constants(steps, points.target.storage)[which]
    decides = np.bincount(which, minlength=len(entries)).tolist()
    for index, (entry, step) in enumerate(zip(entries, steps, strict=True)):
        if not decides[index] or (step.compute is None and step.program is None):
            continue
        here = which == index
        if step.compute is not None:
            np.copyto(codes, of_word(points, step.compute, step.mode), where=here)
        elif step.program is not None:
            inner_rows, inner = handed_on(step.program, step.hop, step.retyped)
            answer = inner[min(reading, len(inner) - 1)]
            np.copyto(codes, answer.codes, where=here)
            np.copyto(patterns, answer.patterns, where=here)
            if len(entry.steps) == 1:
                np.copyto(rows, inner_rows + np.int16(entry.first), where=here)
    return Reading(codes, patterns)


def _constants(steps: list[CompiledOutcome], storage: np.dtype[np.generic]) -> Bits:
    if storage.hasobject:
        return np.array([""] * len(steps), object)
    return np.array([step.code for step in steps], storage)
