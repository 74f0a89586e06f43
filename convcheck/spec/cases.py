"""Which questions a spec asks: every pair of types, with every attribute value that applies."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from convcheck.spec.model import Attribute, Attributes, Case, DType, Spec


def cases(spec: Spec) -> Iterator[Case]:
    """Enumerate the cases of a spec, in the order of its type lists."""
    for source in _types(spec, spec.inputs[0][1]):
        for target in _types(spec, spec.outputs[0][1]):
            yield from _cases_of_pair(spec, source, target)


def make_case(
    spec: Spec, source: DType, target: DType, attributes: Attributes, refusal: bool = False
) -> Case:
    """Make one case of a spec; attributes are put in the spec's order."""
    order = [a.name for a in spec.attributes]
    ordered = tuple(sorted(attributes, key=lambda item: order.index(item[0])))
    carried = tuple((a.name, a.kind) for a in spec.attributes if a.carries)
    case_types = ((source,), (target,))
    return Case(spec.id, spec.op, spec.version, *case_types, ordered, carried, refusal)


def defaults(spec: Spec, target: DType) -> Attributes:
    """Give the default values of the attributes that apply to a destination."""
    return tuple((a.name, a.default) for a in _applying(spec, target) if a.default is not None)


def _types(spec: Spec, variable: str) -> tuple[DType, ...]:
    return spec.types[variable]


def _applying(spec: Spec, target: DType) -> list[Attribute]:
    return [a for a in spec.attributes if not a.carries and target.name in a.applies]


def _cases_of_pair(spec: Spec, source: DType, target: DType) -> Iterator[Case]:
    applying = _applying(spec, target)
    for values in product(*(a.values for a in applying)):
        names = (a.name for a in applying)
        yield make_case(spec, source, target, tuple(zip(names, values, strict=True)))
    for attribute in spec.attributes:
        yield from _asked_besides(spec, attribute, source, target)


def _asked_besides(
    spec: Spec, attribute: Attribute, source: DType, target: DType
) -> Iterator[Case]:
    """Values outside the list, and pairs to which the attribute does not apply."""
    others = tuple((n, v) for n, v in defaults(spec, target) if n != attribute.name)
    for asking in attribute.also:
        if source.name in asking.sources and target.name in asking.targets:
            for value in asking.values:
                attributes = (*others, (attribute.name, value))
                yield make_case(spec, source, target, attributes, asking.refusal)
