"""Plant causes as mutants, observable by defined inputs, and score the vectors that catch them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from convcheck.causes.apart import spread
from convcheck.causes.asked import Asked, AskedInputs, asked_calls, asked_of
from convcheck.numerics.format import Format, Numeric, Text
from convcheck.numerics.number import Codes
from convcheck.rules.causes import Cause
from convcheck.rules.model import Case, DType, Spec
from convcheck.vectors.corpus import Corpus
from convcheck.vectors.generate import calls_of, inputs_of
from convcheck.vectors.inputs import numeric_inputs
from convcheck.vectors.model import CallSet, VectorSet

_WHOLE = 16  # bits of a source searched in full
_SPELLED = 1 << 10  # further inputs to search if each must be spelled


@dataclass(frozen=True)
class Mutant:
    """A cause planted in a case."""

    case: Case
    cause: Cause
    caught: int  # vectors, or calls, that catch it
    witness: str | None = None  # an input that shows it, if no vector does

    @property
    def says(self) -> str:
        """What it does otherwise than the rules."""
        return self.cause.says


def mutants(
    corpus: Corpus, cases: Iterable[Case], causes: Sequence[Cause]
) -> Iterator[tuple[Case, list[Mutant]]]:
    """Yield each case with its observable mutants. Conversions in promotions are planted once."""
    seen: set[tuple[str, DType, DType]] = set()
    for case in cases:
        spec, vectors = corpus.catalog.specs[case.spec], corpus.vectors(case)
        mine = [cause for cause in causes if is_of(cause, spec)]
        if isinstance(vectors, CallSet) and spec.body.gives_types:
            due = [output.dtype for output in vectors.expected[0].readings[0].outputs]
            ends = zip(case.inputs if len(vectors) > 1 else (), due, strict=False)
            new = {(case.spec, source, target) for source, target in ends} - seen
            seen |= new
            mine = [cause for cause in mine if new or cause.call or cause.under]
        yield case, list(_mutants(corpus, spec, vectors, mine))


def is_of(cause: Cause, spec: Spec) -> bool:
    """Return whether a cause may apply to a spec."""
    if not spec.body.whole_calls:
        return cause.call is None
    known = {attribute.name for attribute in spec.attributes}
    return cause.edits(spec) and known.issuperset(name for name, _ in cause.under)


def _mutants(
    corpus: Corpus, spec: Spec, vectors: VectorSet | CallSet, causes: Sequence[Cause]
) -> Iterator[Mutant]:
    caught = Counter[Cause]()
    for asked in asked_of(spec, vectors):
        caught.update({cause: asked.caught(cause).wrong for cause in causes})
    yield from (Mutant(vectors.case, cause, caught[cause]) for cause in causes if caught[cause])
    left = [cause for cause in causes if not caught[cause]]
    if corpus.tier != "edge" or vectors.coverage == "exhaustive":
        return
    for asked in _beyond(corpus, spec, vectors):
        shown = {cause: found.first for cause in left if (found := asked.caught(cause)).wrong}
        left = [cause for cause in left if cause not in shown]
        for cause, place in shown.items():
            yield Mutant(vectors.case, cause, 0, asked.in_words(place))
        if not left:
            return


def _beyond(corpus: Corpus, spec: Spec, vectors: VectorSet | CallSet) -> Iterator[Asked]:
    case = vectors.case
    if isinstance(vectors, CallSet):
        more, _ = calls_of(spec, case, "boundary", corpus.seed)
        yield from asked_calls(spec, vectors, more)
        return
    types = corpus.catalog.types.types.values()
    formats = tuple(dict.fromkeys(each.format for each in types))
    source, target = case.inputs[0].format, case.outputs[0].format
    if isinstance(source, Text) or source.bits <= _WHOLE:
        bits = inputs_of(case, "boundary", corpus.seed)[0]
    else:
        bits = _of_all_types(source, formats, corpus.seed)
    yield AskedInputs.of(spec, case, spread(bits, _SPELLED) if isinstance(target, Text) else bits)


@lru_cache
def _of_all_types(source: Numeric, formats: tuple[Format, ...], seed: int) -> Codes:
    parts = [numeric_inputs(source, target, "edge", seed)[0] for target in formats]
    return np.unique(np.concatenate(parts))


@dataclass(frozen=True)
class Score:
    """How many mutants a spec's vectors catch."""

    spec: str
    cases: int
    observable: int
    missed: tuple[Mutant, ...]
    weakest: tuple[Mutant, ...]  # of each cause the mutant with fewest catches, sorted

    @property
    def caught(self) -> int:
        """The number of mutants that a vector catches."""
        return self.observable - len(self.missed)


def scores(planted: Iterable[tuple[Case, Sequence[Mutant]]], cases: Iterable[Case]) -> list[Score]:
    """Return each spec's score, in the order of the cases."""
    of: dict[str, list[Mutant]] = {}
    counts: dict[str, int] = {}
    for case in cases:
        of[case.spec], counts[case.spec] = [], counts.get(case.spec, 0) + 1
    for case, planted_here in planted:
        of[case.spec] += planted_here
    made = []
    for name, found in of.items():
        least: dict[str, Mutant] = {}
        for mutant in sorted((m for m in found if m.caught), key=lambda m: m.caught):
            least.setdefault(mutant.cause.name, mutant)
        missed = tuple(mutant for mutant in found if not mutant.caught)
        made.append(Score(name, counts[name], len(found), missed, tuple(least.values())))
    return made
