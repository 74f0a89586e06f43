"""What becomes of the same points in many ways that differ in nothing but what the points go
through first: what they become is put to the program behind it at once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from convcheck.numerics.number import end_to_end
from convcheck.semantics.answers_at import answers_at
from convcheck.semantics.expected import Reading
from convcheck.semantics.hops import gone_through
from convcheck.semantics.program import CompiledOutcome, Program
from convcheck.semantics.vocabulary import Points


def said_of_all(ways: Iterable[CompiledOutcome], points: Points) -> list[list[Reading]]:
    """Return, of each way, what the program at its end says under each reading of a few points that
    go through something first.
    """
    there = [(_come(way, points), _behind(way)) for way in ways]
    apart: dict[Hashable, tuple[Program, dict[int, Points]]] = {}
    for come, program in there:
        if not come.keeps(program.kept_by):
            key: Hashable = (program.kept_by, come.source)
            apart.setdefault(key, (program, {}))[1][id(come)] = come
    for program, parts in apart.values():
        _ask(program, [*parts.values()])
    return [_kept(program, come) for come, program in there]


def _come(way: CompiledOutcome, points: Points) -> Points:
    return points if way.hop is None else gone_through(points, way.hop, way.retyped)


def _behind(way: CompiledOutcome) -> Program:
    assert way.program is not None  # noqa: S101  what goes through something goes on
    return way.program


def _kept(program: Program, points: Points) -> list[Reading]:
    storage = points.target.storage
    _, answers = points.kept(program.kept_by, lambda: answers_at(program, points, storage))
    return [Reading(*each) for each in answers]


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
