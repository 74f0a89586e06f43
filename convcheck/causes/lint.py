"""Check that every cause has a visible effect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from math import gcd

from convcheck.causes.apart import some_calls, spread
from convcheck.causes.asked import Asked, AskedCalls, AskedInputs
from convcheck.causes.catalogue import causes_of
from convcheck.causes.score import is_of
from convcheck.errors import SpecError
from convcheck.rules.cases import cases
from convcheck.rules.causes import Cause
from convcheck.rules.model import Case, Spec
from convcheck.vectors.corpus import Corpus
from convcheck.vectors.generate import inputs_of
from convcheck.vectors.model import CallSet

_INPUTS = 256  # inputs of a case, evenly spread
_CALLS = 96  # calls of a case, at least
_FEW = 8  # cases of a spec that are tried first


def unseen(corpus: Corpus) -> Iterator[SpecError]:
    """Yield an error for each cause without effect on the inputs of a corpus.

    An effect is a difference from the rules, or a decision that they leave open. Raises SpecError
    for unreadable causes, VectorError for a damaged file.
    """
    # chain edits state their effect
    found = [cause for cause in causes_of(corpus.catalog) if not cause.chain]
    for cause in hidden(corpus, found):
        hint = "let it differ from the rules, or decide what they leave open"
        yield SpecError(f"no input shows the cause {cause.name!r}", place=cause.place, hint=hint)


def hidden(corpus: Corpus, causes: Sequence[Cause]) -> list[Cause]:
    """Return the causes without effect in a corpus."""
    left = list(causes)
    specs = list(corpus.catalog.specs.values())
    of_calls = sorted(
        (spec for spec in specs if spec.body.whole_calls), key=lambda spec: len([*cases(spec)])
    )
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
    """Yield a few cases of each spec, then the others of each."""
    for first, last in ((0, _FEW), (_FEW, None)):
        for spec in specs:
            yield spec, islice(_scattered(list(cases(spec))), first, last)


def _scattered(listed: Sequence[Case]) -> Iterator[Case]:
    """Yield cases so that similar ones, which are neighbours, are far apart."""
    step = next(n for n in range(len(listed) * 5 // 8 or 1, 0, -1) if gcd(n, len(listed)) == 1)
    yield from (listed[i * step % len(listed)] for i in range(len(listed)))


def _may_show(cause: Cause, spec: Spec) -> bool:
    if spec.body.whole_calls and not (cause.call or cause.under):
        return False
    return is_of(cause, spec) and not (cause.version and spec.earlier(cause.version) is None)


def _asked(corpus: Corpus, spec: Spec, case: Case) -> Asked:
    if not spec.body.whole_calls:
        return AskedInputs.of(spec, case, spread(inputs_of(case, "edge")[0], _INPUTS))
    calls = corpus.vectors(case)
    assert isinstance(calls, CallSet)  # noqa: S101
    return AskedCalls(spec, some_calls(calls, range(0, len(calls), max(1, len(calls) // _CALLS))))
