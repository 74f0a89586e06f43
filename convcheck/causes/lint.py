"""What is wrong with a cause: it can never be seen, since no input of any case shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from convcheck.causes.apart import spread
from convcheck.causes.call_lint import few_first, unseen_in_calls
from convcheck.causes.catalogue import causes_of
from convcheck.causes.mutants import Asked
from convcheck.errors import SpecError
from convcheck.rules.causes import Cause
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case, Spec
from convcheck.semantics.answers_at import points_of
from convcheck.vectors.corpus import Corpus
from convcheck.vectors.generate import inputs_of

_INPUTS = 256  # of a case, spread over all of them


def unseen(corpus: Corpus) -> Iterator[SpecError]:
    """Yield an error for each cause that equals the rules where they decide, and leaves open what
    they leave open, in all that a corpus asks.

    Raises SpecError for causes that cannot be read, and VectorError for a damaged vector file.
    """
    catalog = corpus.catalog
    found = [cause for cause in causes_of(catalog) if not cause.chain]  # each names what it does
    hidden = unseen_in_calls(corpus, [cause for cause in found if cause.call or cause.under])
    left = [c for c in found if c.call is None and (not c.under or c in hidden)]
    for spec, case in _candidates(catalog):
        if not left:
            break
        shown = _shown(spec, case, left)
        left = [cause for cause in left if cause not in shown]
    for cause in (*(cause for cause in hidden if cause.call), *left):
        hint = "let it differ from the rules, or decide what they leave open"
        yield SpecError(f"no input shows the cause {cause.name!r}", place=cause.place, hint=hint)


def _candidates(catalog: Catalog) -> Iterator[tuple[Spec, Case]]:
    """Yield the cases of every element-wise operator, those of its latest version first."""
    specs = [spec for spec in catalog.specs.values() if not spec.body.whole_calls]
    for spec, some in few_first(specs[::-1]):
        yield from ((spec, case) for case in some)


def _shown(spec: Spec, case: Case, causes: Sequence[Cause]) -> list[Cause]:
    """Return the causes that a case shows."""
    known = (c for c in causes if not c.version or spec.earlier(c.version))
    applying = [cause for cause in known if cause.applies_to(case)]
    if not applying:
        return []
    asked = Asked.of(spec, case, points_of(case, spread(inputs_of(case, "edge")[0], _INPUTS)))
    return [c for c in applying if asked.shows(c) or asked.opened_by(c)]
