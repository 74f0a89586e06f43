"""Enumerate the cases of a spec: combinations of types, layouts and attribute values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product

from convcheck.rules.model import Asking, Attribute, Attributes, Case, DType, Layout, Spec
from convcheck.rules.outside import pairs_outside

Types = Mapping[str, DType]  # input or output -> its type
OUTPUT = "output"  # in `combinations`: the output's type
_KEPT = 64  # specs; more than are built in


def cases(spec: Spec) -> Iterator[Case]:
    """Return the cases of a spec, in the order of its type lists. Cached."""
    return iter(_cases(spec))


@lru_cache(_KEPT)
def _cases(spec: Spec) -> tuple[Case, ...]:
    return (*(_case(spec, *one) for one in _asked(spec)), *_outside(spec))


def _outside(spec: Spec) -> Iterator[Case]:
    for entry in spec.outside:
        for source, target, own in pairs_outside(spec, entry):
            attributes = {**dict(defaults(spec, target)), **dict(own)}
            case = make_case(spec, source, target, tuple(attributes.items()), refusal=True)
            yield replace(case, outside=True)


def _asked(spec: Spec) -> Iterator[tuple[Types, Layout | None, Attributes, bool]]:
    for types in _bindings(spec):
        layouts = _layouts(spec, types)
        chosen = [*_listed(spec, types), *_besides(spec, types)] if layouts else []
        for layout in layouts:
            own = layout.attributes if layout else ()
            for attributes, refusal in chosen:
                yield types, layout, (*attributes, *own), refusal


def _layouts(spec: Spec, types: Types) -> Sequence[Layout | None]:
    if not spec.layouts:
        return [None]
    tensors = (*spec.inputs, *spec.outputs)
    variables = {variable: types[name] for name, variable in tensors if name in types}
    return [layout for layout in spec.layouts if layout.is_asked_of(variables)]


def make_case(
    spec: Spec, source: DType, target: DType, attributes: Attributes, refusal: bool = False
) -> Case:
    """Return the case of an elementwise operator."""
    types = {name: target for name, _ in (*spec.inputs, *spec.outputs)}
    return _case(spec, {**types, spec.inputs[0][0]: source}, None, attributes, refusal)


def defaults(spec: Spec, target: DType | None) -> Attributes:
    """Return the default attributes for a destination.

    `target` is None if the output type is the answer.
    """
    applying = _applying(spec, (target,) if target else ())
    return tuple((a.name, a.default) for a in applying if a.default is not None)


def _bindings(spec: Spec) -> Iterator[Types]:
    tensors = (*spec.inputs, *spec.outputs)
    if spec.combinations:
        yield from _combined(spec)
        return
    variables = dict.fromkeys(v for _, v in tensors if v in spec.types)
    for types in product(*(spec.types[v] for v in variables)):
        bound = dict(zip(variables, types, strict=True))
        yield {name: bound[variable] for name, variable in tensors if variable in bound}


def _combined(spec: Spec) -> Iterator[Types]:
    output, variable = spec.outputs[0]
    known = {t.name: t for types in spec.types.values() for t in types}
    for target in spec.types[variable]:
        rows = {tuple(target if w == OUTPUT else known[w] for w in row): 0
                for row in spec.combinations}  # fmt: skip
        for row in rows:
            names = (name for name, _ in spec.inputs)
            yield {**dict(zip(names, row, strict=True)), output: target}


def _case(
    spec: Spec,
    types: Types,
    layout: Layout | None,
    attributes: Attributes,
    refusal: bool = False,
) -> Case:
    order = [a.name for a in spec.attributes]
    ordered = tuple(sorted(attributes, key=lambda item: order.index(item[0])))
    own = dict(attributes)
    given = layout.carried if layout else ()
    carried = tuple(
        (a.name, a.kind)
        for a in spec.attributes
        if a.carries and a.name not in own and (not a.by_layout or a.name in given)
    )
    shapes = dict(layout.shapes) if layout else {}
    asked = [name for name, _ in spec.inputs if layout is None or name in shapes]
    inputs = tuple(types[name] for name in asked)
    outputs = tuple(types[name] for name, _ in spec.outputs if name in types)
    return Case(
        spec.id, spec.op, spec.version, inputs, outputs, ordered, carried, refusal,
        layout=layout.name if layout and len(spec.layouts) > 1 else "",
        ranks=tuple(len(shapes[name]) for name in asked) if layout else (),
        bound=spec.outputs[0][1] in [variable for name, variable in spec.inputs if name in asked],
        shapes=spec.shapes,
    )  # fmt: skip


def _applying(spec: Spec, outputs: tuple[DType, ...]) -> list[Attribute]:
    return [
        a
        for a in spec.attributes
        if not a.carries and not a.by_layout and (not outputs or a.applies_to(outputs[0]))
    ]


def _listed(spec: Spec, types: Types) -> Iterator[tuple[Attributes, bool]]:
    outputs = tuple(types[name] for name, _ in spec.outputs if name in types)
    applying = _applying(spec, outputs)
    names, usual = [a.name for a in applying], tuple(a.default for a in applying)
    source, target = spec.inputs[0][0], spec.outputs[0][0]
    for values in product(*(a.values for a in applying)):
        attributes = tuple(zip(names, values, strict=True))
        listed = (
            spec.pairs is None
            or spec.pairs.word(types[source].name, types[target].name, attributes) == "listed"
        )
        if listed or (values == usual and not (spec.pairs and spec.pairs.only)):
            yield attributes, not listed


def _besides(spec: Spec, types: Types) -> Iterator[tuple[Attributes, bool]]:
    kinds = {a.name: a for a in spec.attributes}
    askings = [(attribute, asking) for attribute in spec.attributes for asking in attribute.also]
    for attribute, asking in askings:
        if not _is_asked(spec, types, asking):
            continue
        others = dict(defaults(spec, types.get(spec.outputs[0][0])))
        others |= {name: kinds[name].value_of(str(word)) for name, word in asking.others}
        for value in asking.values:
            yield tuple({**others, attribute.name: value}.items()), asking.refusal


def _is_asked(spec: Spec, types: Types, asking: Asking) -> bool:
    source, target = types[spec.inputs[0][0]], types.get(spec.outputs[0][0])
    if asking.targets is not None and (target is None or target.name not in asking.targets):
        return False
    return source.name in asking.sources
