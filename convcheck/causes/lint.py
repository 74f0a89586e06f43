"""What is wrong with a cause: it can never be seen, since no input of any case shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from math import gcd

from convcheck.causes.apart import spread
from convcheck.causes.asked import Asked, AskedCalls, AskedInputs
from convcheck.causes.catalogue import causes_of
from convcheck.causes.mutants import is_of
from convcheck.errors import SpecError
from convcheck.records import replace
from convcheck.rules.cases import cases, count_cases
from convcheck.rules.causes import Cause
from convcheck.rules.model import Case, Spec
from convcheck.vectors.corpus import Corpus
from convcheck.vectors.generate import inputs_of
from convcheck.vectors.model import CallSet

_INPUTS = 256  # of a case, spread over all of them
_CALLS = 96  # of a case, at least if it has so many
_FEW = 8  # cases of a spec that are looked at before all cases of others


def unseen(corpus: Corpus) -> Iterator[SpecError]:
    """Yield an error for each cause that equals the rules where they decide, and leaves open what
    they leave open, in all that a corpus asks.

    Raises SpecError for causes that cannot be read, and VectorError for a damaged vector file.
    """
    found = [cause for cause in causes_of(corpus.catalog) if not cause.chain]  # says what it does
    for cause in hidden(corpus, found):
        hint = "let it differ from the rules, or decide what they leave open"
        yield SpecError(f"no input shows the cause {cause.name!r}", place=cause.place, hint=hint)


def hidden(corpus: Corpus, causes: Sequence[Cause]) -> list[Cause]:
    """Return the causes that nothing shows that a corpus asks."""
    left = list(causes)
    specs = list(corpus.catalog.specs.values())
    of_calls = sorted((spec for spec in specs if spec.body.whole_calls), key=count_cases)
    of_elements = [spec for spec in specs[::-1] if not spec.body.whole_calls]
    for spec, some in (*few_first(of_calls), *few_first(of_elements)):
        mine = [cause for cause in left if _may_show(cause, spec)]
        while mine and (case := next(some, None)):
            asked = _asked(corpus, spec, case)
            shown = [cause for cause in mine if asked.shows(cause)]
            mine = [cause for cause in mine if cause not in shown]
            left = [cause for cause in left if cause not in shown]
    return left


def few_first(specs: Sequence[Spec]) -> Iterator[tuple[Spec, Iterator[Case]]]:
    """Yield a few cases of each spec, and then all others of each: what a case of another spec
    shows is not looked for in all of them.
    """
    for first, last in ((0, _FEW), (_FEW, None)):
        for spec in specs:
            yield spec, islice(_scattered(list(cases(spec))), first, last)


def _scattered(listed: Sequence[Case]) -> Iterator[Case]:
    """Yield cases in an order in which neighbours are far apart: they show the same causes."""
    step = next(n for n in range(len(listed) * 5 // 8 or 1, 0, -1) if gcd(n, len(listed)) == 1)
    yield from (listed[i * step % len(listed)] for i in range(len(listed)))


def _may_show(cause: Cause, spec: Spec) -> bool:
    """Return whether cases of a spec are looked at: wrong conversions of values show in those whose
    elements are converted one by one.
    """
    if spec.body.whole_calls and not (cause.call or cause.under):
        return False
    return is_of(cause, spec) and not (cause.version and spec.earlier(cause.version) is None)


def _asked(corpus: Corpus, spec: Spec, case: Case) -> Asked:
    """Return some of what is asked of a case, spread over all of it."""
    if not spec.body.whole_calls:
        return AskedInputs.of(spec, case, spread(inputs_of(case, "edge")[0], _INPUTS))
    calls = corpus.vectors(case)
    assert isinstance(calls, CallSet)  # noqa: S101
    some = slice(None, None, max(1, len(calls) // _CALLS))
    few = replace(calls, calls=calls.calls[some], expected=calls.expected[some])
    return AskedCalls(spec, few)
