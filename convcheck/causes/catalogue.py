"""Load and check causes and observations of runtimes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from math import gcd

from convcheck.causes.apart import spread
from convcheck.causes.score import Asked, AskedCalls, AskedInputs, is_of
from convcheck.errors import Place, SpecError
from convcheck.numerics.number import Bits
from convcheck.rules.cases import cases
from convcheck.rules.causes import Cause, CauseFile, cause_files, read_causes
from convcheck.rules.load import OBSERVATIONS, Catalog, files_in
from convcheck.rules.model import Case, Spec, op_and_version, version_key
from convcheck.rules.source import Node, read_all, read_yaml, refuse
from convcheck.rules.types import Types
from convcheck.semantics.answers_at import points_of
from convcheck.semantics.compile import compile_wrong, readings_at, unknown_words
from convcheck.semantics.expected import UNDEFINED, Reading
from convcheck.streams import meant
from convcheck.vectors.corpus import Corpus
from convcheck.vectors.generate import inputs_of
from convcheck.vectors.model import CallSet


def causes_of(catalog: Catalog) -> tuple[Cause, ...]:
    """Return a catalogue's causes, simplest first. Raises SpecError."""
    causes = causes_in(cause_files(catalog), catalog.types)
    versions = {op_and_version(spec)[1] for spec in catalog.specs} - {""}
    operators = {spec.op for spec in catalog.specs.values()} | {""}
    errors = []
    for cause in causes:
        if cause.version and cause.version not in versions:
            said = f"no spec has the version {cause.version!r}"
            hint = f"known: {', '.join(sorted(versions, key=version_key))}"
            errors.append(SpecError(said, place=cause.place, hint=hint))
        if cause.of not in operators:
            said, hint = f"no spec is of {cause.of!r}", meant(cause.of, operators)
            errors.append(SpecError(said, place=cause.place, hint=hint))
    refuse(errors)
    return causes


def causes_in(files: Sequence[CauseFile], types: Types) -> tuple[Cause, ...]:
    """Return the causes of files, simplest first. Raises SpecError."""
    return _read(tuple(files), types)


@lru_cache(2)
def _read(files: tuple[CauseFile, ...], types: Types) -> tuple[Cause, ...]:
    causes = read_causes(files, types)
    errors: list[SpecError] = []
    for cause in causes:
        errors += unknown_words(cause.rules, {})
    refuse(errors)
    return causes


_INPUTS = 256  # inputs of a case, evenly spread
_CALLS = 96  # calls of a case, at least
_FEW = 8  # cases of a spec tried first


def unseen(corpus: Corpus) -> Iterator[SpecError]:
    """Yield an error for each cause without effect in a corpus. Raises SpecError, VectorError."""
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
    """Yield a few cases of each spec, then each one's others."""
    for first, last in ((0, _FEW), (_FEW, None)):
        for spec in specs:
            yield spec, islice(_scattered(list(cases(spec))), first, last)


def _scattered(listed: Sequence[Case]) -> Iterator[Case]:
    """Yield cases so that similar neighbours are far apart."""
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
    return AskedCalls(spec, calls.take(range(0, len(calls), max(1, len(calls) // _CALLS))))


@dataclass(frozen=True)
class Observation:
    """A release's behaviour in a row."""

    runtime: str
    release: str
    backend: str
    operator: str  # without a version
    row: str  # rule and row: 'float-to-fixed / nan'
    sources: frozenset[str]
    targets: frozenset[str]
    cause: Cause
    place: Place

    def is_of(self, case: Case, row: str) -> bool:
        """Return whether it is about a row of a case."""
        types = case.inputs[0].name in self.sources and case.outputs[0].name in self.targets
        return self.row == row and self.operator == case.op and types and "/" not in case.name


def observations_of(catalog: Catalog) -> tuple[Observation, ...]:
    """Return a catalog's observations. Raises SpecError."""
    causes = {cause.name: cause for cause in causes_of(catalog)}
    nodes = [read_yaml(*each) for each in files_in(catalog, OBSERVATIONS)]
    return tuple(each for node in nodes for each in _seen(node, causes, catalog.types))


def seen_at(
    catalog: Catalog, case: Case, row: str, code: Bits
) -> Iterator[tuple[Observation, Reading]]:
    """Yield a row's observations with their readings for a code, shape (1,)."""
    spec = catalog.specs[case.spec]
    for one in observations_of(catalog):
        program = compile_wrong(spec, case, (one.cause,)) if one.is_of(case, row) else None
        if program is not None:
            given = readings_at(program, points_of(case, code))[0]
            if given.patterns[0] != UNDEFINED:
                yield one, given


def _seen(node: Node, causes: Mapping[str, Cause], types: Types) -> Iterator[Observation]:
    node.only("runtime", "release", "backend", "operator", "seen")
    head = [node.need(key).text() for key in ("runtime", "release", "backend", "operator")]
    runtime, release, backend, operator = head

    def read(entry: Node) -> Observation:
        entry.only("row", "does", "from", "to")
        cause = causes[entry.need("does").word(tuple(causes), "cause")]
        sources, targets = (frozenset(types.names(entry.need(key))) for key in ("from", "to"))
        row = entry.need("row").text()
        return Observation(
            runtime, release, backend, operator, row, sources, targets, cause, entry.place
        )

    yield from read_all(read, node.listed("seen"))
