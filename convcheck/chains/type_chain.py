"""Chains of types as casts, one reading at a time."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product

from convcheck.chains.cast import Cast, Chain
from convcheck.errors import UsageError
from convcheck.numerics.format import Numeric, Text
from convcheck.rules.cases import defaults, uncovered_by
from convcheck.rules.digest import digest_of_spec
from convcheck.rules.find import find_case
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case, DType, Spec
from convcheck.semantics.compile import compile_untold
from convcheck.semantics.evaluate import compile_case
from convcheck.semantics.program import Program

Dispute = tuple[str, str]  # rule and row with several readings


@dataclass(frozen=True, eq=False)
class CompiledCast:
    """A compiled case; the identity without a case."""

    #: source and destination
    dtypes: tuple[DType, DType]
    spec: Spec | None = None
    case: Case | None = None

    @cached_property
    def readings(self) -> tuple[Mapping[Dispute, str], ...]:
        """Names by rule and row, for each reading."""
        if self.spec is None or self.case is None:
            return ({},)
        told = compile_case(self.spec, self.case)
        disputed = [d for d in told.decisions if len(d.readings) > 1]
        return tuple(
            {d.trail[-1]: d.readings[min(number, len(d.readings) - 1)] for d in disputed}
            for number in range(told.readings)
        )

    @cached_property
    def casts(self) -> tuple[Cast, ...]:
        """The conversion under each reading."""
        source, target = (_numeric(dtype) for dtype in self.dtypes)
        return tuple(Cast(source, target, self._program, n) for n in range(len(self.readings)))

    @cached_property
    def _program(self) -> Program | None:
        spec, case = self.spec, self.case
        if spec is None or case is None:
            return None
        if uncovered_by(spec, case):
            return compile_case(spec, case)
        attributes = tuple((name, str(value)) for name, value in case.attributes)
        return compile_untold(spec, case.inputs[0], case.outputs[0], attributes)


@dataclass(frozen=True)
class Way:
    """A reading of all disputed rows, with chain and direct cast."""

    readings: Mapping[Dispute, str]
    chain: Chain
    direct: Cast

    @property
    def name(self) -> str:
        """The readings, '' if none is disputed."""
        return ", ".join(dict.fromkeys(self.readings.values()))


@dataclass(frozen=True, eq=False)
class TypeChain:
    """A chain of types and its direct cast, the identity for a round trip."""

    spec: Spec
    types: tuple[DType, ...]
    hops: tuple[CompiledCast, ...]
    direct: CompiledCast

    @property
    def is_round_trip(self) -> bool:
        """Whether it returns to its source."""
        return self.types[0] == self.types[-1]

    def ways(self) -> Iterator[Way]:
        """Yield each reading that reads the same row alike in all casts."""
        conversions = (*self.hops, self.direct)
        for numbers in product(*(range(len(each.readings)) for each in conversions)):
            chosen: dict[Dispute, str] = {}
            said = [
                item
                for each, number in zip(conversions, numbers, strict=True)
                for item in each.readings[number].items()
            ]
            if all(chosen.setdefault(dispute, name) == name for dispute, name in said):
                *hops, direct = (c.casts[n] for c, n in zip(conversions, numbers, strict=True))
                yield Way(chosen, Chain(tuple(hops)), direct)


def ways(spec: Spec, case: Case) -> list[Way]:
    """Return each reading of a chain that reads the same row alike in all casts."""
    casts = tuple(CompiledCast((hop.inputs[0], hop.outputs[0]), spec, hop) for hop in case.hops)
    types = (case.inputs[0], *(hop.outputs[0] for hop in case.hops))
    identity = CompiledCast((types[0], types[0]))
    return list(TypeChain(spec, types, casts, identity).ways())


def takes_chains(spec: Spec) -> bool:
    """Whether a spec converts one input to one output, elementwise."""
    return not spec.body.whole_calls and len(spec.inputs) == len(spec.outputs) == 1


def rules_name(spec: Spec, attributes: Sequence[str]) -> str:
    """Return the name of a spec with attribute values."""
    return ", ".join([spec.id, *attributes])


def rules_digest(spec: Spec, attributes: Sequence[str]) -> str:
    """Return the SHA-256 of rules and attribute values, in hexadecimal."""
    return hashlib.sha256(json.dumps([digest_of_spec(spec), *attributes]).encode()).hexdigest()


def latest(catalog: Catalog) -> Spec:
    """Return the newest version of the operator with the most versions that take chains."""
    versions: dict[str, list[Spec]] = {}
    for spec in filter(takes_chains, catalog.specs.values()):
        versions.setdefault(spec.op, []).append(spec)
    several = max(versions.values(), key=len)
    return max(several, key=lambda spec: spec.version)


class CompiledCasts:
    """The conversions of a spec under attribute values."""

    def __init__(self, catalog: Catalog, spec: Spec, where: Sequence[str] = ()) -> None:
        self.catalog, self.spec, self.where = catalog, spec, where
        self._made: dict[tuple[str, str], CompiledCast] = {}

    def between(self, source: str, target: str) -> CompiledCast:
        """Return the conversion between two types. Raises UsageError."""
        if (source, target) not in self._made:
            case = find_case(self.catalog, self.spec.id, source, target, self._applying(target))
            dtypes = (case.inputs[0], case.outputs[0])
            self._made[source, target] = CompiledCast(dtypes, self.spec, case)
        return self._made[source, target]

    def chain(self, names: Sequence[str]) -> TypeChain:
        """Return the chain of some types. Raises UsageError."""
        hops = tuple(self.between(*pair) for pair in pairwise(names))
        types = (hops[0].dtypes[0], *(hop.dtypes[1] for hop in hops))
        for dtype in types:
            _numeric(dtype)
        return TypeChain(self.spec, types, hops, self.direct(names[0], names[-1]))

    def direct(self, source: str, target: str) -> CompiledCast:
        """Return the direct cast, or the identity."""
        if source != target:
            return self.between(source, target)
        dtype = self.catalog.types.types[source]
        _numeric(dtype)
        return CompiledCast((dtype, dtype))

    def attributes(self, targets: Sequence[str]) -> tuple[str, ...]:
        """Return NAME=VALUE, chosen or default, for some destinations."""
        types = self.catalog.types.types
        values = {k: str(v) for t in targets for k, v in defaults(self.spec, types[t])}
        values |= dict(word.split("=", 1) for t in targets for word in self._applying(t))
        return tuple(f"{name}={value}" for name, value in values.items())

    def check_where(self, targets: Sequence[str]) -> None:
        """Raise UsageError for a value that applies to no destination."""
        applying = {word for name in targets for word in self._applying(name)}
        for word in self.where:
            if word not in applying:
                attribute = word.partition("=")[0]
                known = {a.name: a for a in self.spec.attributes}[attribute]
                hint = f"it applies to {', '.join(sorted(known.applies or ()))}"
                raise UsageError(f"{attribute} applies to no cast here", hint=hint)

    def _applying(self, target: str) -> tuple[str, ...]:
        known = {a.name: a for a in self.spec.attributes}
        dtype = self.catalog.types.types.get(target)
        applying = ((word, known.get(word.partition("=")[0])) for word in self.where)
        return tuple(w for w, a in applying if not (a and dtype) or a.applies_to(dtype))


def _numeric(dtype: DType) -> Numeric:
    if isinstance(dtype.format, Text):
        raise UsageError(f"{dtype} is no type of numbers", hint="the types of a chain are numbers")
    return dtype.format
