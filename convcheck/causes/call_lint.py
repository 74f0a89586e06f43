"""Whether a wrong implementation of whole calls can be seen: it answers some call wrongly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from math import gcd
from typing import cast

from convcheck.causes.call_mutants import is_of, is_wrong
from convcheck.rules.cases import cases, count_cases
from convcheck.rules.causes import Cause
from convcheck.rules.model import Case, Spec
from convcheck.semantics.body import wrong_calls
from convcheck.semantics.expected_calls import WrongCall
from convcheck.vectors.corpus import Corpus
from convcheck.vectors.model import CallSet

_CALLS = 96  # of a case, at least if it has so many
_FEW = 8  # cases of a spec that are looked at before all cases of others


def unseen_in_calls(corpus: Corpus, causes: Sequence[Cause]) -> list[Cause]:
    """Return the causes of whole calls that no call of any case of a corpus shows."""
    left = list(causes)
    specs = [spec for spec in corpus.catalog.specs.values() if spec.body.whole_calls]
    for spec, some in few_first(sorted(specs, key=count_cases)):
        mine = [cause for cause in left if is_of(cause, spec)]
        hidden = _hidden(corpus, some, mine)
        left = [cause for cause in left if cause in hidden or cause not in mine]
    return left


def few_first(specs: Sequence[Spec]) -> Iterator[tuple[Spec, Iterator[Case]]]:
    """Yield a few cases of each spec, and then all others of each: what a case of another spec
    shows is not looked for in all of them.
    """
    for first, last in ((0, _FEW), (_FEW, None)):
        for spec in specs:
            yield spec, islice(_scattered(list(cases(spec))), first, last)


def _hidden(corpus: Corpus, cases: Iterator[Case], causes: list[Cause]) -> list[Cause]:
    """Return the causes that no call of cases shows."""
    while causes and (case := next(cases, None)):
        seen = _seen(_some_calls(corpus, case), corpus.catalog.specs[case.spec], causes)
        causes = [cause for cause in causes if cause not in seen]
    return causes


def _scattered(listed: Sequence[Case]) -> Iterator[Case]:
    """Yield cases in an order in which neighbours are far apart: they show the same causes."""
    step = next(n for n in range(len(listed) * 5 // 8 or 1, 0, -1) if gcd(n, len(listed)) == 1)
    yield from (listed[i * step % len(listed)] for i in range(len(listed)))


def _some_calls(corpus: Corpus, case: Case) -> CallSet:
    """Return some calls of a case, spread over all of them."""
    calls = cast(CallSet, corpus.vectors(case))
    some = slice(None, None, max(1, len(calls) // _CALLS))
    return replace(calls, calls=calls.calls[some], expected=calls.expected[some])


def _seen(calls: CallSet, spec: Spec, causes: Sequence[Cause]) -> list[Cause]:
    """Return the causes that answer a call wrongly of which a rule says something."""
    edits = wrong_calls(spec, calls.case, calls.calls)
    made = ((cause, next(iter(edits((cause,))), None)) for cause in causes)
    return [cause for cause, candidate in made if candidate and _shows(calls, candidate)]


def _shows(calls: CallSet, candidate: WrongCall) -> bool:
    return any(is_wrong(calls, i, candidate.answer(i)) for i in range(len(calls)))
