"""Choose the inputs of chains, and compute their expected results.

Each input gets another result if an intermediate cast is missing. Each cast is also tested alone:
only if all are right does the result of a graph show what was done to the chain.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from convcheck.chains.cast import U64, Chain
from convcheck.chains.compare import known_inputs
from convcheck.chains.type_chain import CompiledCast, CompiledCasts, Way
from convcheck.errors import SpecError, UsageError
from convcheck.numerics.format import Float
from convcheck.records import replace
from convcheck.rules.body.steps import Steps
from convcheck.rules.cases import cases, fixes_all
from convcheck.rules.find import find_spec
from convcheck.rules.load import Catalog, Promise
from convcheck.rules.model import Case, Level, Spec
from convcheck.semantics.body.steps import layout_of
from convcheck.semantics.body.table_lint import Diagnostic
from convcheck.semantics.evaluate import evaluate
from convcheck.semantics.expected import EXACT, Decision, Expected, Reading
from convcheck.semantics.program import Program
from convcheck.vectors.body.scaled import fixed_cases, fixed_inputs
from convcheck.vectors.corpus import Corpus, Span
from convcheck.vectors.generate import form_decision
from convcheck.vectors.model import VectorSet

MOST = 8  # inputs that discriminate a chain from one without a cast
SPREAD = 24  # other inputs
CAST_BY_CAST = "cast by cast"
RULE = "chain"
Names = tuple[str, ...]
Hops = tuple[CompiledCast, ...]


@dataclass(frozen=True)
class ChainCorpus(Corpus):
    """The inputs of chains."""

    #: by chain id without setting
    codes: Mapping[str, U64] = field(default_factory=dict)
    promises: tuple[Promise, ...] = ()
    _casts: dict[tuple[str, Names], CompiledCasts] = field(default_factory=dict, compare=False)
    #: the last chain's vectors, by promise
    _last: dict[tuple[str, Promise | None], VectorSet] = field(default_factory=dict, compare=False)

    def only(self, cases: Iterable[Case]) -> "ChainCorpus":
        """Return the corpus of these cases, to send less."""
        cases = list(cases)
        kept = {name: self.codes[name] for name in dict.fromkeys(case.unset_id for case in cases)}
        ids = (one.spec for case in cases for one in (case, *case.hops))
        catalog = self.catalog.only(dict.fromkeys(ids))
        return replace(self, catalog=catalog, manifests=(), codes=kept, _casts={}, _last={})

    def spans(self, case: Case) -> tuple[Span, ...]:
        """Chains are sampled."""
        return ()

    def conversion(self, case: Case) -> tuple[Program, Decision]:
        """Return the rules of a pair's first node, or of the cast."""
        return super().conversion(case.hops[0] if case.is_pair else case)

    def count(self, case: Case) -> int:
        """Return the number of inputs."""
        return len(self.codes[case.unset_id])

    def check(self, cases: Sequence[Case]) -> tuple[str, ...]:
        """Chains are not stored."""
        return ()

    def stored(self, case: Case) -> bool:
        """Chains are not stored."""
        return False

    def _digest(self, name: str) -> str:
        content = hashlib.sha256(super()._digest(name).encode())
        for chain, codes in sorted(self.codes.items()):
            if chain.partition("/")[0] == name:
                content.update(chain.encode() + codes.tobytes())
        return content.hexdigest()

    def casts(self, case: Case) -> CompiledCasts:
        """Return the conversions of a chain's spec under its attributes."""
        where = tuple(f"{name}={value}" for name, value in case.attributes)
        if (case.spec, where) not in self._casts:
            spec = self.catalog.specs[case.spec]
            self._casts[case.spec, where] = CompiledCasts(self.catalog, spec, where)
        return self._casts[case.spec, where]

    def promise(self, case: Case) -> Promise | None:
        """Return what the runtime promises about a chain's setting."""
        return next((p for p in self.promises if p.holds_of(case.setting)), None)

    def vectors(self, case: Case) -> VectorSet:
        """Return the inputs of a chain, also expected without casts that may be removed."""
        key = case.unset_id, self.promise(case)
        if key not in self._last:
            if any(name != key[0] for name, _ in self._last):
                self._last.clear()
            self._last[key] = self._vectors(case)
        return replace(self._last[key], case=case)

    def _vectors(self, case: Case) -> VectorSet:
        if case.is_pair:
            return self._pair(case)
        spec, codes, ways = self.casts(case).spec, self.codes[case.unset_id], self._ways(case)
        source, target = (t.format.storage for t in (case.inputs[0], case.outputs[0]))
        exact = np.zeros(len(codes), np.uint8)
        readings = tuple(
            Reading(chain_of(hops).results(codes).codes.astype(target), exact) for _, hops in ways
        )
        names = tuple(name for name, _ in ways) if len(ways) > 1 else ("",)
        said = _decision(spec, self.promise(case), names)
        expected = Expected(np.zeros(len(codes), np.int16), (said,), readings)
        return VectorSet(case, (codes.astype(source),), expected, "sampled", form_decision(spec))

    def _pair(self, case: Case) -> VectorSet:
        *_, (last, _) = self.alone(case)
        bits = self.codes[case.unset_id].astype(case.inputs[0].format.storage)
        spec, promise = self.catalog.specs[case.spec], self.promise(case)
        said = replace(_decision(spec, promise, ("",)), row="both nodes are there")
        rows = np.zeros(len(bits), np.int16)
        expected = Expected(rows, (said,), last.expected.readings[:1])
        return VectorSet(case, (bits,), expected, "sampled", form_decision(spec))

    def _ways(self, case: Case) -> list[tuple[str, Hops]]:
        casts, names, promise = self.casts(case), chain_types(case), self.promise(case)
        ways = [(CAST_BY_CAST, made(casts, names))]
        if promise and promise.leaves_out:
            ways += shorter(casts, names)
        if promise and promise.floats_as:
            ways += _with_floats_as(promise.floats_as, casts, names)
        return ways

    def alone(self, case: Case) -> Iterator[tuple[VectorSet, bool]]:
        """Yield the vectors of each cast alone, and whether it is no replacement."""
        if case.is_pair:
            yield from ((one, True) for one in hop_vectors(self.catalog, case, self.codes))
            return
        spec = self.casts(case).spec
        for said, hops in self._ways(case):
            codes = self.codes[case.unset_id]
            for hop in hops:
                if hop.case is not None:
                    yield cast_alone(spec, hop.case, codes, case), said == CAST_BY_CAST
                codes = hop.casts[0].raw(codes)[0]


def hop_vectors(catalog: Catalog, case: Case, known: Mapping[str, U64]) -> Iterator[VectorSet]:
    """Yield the vectors of each node of a pair, by the first reading."""
    codes = known[case.unset_id]
    for hop in case.hops:
        vectors = cast_alone(catalog.specs[hop.spec], hop, codes, case)
        yield vectors
        codes = np.asarray(vectors.expected.readings[0].codes, np.uint64)


def cast_alone(spec: Spec, hop: Case, codes: U64, chain: Case) -> VectorSet:
    """Return the vectors of one node, constant as in the chain, as kernels may differ."""
    bits = codes.astype(hop.inputs[0].format.storage)
    given = tuple(one for one in chain.setting if one == ("input", "constant"))
    expected = evaluate(spec, hop, bits)
    return VectorSet(replace(hop, setting=given), (bits,), expected, "sampled", form_decision(spec))


def chain_vectors(spec: Spec, case: Case, ways: Sequence[Way], codes: Sequence[int]) -> VectorSet:
    """Return vectors of a chain as a single conversion, under these readings."""
    given, target = np.array(codes, np.uint64), case.outputs[0].format.storage
    results = (way.chain.results(given) for way in ways)
    readings = tuple(Reading(one.codes.astype(target), one.patterns) for one in results)
    names = tuple(way.name for way in ways)
    decision = _decision(spec, None, names if len(ways) > 1 else ("",))
    expected = Expected(np.zeros(len(given), np.int16), (decision,), readings)
    bits = given.astype(case.inputs[0].format.storage)
    return VectorSet(replace(case, hops=()), (bits,), expected, "sampled", form_decision(spec))


def _decision(spec: Spec, promise: Promise | None, readings: Names) -> Decision:
    """Cites a promise of the runtime, or the spec's sentence on its output."""
    row = "every cast is made"
    if promise:
        level: Level = "disputed" if promise.is_free else "normative"
        return Decision(RULE, row, level, promise.text, promise.document, promise.place, readings)
    cite = spec.output_cite
    return Decision(RULE, row, "implied", cite.text, spec.document_of(cite), cite.place, readings,
                    gloss=cite.gloss)  # fmt: skip


def chain_types(case: Case) -> Names:
    """Return the types of a chain, from source to destination."""
    return (case.inputs[0].name, *(hop.outputs[0].name for hop in case.hops))


def chain_case(casts: CompiledCasts, names: Sequence[str]) -> Case:
    """Return the case of a chain, without a setting. Raises UsageError."""
    hops = tuple(hop.case for hop in casts.chain(names).hops if hop.case is not None)
    first, last, spec = hops[0], hops[-1], casts.spec
    given = (word.partition("=") for word in casts.where)
    kinds = {a.name: a for a in spec.attributes}
    attributes = tuple((name, kinds[name].value_of(value)) for name, _, value in given)
    of_spec = first.spec, first.op, first.version
    return Case(*of_spec, first.inputs, last.outputs, attributes, hops=hops)


def own_chain(catalog: Catalog, case: Case) -> Case:
    """Return the current case of a chain in a report. Raises UsageError."""
    where = tuple(f"{name}={value}" for name, value in case.attributes)
    casts = CompiledCasts(catalog, find_spec(catalog, case.spec), where)
    return replace(chain_case(casts, chain_types(case)), setting=case.setting)


def made(casts: CompiledCasts, names: Sequence[str]) -> Hops:
    """Return the casts of a chain, identities for repeated types. Raises UsageError."""
    found = []
    for source, target in pairwise(names):
        cast = casts.between(source, target)
        same = CompiledCast((cast.dtypes[0], cast.dtypes[0]))
        found.append(same if source == target else cast)
    return tuple(found)


def chain_of(hops: Hops) -> Chain:
    """Return a chain by the first reading of each cast."""
    return Chain(tuple(hop.casts[0] for hop in hops))


def shorter(casts: CompiledCasts, names: Sequence[str]) -> list[tuple[str, Hops]]:
    """Return the chain without each intermediate type, and without all, described."""
    source, *middles, target = names
    left = {f"without {name}": [n for j, n in enumerate(middles) if j != i]
            for i, name in enumerate(middles)}  # fmt: skip
    left |= {"without " + ", ".join(middles): []}
    found = []
    for said, kept in left.items():
        with suppress(UsageError):
            found.append((said, made(casts, [source, *kept, target])))
    return found


def _with_floats_as(
    name: str, casts: CompiledCasts, names: Sequence[str]
) -> Iterator[tuple[str, Hops]]:
    """The chain with some intermediate floats in another type, described."""
    formats = (hop.dtypes[1].format for hop in made(casts, names)[:-1])
    floats = [i for i, fmt in enumerate(formats, 1) if isinstance(fmt, Float) and names[i] != name]
    for count in range(1, len(floats) + 1):
        for some in combinations(floats, count):
            types = [name if i in some else each for i, each in enumerate(names)]
            said = f"{name} in the place of {', '.join(names[i] for i in some)}"
            with suppress(UsageError):
                yield said, made(casts, types)


def telling_codes(casts: CompiledCasts, names: Sequence[str]) -> U64:
    """Return inputs with exact casts, some of which tell the chain from shorter ones; or none."""
    hops = made(casts, names)
    codes = known_inputs(chain_of(hops))
    certain, gives = _followed(hops, codes)
    told = []
    for _, short in shorter(casts, names):
        sure, instead = _followed(short, codes)
        certain &= sure
        told.append(gives != instead)
    some = [index for each in told if len(index := np.flatnonzero(certain & each))]
    if not some:
        return codes[:0]
    chosen = [*(_spread(index, MOST) for index in some), _spread(np.flatnonzero(certain), SPREAD)]
    return np.asarray(codes[np.unique(np.concatenate(chosen))])


def _spread(index: NDArray[np.intp], count: int) -> NDArray[np.intp]:
    return np.asarray(index[np.linspace(0, len(index) - 1, count).astype(int)])


def _followed(hops: Hops, codes: U64) -> tuple[NDArray[np.bool_], U64]:
    """A mask of inputs that all casts convert exactly in all readings, and the results."""
    certain = np.ones(len(codes), bool)
    for hop in hops:
        first, *others = (Chain((cast,)).results(codes) for cast in hop.casts)
        certain &= first.patterns == EXACT
        for other in others:
            certain &= first.same(other)
        codes = first.codes
    return certain, codes


def takes_pairs(spec: Spec) -> bool:
    """Whether a spec names its inverse operator."""
    return isinstance(spec.body, Steps) and bool(spec.body.undone_by[0])


def turned_back_by(catalog: Catalog, spec: Spec) -> Spec:
    """Return the spec of the inverse operator, of the same version. Raises SpecError."""
    steps = spec.body_as(Steps)
    op, _ = steps.undone_by
    for back in catalog.specs.values():
        if (back.op, back.version) == (op, spec.version):
            return back
    said = f"`undone-by`: there is no spec of {op}, version {spec.version}"
    raise SpecError(said, place=steps.place, hint="`convcheck show specs` has them")


def turned_back_by_nothing(catalog: Catalog, spec: Spec) -> list[Diagnostic]:
    """Return an error if a spec's inverse operator has no spec."""
    try:
        if takes_pairs(spec):
            turned_back_by(catalog, spec)
    except SpecError as error:
        return [Diagnostic.of_error(error, spec)]
    return []


def pairs_of(
    catalog: Catalog, spec: Spec, wanted: Callable[[Case], bool] = lambda pair: True
) -> Iterator[tuple[Case, U64]]:
    """Yield the wanted pairs with inputs of one exact result. Raises SpecError."""
    back = turned_back_by(catalog, spec)
    for case in cases(spec):
        for first in fixed_cases(spec, case):
            pair = _paired(spec, back, first)
            if pair is None or not wanted(pair):
                continue
            edges = np.asarray(fixed_inputs(spec, first, "edge", 0)[0], np.uint64)
            codes = _telling(catalog, pair, edges)
            if len(codes):
                yield pair, codes


def own_pair(catalog: Catalog, case: Case) -> Case:
    """Return the current case of a pair in a report. Raises UsageError."""
    spec = find_spec(catalog, case.spec)
    back = turned_back_by(catalog, spec)
    firsts = (replace(first, fixed=case.fixed) for first in first_nodes(spec))
    own = (_paired(spec, back, first) for first in firsts)
    for pair in own:
        if pair and pair.id == case.unset_id:
            return replace(pair, setting=case.setting)
    hint = f"`convcheck run --chains {case.spec} --dry-run -v` has the pairs"
    raise UsageError(f"{case.spec} has no pair {case.unset_id}", hint=hint)


def first_nodes(spec: Spec) -> Iterator[Case]:
    """Return the cases whose inputs after the first may be fixed."""
    return (case for case in cases(spec) if fixes_all(layout_of(spec, case)))


def _paired(spec: Spec, back: Spec, first: Case) -> Case | None:
    """A node followed by its inverse with the same constants."""
    _, names = spec.body_as(Steps).undone_by
    values = dict(first.fixed)
    ends = (first.outputs[0], *first.inputs[1:]), first.inputs[:1]
    for case in first_nodes(back) if len(values) == len(names) else ():
        if (case.inputs, case.outputs) == ends and not case.refusal:
            second = replace(case, fixed=tuple((name, values[own]) for name, own in names))
            return replace(first, inputs=ends[1], outputs=second.outputs, carried=(), ranks=(),
                           bound=False, hops=(first, second))  # fmt: skip
    return None


def _telling(catalog: Catalog, pair: Case, codes: U64) -> U64:
    certain = np.ones(len(codes), bool)
    for vectors in hop_vectors(catalog, pair, {pair.unset_id: codes}):
        first, *others = vectors.expected.readings
        certain &= first.patterns == EXACT
        for other in others:
            certain &= (other.patterns == EXACT) & (other.codes == first.codes)
    return np.asarray(codes[certain])
