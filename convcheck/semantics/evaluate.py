"""(Spec, Case, input bits) -> Expected, with the row that decided each element.

The one definition of what a spec means: decode, round, classify, outcome, encode, over chunks
that stay in the cache.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from convcheck.numerics.codec import decode
from convcheck.numerics.codes import Bits, Codes
from convcheck.numerics.format import Format
from convcheck.rules.model import Case, Spec
from convcheck.semantics.answers_at import answers_at
from convcheck.semantics.expected import Expected, Reading
from convcheck.semantics.program import Program, compile_case
from convcheck.semantics.vocabulary import Points

CHUNK = 1 << 14  # elements; the temporaries of a chunk fit a 1 MiB L2 cache


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
        rows[part], answers = answers_at(program, points, target.storage)
        for reading, (codes, patterns) in zip(readings, answers, strict=True):
            reading.codes[part], reading.patterns[part] = codes, patterns
    return Expected(rows, program.decisions, tuple(readings))


def points_of(case: Case, bits: Bits) -> Points:
    """Decode a chunk of inputs of a case, of which many programs are asked."""
    source, target = case.inputs[0].format, case.outputs[0].format
    return Points(source, target, bits, decode(source, bits), _kept={})
