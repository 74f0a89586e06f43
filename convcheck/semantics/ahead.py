"""What many programs say of the same points, worked out together where they differ in nothing but
what the points go through first: what the points become is put to the program behind it at once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from convcheck.numerics.number import end_to_end
from convcheck.semantics.answers_at import answers_at, hands_on
from convcheck.semantics.hops import gone_through
from convcheck.semantics.program import Program
from convcheck.semantics.vocabulary import Points


def work_out_ahead(programs: Iterable[Program], points: Points) -> None:
    """Have it known what programs will say of a few points. Nothing else changes by it than what it
    costs to ask each of them.
    """
    behind: dict[Hashable, Program] = {}
    there: dict[Hashable, dict[int, Points]] = {}
    for program in programs:
        inner, hop, retyped = hands_on(program) or (program, None, False)
        if hop is None:
            continue
        come = gone_through(points, hop, retyped)
        if not come.keeps(inner.kept_by):
            key: Hashable = (inner.kept_by, come.source)
            behind[key] = inner
            there.setdefault(key, {})[id(come)] = come
    for key, inner in behind.items():
        _ask(inner, [*there[key].values()])


def _ask(program: Program, parts: Sequence[Points]) -> None:
    """Have a program say what becomes of points that came by several ways, and keep it."""
    source, target, size = parts[0].source, parts[0].target, len(parts[0].bits)
    bits = np.concatenate([part.bits for part in parts])
    every = Points(source, target, bits, end_to_end([part.x for part in parts]), _kept={})
    rows, answers = answers_at(program, every, target.storage)
    for n, part in enumerate(parts):
        here = slice(n * size, (n + 1) * size)
        said = [(codes[here], patterns[here]) for codes, patterns in answers]
        part.keep(program.kept_by, (rows[here], said))
