"""Answers to a chain of casts -> what was made of it: a cast left out, added, or in another place.

What an edit makes of the chain is executed by the rules of its casts. It is told only if it gives
every answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from convcheck.chains.asked import chain_of, chain_types, made
from convcheck.chains.cast import U64
from convcheck.chains.type_chain import CompiledCasts
from convcheck.errors import UsageError
from convcheck.judge.answers import ANSWERED, NOT_ASKED, Answers
from convcheck.judge.result import CaseDiagnosis, Names, Near
from convcheck.rules.causes import Cause
from convcheck.semantics.expected import EXACT
from convcheck.vectors.model import VectorSet

CLOSEST = 3  # causes that are told of a case which nothing explains
Types = tuple[str, ...]


def diagnose_chain(
    causes: Sequence[Cause], casts: CompiledCasts, vectors: VectorSet, answers: Answers
) -> CaseDiagnosis | None:
    """Return what explains the answers to a chain; None where nothing is wrong, or an input was not
    answered.
    """
    due = vectors.expected.readings[0]
    index = np.flatnonzero((due.patterns == EXACT) & (answers.state != NOT_ASKED))
    if answers.declined or answers.faults or (answers.state[index] != ANSWERED).any():
        return None
    codes, got = (each[index].astype(np.uint64) for each in (vectors.inputs[0], answers.got))
    wrong = int(np.count_nonzero(got != due.codes[index]))
    if not wrong:
        return None
    names, edits = chain_types(vectors.case), [cause for cause in causes if cause.chain]
    tried = [(cause, *_given(casts, _edited((cause,), names), codes, got)) for cause in edits]
    whole = [(cause, size) for cause, count, size in tried if count == len(got)]
    least = min((size for _, size in whole), default=0)
    # what fewer casts give as well, they are: an optimiser puts in no cast that changes nothing
    fits: tuple[Names, ...] = tuple((cause.name,) for cause, size in whole if size == least)
    fits = fits or next(_pairs(edits, names, casts, codes, got), ())
    right = len(got) - wrong
    near = [Near(cause.name, count) for cause, count, _ in tried if count > right]
    told = () if fits else tuple(sorted(near, key=lambda one: -one.count)[:CLOSEST])
    return CaseDiagnosis(len(got), wrong, fits, told)


def _pairs(
    edits: Sequence[Cause], names: Types, casts: CompiledCasts, codes: U64, got: U64
) -> Iterator[tuple[Names, ...]]:
    """Yield two edits that give every answer together."""
    for first in edits:
        if any(first.chain.edited(names) if first.chain else ()):
            for other in edits:
                made_of = _edited((first, other), names)
                if other is not first and _given(casts, made_of, codes, got)[0] == len(got):
                    yield ((first.name, other.name),)


def _edited(causes: Sequence[Cause], names: Types) -> set[Types]:
    """Return the chains that edits make of one, one edit after the other."""
    found = {names}
    for cause in causes:
        found = {one for each in found for one in (cause.chain.edited(each) if cause.chain else ())}
    return found - {names}


def _given(casts: CompiledCasts, chains: set[Types], codes: U64, got: U64) -> tuple[int, int]:
    """Return how many answers that one of some chains gives which gives the most, and how many
    types it has; of several, the shortest.
    """
    found = [(0, 0)]
    for names in sorted(chains):
        try:
            results = chain_of(made(casts, names)).results(codes)
        except UsageError:  # the spec has no such cast
            continue
        given = (results.patterns == EXACT) & (results.codes == got)
        found.append((int(np.count_nonzero(given)), len(names)))
    return max(found, key=lambda each: (each[0], -each[1]))
