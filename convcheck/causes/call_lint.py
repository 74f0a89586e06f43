"""Whether a wrong implementation of whole calls can be seen: it answers some call wrongly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from math import gcd

from convcheck.causes.call_mutants import is_of, is_wrong
from convcheck.rules.cases import cases, count_cases
from convcheck.rules.causes import Cause
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case, Spec
from convcheck.semantics.body import wrong_calls
from convcheck.semantics.expected_calls import WrongCall
from convcheck.vectors.body import calls_of
from convcheck.vectors.calls import expecting
from convcheck.vectors.model import CallSet

_CALLS = 32  # of a case, at least if it has so many
_FEW = 8  # cases of a spec that are looked at before all cases of others


def unseen_in_calls(catalog: Catalog, causes: Sequence[Cause]) -> list[Cause]:
    """Return the causes of whole calls that no call of any case shows.

    A few cases of each spec come first: what another spec shows is not looked for in all of them.
    """
    left = list(causes)
    specs = [spec for spec in catalog.specs.values() if spec.body.whole_calls]
    for first, last in ((0, _FEW), (_FEW, None)):
        for spec in sorted(specs, key=count_cases):
            scattered = islice(_scattered(list(cases(spec))), first, last)
            mine = [cause for cause in left if is_of(cause, spec)]
            hidden = _hidden(spec, scattered, mine)
            left = [cause for cause in left if cause in hidden or cause not in mine]
    return left


def _hidden(spec: Spec, cases: Iterator[Case], causes: list[Cause]) -> list[Cause]:
    """Return the causes that no call of cases shows."""
    while causes and (case := next(cases, None)):
        seen = _seen(_some_calls(spec, case), spec, causes)
        causes = [cause for cause in causes if cause not in seen]
    return causes


def _scattered(listed: Sequence[Case]) -> Iterator[Case]:
    """Yield cases in an order in which neighbours are far apart: they show the same causes."""
    step = next(n for n in range(len(listed) * 5 // 8 or 1, 0, -1) if gcd(n, len(listed)) == 1)
    yield from (listed[i * step % len(listed)] for i in range(len(listed)))


def _some_calls(spec: Spec, case: Case) -> CallSet:
    """Return some calls of a case, spread over all of them."""
    asked, coverage = calls_of(spec, case, "edge", 0)
    step = max(1, len(asked) // _CALLS)
    return expecting(spec, case, asked[::step], coverage)


def _seen(calls: CallSet, spec: Spec, causes: Sequence[Cause]) -> list[Cause]:
    """Return the causes that answer a call wrongly of which a rule says something."""
    edits = wrong_calls(spec, calls.case, calls.calls)
    made = ((cause, next(iter(edits((cause,))), None)) for cause in causes)
    return [cause for cause, candidate in made if candidate and _shows(calls, candidate)]


def _shows(calls: CallSet, candidate: WrongCall) -> bool:
    return any(is_wrong(calls, i, candidate.answer(i)) for i in range(len(calls)))
